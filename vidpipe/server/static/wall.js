// All tiles of a group: where they lie is the server's answer to this screen's size.

import { element } from "./element.js";
import { layoutMessage } from "./protocol.js";
import { Tile } from "./tile.js";

/** 16:9, until a stream's first picture says otherwise. */
const USUAL_ASPECT = 16 / 9;
/** More aren't arranged: see wallwords.py. Whoever has more looks at groups. */
const MOST_ARRANGED = 256;

export class Wall {
  onChoose = () => {};
  onMore = () => {};
  onDrawn = () => {};
  /** Called when another set of tiles is on the screen, or another size of them. */
  onLayout = () => {};

  page = 0;
  pages = 1;
  /** Whether there are more streams than a wall takes. */
  isCut = false;

  #room;
  #connection;
  #tiles = new Map();
  #streams = [];
  #spotlight = null;
  #wishedPage = 0;
  #request = 0;
  #answered = null;
  #order = [];
  #inView = new Set();
  #empty = element("p.empty");
  #observer = new IntersectionObserver((entries) => this.#observe(entries));

  /** @param {HTMLElement} room that the tiles may fill @param {Connection} connection */
  constructor(room, connection) {
    this.#room = room;
    this.#connection = connection;
    room.append(this.#empty);
    new ResizeObserver(() => this.ask()).observe(room);
    // A screen of another density wants other pictures of the same layout.
    addEventListener("resize", () => this.onLayout());
  }

  /**
   * Show these streams.
   * @param {object[]} streams their documents, in the order of the tiles
   * @param {{spotlight: string | null, page: number, emptyText: string}} how
   */
  show(streams, { spotlight, page, emptyText }) {
    const asked = this.#wish();
    this.#streams = streams.slice(0, MOST_ARRANGED);
    this.isCut = streams.length > MOST_ARRANGED;
    this.#spotlight = streams.some((one) => one.id === spotlight) ? spotlight : null;
    this.#wishedPage = page;
    this.#empty.textContent = emptyText;
    this.#empty.hidden = streams.length > 0;
    const wanted = new Set(this.#streams.map((one) => one.id));
    for (const [id, tile] of this.#tiles) if (!wanted.has(id)) this.#remove(id, tile);
    if (asked !== this.#wish()) this.ask();
  }

  #wish() {
    const streams = this.#streams.map((one) => [one.id, one.aspect ?? null]);
    return JSON.stringify([streams, this.#spotlight, this.#wishedPage]);
  }

  /** Ask for the layout anew, as of another size. */
  ask() {
    const { clientWidth: width, clientHeight: height } = this.#room;
    if (!width || !height) return; // another view is shown
    this.#request += 1;
    if (this.#streams.length === 0) {
      this.take({ request: this.#request, tiles: [], page: 0, pages: 1 });
      return;
    }
    this.#stretch(width, height);
    this.#connection.send(
      layoutMessage({
        request: this.#request,
        width,
        height,
        aspects: this.#streams.map((one) => [one.id, one.aspect ?? USUAL_ASPECT]),
        spotlight: this.#spotlight,
        page: this.#wishedPage,
      }),
    );
  }

  /** Take the answer; one to an older question says nothing of this screen. */
  take({ request, tiles, page, pages }) {
    if (request !== this.#request) return;
    const { clientWidth: width, clientHeight: height } = this.#room;
    this.#answered = { width, height, tiles };
    this.page = page;
    this.pages = pages;
    const shown = new Set(tiles.map((one) => one.id));
    for (const [id, tile] of this.#tiles) if (!shown.has(id)) this.#remove(id, tile);
    const numbers = new Map(this.#streams.map((one, index) => [one.id, index]));
    this.#order = tiles.map((one) => one.id).sort((a, b) => numbers.get(a) - numbers.get(b));
    for (const place of tiles) this.#tile(place.id).place(place, this.#key(place.id));
    this.#sort();
    for (const [id, tile] of this.#tiles) tile.root.classList.toggle("is-spotlit", id === this.#spotlight);
    this.onLayout();
  }

  /** Until the server has answered, keep all of the last layout in sight. */
  #stretch(width, height) {
    const last = this.#answered;
    if (!last?.width || (last.width === width && last.height === height)) return;
    const factor = Math.min(width / last.width, height / last.height);
    const left = (width - last.width * factor) / 2;
    const top = (height - last.height * factor) / 2;
    for (const { id, x, y, width: w, height: h } of last.tiles) {
      const place = { x: left + x * factor, y: top + y * factor, width: w * factor, height: h * factor };
      this.#tiles.get(id)?.place(place, this.#key(id));
    }
  }

  #key(id) {
    const index = this.#order.indexOf(id);
    return index < 9 ? index + 1 : null;
  }

  /** The tab key goes through the tiles as the eye does. */
  #sort() {
    let before = this.#empty;
    for (const id of this.#order) {
      const { root } = this.#tiles.get(id);
      if (before.nextElementSibling !== root) before.after(root); // moving one takes its focus
      before = root;
    }
  }

  #tile(id) {
    let tile = this.#tiles.get(id);
    if (!tile) {
      tile = new Tile(id);
      tile.onDrawn = (...drawn) => this.onDrawn(...drawn);
      tile.onChoose = (chosen) => this.onChoose(chosen);
      tile.onMore = (chosen) => this.onMore(chosen);
      this.#tiles.set(id, tile);
      this.#room.append(tile.root);
      this.#observer.observe(tile.root);
    }
    return tile;
  }

  #remove(id, tile) {
    this.#observer.unobserve(tile.root);
    this.#inView.delete(id);
    this.#tiles.delete(id);
    this.#order = this.#order.filter((one) => one !== id);
    tile.root.remove();
  }

  #observe(entries) {
    for (const { target, isIntersecting } of entries) {
      const id = target.dataset.stream;
      if (isIntersecting) this.#inView.add(id);
      else this.#inView.delete(id);
      if (!isIntersecting) this.#tiles.get(id)?.forget();
    }
    this.onLayout();
  }

  get(id) {
    return this.#tiles.get(id);
  }

  tiles() {
    return this.#order.map((id) => this.#tiles.get(id));
  }

  /** What is to be sent for the tiles that can be seen. */
  wanted(fps) {
    const seen = this.tiles().filter((tile) => this.#inView.has(tile.id) && tile.root.clientWidth);
    return Object.fromEntries(seen.map((tile) => [tile.id, tile.wanted(fps)]));
  }

  /** Nothing of it is seen for now. */
  rest() {
    for (const tile of this.#tiles.values()) tile.forget();
  }

  /** The id of the tile that has the focus, or null. */
  get focused() {
    return document.activeElement?.closest?.(".tile")?.dataset.stream ?? null;
  }

  focus(id) {
    this.#tiles.get(id)?.button.focus();
  }

  /** The tile that lies next in a direction of (-1, 0, 1), seen from a tile; null at the edge. */
  neighbour(id, dx, dy) {
    const from = this.#tiles.get(id)?.root;
    if (!from) return this.#order[0] ?? null;
    const middle = (root) => [
      root.offsetLeft + root.offsetWidth / 2,
      root.offsetTop + root.offsetHeight / 2,
    ];
    const [x, y] = middle(from);
    let best = null;
    for (const tile of this.tiles()) {
      const [tx, ty] = middle(tile.root);
      const along = (tx - x) * dx + (ty - y) * dy;
      const across = Math.abs((tx - x) * dy) + Math.abs((ty - y) * dx);
      const distance = along + 3 * across;
      if (along > 1 && (best === null || distance < best.distance)) best = { id: tile.id, distance };
    }
    return best?.id ?? null;
  }

  /** The stream before or after another, round the whole group: on every page, in the same order. */
  following(id, step) {
    const ids = this.#streams.map((one) => one.id);
    const index = ids.indexOf(id);
    return ids.length ? ids[(index + step + ids.length) % ids.length] : null;
  }
}
