// What is shown, kept in the address: each screen of a desk has its own, and a reload shows it again.

/**
 * @typedef {object} Place
 * @property {"wall" | "overview" | "stream"} view
 * @property {string | null} group a name of `wall.groups`; null: all streams
 * @property {string | null} stream of the detail view
 * @property {string | null} spotlight
 * @property {number} page from 0
 * @property {number | null} tour seconds a camera; null: no tour
 * @property {string[] | null} attention classes; empty: all; null: no attention
 * @property {boolean} front whether attention brings tiles to the front
 * @property {string} sort of the overview
 */

const VIEWS = ["wall", "overview", "stream"];

/** @returns {Place} */
function placeFrom(search) {
  const query = new URLSearchParams(search);
  const view = query.get("view");
  const tour = Number.parseFloat(query.get("tour"));
  const stream = query.get("stream");
  const attention = query.get("attention");
  return {
    view: VIEWS.includes(view) && (view !== "stream" || stream) ? view : "wall",
    group: query.get("group"),
    stream,
    spotlight: query.get("spotlight"),
    page: Math.max((Number.parseInt(query.get("page"), 10) || 1) - 1, 0),
    tour: tour >= 2 ? Math.min(tour, 600) : null,
    attention: attention === null ? null : attention.split(",").filter(Boolean),
    front: query.has("front"),
    sort: query.get("sort") ?? "",
  };
}

/** @param {Place} place */
export function searchFrom(place) {
  const query = new URLSearchParams();
  if (place.view !== "wall") query.set("view", place.view);
  if (place.group) query.set("group", place.group);
  if (place.view === "stream") query.set("stream", place.stream);
  if (place.spotlight) query.set("spotlight", place.spotlight);
  if (place.page) query.set("page", String(place.page + 1));
  if (place.tour) query.set("tour", String(place.tour));
  if (place.attention) query.set("attention", place.attention.join(","));
  if (place.front) query.set("front", "1");
  if (place.sort) query.set("sort", place.sort);
  const text = query.toString().replaceAll("%2C", ",");
  return text ? `?${text}` : "";
}

export class Address {
  /** Called with the place whenever it has changed. */
  onChange = () => {};

  constructor() {
    this.place = placeFrom(location.search);
    addEventListener("popstate", () => {
      this.place = placeFrom(location.search);
      this.onChange(this.place);
    });
  }

  /**
   * Go elsewhere.
   * @param {Partial<Place>} change
   * @param {{isStep?: boolean}} how isStep: a step that the browser's Back undoes
   */
  go(change, { isStep = false } = {}) {
    this.place = { ...this.place, ...change };
    const url = `${location.pathname}${searchFrom(this.place)}`;
    if (isStep) history.pushState(null, "", url);
    else history.replaceState(null, "", url);
    this.onChange(this.place);
  }
}
