// The one connection to the server: it comes back by itself, and says how it stands.

import { Delay } from "./delay.js";
import { pictureFrom } from "./protocol.js";

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;
/** The server speaks every second: after such a silence it is gone, whatever the socket thinks. */
const SILENCE_MS = 6_000;

/**
 * Calls, each set by its owner:
 *   `onMessage(message)` for every text, `onPicture(picture)` for every binary one;
 *   `onState({isOpen, retryAt})` whenever it stands differently; retryAt is a time of
 *   `performance.now()`, or null;
 *   `onRefused()` where the server wants to know who this is.
 */
export class Connection {
  onMessage = () => {};
  onPicture = () => {};
  onState = () => {};
  onRefused = () => {};

  #url;
  #socket = null;
  #isOpen = false;
  #attempt = 0;
  #heardAt = 0;
  #retry = 0;
  #delay = new Delay();

  /** @param {string} path of the WebSocket on this server */
  constructor(path) {
    this.#url = new URL(path, location.href.replace(/^http/, "ws"));
    setInterval(() => this.#watch(), 1_000);
    // Whoever comes back to the page waits for no timer.
    const hasten = () => {
      if (document.visibilityState === "visible" && !this.#socket) this.#connect();
    };
    document.addEventListener("visibilitychange", hasten);
    addEventListener("online", hasten);
  }

  get isOpen() {
    return this.#isOpen;
  }

  start() {
    this.#connect();
  }

  /** Send a message; while there is no connection it is lost, and its sender asks again later. */
  send(message) {
    if (this.#isOpen) this.#socket.send(JSON.stringify(message));
  }

  #connect() {
    clearTimeout(this.#retry);
    const socket = new WebSocket(this.#url);
    socket.binaryType = "arraybuffer";
    this.#socket = socket;
    this.#heardAt = performance.now();
    socket.onopen = () => {
      this.#heardAt = performance.now();
      this.#isOpen = true;
      this.#delay.reset();
      this.onState({ isOpen: true, retryAt: null });
    };
    socket.onmessage = ({ data }) => {
      this.#heardAt = performance.now();
      this.#attempt = 0; // a server that takes the connection and ends it at once isn't there yet
      if (typeof data === "string") this.#hear(JSON.parse(data));
      else this.#see(pictureFrom(data));
    };
    socket.onclose = () => this.#lose(socket);
  }

  #hear(message) {
    if (message.sent_ms) this.#delay.of(message.sent_ms);
    this.onMessage(message);
  }

  /** The age is that of the moment at which it was sent: the way here comes on top. */
  #see(picture) {
    const { header } = picture;
    if (!header.replay) header.age_ms += this.#delay.of(header.sent_ms);
    this.onPicture(picture);
  }

  #lose(socket) {
    if (socket !== this.#socket) return;
    socket.onclose = socket.onmessage = null;
    const wasOpen = this.#isOpen;
    this.#socket = null;
    this.#isOpen = false;
    const longest = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.#attempt);
    // A desk's screens don't come back all at the same moment.
    const wait = longest * (0.75 + Math.random() / 4);
    this.#attempt += 1;
    this.onState({ isOpen: false, retryAt: performance.now() + wait });
    this.#retry = setTimeout(() => this.#connect(), wait);
    // A refused handshake looks like a dead server to a page: ask in a way that tells.
    if (!wasOpen) this.#ask();
  }

  async #ask() {
    try {
      const answer = await fetch("/api/streams", { method: "HEAD", cache: "no-store" });
      if (answer.status === 401) this.onRefused();
    } catch {
      // there is no server: the timer tries again
    }
  }

  #watch() {
    const socket = this.#socket;
    if (socket && performance.now() - this.#heardAt > SILENCE_MS) {
      socket.close();
      this.#lose(socket);
    }
  }
}
