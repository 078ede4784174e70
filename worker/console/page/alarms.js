// What stands: alarms first, those of one kind and segment together, since one cause moves several metrics.

import { byId, fill, h } from "./dom.js";
import { sparkline } from "./charts.js";
import { empty, stateTag, verdictTag, worstList } from "./parts.js";
import { ago, kindName, mean, metricName, moment, segmentName, signed } from "./words.js";

export class Alarms {
  constructor(store, openStream, openSummary) {
    this.store = store;
    this.openStream = openStream;
    this.openSummary = openSummary;
    this.known = null;
    this.drawn = "";
  }

  render() {
    const { alarms, warnings } = this.store.alarms;
    this.#announce(alarms);
    const drawn = JSON.stringify([alarms, warnings]);
    if (drawn === this.drawn) return; // whoever reads or stands on a button is left alone
    this.drawn = drawn;
    if (!alarms.length && !warnings.length) {
      fill(byId("alarm-list"), empty("None stands.", h("p", {}, "An alarm says which scores fell, since when, and who changed.")));
      return;
    }
    fill(byId("alarm-list"), grouped(alarms).map((group) => this.#card(group)), grouped(warnings).map((group) => this.#card(group)));
  }

  /** Only alarms that came while the page was open are read out. */
  #announce(alarms) {
    const named = new Map(alarms.map((alarm) => [`${key(alarm)}|${alarm.since}`, alarm]));
    const fresh = this.known ? [...named.entries()].filter(([name]) => !this.known.has(name)) : [];
    for (const [, alarm] of fresh) {
      byId("announce").append(h("p", {}, `Alarm: ${metricName(alarm.metric)} fell in ${segmentName(alarm.segment)}, ${kindName(alarm.kind)}: ${mean(alarm.current)}, baseline ${mean(alarm.baseline)}`));
    }
    while (byId("announce").childElementCount > 20) byId("announce").firstElementChild.remove();
    this.known = new Set(named.keys());
  }

  #card(group) {
    const { kind, segment, state } = group[0];
    const verdicts = [...new Set(group.map((alarm) => alarm.verdict ?? null))];
    const since = Math.min(...group.map((alarm) => alarm.since ?? Infinity));
    const lowest = group.reduce((a, b) => (drop(b) > drop(a) ? b : a));
    return h("article", { class: "alarm", "data-state": state },
      h("header", {},
        h("h3", {}, segmentName(segment)),
        h("p", { class: "soft" }, kindName(kind)),
        stateTag(state)),
      state === "alarm" && h("p", { class: "verdicts" }, verdicts.map(verdictTag)),
      h("table", { class: "falls" },
        h("caption", { class: "unseen" }, `What fell in ${segmentName(segment)}`),
        h("thead", { class: "unseen" }, h("tr", {}, ["metric", "trend", "baseline", "current", "change"].map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, group.map((alarm) => this.#line(alarm)))),
      lowest.reason && h("p", { class: "reason" }, lowest.reason),
      Number.isFinite(since) && h("p", { class: "soft" }, `since about ${moment(since)} (${ago(since, this.store.glance.at)})`),
      lowest.worst.length > 0 && [h("h4", {}, "Worst since then"), worstList(lowest.worst, this.store.metrics, lowest.metric, this.openSummary)]);
  }

  #line(alarm) {
    const stream = this.store.streams.get(key(alarm));
    return h("tr", {},
      h("th", { scope: "row" }, h("button", { type: "button", class: "row-link", click: () => this.openStream(alarm) }, metricName(alarm.metric))),
      h("td", { class: "trend" }, stream && sparkline(stream.spark, stream.baseline, 52, 18)),
      h("td", {}, mean(alarm.baseline)),
      h("td", { class: "now" }, mean(alarm.current)),
      h("td", { class: "fall" }, signed(-drop(alarm))));
  }
}

const key = (alarm) => `${alarm.kind}|${alarm.metric}|${alarm.segment}`;
const drop = (alarm) => (alarm.baseline ?? 0) - (alarm.current ?? alarm.baseline ?? 0);

function grouped(alarms) {
  const groups = new Map();
  for (const alarm of alarms) {
    const name = `${alarm.kind}|${alarm.segment}`;
    groups.set(name, [...(groups.get(name) ?? []), alarm]);
  }
  // A named segment says more than the pool that it pulled down.
  return [...groups.values()].sort((a, b) => (a[0].segment === "all") - (b[0].segment === "all"));
}
