// Three small charts in plain SVG: sparkline, time series with band, two distributions side by side.

import { s } from "./dom.js";
import { clock, mean } from "./words.js";

const round = (value) => Math.round(value * 10) / 10;

/** Runs of neighbouring points; a gap in the data is a gap in the line. */
function runs(points) {
  const found = [];
  let run = [];
  for (const point of points) {
    if (point) {
      run.push(point);
    } else if (run.length) {
      found.push(run);
      run = [];
    }
  }
  if (run.length) found.push(run);
  return found;
}

const line = (run) => `M${run.map(([x, y]) => `${round(x)} ${round(y)}`).join("L")}`;

/** A point alone is no line: it becomes a dot's worth of one. */
const visible = (run) => (run.length > 1 ? run : [[run[0][0] - 1, run[0][1]], [run[0][0] + 1, run[0][1]]]);

/** The range to show: the values, and at least one whole score. */
function rangeOf(values, least = 1) {
  let [low, high] = [Math.min(...values), Math.max(...values)];
  const missing = Math.max(0, least - (high - low)) / 2;
  [low, high] = [low - missing, high + missing];
  if (low < 1) [low, high] = [1, Math.max(high, 1 + least)];
  if (high > 5) [low, high] = [Math.min(low, 5 - least), 5];
  return [low, high];
}

