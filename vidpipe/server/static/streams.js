// What the page knows of the streams: their newest documents, and their last two minutes.

/** Readings kept of each stream, one a second. */
export const SERIES_LENGTH = 120;

export class Streams {
  /** Called after every message, with whether the list itself is new. */
  onChange = () => {};

  /** Whether the server still makes ready to run any; null before it has said so. */
  isLoading = null;

  #documents = new Map();
  #heardAt = 0;
  #series = new Map();

  /** Take a message of the type `streams`. */
  take(message) {
    const before = [...this.#documents.keys()].join("\n");
    const wasLoading = this.isLoading;
    this.isLoading = message.loading;
    const aspects = JSON.stringify([...this.#documents.values()].map((one) => one.aspect));
    this.#documents = new Map(message.streams.map((one) => [one.id, one]));
    const second = Math.floor(performance.now() / 1000);
    for (const one of message.streams) this.#remember(one, second);
    for (const id of this.#series.keys()) if (!this.#documents.has(id)) this.#series.delete(id);
    this.#heardAt = performance.now();
    const isNewList =
      wasLoading !== this.isLoading ||
      before !== [...this.#documents.keys()].join("\n") ||
      aspects !== JSON.stringify([...this.#documents.values()].map((one) => one.aspect));
    this.onChange(isNewList);
  }

  /** Messages come at every change of a state too: a reading is one of a second. */
  #remember(stream, second) {
    const series = this.#series.get(stream.id) ?? { second: 0, rates: [], ages: [] };
    this.#series.set(stream.id, series);
    if (series.second === second) return;
    series.second = second;
    series.rates.push(stream.fps_out);
    series.ages.push(stream.age_ms?.p95 ?? null);
    if (series.rates.length > SERIES_LENGTH) {
      series.rates.shift();
      series.ages.shift();
    }
  }

  all() {
    return [...this.#documents.values()];
  }

  get(id) {
    return this.#documents.get(id);
  }

  /** The stream's rates out and ages at p95, a reading a second; oldest first. */
  series(id) {
    return this.#series.get(id) ?? { rates: [], ages: [] };
  }

  /** The age of the stream's newest frame by the server's word, running on; null before any. */
  age_s(id) {
    const age_s = this.#documents.get(id)?.age_s;
    if (age_s === null || age_s === undefined) return null;
    return age_s + (performance.now() - this.#heardAt) / 1000;
  }
}
