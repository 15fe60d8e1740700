// Which tiles have something to look at: a class that the viewer chose was just seen there.

/** So long after it was last seen is a tile outlined. */
const FRESH_MS = 4_000;
/** So long does it stay in front: tiles that swap places every second are none to look at. */
const FRONT_MS = 20_000;

export class Attention {
  /** Called with the stream's id when something is seen there after a while without it. */
  onNews = () => {};

  #seenAt = new Map();
  #classes = null;

  /** @param {string[] | null} classes none of them: any; null: no attention at all */
  set classes(classes) {
    if (JSON.stringify(classes) === JSON.stringify(this.#classes)) return;
    this.#classes = classes;
    this.#seenAt.clear();
  }

  get isOn() {
    return this.#classes !== null;
  }

  /** Take what is seen of a stream now. */
  take(id, counts) {
    if (!this.#classes || !counts) return;
    const labels = Object.keys(counts).filter((label) => counts[label] > 0);
    const isSeen = labels.some((label) => !this.#classes.length || this.#classes.includes(label));
    if (!isSeen) return;
    const now = performance.now();
    const isNews = now - (this.#seenAt.get(id) ?? -Infinity) > FRONT_MS;
    this.#seenAt.set(id, now);
    if (isNews) this.onNews(id);
  }

  isFresh(id) {
    return performance.now() - (this.#seenAt.get(id) ?? -Infinity) < FRESH_MS;
  }

  /** Return the streams with those to look at first, and each part in its own order. */
  sorted(streams) {
    const now = performance.now();
    const isInFront = ({ id }) => now - (this.#seenAt.get(id) ?? -Infinity) < FRONT_MS;
    return [...streams.filter(isInFront), ...streams.filter((one) => !isInFront(one))];
  }
}
