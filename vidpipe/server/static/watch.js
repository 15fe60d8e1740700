// What the server is to send: exactly what can be seen, and nothing to a hidden page.

import { watchMessage } from "./protocol.js";

/** Layouts come in bursts, as while a window is dragged. */
const REST_MS = 60;

export class Watch {
  #connection;
  #wanted = () => ({});
  #sent = "";
  #timer = 0;

  constructor(connection) {
    this.#connection = connection;
    document.addEventListener("visibilitychange", () => this.renew());
  }

  /** @param {() => Record<string, object>} wanted returns what the present view shows */
  set wanted(wanted) {
    this.#wanted = wanted;
    this.renew();
  }

  /** Look again, soon, at what is wanted. */
  renew() {
    if (!this.#timer) this.#timer = setTimeout(() => this.#send(), REST_MS);
  }

  /** A new connection knows of nothing. */
  restart() {
    this.#sent = "";
    this.renew();
  }

  #send() {
    this.#timer = 0;
    if (!this.#connection.isOpen) return;
    const tiles = document.visibilityState === "hidden" ? {} : this.#wanted();
    const message = JSON.stringify(tiles);
    if (message === this.#sent) return;
    this.#sent = message;
    this.#connection.send(watchMessage(tiles));
  }
}
