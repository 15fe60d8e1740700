// A stream's numbers in full, as a list of names and values.

import { element, setText } from "./element.js";
import { countText, millisecondsText, momentText, rateText, sizeText } from "./format.js";

/** `1,204 lane, 3 age`; a dash for nothing. */
export function causesText(causes) {
  const parts = Object.entries(causes ?? {})
    .filter(([, number]) => number > 0)
    .sort(([, m], [, n]) => n - m)
    .map(([cause, number]) => `${countText(number)} ${cause}`);
  return parts.join(", ") || "–";
}

const ROWS = [
  ["State", (one) => one.state],
  ["Since", (one) => (one.since ? momentText(new Date(one.since)) : "–")],
  ["Picture", (one) => [sizeText(one.size), one.codec].filter(Boolean).join(" ") || "–"],
  ["Frames in", (one) => `${rateText(one.fps_in)} fps`],
  ["Frames out", (one) => `${rateText(one.fps_out)} fps`],
  ["Age, median", (one) => millisecondsText(one.age_ms?.p50 ?? null)],
  ["Age, 95 % below", (one) => millisecondsText(one.age_ms?.p95 ?? null)],
  ["Captured", (one) => countText(one.captured)],
  ["Through the model", (one) => countText(one.processed)],
  ["Passed by it", (one) => countText(one.passed)],
  ["Dropped", (one) => causesText(one.dropped)],
  ["Lost at outputs", (one) => causesText(one.sink_losses)],
  ["Errors", (one) => causesText(one.errors)],
  ["Objects found", (one) => countText(one.detections)],
  ["Reconnects", (one) => countText(one.reconnects)],
];

export class Numbers {
  #values = ROWS.map(([name, read]) => ({ name, read, node: element("dd") }));

  constructor() {
    this.root = element(
      "dl.numbers",
      {},
      ...this.#values.flatMap(({ name, node }) => [element("dt", {}, name), node]),
    );
  }

  /** @param {object} stream its document */
  update(stream) {
    for (const { read, node } of this.#values) setText(node, read(stream));
  }
}
