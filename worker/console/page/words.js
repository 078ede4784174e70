// Names, times and numbers as people read them; the names are those of the contract.

export const plain = (name) => name.replaceAll("_", " ");
export const kindName = plain;
export const metricName = plain;

const SHORT_KIND = {
  comparative_explanation: "comparative",
  recommendation_explanation: "recommendation",
  product_opinion: "opinion",
};
export const shortKind = (kind) => SHORT_KIND[kind] ?? plain(kind);

const SHORT_METRIC = {
  informativeness: "Inf",
  clarity: "Cla",
  conciseness: "Con",
  aspect_coverage: "Asp",
  sentiment_consistency: "Sen",
};
export const shortMetric = (metric) => SHORT_METRIC[metric] ?? metric.slice(0, 3);

/** A segment, where `all` is the pool of them. */
export const segmentName = (segment) => (segment === "all" ? "all segments" : segment);

const VERDICT = {
  generator: "the generator changed",
  judge: "the judge changed",
  mix: "the mix of segments changed",
  undetermined: "undetermined",
};
export const verdictWords = (verdict) => VERDICT[verdict] ?? "verdict being found";

export const mean = (value) => (value === null || value === undefined ? "–" : value.toFixed(2));
export const count = (value) => (value === null || value === undefined ? "–" : value.toLocaleString("en"));
export const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

/** A difference with a true minus sign. */
export function signed(value) {
  if (value === null || value === undefined) return "–";
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;
}

const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const CLOCK_SECONDS = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

export const clock = (ms) => CLOCK.format(ms);
export const clockSeconds = (ms) => CLOCK_SECONDS.format(ms);

/** The time of day, with the day where it is another one. */
export function moment(ms, now = Date.now()) {
  if (!ms) return "–";
  return DAY.format(ms) === DAY.format(now) ? clock(ms) : `${DAY.format(ms)}, ${clock(ms)}`;
}

/** How long ago, coarsely. */
export function ago(ms, now = Date.now()) {
  if (!ms) return "never";
  const seconds = Math.max(0, Math.round((now - ms) / 1000));
  if (seconds < 5) return "now";
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)} h ago`;
  return `${Math.round(seconds / 86400)} days ago`;
}

/** A stretch of minutes. */
export const stretch = (minutes) => (minutes < 120 ? `${minutes} minutes` : `${Math.round(minutes / 60)} hours`);
