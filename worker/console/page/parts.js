// Small pieces that several sections share.

import { h } from "./dom.js";
import { metricName, shortMetric, verdictWords } from "./words.js";

const SIGN = { alarm: "●", warning: "▲", learning: "…", ok: "✓", unwatchable: "–" };

/** A stream's state, in a word; the sign before it is for the eye. */
export function stateTag(state, learned) {
  if (!state) return h("span", { class: "state", "data-state": "none" }, "not watched");
  const words = state === "learning" && learned ? `learning ${learned}` : state;
  return h("span", { class: "state", "data-state": state }, h("span", { "aria-hidden": "true" }, `${SIGN[state] ?? ""} `), words);
}

/** Who changed, in words. */
export const verdictTag = (verdict) => h("span", { class: "verdict", "data-verdict": verdict ?? "open" }, verdictWords(verdict));

/** One score: the digit says it, the colour helps. */
export const scoreChip = (score, metric) =>
  h("span", { class: "score", "data-score": score, title: metric ? metricName(metric) : null }, score);

/** The five scores of a row, read out as one sentence. */
export function scoreChips(scores, metrics) {
  const words = scores.map((score, index) => `${metricName(metrics[index])} ${score}`).join(", ");
  return h("span", { class: "scores", role: "img", "aria-label": words }, scores.map((score, index) => scoreChip(score, metrics[index])));
}

/** Heads of the five narrow columns. */
export const metricHeads = (metrics) =>
  metrics.map((metric) => h("abbr", { title: metricName(metric), "aria-label": metricName(metric) }, shortMetric(metric)));

/** A command to copy; without a clipboard it can still be selected. */
export function command(text) {
  const code = h("code", {}, text);
  if (!navigator.clipboard) return h("div", { class: "command" }, code);
  const button = h("button", { type: "button", class: "quiet", "aria-label": `Copy: ${text}` }, "Copy");
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
  return h("div", { class: "command" }, code, button);
}

/** A word of a shell command, quoted where it needs to be. */
export const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** The summaries to read first; those that are no longer held are only named. */
export function worstList(worst, metrics, metric, open) {
  const place = metrics.indexOf(metric);
  return h("ul", { class: "worst" }, worst.map((row) => h("li", {},
    row.seq === null
      ? h("span", { class: "soft" }, `${row.id} (no longer held)`)
      : h("button", { type: "button", class: "row-link", click: () => open(row.seq) },
          place >= 0 ? scoreChip(row.scores[place], metric) : null,
          h("span", { class: "clip" }, row.excerpt || row.id)))));
}

/** What stands where there is nothing. */
export const empty = (title, ...rest) => h("div", { class: "empty" }, h("p", { class: "empty-title" }, title), rest);
