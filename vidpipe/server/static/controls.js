// What an operator may do to a stream; a viewer doesn't see it.

import { confirmed } from "./confirm.js";
import { element } from "./element.js";

export class Controls {
  #id;
  #title = "";
  #toggle = element("button", { type: "button", onclick: () => this.#switch() });
  #restart = element("button", { type: "button", onclick: () => this.#again() }, "Restart");
  #isDisabled = false;

  constructor(id) {
    this.#id = id;
    this.said = element("p.said", { role: "alert", hidden: true });
    this.root = element("div.controls", { hidden: true }, this.#restart, this.#toggle);
  }

  /** @param {object} stream its document @param {boolean} isAllowed whether the role may */
  update(stream, isAllowed) {
    this.root.hidden = !isAllowed;
    this.#title = stream.name || stream.id;
    this.#isDisabled = stream.state === "disabled";
    this.#toggle.textContent = this.#isDisabled ? "Enable" : "Disable";
    this.#restart.disabled = this.#isDisabled;
  }

  async #switch() {
    if (this.#isDisabled) {
      await this.#post("enable");
    } else if (
      await confirmed(
        `Disable “${this.#title}”? It is not watched and not recorded until somebody enables it.`,
        "Disable",
      )
    ) {
      await this.#post("disable");
    }
  }

  async #again() {
    const question = `Restart “${this.#title}”? It is opened anew; a few seconds are not recorded.`;
    if (await confirmed(question, "Restart")) await this.#post("restart");
  }

  async #post(verb) {
    this.said.hidden = true;
    const path = `/api/streams/${encodeURIComponent(this.#id)}/${verb}`;
    try {
      const answer = await fetch(path, { method: "POST", headers: { "X-Vidpipe": "1" } });
      if (answer.ok) return;
      const { error } = await answer.json().catch(() => ({}));
      this.#say(error ?? `The server answered ${answer.status}.`);
    } catch {
      this.#say("The server can't be reached.");
    }
  }

  #say(text) {
    this.said.textContent = `Nothing was done: ${text}`;
    this.said.hidden = false;
  }
}
