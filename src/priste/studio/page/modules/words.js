// Numbers in the words of the report: metres, shares, odds, days and hours.

const number = (value, digits) =>
  value.toLocaleString("en", { maximumFractionDigits: digits, minimumFractionDigits: 0 });

export function metres(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value >= 9950) return `${number(value / 1000, 0)} km`;
  if (value >= 995) return `${number(value / 1000, 1)} km`;
  return `${number(value < 100 ? Math.round(value) : Math.round(value / 10) * 10, 0)} m`;
}

/** How far a release of a run is from the truth, in words. */
export const offWords = ({ released, error }) =>
  released === null ? "nothing released" : error === null ? "released" : `released ${metres(error)} from the truth`;

export function percent(share) {
  if (share === null || share === undefined || Number.isNaN(share)) return "–";
  const value = 100 * share;
  // A small probability is not nothing, and a large one is not certain.
  if (value > 0 && value < 0.1) return "under 0.1 %";
  if (value < 100 && value > 99.9) return "over 99.9 %";
  return `${number(value, value < 10 ? 1 : 0)} %`;
}

/** A leakage as the factor by which odds can move. */
export function odds(leakage) {
  if (leakage === null || leakage === undefined) return "–";
  if (!Number.isFinite(leakage)) return "without limit";
  const factor = Math.exp(leakage);
  if (factor >= 1000) return `more than ${number(10 ** Math.floor(Math.log10(factor)), 0)} times`;
  return `${number(factor, factor < 10 ? 2 : 0)} times`;
}

/** The same on an axis: short. */
export function times(leakage) {
  const factor = Math.exp(leakage);
  return `${number(Number(factor.toPrecision(2)), 1)}×`;
}

export const plural = (count, one, many = `${one}s`) => `${number(count, 0)} ${count === 1 ? one : many}`;

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

export const clock = (minutes) =>
  `${String(Math.floor(minutes / 60) % 24).padStart(2, "0")}:${String(minutes % 60).padStart(2, "0")}`;
