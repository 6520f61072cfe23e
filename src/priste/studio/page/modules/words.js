// Numbers in words, in the very forms of priste.results.wording: what the page composes and what the server
// sends stand side by side, and a test holds one against the other.

const number = (value, digits) =>
  value.toLocaleString("en", { maximumFractionDigits: digits, minimumFractionDigits: 0 });
const fixed = (value, digits) =>
  value.toLocaleString("en", { maximumFractionDigits: digits, minimumFractionDigits: digits });
const absent = (value) => value === null || value === undefined || Number.isNaN(value);

/** Python rounds halves to even; so do we. */
function rounded(value, unit) {
  const whole = Math.round(value / unit);
  const half = Math.abs(value / unit - Math.trunc(value / unit)) === 0.5;
  return unit * (half ? 2 * Math.round(value / unit / 2) : whole);
}

/** A length: metres below a kilometre, kilometres above, in two figures that mean something. */
export function metres(value) {
  if (absent(value)) return "–";
  const shown = value >= 99.5 ? rounded(value, 10) : value;
  if (shown < 1000) return `${rounded(shown, 1)} m`;
  return value < 9950 ? `${fixed(value / 1000, 1)} km` : `${fixed(value / 1000, 0)} km`;
}

/** How far a release of a run is from the truth, in words. */
export const offWords = ({ released, error }) =>
  released === null
    ? "nothing released"
    : error === null
      ? "released"
      : `released ${metres(error)} from the truth`;

/** A probability, without claiming certainty that is not there. */
export function percent(share) {
  if (absent(share)) return "–";
  if (share === 0 || share === 1) return `${100 * share} %`;
  if (share < 0.001) return "< 0.1 %";
  if (share > 0.999) return "> 99.9 %";
  return `${fixed(100 * share, 1)} %`;
}

const LARGEST_SAID = Math.log(1e6);

/** A leakage as the factor by which odds may move. */
export function odds(leakage) {
  if (absent(leakage)) return "–";
  if (!Number.isFinite(leakage)) return "without limit";
  if (leakage > LARGEST_SAID) return "more than a million×";
  const factor = Math.exp(leakage);
  if (factor < 10) return `${fixed(factor, 2)}×`;
  return `${number(rounded(factor, 10 ** Math.max(0, Math.floor(Math.log10(factor)) - 1)), 0)}×`;
}

/** The same on an axis: short. */
export function times(leakage) {
  const factor = Math.exp(leakage);
  return `${number(Number(factor.toPrecision(2)), 1)}×`;
}

export const plural = (count, one, many = `${one}s`) => `${number(count, 0)} ${count === 1 ? one : many}`;

/** A length of time as a policy writes it, in words: "5min" is "5 minutes". */
export function lengthWords(text) {
  const [, count, unit] = /^(\d+)(s|min|h|d)$/.exec(text) ?? [];
  return unit ? plural(Number(count), { s: "second", min: "minute", h: "hour", d: "day" }[unit]) : text;
}

export const exact = (value, digits = 3) =>
  value === null || value === undefined ? "–" : Number.isFinite(value) ? number(value, digits) : "∞";

export function bytes(size) {
  return size < 1e6 ? `${number(Math.max(1, size / 1e3), 0)} kB` : `${number(size / 1e6, 1)} MB`;
}

export const DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
export const DAY_NAMES = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** "2026-03-04T14:00" on the clocks of the place, read without the browser's own time zone. */
export function clockTime(text) {
  const [, year, month, day, hour, minute] = /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2}))?/.exec(text);
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  return {
    date: `${year}-${month}-${day}`,
    weekday: (date.getUTCDay() + 6) % 7,
    minutes: 60 * Number(hour ?? 0) + Number(minute ?? 0),
    label: `${DAY_NAMES[(date.getUTCDay() + 6) % 7].slice(0, 3)} ${Number(day)} ${MONTHS[Number(month) - 1]}`,
    clock: `${hour ?? "00"}:${minute ?? "00"}`,
  };
}

/** A day in words: "9 Mar 2009". */
export function dateWords(text) {
  const [year, month, day] = text.slice(0, 10).split("-");
  return `${Number(day)} ${MONTHS[Number(month) - 1]} ${year}`;
}

export const clock = (minutes) =>
  `${String(Math.floor(minutes / 60) % 24).padStart(2, "0")}:${String(minutes % 60).padStart(2, "0")}`;
