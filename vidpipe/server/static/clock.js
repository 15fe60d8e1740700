// The running clock: as long as it moves, the page is alive.

import { setText } from "./element.js";
import { clockText } from "./format.js";

/** @param {HTMLTimeElement} node */
export function startClock(node) {
  const tick = () => {
    const now = new Date();
    setText(node, clockText(now));
    node.dateTime = now.toISOString();
    setTimeout(tick, 1000 - (Date.now() % 1000));
  };
  tick();
}
