// The panel for attention: which classes, and what happens when one is seen.

import { element } from "./element.js";

export class Panel {
  /** Called with {classes, front} when the viewer has chosen; classes null: off. */
  onChoice = () => {};
  /** Called with true or false for the chime, within the click. */
  onChime = () => {};

  #root = document.getElementById("attention-panel");
  #on = document.getElementById("attention-on");
  #front = document.getElementById("attention-front");
  #chime = document.getElementById("attention-chime");
  #list = document.getElementById("attention-classes");
  #labels = new Set();

  constructor() {
    this.#root.addEventListener("submit", (event) => event.preventDefault());
    this.#root.addEventListener("change", (event) => {
      if (event.target === this.#chime) {
        this.onChime(this.#chime.checked);
        return;
      }
      if (event.target !== this.#on && event.target.checked) this.#on.checked = true;
      this.#tell();
    });
  }

  get isOpen() {
    return !this.#root.hidden;
  }

  set isOpen(isOpen) {
    this.#root.hidden = !isOpen;
    if (isOpen) this.#on.focus();
  }

  /** Offer the classes that were seen anywhere so far. */
  offer(labels) {
    for (const label of labels) {
      if (this.#labels.has(label)) continue;
      this.#labels.add(label);
      this.#list.append(
        element(
          "label.switch",
          {},
          element("input", { type: "checkbox", value: label }),
          ` ${label}`,
        ),
      );
    }
  }

  /** Show what holds. */
  update({ attention, front }) {
    this.offer(attention ?? []);
    this.#on.checked = attention !== null;
    this.#front.checked = front;
    if (attention) for (const box of this.#boxes()) box.checked = attention.includes(box.value);
  }

  /** The chosen classes; none chosen: any. */
  get chosen() {
    return this.#boxes().filter((box) => box.checked).map((box) => box.value);
  }

  #boxes() {
    return [...this.#list.querySelectorAll("input")];
  }

  #tell() {
    this.onChoice({ classes: this.#on.checked ? this.chosen : null, front: this.#front.checked });
  }
}
