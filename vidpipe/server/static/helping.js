// The dialog of keys and settings.

import { setText } from "./element.js";

export class Helping {
  /** Called with the seconds that the viewer chose for each camera of a tour. */
  onTourSeconds = () => {};

  #dialog = document.getElementById("help-dialog");
  #seconds = document.getElementById("tour-seconds");
  #leave = document.getElementById("leave");

  constructor() {
    this.#seconds.addEventListener("change", () => {
      if (this.#seconds.checkValidity() && this.#seconds.value) {
        this.onTourSeconds(this.#seconds.valueAsNumber);
      }
    });
    this.#leave.addEventListener("click", async () => {
      await fetch("/logout", { method: "POST", headers: { "X-Vidpipe": "1" }, redirect: "manual" });
      location.assign("/login");
    });
  }

  open(tour_s) {
    this.#seconds.value = tour_s;
    this.#dialog.showModal();
  }

  /** Say whether the screen stays on. */
  set awake(text) {
    setText(document.getElementById("awake"), text);
  }

  set version(text) {
    setText(document.getElementById("version"), text);
  }

  set mayLeave(mayLeave) {
    this.#leave.hidden = !mayLeave;
  }
}
