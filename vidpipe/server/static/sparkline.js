// Small curves and bars, as SVG that is read out as one picture.

import { setText } from "./element.js";

const SVG = "http://www.w3.org/2000/svg";

function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/**
 * A curve without axes; a missing value is a gap.
 * @param {string} label what it shows, for who doesn't see it
 */
export class Sparkline {
  #width = 96;
  #height = 20;
  #path = svg("path", { class: "spark-line", fill: "none" });

  constructor(label) {
    this.root = svg(
      "svg",
      {
        class: "spark",
        viewBox: `0 0 ${this.#width} ${this.#height}`,
        preserveAspectRatio: "none",
        role: "img",
        "aria-label": label,
      },
      this.#path,
    );
  }

  /** @param {(number | null)[]} values oldest first @param {number} length of the whole axis */
  draw(values, length) {
    const most = Math.max(...values.map((value) => value ?? 0), 1e-9);
    const step = this.#width / Math.max(length - 1, 1);
    const left = this.#width - (values.length - 1) * step;
    let path = "";
    let isGap = true;
    values.forEach((value, index) => {
      if (value !== null) {
        const y = this.#height - 1 - (value / most) * (this.#height - 2);
        path += `${isGap ? "M" : "L"}${(left + index * step).toFixed(1)} ${y.toFixed(1)}`;
      }
      isGap = value === null;
    });
    this.#path.setAttribute("d", path);
  }
}

/** A single object is no full bar. */
const LEAST_SCALE = 4;

/** The last minute as bars, a second each. */
export class Bars {
  #seconds = 60;
  #bars = [];

  constructor() {
    for (let index = 0; index < this.#seconds; index += 1) {
      const title = svg("title");
      const bar = svg("rect", { class: "bar-rect", x: index * 10 + 1, width: 8, y: 40, height: 0 }, title);
      this.#bars.push({ bar, title });
    }
    this.root = svg(
      "svg",
      { class: "bars", viewBox: "0 0 600 41", preserveAspectRatio: "none", role: "img" },
      svg("line", { class: "bars-base", x1: 0, x2: 600, y1: 40.5, y2: 40.5 }),
      ...this.#bars.map(({ bar }) => bar),
    );
  }

  /**
   * @param {{count: number, title: string}[]} seconds oldest first, at most 60
   * @param {string} label the same in words
   */
  draw(seconds, label) {
    const most = Math.max(...seconds.map(({ count }) => count), LEAST_SCALE);
    const skipped = this.#seconds - seconds.length;
    this.#bars.forEach(({ bar, title }, index) => {
      const { count = 0, title: text = "" } = seconds[index - skipped] ?? {};
      const height = count ? Math.max((count / most) * 38, 3) : 0;
      bar.setAttribute("y", 40 - height);
      bar.setAttribute("height", height);
      setText(title, text);
    });
    this.root.setAttribute("aria-label", label);
  }
}
