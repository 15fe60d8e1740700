// What a tile says of its stream. The same rules, in Python, are vidpipe/wall/condition.py: a test
// compares the two.

/** A picture older than this is late. */
const LATE_S = 2;
/** A picture older than this is no longer shown: it would pass for the present. */
const GONE_S = 10;
/** The same, while the server can't be reached. */
const UNLINKED_S = 3;

const WORDS = {
  connecting: "Connecting",
  stalled: "No signal",
  "backing-off": "No signal",
  failed: "Failed",
  ended: "Ended",
  disabled: "Disabled",
};

/**
 * @typedef {object} Condition
 * @property {string} kind live, late, frozen, waiting, gone, unlinked, or the stream's own state
 * @property {string} word what it says, in one or two words; empty while all is well
 * @property {boolean} isBlack true if no picture may be seen
 * @property {"good" | "slow" | "bad" | "off"} grade how bad it is
 */

/**
 * @param {object} stream a document of /api/streams
 * @param {number | null} age_s the age of the newest picture; null where there is none
 * @param {boolean} isLinked whether the server can be heard
 * @param {number} usual_s seconds between two pictures where that is long, as of a slow camera
 * @returns {Condition}
 */
export function conditionOf(stream, age_s, isLinked, usual_s = 0) {
  const spare_s = 3 * usual_s;
  if (!isLinked && (age_s === null || age_s > UNLINKED_S + spare_s)) {
    return { kind: "unlinked", word: "No connection", isBlack: true, grade: "bad" };
  }
  // What is opened again at once, as a recording that begins anew, has shown the present just now.
  const isBlink = stream.state === "connecting" && age_s !== null && age_s <= LATE_S;
  const word = WORDS[stream.state];
  if (word && !isBlink) {
    const grade = { disabled: "off", ended: "off", connecting: "slow" }[stream.state] ?? "bad";
    return { kind: stream.state, word, isBlack: true, grade };
  }
  if (age_s === null) return { kind: "waiting", word: "Waiting", isBlack: true, grade: "slow" };
  if (age_s > GONE_S + spare_s) {
    return { kind: "gone", word: "No picture", isBlack: true, grade: "bad" };
  }
  if (stream.frozen) {
    return { kind: "frozen", word: "Frozen picture", isBlack: false, grade: "bad" };
  }
  if (age_s > LATE_S + spare_s) return { kind: "late", word: "Late", isBlack: false, grade: "slow" };
  return { kind: "live", word: "", isBlack: false, grade: "good" };
}

/** True for the kinds that are states of a stream that isn't live. */
export const isStateWord = (kind) => kind in WORDS;

/** Return why a stream isn't live, in the server's words; empty where it said nothing. */
export function reasonOf(stream) {
  return stream.error || stream.detail || "";
}
