// Plays what the server still has of a stream's last half minute, at the pace at which it happened.

/** Waits longer than this between two pictures are cut short: nothing was there to see. */
const LONGEST_MS = 2_000;

export class Replay {
  /** Called with each picture when its moment has come, and with null at the end. */
  onPicture = () => {};

  #queue = [];
  #expected = 0;
  #taken = 0;
  #timer = 0;
  #last = null;
  isOn = false;

  /** The server has so many pictures, which follow. */
  begin(count) {
    this.stop();
    if (!count) return;
    this.isOn = true;
    this.#expected = count;
  }

  take(picture) {
    if (!this.isOn) return;
    this.#taken += 1;
    this.#queue.push(picture);
    if (!this.#timer) this.#step();
  }

  /** No more comes: play what is here. */
  cut() {
    this.#expected = this.#taken;
    if (this.isOn && !this.#timer) this.#step();
  }

  stop() {
    clearTimeout(this.#timer);
    const wasOn = this.isOn;
    this.#queue = [];
    this.#timer = this.#expected = this.#taken = 0;
    this.#last = null;
    this.isOn = false;
    if (wasOn) this.onPicture(null);
  }

  #step() {
    this.#timer = 0;
    const picture = this.#queue.shift();
    if (!picture) {
      if (this.#taken >= this.#expected) this.stop();
      return;
    }
    this.onPicture(picture);
    const time = Date.parse(picture.header.time);
    const next = this.#queue[0];
    const wait = next ? Date.parse(next.header.time) - time : time - (this.#last ?? time);
    this.#last = time;
    this.#timer = setTimeout(() => this.#step(), Math.min(Math.max(wait, 0), LONGEST_MS));
  }
}
