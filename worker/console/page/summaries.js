// The latest summaries: up to ten thousand rows, of which only the visible ones exist.

import { byId, fill, h } from "./dom.js";
import { empty, metricHeads, scoreChips } from "./parts.js";
import { clockSeconds, count, kindName, plural, shortKind } from "./words.js";

/** Rows beyond the visible ones, on both sides. */
const SPARE = 8;

export class Summaries {
  constructor(store, open) {
    this.store = store;
    this.open = open;
    this.scroll = byId("summary-scroll");
    this.shown = [];
    this.rows = new Map();
    this.active = 0;
    this.newer = 0;
    this.#listen();
  }

  /** Take the rows of the store: those that pass the filter, without moving what somebody is looking at. */
  render() {
    const before = this.shown;
    const first = this.#first();
    const anchor = this.scroll.scrollTop > this.#rowHeight() ? before[first] : null;
    const passes = this.#passes();
    this.shown = passes ? this.store.rows.filter(passes) : this.store.rows;
    this.#count();
    if (!this.shown.length) return this.#nothing();
    this.#frame();
    const moved = anchor ? this.shown.findIndex((row) => row.seq === anchor.seq) - first : 0;
    if (anchor && moved > 0) {
      this.scroll.scrollTop += moved * this.#rowHeight();
      this.newer += moved;
      this.active += moved;
    }
    this.#hint();
    this.#draw(true);
  }

  #listen() {
    let pending = 0;
    this.scroll.addEventListener("scroll", () => {
      cancelAnimationFrame(pending);
      pending = requestAnimationFrame(() => this.#draw(false));
    }, { passive: true });
    this.scroll.addEventListener("keydown", (event) => this.#key(event));
    byId("summary-filter").addEventListener("input", () => {
      this.scroll.scrollTop = this.active = this.newer = 0;
      this.render();
    });
    byId("summary-filter").addEventListener("submit", (event) => event.preventDefault());
    byId("newer").addEventListener("click", () => {
      this.scroll.scrollTop = this.active = 0;
      this.#draw(false);
      this.#focus();
    });
    new ResizeObserver(() => this.shown.length && this.#draw(true)).observe(this.scroll);
  }

  #passes() {
    const words = byId("find-summary").value.trim().toLowerCase();
    const most = Number(byId("find-score").value);
    if (!words && most === 5) return null;
    const text = (row) => `${row.id}\n${row.segment}\n${row.kind}\n${row.excerpt}`.toLowerCase();
    return (row) => (most === 5 || Math.min(...row.scores) <= most) && (!words || text(row).includes(words));
  }

  #count() {
    const [all, found] = [this.store.rows.length, this.shown.length];
    byId("summary-count").textContent = all === found ? `${plural(all, "summary", "summaries")} held` : `${count(found)} of ${count(all)}`;
  }

