// The panel that opens over the page: one summary, or one stream. It is a dialog, so Escape closes it and
// the focus goes back to where it was.

import { byId, fill, h } from "./dom.js";
import { distribution, series } from "./charts.js";
import { command, quoted, scoreChip, stateTag, verdictTag, worstList } from "./parts.js";
import { count, kindName, mean, metricName, moment, plain, segmentName, signed, stretch } from "./words.js";

export class Panel {
  constructor(store) {
    this.store = store;
    this.dialog = byId("panel");
    this.turn = 0;
    this.dialog.addEventListener("click", (event) => event.target === this.dialog && this.dialog.close());
    this.dialog.addEventListener("close", () => {
      if (this.dialog.open) return; // this tells of a closing that another opening has overtaken
      this.turn++;
      this.stream = null;
      fill(this.dialog);
    });
    let pending = 0;
    window.addEventListener("resize", () => {
      cancelAnimationFrame(pending);
      pending = requestAnimationFrame(() => this.#drawCharts());
    });
  }

  openSummary = (seq) => this.#load(`/api/summary?seq=${seq}`, (summary) => this.#summary(summary), "Summary");

  openStream = ({ kind, metric, segment }) =>
    this.#load(`/api/stream?${new URLSearchParams({ kind, metric, segment })}`, (stream) => this.#stream(stream), "Stream");

  /** News of a stream that is open: its charts and figures are drawn anew. */
  refresh(changed) {
    const open = this.stream;
    if (!open || !changed.includes(`${open.kind}|${open.metric}|${open.segment}`)) return;
    const turn = this.turn;
    fetch(`/api/stream?${new URLSearchParams({ kind: open.kind, metric: open.metric, segment: open.segment })}`)
      .then((answer) => (answer.ok ? answer.json() : null))
      .then((stream) => {
        if (!stream || turn !== this.turn || !this.stream) return;
        this.stream = stream;
        fill(this.figures, figuresOf(stream));
        this.#drawCharts();
      })
      .catch(() => {});
  }

  async #load(address, show, title) {
    const turn = ++this.turn;
    if (!this.dialog.open) this.dialog.showModal();
    this.stream = null;
    try {
      const answer = await fetch(address);
      const found = answer.ok ? await answer.json() : null;
      if (turn !== this.turn) return;
      if (found) show(found);
      else this.#show(title, null, h("p", {}, await answer.text()));
    } catch {
      if (turn === this.turn) this.#show(title, null, h("p", {}, "The console does not answer; is it still running?"));
    }
    this.dialog.scrollTop = 0;
  }

  #show(title, under, ...content) {
    const close = h("button", { type: "button", class: "quiet", click: () => this.dialog.close() }, "Close");
    fill(this.dialog, h("div", { class: "sheet-inner" },
      h("header", { class: "sheet-head" },
        h("div", {}, h("h2", { id: "panel-title", tabindex: "-1" }, title), under && h("p", { class: "soft" }, under)), close),
      content));
    byId("panel-title").focus();
  }

  #summary(summary) {
    const { scored, source } = summary;
    this.#show(summary.id,
      [kindName(summary.kind), ", ", summary.segment, ", scored ", moment(summary.at), " by ", scored.judge.model],
      h("div", { class: "two reading" },
        h("section", { class: "said", "aria-labelledby": "text-title" },
          h("h3", { id: "text-title" }, "Summary"),
          source ? h("p", { class: "text", tabindex: "0" }, source.summary) : h("p", { class: "soft" }, "The text is no longer in the input topic.")),
        source && h("section", { class: "known", "aria-labelledby": "evidence-title" }, evidence(source)),
        h("section", { class: "judged", "aria-labelledby": "verdicts-title" },
          h("h3", { id: "verdicts-title" }, "Five scores"),
          this.store.metrics.map((metric) => verdict(metric, scored.scores[metric])),
          h("dl", { class: "facts" }, summaryFacts(scored)))));
  }

  #stream(stream) {
    const latest = stream.history[0];
    this.stream = stream;
    this.figures = h("dl", { class: "facts wide" }, figuresOf(stream));
    this.chart = h("div", { class: "chart" });
    this.bars = h("div", { class: "chart" });
    this.#show(`${metricName(stream.metric)}, ${segmentName(stream.segment)}`,
      [kindName(stream.kind), " ", stateTag(stream.state, stream.learned), stream.state === "alarm" && verdictTag(stream.verdict)],
      latest && h("p", { class: "reason" }, latest.reason),
      this.figures,
      h("h3", {}, `Mean score, the latest ${stretch(stream.span)}`),
      this.chart,
      h("p", { class: "hint" }, "band: where the mean of each stretch lies 19 times out of 20 while nothing changes; it is narrower the more scores there are"),
      h("div", { class: "two" },
        h("section", {},
          h("h3", {}, "Distribution"),
          this.bars,
          h("p", { class: "hint legend" }, stream.distribution.baseline
            ? [h("span", { class: "was" }, "baseline"), h("span", { class: "is" }, `the latest ${count(stream.distribution.count)} scores`), "in %"]
            : `the latest ${count(stream.distribution.count)} scores, in %; there is no baseline yet`),
          stream.history.length > 0 && [h("h3", {}, "What happened"), h("ol", { class: "history" }, stream.history.map(happened))]),
        h("section", {}, this.#aside(stream))));
    this.#drawCharts();
  }

  #aside(stream) {
    const standing = stream.state === "alarm" || stream.state === "warning";
    const name = [stream.kind, stream.metric, stream.segment].map(quoted).join(" ");
    return [
      stream.worst.length > 0 && [h("h3", {}, "Worst since the change"), worstList(stream.worst, this.store.metrics, stream.metric, this.openSummary)],
      standing && [h("h3", {}, "If this is the new usual"), command(`quintet drift accept ${name}`)],
      stream.delays.length > 0 && [h("h3", {}, "How soon a drop is found"), h("ul", { class: "plain" }, stream.delays.map((delay) => h("li", {}, delay)))],
    ];
  }

  #drawCharts() {
    if (!this.stream) return;
    fill(this.chart, series(this.stream, Math.max(280, this.chart.clientWidth)));
    fill(this.bars, distribution(this.stream.distribution, Math.max(240, Math.min(460, this.bars.clientWidth))));
  }
}

