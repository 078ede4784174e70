// Records that could not be scored: how many for which reason, how to send them back, and the latest.

import { byId, fill, h } from "./dom.js";
import { command, empty } from "./parts.js";
import { count, moment } from "./words.js";

const SHOWN = 20;

export class Rejected {
  constructor(store) {
    this.store = store;
    this.open = new Set();
  }

  render() {
    const { by_reason: reasons, latest } = this.store.rejected;
    const names = Object.keys(reasons);
    if (!names.length) {
      fill(byId("rejected-list"), empty("None.", h("p", {}, "What can’t be scored is kept here whole, with the reason.")));
      return;
    }
    const most = Math.max(...Object.values(reasons));
    fill(byId("rejected-list"), names.map((name) => this.#reason(name, reasons[name], most, latest)));
  }

  #reason(name, number, most, latest) {
    const bar = h("span", { class: "bar", "aria-hidden": "true" }, h("span"));
    bar.firstElementChild.style.width = `${(number / most) * 100}%`;
    const records = latest.filter((record) => record.reason === name).slice(0, SHOWN);
    const details = h("details", { class: "reason-group", open: this.open.has(name) },
      h("summary", {}, h("code", {}, name), bar, h("span", { class: "number" }, count(number))),
      command(`quintet rejected replay --reason ${name}`),
      h("ul", { class: "records" }, records.map(line)));
    details.addEventListener("toggle", () => (details.open ? this.open.add(name) : this.open.delete(name)));
    return details;
  }
}

function line(record) {
  const replays = record.replays ? `, sent back ${record.replays}×` : "";
  return h("li", {},
    h("span", { class: "soft" }, `${moment(record.at_ms)}  ${record.source}${replays}`),
    record.key && h("span", { class: "key" }, record.key),
    h("span", {}, record.message));
}
