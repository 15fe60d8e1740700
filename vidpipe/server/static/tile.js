// One stream on the screen: its newest picture, and the truth about it.

import { conditionOf, isStateWord, reasonOf } from "./condition.js";
import { element, setText } from "./element.js";
import { agoText, countsText, momentText, rateText, sizeText, spanText } from "./format.js";

/** Smaller pictures aren't made. */
const LEAST_PX = 16;

export class Tile {
  /** Called with the stream's id and the picture's number once it is on the canvas. */
  onDrawn = () => {};
  /** Called with the id when the viewer picks the tile. */
  onChoose = () => {};
  /** Called with the id when the viewer asks for all about it. */
  onMore = () => {};

  #canvas = element("canvas", { aria: { hidden: "true" } });
  #pen = this.#canvas.getContext("2d", { alpha: false });
  #next = null;
  #isDrawing = false;
  #era = 0;
  #fps = Infinity;
  #shown = null;
  #replayed = null;

  /** @param {string} id @param {{isLarge?: boolean}} form isLarge: the one tile of the detail view */
  constructor(id, { isLarge = false } = {}) {
    this.id = id;
    this.condition = null;
    this.number = element("kbd.tile-number", { aria: { hidden: "true" } });
    this.name = element("span.tile-name");
    this.counts = element("span.tile-counts");
    this.rates = element("span.tile-rates");
    this.badge = element("span.tile-badge");
    this.word = element("strong.tile-word");
    this.reason = element("p.tile-reason");
    this.last = element("p.tile-last");
    this.veil = element("div.tile-veil", {}, this.word, this.reason, this.last);
    this.button = element("button.tile-choose", { type: "button", onclick: () => this.onChoose(id) });
    this.more = element(
      "button.tile-more",
      { type: "button", title: "All about it (d)", onclick: () => this.onMore(id) },
      "⋯",
    );
    this.root = element(
      "div.tile",
      { data: { stream: id } },
      this.#canvas,
      this.veil,
      element("div.tile-bar", {}, this.number, this.name, this.counts, this.rates),
      this.badge,
      ...(isLarge ? [] : [this.button, this.more]),
    );
  }

  /** Seconds since the shown picture was captured; null where none is shown. */
  get age_s() {
    if (!this.#shown) return null;
    return this.#shown.age_ms / 1000 + (performance.now() - this.#shown.heardAt) / 1000;
  }

  /** What is seen on the newest picture. */
  get seen() {
    return this.#shown?.counts ?? null;
  }

  /** Put the tile where the layout has it; `number` is its key, or null. */
  place({ x, y, width, height }, number) {
    const { style } = this.root;
    style.left = `${x}px`;
    style.top = `${y}px`;
    style.width = `${width}px`;
    style.height = `${height}px`;
    setText(this.number, number === null ? "" : String(number));
  }

  /** The size in pixels of the screen at which pictures are shown. */
  wanted(fps) {
    this.#fps = fps;
    const ratio = Math.min(devicePixelRatio || 1, 2);
    const { clientWidth, clientHeight } = this.root;
    const pixels = (length) => Math.max(Math.round(length * ratio), LEAST_PX);
    return { width: pixels(clientWidth), height: pixels(clientHeight), fps };
  }

  /** Take a picture that has just come; an older one that isn't drawn yet gives way to it. */
  show({ header, jpeg }) {
    // It keeps coming while the past is played; and one that was on its way when its camera died
    // would be a frozen picture.
    if (this.#replayed || this.#isDown) {
      this.onDrawn(this.id, header.seq);
      return;
    }
    this.#next = { header, jpeg, heardAt: performance.now() };
    this.#drawAll();
  }

  /** Play a picture of the past, or, with null, go back to the present. */
  replay(picture) {
    const wasReplaying = this.#replayed !== null;
    this.#replayed = picture && picture.header;
    if (picture) {
      this.#next = { ...picture, heardAt: performance.now() };
      this.#drawAll();
    } else if (wasReplaying) {
      this.forget();
    }
  }

  /** True while the stream itself says that it isn't live. */
  get #isDown() {
    return isStateWord(this.condition?.kind);
  }

  /** Nothing comes any more: what was shown is no longer the present. */
  forget() {
    this.#era += 1;
    this.#next = null;
    this.#shown = null;
    this.#blank();
  }

