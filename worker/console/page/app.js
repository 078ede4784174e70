// The page's one store, filled by server-sent events and drawn at most once a frame.

import { byId, h } from "./dom.js";
import { Alarms } from "./alarms.js";
import { renderGlance } from "./glance.js";
import { Grid } from "./grid.js";
import { Panel } from "./panel.js";
import { Rejected } from "./rejected.js";
import { Summaries } from "./summaries.js";
import { kindName } from "./words.js";

/** Summaries that the page holds; the console holds as many. */
const MOST_ROWS = 10000;
/** Milliseconds between two fetches of the whole list. */
const WHOLE_LIST = 3000;

const store = {
  epoch: 0,
  metrics: [],
  kinds: [],
  glance: null,
  streams: new Map(),
  alarms: { alarms: [], warnings: [] },
  rejected: { by_reason: {}, latest: [] },
  rows: [],
};

const panel = new Panel(store);
const grid = new Grid(store, panel.openStream);
const alarms = new Alarms(store, panel.openStream, panel.openSummary);
const rejected = new Rejected(store);
const summaries = new Summaries(store, panel.openSummary);

const due = { glance: false, alarms: false, rejected: false, rows: false, grid: false, streams: new Set() };
let drawing = false;

function drawSoon() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    draw();
  });
}

function draw() {
  if (due.glance) renderGlance(store);
  if (due.grid || due.streams.size) {
    grid.render([...due.streams]);
    panel.refresh([...due.streams]);
  }
  if (due.alarms) alarms.render();
  if (due.rejected) rejected.render();
  if (due.rows) summaries.render();
  Object.assign(due, { glance: false, alarms: false, rejected: false, rows: false, grid: false, streams: new Set() });
}

function takeStreams(streams) {
  for (const stream of streams) {
    const key = `${stream.kind}|${stream.metric}|${stream.segment}`;
    store.streams.set(key, stream);
    due.streams.add(key);
  }
  due.grid = true;
}

const newestFirst = (a, b) => b.at - a.at || b.seq - a.seq;

/** New rows, or rows whose text has come since; a list that was long on its way takes no text away. */
function takeRows(rows) {
  const known = new Map(store.rows.map((row) => [row.seq, row]));
  rows = rows.map((row) => (row.excerpt ? row : known.get(row.seq) ?? row));
  const fresh = new Set(rows.map((row) => row.seq));
  const kept = store.rows.filter((row) => !fresh.has(row.seq));
  const added = [...rows].sort(newestFirst);
  const merged = [];
  // Two sorted lists: nearly always all that is new goes before all that is old.
  let [next, other] = [0, 0];
  while (next < added.length || other < kept.length) {
    const takeNew = other >= kept.length || (next < added.length && newestFirst(added[next], kept[other]) <= 0);
    merged.push(takeNew ? added[next++] : kept[other++]);
    if (merged.length >= MOST_ROWS) break;
  }
  store.rows = merged;
  due.rows = true;
}

let lastWhole = 0;
let wholePending = false;

/** The whole list, where more is new than was sent. */
function fetchWholeList() {
  if (wholePending) return;
  wholePending = true;
  setTimeout(async () => {
    lastWhole = Date.now();
    try {
      const answer = await fetch("/api/summaries");
      const found = await answer.json();
      if (found.epoch === store.epoch) {
        takeRows(found.summaries);
        drawSoon();
      }
    } catch {
      // The connection is gone; the next snapshot asks again.
    } finally {
      wholePending = false;
    }
  }, Math.max(0, lastWhole + WHOLE_LIST - Date.now()));
}

function takeChanges(news) {
  if (news.glance) {
    store.glance = news.glance;
    due.glance = true;
  }
  if (news.streams) takeStreams(news.streams);
  if (news.alarms) {
    store.alarms = news.alarms;
    due.alarms = true;
  }
  if (news.rejected) {
    store.rejected = news.rejected;
    due.rejected = true;
  }
  if (news.summaries) takeRows(news.summaries);
  if (news.more) fetchWholeList();
  drawSoon();
}

function takeSnapshot(snapshot) {
  store.epoch = snapshot.epoch;
  store.metrics = snapshot.metrics;
  store.kinds = snapshot.kinds;
  store.streams.clear();
  store.rows = [];
  offerKinds(snapshot.kinds);
  takeChanges(snapshot);
}

function offerKinds(kinds) {
  const select = byId("filter-kind");
  if (select.options.length > 1) return;
  for (const kind of kinds) select.append(h("option", { value: kind }, kindName(kind)));
}

function showLink(state, words) {
  byId("link").dataset.link = state;
  byId("link-word").textContent = words;
}

function follow() {
  const events = new EventSource("/api/events");
  events.addEventListener("open", () => showLink("live", "live"));
  events.addEventListener("error", () => {
    showLink("lost", "reconnecting");
    // The browser comes back by itself, except after an answer that was no stream.
    if (events.readyState === EventSource.CLOSED) setTimeout(follow, 3000);
  });
  events.addEventListener("snapshot", (event) => takeSnapshot(JSON.parse(event.data)));
  events.addEventListener("changes", (event) => takeChanges(JSON.parse(event.data)));
}

const THEMES = ["auto", "light", "dark"];

function setUpTheme() {
  const button = byId("theme");
  const now = () => document.documentElement.dataset.theme ?? "auto";
  const say = () => (button.textContent = `Theme: ${now()}`);
  button.addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(now()) + 1) % THEMES.length];
    if (next === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    try {
      localStorage.setItem("quintet-theme", next);
    } catch {
      // It holds until the page is closed.
    }
    say();
  });
  say();
}

setUpTheme();
follow();
