// The state of everything in one sentence and a handful of figures.

import { byId, fill, h } from "./dom.js";
import { volume } from "./charts.js";
import { ago, count, plural, stretch } from "./words.js";

export function renderGlance(store) {
  const glance = store.glance;
  byId("glance-title").textContent = headline(glance);
  document.title = glance.states.alarm ? `${plural(glance.states.alarm, "alarm")} – Quintet` : "Quintet";
  byId("glance").dataset.state = gravest(glance);
  byId("span-word").textContent = `the latest ${stretch(glance.span)}`;
  const problem = byId("problem");
  problem.hidden = !glance.problem;
  const words = glance.problem ? `Waiting: ${glance.problem}` : "";
  if (problem.textContent !== words) problem.textContent = words;
  fill(byId("figures"), figures(glance));
}

function headline(glance) {
  const { alarm = 0, warning = 0, ok = 0, learning = 0 } = glance.states;
  const warned = warning ? `, ${plural(warning, "warning")}` : "";
  if (alarm) return `${plural(alarm, "alarm")} ${alarm === 1 ? "stands" : "stand"}${warned}`;
  if (warning) return `No alarm stands${warned}`;
  if (ok) return "All watched streams are as usual";
  if (learning) return "Learning what is usual";
  if (glance.scored) return "Scores are coming in; no monitor watches them";
  return glance.problem ? "Waiting for the broker" : "Waiting for the first summaries";
}

function gravest(glance) {
  return ["alarm", "warning", "ok"].find((state) => glance.states[state]) ?? "none";
}

function figures(glance) {
  const states = glance.states;
  return [
    figure("Alarms", count(states.alarm ?? 0), states.alarm ? "alarm" : null),
    figure("Warnings", count(states.warning ?? 0), states.warning ? "warning" : null),
    figure("Learning", count(states.learning ?? 0), null, `${count(states.ok ?? 0)} ok`),
    figure("Scored a minute", glance.per_minute < 10 ? glance.per_minute.toFixed(1) : count(Math.round(glance.per_minute)), null,
      `${count(glance.scored)} in 24 h`, volume(glance.volume)),
    figure("Rejected", count(glance.rejected), null, "in 24 h"),
    figure("Lag", glance.lag === null ? "–" : count(glance.lag), null, glance.lag === null ? "no worker known" : "waiting to be scored"),
    figure("Last scored", ago(glance.last_scored, glance.at), null, glance.catching_up ? "catching up" : null),
    figure("Judge", glance.judge ? glance.judge.model : "–", null, glance.judge ? `${glance.judge.backend}, pack ${glance.judge.pack.split("@")[0]}` : null),
  ];
}

function figure(name, value, state, note, chart) {
  const long = value.length > 12;
  return h("div", { class: "figure", "data-state": state },
    h("dt", {}, name),
    h("dd", {}, h("span", { class: long ? "value long" : "value", title: long ? value : null }, value), note && h("span", { class: "note" }, note), chart));
}
