// The health of everything: a table of all streams, what is wrong on top, and the models' pools.

import { element, follow, setText } from "./element.js";
import { countText, millisecondsText, rateText, totalOf } from "./format.js";
import { causesText } from "./numbers.js";
import { Pools } from "./pools.js";
import { Sparkline } from "./sparkline.js";
import { SERIES_LENGTH } from "./streams.js";

/** Name, key in the address, what is sorted by, and whether the largest comes first. */
const COLUMNS = [
  { name: "Stream", key: "name", by: ({ stream }) => stream.name || stream.id },
  { name: "State", key: "state", by: ({ health }) => health.rank },
  { name: "In", key: "in", by: ({ stream }) => stream.fps_in, isNumber: true, unit: "fps" },
  { name: "Out", key: "out", by: ({ stream }) => stream.fps_out, isNumber: true, unit: "fps" },
  { name: "Out, last 2 min", key: "" },
  { name: "Age p50", key: "p50", by: ({ stream }) => stream.age_ms?.p50 ?? -1, isNumber: true },
  { name: "Age p95", key: "p95", by: ({ stream }) => stream.age_ms?.p95 ?? -1, isNumber: true },
  { name: "Age, last 2 min", key: "" },
  { name: "Dropped", key: "dropped", by: ({ stream }) => totalOf(stream.dropped), isNumber: true },
  { name: "Errors", key: "errors", by: ({ stream }) => totalOf(stream.errors), isNumber: true },
  { name: "Reconnects", key: "reconnects", by: ({ stream }) => stream.reconnects, isNumber: true },
];

export class Overview {
  /** Called with a stream's id to show all about it. */
  onMore = () => {};
  /** Called with the order that the viewer chose, for the address. */
  onSort = () => {};

  #streams;
  #pools = new Pools();
  #rows = new Map();
  #sort = "";
  #heads = [];
  #body = element("tbody");
  #summary = element("p.overview-summary");

  /** @param {HTMLElement} root @param {Streams} streams */
  constructor(root, streams) {
    this.#streams = streams;
    const head = element("tr", {}, ...COLUMNS.map((column) => this.#head(column)));
    const table = element(
      "table",
      {},
      element("caption.unseen", {}, "Streams"),
      element("thead", {}, head),
      this.#body,
    );
    root.append(
      element("h1", {}, "Health"),
      this.#summary,
      element("div.table", {}, table),
      element("h2", {}, "Models"),
      this.#pools.root,
    );
  }

  #head({ name, key, isNumber, unit }) {
    const text = unit ? `${name}, ${unit}` : name;
    const cell = element("th", { scope: "col" });
    cell.classList.toggle("number", Boolean(isNumber));
    if (!key) {
      cell.append(text);
      return cell;
    }
    cell.append(element("button", { type: "button", onclick: () => this.#choose(key) }, text));
    this.#heads.push({ key, cell });
    return cell;
  }

  /** First one way, then the other, then what is wrong on top again. */
  #choose(key) {
    const first = COLUMNS.find((column) => column.key === key).isNumber ? `-${key}` : key;
    const second = first.startsWith("-") ? key : `-${key}`;
    this.onSort({ [first]: second, [second]: "" }[this.#sort] ?? first);
  }

  /** It is in sight, or no longer. */
  set isShown(isShown) {
    this.#pools.isShown = isShown;
  }

  /**
   * @param {string} sort a column's key, with a minus in front for the largest first; "": what is wrong
   * @param {{stream: object, health: object}[]} rows each stream's document, and its health
   */
  update(sort, rows) {
    this.#sort = sort;
    this.#summarise(rows);
    for (const { key, cell } of this.#heads) {
      const order = { [key]: "ascending", [`-${key}`]: "descending" }[sort];
      if (order) cell.ariaSort = order;
      else cell.removeAttribute("aria-sort");
    }
    const sorted = this.#sorted(rows);
    const nodes = sorted.map((row) => this.#row(row));
    const known = new Set(rows.map(({ stream }) => stream.id));
    for (const id of this.#rows.keys()) if (!known.has(id)) this.#rows.delete(id);
    if (nodes.some((node, index) => this.#body.children[index] !== node) || nodes.length !== this.#body.children.length) {
      this.#body.replaceChildren(...nodes);
    }
  }

  #summarise(rows) {
    const wrong = rows.filter(({ health }) => health.rank < 3);
    const all = countText(rows.length);
    this.#summary.dataset.grade = wrong.length ? wrong.some(({ health }) => health.grade === "bad") ? "bad" : "slow" : "good";
    setText(
      this.#summary,
      wrong.length
        ? `${countText(wrong.length)} of ${all} streams ${wrong.length === 1 ? "needs" : "need"} a look.`
        : `All ${all} streams are well.`,
    );
  }

  #sorted(rows) {
    const key = this.#sort.replace(/^-/, "");
    const column = COLUMNS.find((one) => one.key && one.key === key);
    const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b) : a - b);
    if (!column) return [...rows].sort((a, b) => a.health.rank - b.health.rank);
    const sign = this.#sort.startsWith("-") ? -1 : 1;
    return [...rows].sort((a, b) => sign * compare(column.by(a), column.by(b)));
  }

  #row({ stream, health }) {
    const row = this.#rows.get(stream.id) ?? this.#made(stream.id);
    this.#rows.set(stream.id, row);
    const { cells, rates, ages, link, dot, state } = row;
    row.root.dataset.grade = health.grade;
    dot.dataset.grade = health.grade;
    setText(link, stream.name || stream.id);
    setText(state, health.text || "Live");
    setText(cells.in, rateText(stream.fps_in));
    setText(cells.out, rateText(stream.fps_out));
    setText(cells.p50, millisecondsText(stream.age_ms?.p50 ?? null));
    setText(cells.p95, millisecondsText(stream.age_ms?.p95 ?? null));
    setText(cells.dropped, countText(totalOf(stream.dropped)));
    cells.dropped.title = causesText(stream.dropped);
    setText(cells.errors, countText(totalOf(stream.errors)));
    cells.errors.title = causesText(stream.errors);
    setText(cells.reconnects, countText(stream.reconnects));
    const series = this.#streams.series(stream.id);
    rates.draw(series.rates, SERIES_LENGTH);
    ages.draw(series.ages, SERIES_LENGTH);
    return row.root;
  }

  #made(id) {
    const link = element("a", { onclick: (event) => follow(event, () => this.onMore(id)) });
    link.href = `/?view=stream&stream=${encodeURIComponent(id)}`;
    const dot = element("span.dot", { aria: { hidden: "true" } });
    const state = element("span");
    const rates = new Sparkline("Frames out in the last two minutes");
    const ages = new Sparkline("Age of the frames in the last two minutes");
    const keys = ["in", "out", "p50", "p95", "dropped", "errors", "reconnects"];
    const cells = Object.fromEntries(keys.map((key) => [key, element("td.number")]));
    const root = element(
      "tr",
      { data: { stream: id } },
      element("th", { scope: "row" }, link),
      element("td.state", {}, dot, state),
      cells.in,
      cells.out,
      element("td", {}, rates.root),
      cells.p50,
      cells.p95,
      element("td", {}, ages.root),
      cells.dropped,
      cells.errors,
      cells.reconnects,
    );
    return { root, cells, rates, ages, link, dot, state };
  }
}
