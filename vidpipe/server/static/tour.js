// One camera after another, or one page after another, without a hand on the mouse.

export class Tour {
  /** Called when it is time for the next. */
  onStep = () => {};

  #timer = 0;
  #seconds = null;

  /** Seconds of each camera; null: no tour. */
  set seconds(seconds) {
    if (seconds === this.#seconds) return;
    this.#seconds = seconds;
    this.delay();
  }

  /** Begin the present camera's time anew, as when the viewer has picked one. */
  delay() {
    clearInterval(this.#timer);
    this.#timer = 0;
    if (this.#seconds) this.#timer = setInterval(() => this.onStep(), this.#seconds * 1000);
  }
}
