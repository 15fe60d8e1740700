// All about one stream: large, at its full rate, with its last minute and its numbers.

import { Controls } from "./controls.js";
import { element, setText } from "./element.js";
import { countsText, momentText, totalOf } from "./format.js";
import { Numbers } from "./numbers.js";
import { historyMessage, replayMessage } from "./protocol.js";
import { Replay } from "./replay.js";
import { Bars } from "./sparkline.js";
import { Tile } from "./tile.js";

/** As much as a camera gives: the server sends no more than there is. */
const FULL_FPS = 30;
const HISTORY_MS = 1_000;
const USUAL_ASPECT = 16 / 9;

export class Detail {
  onBack = () => {};
  onDrawn = () => {};
  onLayout = () => {};

  id = null;

  #root;
  #connection;
  #timer = 0;
  #parts = null;
  #aspect = USUAL_ASPECT;
  #observer = new ResizeObserver(() => this.#fit());

  constructor(root, connection) {
    this.#root = root;
    this.#connection = connection;
  }

  open(id) {
    if (this.id === id) return;
    this.close();
    this.id = id;
    const tile = new Tile(id, { isLarge: true });
    tile.onDrawn = (...drawn) => this.onDrawn(...drawn);
    const replay = new Replay();
    replay.onPicture = (picture) => this.#play(picture);
    const controls = new Controls(id);
    const back = element("button", { type: "button", onclick: () => this.onBack() }, "‹ Wall");
    const again = element("button", { type: "button", onclick: () => this.toggleReplay() });
    const title = element("h1");
    const stage = element("div.stage", {}, tile.root);
    const bars = new Bars();
    const numbers = new Numbers();
    const snapshot = element("a.button", { onclick: () => nameSnapshot(snapshot, id) }, "Snapshot");
    snapshot.href = `/api/streams/${encodeURIComponent(id)}/snapshot.jpg`;
    this.#parts = { tile, replay, controls, again, title, stage, bars, numbers, back };
    this.#root.replaceChildren(
      element(
        "div.detail-head",
        {},
        back,
        title,
        element("div.controls", {}, again, snapshot),
        controls.root,
      ),
      controls.said,
      stage,
      element("div.detail-strip", {}, element("h2", {}, "Seen in the last minute"), bars.root),
      element("div.detail-side", {}, element("h2", {}, "Numbers"), numbers.root),
    );
    this.#observer.observe(stage);
    const ask = () => this.#connection.send(historyMessage(id));
    ask();
    this.#timer = setInterval(ask, HISTORY_MS);
    this.#nameReplay();
  }

  close() {
    clearInterval(this.#timer);
    this.#observer.disconnect();
    this.#parts?.replay.stop();
    this.#parts = null;
    this.id = null;
    this.#root.replaceChildren();
  }

  /**
   * @param {object | undefined} stream its document
   * @param {boolean} isOperator
   * @param {boolean} isKnown whether the server has said which streams there are
   */
  update(stream, isLinked, isOperator, isKnown) {
    if (!this.#parts) return;
    const { tile, title, controls, numbers } = this.#parts;
    if (!stream) {
      setText(title, isKnown ? `There is no stream “${this.id}”` : this.id);
      this.stopReplay();
      tile.dismiss(isKnown ? "No such stream" : "Waiting");
      controls.root.hidden = true;
      return;
    }
    setText(title, stream.name || stream.id);
    tile.update(stream, isLinked);
    controls.update(stream, isOperator);
    numbers.update(stream);
    const aspect = stream.aspect ?? USUAL_ASPECT;
    if (aspect !== this.#aspect) {
      this.#aspect = aspect;
      this.#fit();
    }
  }

  wanted() {
    const tile = this.#parts?.tile;
    return tile?.root.clientWidth ? { [this.id]: tile.wanted(FULL_FPS) } : {};
  }

  get tile() {
    return this.#parts?.tile ?? null;
  }

  focus() {
    this.#parts?.back.focus();
  }

  takePicture(picture) {
    if (picture.header.replay) this.#parts?.replay.take(picture);
    else this.#parts?.tile.show(picture);
  }

  takeHistory({ stream, seconds }) {
    if (stream !== this.id || !this.#parts) return;
    const bars = seconds.map(({ time, counts }) => ({
      count: totalOf(counts),
      title: `${momentText(new Date(time))}: ${countsText(counts) || "nothing"}`,
    }));
    const busy = bars.filter(({ count }) => count).length;
    this.#parts.bars.draw(bars, `Something was seen in ${busy} of the last ${bars.length} seconds`);
  }

  takeReplay({ stream, count }) {
    if (stream !== this.id || !this.#parts) return;
    this.#parts.replay.begin(count);
    this.#nameReplay(count ? "" : "Nothing kept yet");
  }

  /** Play the last half minute, or go back to the present. */
  toggleReplay() {
    if (this.#parts.replay.isOn) this.#parts.replay.stop();
    else this.#connection.send(replayMessage(this.id));
  }

  /** The server is gone, and with it the rest of a replay. */
  cutReplay() {
    this.#parts?.replay.cut();
  }

  /** True if there was a replay to end. */
  stopReplay() {
    const isOn = this.#parts?.replay.isOn ?? false;
    if (isOn) this.#parts.replay.stop();
    return isOn;
  }

  #play(picture) {
    this.#parts?.tile.replay(picture);
    this.#nameReplay();
  }

  #nameReplay(text = "") {
    const { again, replay } = this.#parts ?? {};
    if (again) setText(again, text || (replay.isOn ? "Back to now" : "Replay 30 s"));
  }

  /** Make the tile as large as its stage allows, in the picture's own shape. */
  #fit() {
    if (!this.#parts) return;
    const { stage, tile } = this.#parts;
    const { clientWidth, clientHeight } = stage;
    const width = Math.min(clientWidth, clientHeight * this.#aspect);
    const height = width / this.#aspect;
    const x = (clientWidth - width) / 2;
    const y = (clientHeight - height) / 2;
    tile.place({ x, y, width, height }, null);
    this.onLayout();
  }
}

/** Name the file that the browser saves after the moment of the click. */
function nameSnapshot(link, id) {
  const moment = new Date().toISOString().replace(/[-:]/g, "").replace(/\.\d+/, "");
  link.download = `${id}-${moment}.jpg`;
}
