// Says, across the whole page, that the server can't be heard, and what is done about it.

import { setText } from "./element.js";
import { spanText } from "./format.js";

export class Banner {
  #node;
  #timer = 0;

  constructor(node) {
    this.#node = node;
  }

  /** Take the connection's state. */
  take({ isOpen, retryAt }) {
    clearInterval(this.#timer);
    if (isOpen) {
      this.#node.hidden = true;
      return;
    }
    const say = () => {
      const wait_s = Math.ceil(Math.max(retryAt - performance.now(), 0) / 1000);
      const then = wait_s ? `next attempt in ${spanText(wait_s)}` : "trying now";
      setText(this.#node, `No connection to the server: what you see is not live. Reconnecting by itself, ${then}.`);
    };
    say();
    this.#node.hidden = false;
    this.#timer = setInterval(say, 500);
  }
}
