// What a slow line adds to the age of a picture: by how much longer than the shortest way it took.

/** Clocks drift apart, and are corrected: so much of the time is forgiven. */
const DRIFT = 0.0005;

export class Delay {
  #clock;
  #least = null;
  #at = 0;

  /** @param {() => number} clock milliseconds of this page, from any moment on */
  constructor(clock = () => performance.now()) {
    this.#clock = clock;
  }

  /** Another connection: another line, and maybe another server. */
  reset() {
    this.#least = null;
  }

  /** Return by how many milliseconds a message is late; sent_ms: when it was, by the server's clock. */
  of(sent_ms) {
    const now = this.#clock();
    const taken = now - sent_ms;
    const known = this.#least === null ? taken : this.#least + (now - this.#at) * DRIFT;
    this.#least = Math.min(known, taken);
    this.#at = now;
    return taken - this.#least;
  }
}