  #nothing() {
    this.rows.clear();
    this.table = null;
    if (this.store.rows.length) return fill(this.scroll, empty("No summary fits."));
    return fill(this.scroll, empty("Waiting for the first summaries.", h("p", {}, "Send some: ", h("code", {}, "quintet publish FILE")),
      h("p", { class: "soft" }, "A worker scores them: ", h("code", {}, "quintet worker"))));
  }

  #frame() {
    if (!this.table) {
      this.rows.clear();
      this.above = h("tr", { class: "spacer", "aria-hidden": "true" }, h("td", { colspan: 5 }));
      this.below = h("tr", { class: "spacer", "aria-hidden": "true" }, h("td", { colspan: 5 }));
      this.body = h("tbody", { role: "rowgroup" }, this.above, this.below);
      const head = (name, className) => h("th", { scope: "col", role: "columnheader", class: className }, name);
      this.table = h("table", { class: "summaries", role: "table", "aria-labelledby": "summaries-title" },
        h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, head("Scored", "at"), head("Kind", "kind"), head("Segment", "segment"), head("Summary", "what"),
          head(h("span", { class: "scores" }, metricHeads(this.store.metrics)), "five"))),
        this.body);
      fill(this.scroll, this.table);
    }
    this.table.setAttribute("aria-rowcount", this.shown.length + 1);
  }

  #rowHeight() {
    return parseFloat(getComputedStyle(this.scroll).getPropertyValue("--row")) || 36;
  }

  #first() {
    return Math.max(0, Math.floor(this.scroll.scrollTop / this.#rowHeight()));
  }

  /** Make just the rows in view, keeping those that are there already: one of them may have the focus. */
  #draw(fresh) {
    if (!this.table) return;
    const height = this.#rowHeight();
    const from = Math.max(0, this.#first() - SPARE);
    const to = Math.min(this.shown.length, this.#first() + Math.ceil(this.scroll.clientHeight / height) + SPARE);
    this.active = Math.min(this.active, this.shown.length - 1);
    const wanted = new Map();
    for (let index = from; index < to; index++) {
      const row = this.shown[index];
      const kept = this.rows.get(row.seq);
      wanted.set(row.seq, kept && !(fresh && kept.row !== row) ? kept : this.#row(row));
      wanted.get(row.seq).element.setAttribute("aria-rowindex", index + 2);
    }
    const hadFocus = this.body.contains(document.activeElement) && document.activeElement.dataset.seq;
    for (const [seq, kept] of this.rows) if (wanted.get(seq) !== kept) kept.element.remove();
    let place = this.above;
    for (const { element } of wanted.values()) {
      if (place.nextElementSibling !== element) place.after(element);
      place = element;
    }
    this.rows = wanted;
    this.above.firstElementChild.style.height = `${from * height}px`;
    this.below.firstElementChild.style.height = `${(this.shown.length - to) * height}px`;
    this.#mark();
    if (hadFocus && !this.body.contains(document.activeElement)) this.rows.get(Number(hadFocus))?.button.focus({ preventScroll: true });
    if (this.scroll.scrollTop < height) this.newer = 0;
    this.#hint();
  }

  #row(row) {
    const button = h("button", { type: "button", class: "row-link clip", "data-seq": row.seq, tabindex: -1, click: () => this.open(row.seq) }, row.excerpt || row.id);
    button.addEventListener("focus", () => (this.active = this.shown.findIndex((one) => one.seq === row.seq)));
    const cell = (className, ...content) => h("td", { role: "cell", class: className }, content);
    const element = h("tr", { role: "row" },
      cell("at", clockSeconds(row.at)),
      cell("kind", h("span", { title: kindName(row.kind) }, shortKind(row.kind))),
      cell("segment clip", row.segment),
      cell("what", button),
      cell("five", scoreChips(row.scores, this.store.metrics)));
    element.addEventListener("click", (event) => event.target.closest("button") || this.open(row.seq));
    return { row, element, button };
  }

  /** One row is in the order of Tab; arrows go on from there. */
  #mark() {
    const active = this.shown[this.active]?.seq;
    let reachable = false;
    for (const [seq, { button }] of this.rows) {
      button.tabIndex = seq === active ? 0 : -1;
      reachable ||= seq === active;
    }
    if (!reachable && this.rows.size) [...this.rows.values()][Math.min(SPARE, this.rows.size - 1)].button.tabIndex = 0;
  }

  #key(event) {
    const page = Math.max(1, Math.floor(this.scroll.clientHeight / this.#rowHeight()) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (!(event.key in steps)) return;
    event.preventDefault();
    this.active = Math.min(this.shown.length - 1, Math.max(0, this.active + steps[event.key]));
    this.#reveal();
    this.#draw(false);
    this.#focus();
  }

  #reveal() {
    const height = this.#rowHeight();
    const head = this.table.tHead.offsetHeight;
    const top = this.active * height;
    const view = this.scroll.clientHeight - head;
    if (top < this.scroll.scrollTop) this.scroll.scrollTop = top;
    else if (top + height > this.scroll.scrollTop + view) this.scroll.scrollTop = top + height - view;
  }

  #focus() {
    this.rows.get(this.shown[this.active]?.seq)?.button.focus({ preventScroll: true });
  }

  #hint() {
    const button = byId("newer");
    button.hidden = !this.newer;
    if (this.newer) button.textContent = `${plural(this.newer, "newer summary", "newer summaries")} above`;
  }
}
