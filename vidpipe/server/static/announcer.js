// Reads out which cameras went down and came back, for who doesn't see it; never many at once.

import { setText } from "./element.js";

const REST_MS = 3_000;

export class Announcer {
  #node;
  #kinds = new Map();
  #news = new Map();
  #timer = 0;

  constructor(node) {
    this.#node = node;
  }

  /** Take a stream's grade as it is now. */
  take(stream, { grade, text }) {
    const before = this.#kinds.get(stream.id);
    this.#kinds.set(stream.id, grade);
    if (before === undefined || before === grade) return;
    if (before !== "bad" && grade !== "bad") return;
    this.#news.set(stream.name || stream.id, text || "live again");
    if (!this.#timer) this.#timer = setTimeout(() => this.#say(), REST_MS);
  }

  #say() {
    this.#timer = 0;
    const news = [...this.#news].slice(0, 3).map(([title, text]) => `${title}: ${text}`);
    const more = this.#news.size - news.length;
    setText(this.#node, news.join(". ") + (more > 0 ? `. And ${more} more` : ""));
    this.#news.clear();
  }
}
