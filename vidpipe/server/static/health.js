// How bad a stream's state is, and what is wrong with it: the same for the bar and the table.

import { conditionOf, reasonOf } from "./condition.js";
import { agoText, countText, rateText, spanText } from "./format.js";

const RANKS = { bad: 0, slow: 1, good: 3, off: 4 };
/** A stream that loses more than this share of its frames before the model isn't well. */
const LOSS_SHARE = 0.5;

/**
 * @param {object} stream its document
 * @param {number | null} age_s of its newest frame
 * @returns {{grade: string, rank: number, text: string}} text: what is wrong; empty if nothing is
 */
export function healthOf(stream, age_s, isLinked) {
  const usual_s = stream.fps_in > 0 ? 1 / stream.fps_in : 0;
  const condition = conditionOf(stream, age_s, isLinked, usual_s);
  const { grade, kind } = condition;
  if (grade === "good") return ofLive(stream);
  const since = age_s === null ? "" : `, last picture ${agoText(age_s)}`;
  const reason = reasonOf(stream);
  const texts = {
    late: `Late: ${spanText(age_s ?? 0)}`,
    frozen: "The camera repeats one picture",
    waiting: "Waiting for the first picture",
    unlinked: "The server can't be reached",
    disabled: "Disabled",
    ended: "Ended",
  };
  const text = texts[kind] ?? `${condition.word}${reason && `: ${reason}`}${since}`;
  return { grade, rank: RANKS[grade], text };
}

/** A live stream may still be unwell. */
function ofLive(stream) {
  const resting = stream.sinks_resting ?? [];
  const loss = stream.fps_in > 0 ? 1 - stream.fps_out / stream.fps_in : 0;
  let text = "";
  if (resting.length) text = `An output rests: ${resting.join(", ")}`;
  else if (stream.fps_in >= 1 && loss > LOSS_SHARE) {
    text = `Too much to do: ${rateText(stream.fps_out)} of ${rateText(stream.fps_in)} fps get through`;
  }
  return text ? { grade: "slow", rank: RANKS.slow, text } : { grade: "good", rank: RANKS.good, text };
}

/** `14 live`, `1 late or slow`, `2 down`: the worst ahead. */
export function summaryOf(healths) {
  const of = (grade) => healths.filter((one) => one.grade === grade).length;
  const parts = [
    [of("bad"), "down"],
    [of("slow"), "unsettled"],
    [of("good"), "live"],
    [of("off"), "off"],
  ];
  const text = parts.filter(([number]) => number).map(([number, word]) => `${countText(number)} ${word}`);
  const grade = of("bad") ? "bad" : of("slow") ? "slow" : "good";
  return { grade, text: text.join(" · ") || "No streams" };
}