/** A line of means with the baseline behind it; for the eye only, the figures stand beside it. */
export function sparkline(points, baseline, width = 76, height = 22) {
  const known = points.filter((value) => value !== null);
  const svg = s("svg", { class: "spark", viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" });
  if (!known.length) return svg;
  const usual = typeof baseline === "number" ? [baseline] : [];
  const [low, high] = rangeOf([...known, ...usual]);
  const x = (index) => 1 + (index / Math.max(1, points.length - 1)) * (width - 4);
  const y = (value) => 2 + (1 - (value - low) / (high - low)) * (height - 4);
  for (const value of usual) svg.append(s("path", { class: "usual", d: `M0 ${round(y(value))}H${width}` }));
  const placed = points.map((value, index) => (value === null ? null : [x(index), y(value)]));
  svg.append(s("path", { class: "trace", d: runs(placed).map(visible).map(line).join("") }));
  const last = placed.findLast(Boolean);
  svg.append(s("circle", { class: "end", cx: round(last[0]), cy: round(last[1]), r: 1.8 }));
  return svg;
}

/** Bars of how much came when. */
export function volume(counts, width = 120, height = 26) {
  const most = Math.max(1, ...counts);
  const step = width / Math.max(1, counts.length);
  const bars = counts.map((value, index) => {
    const tall = value ? Math.max(1, (value / most) * height) : 0;
    return s("rect", { x: round(index * step), y: round(height - tall), width: round(Math.max(1, step - 1)), height: round(tall), rx: 0.5 });
  });
  return s("svg", { class: "volume", viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" }, bars);
}

const MARGIN = { left: 30, right: 12, top: 20, bottom: 24 };

/** The means of a stream over time: baseline, the band means should lie in, and the change point. */
export function series(stream, width, height = 230) {
  const { series: points, band, baseline, since, at, bucket_minutes: size } = stream;
  const inner = { width: width - MARGIN.left - MARGIN.right, height: height - MARGIN.top - MARGIN.bottom };
  const end = Math.floor(at / 60000) * 60000 + 60000;
  const begin = end - points.length * size * 60000;
  const values = points.filter((value) => value !== null);
  const bounds = band.filter(Boolean).flat();
  const [low, high] = rangeOf([...(values.length ? values : [3]), ...bounds], 1.5);
  const x = (time) => MARGIN.left + ((time - begin) / (end - begin)) * inner.width;
  const middle = (index) => x(begin + (index + 0.5) * size * 60000);
  const y = (value) => MARGIN.top + (1 - (value - low) / (high - low)) * inner.height;
  const svg = s("svg", { class: "series", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": described(stream, begin) });
  svg.append(axes({ low, high, x, y, begin, end, width, height }));
  for (const run of runs(band.map((pair, index) => pair && [middle(index), pair]))) svg.append(bandShape(run, y));
  if (typeof baseline === "number") {
    svg.append(s("path", { class: "usual", d: `M${MARGIN.left} ${round(y(baseline))}H${width - MARGIN.right}` }));
    svg.append(s("text", { class: "label", x: MARGIN.left + 4, y: round(y(baseline)) - 5 }, `baseline ${mean(baseline)}`));
  }
  const placed = points.map((value, index) => (value === null ? null : [middle(index), y(value)]));
  svg.append(s("path", { class: "trace", d: runs(placed).map(visible).map(line).join("") }));
  if (since && since > begin) svg.append(changePoint(x(since), since, height, width));
  return svg;
}

function described(stream, begin) {
  const usual = stream.baseline === null ? "" : `, baseline ${mean(stream.baseline)}`;
  const change = stream.since ? `, changed about ${clock(stream.since)}` : "";
  return `Mean score since ${clock(begin)}: now ${mean(stream.current)}${usual}${change}`;
}

function bandShape(run, y) {
  const wide = run.length > 1 ? run : [[run[0][0] - 2, run[0][1]], [run[0][0] + 2, run[0][1]]];
  const over = wide.map(([x, pair]) => [x, y(pair[1])]);
  const under = wide.map(([x, pair]) => [x, y(pair[0])]).reverse();
  return s("path", { class: "band", d: `${line([...over, ...under])}Z` });
}

function changePoint(x, since, height, width) {
  const left = x > width - 120;
  return s("g", { class: "change" },
    s("path", { d: `M${round(x)} ${MARGIN.top - 6}V${height - MARGIN.bottom}` }),
    s("text", { x: round(x) + (left ? -5 : 5), y: MARGIN.top - 8, "text-anchor": left ? "end" : "start" }, `change about ${clock(since)}`));
}

const MINUTE = 60000;
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 180, 240, 360].map((minutes) => minutes * MINUTE);

function axes({ low, high, x, y, begin, end, width, height }) {
  const group = s("g", { class: "axes" });
  const step = high - low > 2 ? 1 : 0.5;
  for (let value = Math.ceil(low / step) * step; value <= high + 1e-9; value += step) {
    group.append(s("path", { d: `M${MARGIN.left} ${round(y(value))}H${width - MARGIN.right}` }));
    group.append(s("text", { x: MARGIN.left - 6, y: round(y(value)) + 4, "text-anchor": "end" }, value.toFixed(step < 1 ? 1 : 0)));
  }
  const wanted = Math.max(2, Math.floor((width - MARGIN.left) / 90));
  const every = STEPS.find((one) => (end - begin) / one <= wanted) ?? STEPS.at(-1);
  const shift = new Date(begin).getTimezoneOffset() * MINUTE;
  for (let time = Math.ceil((begin - shift) / every) * every + shift; time <= end; time += every) {
    if (x(time) < MARGIN.left + 12 || x(time) > width - MARGIN.right - 8) continue;
    group.append(s("text", { x: round(x(time)), y: height - 6, "text-anchor": "middle" }, clock(time)));
  }
  return group;
}

/** Shares of the five scores, now beside baseline. */
export function distribution({ now, baseline }, width, height = 180) {
  const most = Math.max(0.2, ...now, ...(baseline ?? []));
  const bottom = height - 22;
  const slot = width / 5;
  const bar = Math.min(34, slot * 0.3);
  const tall = (share) => Math.max(share ? 1.5 : 0, (share / most) * (bottom - 22));
  const svg = s("svg", { class: "distribution", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": sharesInWords(now, baseline) });
  svg.append(s("path", { class: "floor", d: `M0 ${bottom}H${width}` }));
  now.forEach((share, index) => {
    const centre = slot * (index + 0.5);
    const pairs = baseline ? [["was", baseline[index], centre - bar - 1.5], ["is", share, centre + 1.5]] : [["is", share, centre - bar / 2]];
    for (const [name, value, left] of pairs) {
      svg.append(s("rect", { class: name, x: round(left), y: round(bottom - tall(value)), width: round(bar), height: round(tall(value)), rx: 2 }));
      svg.append(s("text", { class: name, x: round(left + bar / 2), y: round(bottom - tall(value) - 5), "text-anchor": "middle" }, percent(value)));
    }
    svg.append(s("text", { class: "level", x: round(centre), y: height - 5, "text-anchor": "middle" }, index + 1));
  });
  return svg;
}

const percent = (share) => (share > 0 && share < 0.01 ? "<1" : `${Math.round(share * 100)}`);

function sharesInWords(now, baseline) {
  const each = now.map((share, index) => `score ${index + 1}: ${percent(share)} %${baseline ? ` (baseline ${percent(baseline[index])} %)` : ""}`);
  return `Shares of scores. ${each.join(", ")}`;
}
