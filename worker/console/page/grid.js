// Metrics × kinds × segments: a table for each kind, a row for each segment, a cell for each stream.

import { byId, fill, h, inSlices } from "./dom.js";
import { sparkline } from "./charts.js";
import { empty, stateTag } from "./parts.js";
import { kindName, mean, metricName, segmentName, shortMetric } from "./words.js";

const STANDING = new Set(["alarm", "warning"]);

export class Grid {
  constructor(store, open) {
    this.store = store;
    this.open = open;
    this.slices = inSlices();
    this.cells = new Map();
    this.shape = "";
    this.filter = { kind: "", segment: "", standing: false };
    this.#listen();
  }

  /** Draw what changed; the tables themselves only where rows came or went. */
  render(changed) {
    const rows = this.#rows();
    const shape = JSON.stringify(rows.map((row) => row.key));
    if (shape !== this.shape) {
      this.shape = shape;
      this.#build(rows);
      return;
    }
    for (const key of changed) this.#paintLater(key);
  }

  #listen() {
    const update = () => {
      this.filter = {
        kind: byId("filter-kind").value,
        segment: byId("filter-segment").value.trim().toLowerCase(),
        standing: byId("filter-standing").checked,
      };
      this.render([]);
    };
    byId("stream-filter").addEventListener("input", update);
    byId("stream-filter").addEventListener("submit", (event) => event.preventDefault());
  }

  /** Kind and segment of each row that the filter lets through, the pool of a kind first. */
  #rows() {
    const found = new Map();
    for (const stream of this.store.streams.values()) {
      const key = `${stream.kind}|${stream.segment}`;
      const row = found.get(key) ?? { key, kind: stream.kind, segment: stream.segment, standing: false };
      row.standing ||= STANDING.has(stream.state);
      found.set(key, row);
    }
    const { kind, segment, standing } = this.filter;
    return [...found.values()]
      .filter((row) => (!kind || row.kind === kind) && (!standing || row.standing))
      .filter((row) => !segment || segmentName(row.segment).toLowerCase().includes(segment))
      .sort((a, b) => this.#order(a) - this.#order(b) || a.segment.localeCompare(b.segment));
  }

  #order(row) {
    return this.store.kinds.indexOf(row.kind) * 2 + (row.segment === "all" ? 0 : 1);
  }

  #build(rows) {
    this.slices.clear();
    this.cells.clear();
    if (!rows.length) {
      fill(byId("grid"), this.#nothing());
      return;
    }
    const kinds = [...new Set(rows.map((row) => row.kind))];
    fill(byId("grid"), kinds.map((kind) => this.#table(kind, rows.filter((row) => row.kind === kind))));
    for (const key of this.cells.keys()) this.#paintLater(key);
  }

  #nothing() {
    if (this.store.streams.size) return empty("No stream fits the filter.");
    return empty("Nothing scored yet.", h("p", {}, "Send some summaries: ", h("code", {}, "quintet publish FILE")));
  }

  #table(kind, rows) {
    const metrics = this.store.metrics;
    const head = h("tr", { role: "row" },
      h("th", { scope: "col", role: "columnheader" }, "Segment"),
      metrics.map((metric) => h("th", { scope: "col", role: "columnheader", "data-short": shortMetric(metric) }, h("span", {}, metricName(metric)))));
    return h("table", { class: "grid", role: "table" },
      h("caption", {}, kindName(kind)),
      h("thead", { role: "rowgroup" }, head),
      h("tbody", { role: "rowgroup" }, rows.map((row) => this.#row(row))));
  }

  #row({ kind, segment }) {
    const cells = this.store.metrics.map((metric) => {
      const cell = h("td", { role: "cell" });
      this.cells.set(`${kind}|${metric}|${segment}`, cell);
      return cell;
    });
    return h("tr", { role: "row", class: segment === "all" ? "pool" : null },
      h("th", { scope: "row", role: "rowheader" }, segmentName(segment)), cells);
  }

  #paintLater(key) {
    const cell = this.cells.get(key);
    if (cell) this.slices.add(() => this.#paint(cell, this.store.streams.get(key)));
  }

  #paint(cell, stream) {
    if (!stream) return;
    cell.dataset.state = stream.state ?? "none";
    let button = cell.firstElementChild;
    if (!button) {
      button = h("button", { type: "button", class: "cell", click: () => this.open(stream) });
      cell.append(button);
    }
    button.setAttribute("aria-label", spoken(stream));
    fill(button,
      h("span", { class: "means" },
        h("span", { class: "now" }, mean(stream.current)),
        h("span", { class: "base" }, mean(stream.baseline))),
      h("span", { class: "trend" }, sparkline(stream.spark, stream.baseline), stateTag(stream.state, stream.learned)));
  }
}

function spoken(stream) {
  const usual = stream.baseline === null ? "" : `, baseline ${mean(stream.baseline)}`;
  return `${metricName(stream.metric)}, ${segmentName(stream.segment)}, ${kindName(stream.kind)}: mean ${mean(stream.current)}${usual}, ${stream.state ?? "not watched"}`;
}