  async #drawAll() {
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    while (this.#next) {
      const { header, jpeg, heardAt } = this.#next;
      this.#next = null;
      const era = this.#era;
      let bitmap = null;
      try {
        bitmap = await createImageBitmap(jpeg);
      } catch {
        // half a picture: the next one comes
      }
      if (bitmap && era === this.#era) this.#draw(bitmap, header, heardAt);
      else bitmap?.close();
      if (!header.replay) this.onDrawn(this.id, header.seq);
    }
    this.#isDrawing = false;
  }

  #draw(bitmap, header, heardAt) {
    if (this.#canvas.width !== bitmap.width || this.#canvas.height !== bitmap.height) {
      this.#canvas.width = bitmap.width;
      this.#canvas.height = bitmap.height;
    }
    this.#pen.drawImage(bitmap, 0, 0);
    bitmap.close();
    if (!header.replay) this.#shown = { ...header, heardAt };
    this.root.dataset.seq = header.seq;
    this.root.dataset.time = header.time;
    setText(this.counts, countsText(header.counts));
  }

  #blank() {
    this.#pen.fillStyle = "#000";
    this.#pen.fillRect(0, 0, this.#canvas.width, this.#canvas.height);
    setText(this.counts, "");
  }

  /**
   * Say how the stream stands; to be called whenever that may have changed, and twice a second.
   * @param {object} stream its document
   * @param {boolean} isLinked whether the server can be heard
   */
  update(stream, isLinked) {
    // Of a wall that shows few pictures a second each one is older before the next comes.
    const usual_s = Math.max(stream.fps_in > 0 ? 1 / stream.fps_in : 0, 1 / this.#fps);
    const condition = conditionOf(stream, this.age_s, isLinked, usual_s);
    const { dataset } = this.root;
    if (!this.#replayed) {
      // What was seen before an outage isn't shown after it: the first new picture is waited for.
      if (isStateWord(condition.kind)) this.forget();
      else if (condition.isBlack && !this.condition?.isBlack) this.#blank();
    }
    this.condition = condition;
    dataset.kind = this.#replayed ? "replay" : condition.kind;
    dataset.grade = condition.grade;
    this.veil.hidden = !condition.isBlack || this.#replayed !== null;
    const title = stream.name || stream.id;
    setText(this.name, title);
    setText(this.rates, this.#ratesText(stream));
    setText(this.badge, this.#badgeText(condition));
    this.badge.hidden = this.badge.textContent === "";
    if (condition.isBlack) this.#lower(stream, condition);
    const said = [title, condition.word || "live", countsText(this.seen)].filter(Boolean).join(", ");
    if (this.button.ariaLabel !== said) this.button.ariaLabel = said;
    this.more.ariaLabel = `All about ${title}`;
  }

  /** Say that the server knows no such stream (any more); until the next `update` nothing is shown. */
  dismiss(word) {
    this.forget();
    this.condition = { kind: "ended", word, isBlack: true, grade: "off" };
    this.root.dataset.kind = "ended";
    this.root.dataset.grade = "off";
    this.veil.hidden = false;
    this.badge.hidden = true;
    setText(this.name, this.id);
    setText(this.rates, "");
    setText(this.word, word);
    setText(this.reason, "");
    setText(this.last, "");
  }

  #badgeText(condition) {
    if (this.#replayed) return `Replay ${momentText(new Date(this.#replayed.time))}`;
    if (condition.kind === "late") return `Late ${spanText(this.age_s)}`;
    return condition.kind === "frozen" ? condition.word : "";
  }

  #ratesText(stream) {
    const size = sizeText(stream.size);
    return `${size && `${size}  `}${rateText(stream.fps_in)} → ${rateText(stream.fps_out)} fps`;
  }

  /** Fill the veil: what it is, why, and since when. */
  #lower(stream, condition) {
    setText(this.word, condition.word);
    const isOwn = condition.kind === stream.state;
    setText(this.reason, isOwn ? withoutAddress(reasonOf(stream)) : "");
    setText(this.last, lastText(stream));
  }
}

/** Return a reason without the address that it begins with: a small tile has room for the rest. */
function withoutAddress(reason) {
  return reason.replace(/^[a-z][a-z0-9+.-]*:\/\/\S+?:\s+/, "");
}

/** Return when the last picture was taken, for people. */
function lastText(stream) {
  if (!stream.last_frame) return "No picture yet";
  const moment = new Date(stream.last_frame);
  const age_s = Math.max((Date.now() - moment.getTime()) / 1000, 0);
  return `Last picture ${momentText(moment)}, ${agoText(age_s)}`;
}
