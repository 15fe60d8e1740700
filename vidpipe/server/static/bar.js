// The bar on top: groups, pages, health, and what is switched on.

import { element, follow, setText } from "./element.js";
import { searchFrom } from "./address.js";

export class Bar {
  #groups = document.getElementById("groups");
  #pager = document.getElementById("pager");
  #pageNumber = document.getElementById("page-number");
  #health = document.getElementById("health");
  #tour = document.getElementById("tour");
  #attention = document.getElementById("attention");
  #named = "";

  /**
   * @param {object} actions toGroup(name or null), toPage(step), toOverview(), toggleTour(),
   *   togglePanel(), fullScreen(), help()
   */
  constructor(actions) {
    const click = (id, action) => document.getElementById(id).addEventListener("click", action);
    click("page-back", () => actions.toPage(-1));
    click("page-on", () => actions.toPage(1));
    click("tour", actions.toggleTour);
    click("attention", actions.togglePanel);
    click("full", actions.fullScreen);
    click("help", actions.help);
    this.#health.addEventListener("click", (event) => follow(event, actions.toOverview));
    this.actions = actions;
  }

  /** @param {string[]} names of the groups @param {Place} place */
  update(names, place, { page, pages, isCut, summary }) {
    this.#nameGroups(names, place);
    this.#pager.hidden = pages < 2 || place.view !== "wall";
    const rest = isCut ? " · more in groups only" : "";
    setText(this.#pageNumber, `${page + 1} / ${pages}${rest}`);
    setText(this.#health, summary.text);
    this.#health.dataset.grade = summary.grade;
    this.#health.ariaLabel = `Health: ${summary.text}`;
    this.#health.ariaCurrent = place.view === "overview" ? "page" : "false";
    this.#tour.ariaPressed = String(place.tour !== null);
    this.#attention.dataset.on = String(place.attention !== null);
  }

  #nameGroups(names, place) {
    const state = JSON.stringify([names, place.group, place.view]);
    if (state === this.#named) return;
    this.#named = state;
    const links = names.length ? [null, ...names].map((name) => this.#link(name, place)) : [];
    const index = [...this.#groups.children].indexOf(document.activeElement);
    this.#groups.replaceChildren(...links);
    this.#groups.children[index]?.focus();
  }

  #link(name, place) {
    const link = element("a", {}, name ?? "All");
    link.href = `/${searchFrom({ ...place, view: "wall", group: name, spotlight: null, page: 0 })}`;
    if (place.view === "wall" && place.group === name) link.ariaCurrent = "page";
    link.addEventListener("click", (event) => follow(event, () => this.actions.toGroup(name)));
    return link;
  }

  set isPanelOpen(isOpen) {
    this.#attention.ariaExpanded = String(isOpen);
  }
}
