// The models' pools of requests, asked for only while the overview is in sight.

import { element } from "./element.js";
import { countText, rateText, shareText, totalOf } from "./format.js";

const EVERY_MS = 2_000;
const HEADS = ["Pool", "State", "Requests", "Running", "Free", "Lost", "Batches filled"];

export class Pools {
  #timer = 0;
  #body = element("tbody");
  #machine = element("p.muted");

  constructor() {
    const heads = HEADS.map((name, index) => {
      const cell = element("th", { scope: "col" }, name);
      cell.classList.toggle("number", index > 1);
      return cell;
    });
    const table = element(
      "table",
      {},
      element("caption.unseen", {}, "Pools of the models"),
      element("thead", {}, element("tr", {}, ...heads)),
      this.#body,
    );
    this.root = element("div.table", {}, table, this.#machine);
  }

  set isShown(isShown) {
    clearInterval(this.#timer);
    this.#timer = 0;
    if (!isShown) return;
    this.#ask();
    this.#timer = setInterval(() => this.#ask(), EVERY_MS);
  }

  async #ask() {
    try {
      const answer = await fetch("/api/pools", { cache: "no-store" });
      if (answer.ok) this.#show(await answer.json());
    } catch {
      // the banner says that the server can't be reached
    }
  }

  #show({ pools, cpu_cores: cores, cpus, gpus }) {
    this.#body.replaceChildren(...pools.map((pool) => row(pool)));
    const parts = [];
    if (cores !== null) parts.push(`${rateText(cores)} of ${countText(cpus)} processor cores busy with vidpipe`);
    for (const [name, busy] of Object.entries(gpus)) parts.push(`${name} ${shareText(busy)} awake`);
    this.#machine.textContent = parts.join(" · ");
  }
}

function row({ name, model, ready, requests, batch_fill: fill }) {
  const grade = ready ? "good" : "bad";
  const numbers = [totalOf(requests), requests.running ?? 0, requests.free ?? 0, requests.parked ?? 0];
  return element(
    "tr",
    { data: { grade } },
    element("th", { scope: "row" }, name === model ? name : `${name} (${model})`),
    element(
      "td.state",
      {},
      element("span.dot", { data: { grade }, aria: { hidden: "true" } }),
      element("span", {}, ready ? "Ready" : "Not ready"),
    ),
    ...numbers.map((number) => element("td.number", {}, countText(number))),
    element("td.number", {}, fill === null ? "–" : shareText(fill)),
  );
}