const fact = (name, value, className) => [h("dt", {}, name), h("dd", { class: className ?? null }, value)];
const facts = (pairs) => pairs.filter(([, value]) => value !== null && value !== undefined && value !== "–").map(([name, value]) => h("div", {}, fact(name, value)));

function figuresOf(stream) {
  const drop = stream.baseline === null || stream.current === null ? null : stream.current - stream.baseline;
  return facts([
    ["current", mean(stream.current)],
    ["baseline", mean(stream.baseline)],
    ["change", stream.baseline === null ? null : signed(drop)],
    ["since", stream.since ? moment(stream.since) : null],
    ["statistic", stream.threshold ? `${mean(stream.statistic)} of ${mean(stream.threshold)}` : null],
    ["PSI", mean(stream.psi)],
    ["scores in 24 h", count(stream.count)],
    ["baseline from", stream.baseline_size ? `${count(stream.baseline_size)} scores` : null],
    ["judge", stream.judge_model],
    ["rubric", stream.rubric],
  ]);
}

function happened(event) {
  return h("li", {}, h("span", { class: "soft" }, moment(event.at)), " ", stateTag(event.state), event.verdict && verdictTag(event.verdict), " ", event.reason);
}

function verdict(metric, { score, expected, explanation, native, adjusted_from: adjusted, rubric, mode, distribution: shares }) {
  const notes = [native ? "native rubric" : "adapted rubric", rubric, mode];
  if (expected !== score) notes.unshift(`expected ${mean(expected)}`);
  if (adjusted) notes.unshift(`lowered from ${adjusted} by a hard rule`);
  if (shares) notes.push(`shares ${shares.map((share) => Math.round(share * 100)).join(" / ")} %`);
  return h("article", { class: "verdict-card" },
    h("h4", {}, scoreChip(score), metricName(metric)),
    h("p", {}, explanation || "no explanation"),
    h("p", { class: "hint" }, notes.join(", ")));
}

function summaryFacts(scored) {
  const generator = scored.generator && [scored.generator.name, scored.generator.version].filter(Boolean).join("@");
  return facts([
    ["generator", generator],
    ["locale", scored.locale],
    ["judge", `${scored.judge.backend} ${scored.judge.model}`],
    ["pack", scored.judge.pack],
    ["cost", scored.cost_usd === null ? null : `$${scored.cost_usd.toFixed(4)}`],
    ["generated", scored.generated_at && moment(Date.parse(scored.generated_at))],
    ["from", scored.source.topic ? `${scored.source.topic}/${scored.source.partition}/${scored.source.offset}` : scored.source.file],
  ]);
}

function evidence(source) {
  return [
    h("h3", { id: "evidence-title" }, "Evidence"),
    source.query && h("p", {}, h("span", { class: "soft" }, "query "), source.query),
    source.products.map((product, index) => h("details", { class: "product", open: index === 0 },
      h("summary", {}, product.title || `product ${index + 1}`),
      h("dl", { class: "facts stacked" }, facts(Object.entries(product).filter(([name]) => name !== "title").map(([name, value]) => [plain(name), shown(value)]))))),
  ];
}

/** A value of the evidence: text, a list of texts, or names with values. */
function shown(value) {
  if (Array.isArray(value)) return h("ul", { class: "plain" }, value.map((one) => h("li", {}, shown(one))));
  if (value && typeof value === "object") return h("ul", { class: "plain" }, Object.entries(value).map(([name, one]) => h("li", {}, `${name}: `, shown(one))));
  return String(value);
}
