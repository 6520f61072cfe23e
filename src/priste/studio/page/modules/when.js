// Times as the policy writes them ("wed 14:00-16:00") and as the picture shows them: for each row,
// a weekday or a date, the stretches of minutes that are chosen.

import { DAYS, DAY_NAMES, clock } from "./words.js";

const DAY = 24 * 60;
const GROUPS = { daily: [0, 1, 2, 3, 4, 5, 6], weekdays: [0, 1, 2, 3, 4], weekends: [5, 6] };

/** Read one text; null for what the picture cannot show (step numbers, moments). */
export function readWhen(text) {
  const found = { days: null, dates: null, from: 0, to: DAY, whole: true };
  for (const part of text.trim().split(/\s+/)) {
    let match;
    if ((match = /^(\d{4}-\d\d-\d\d)(?:\.\.(\d{4}-\d\d-\d\d))?$/.exec(part)))
      found.dates = [match[1], match[2] ?? match[1]];
    else if ((match = /^(\d{1,2}):(\d\d)-(\d{1,2}):(\d\d)$/.exec(part))) {
      found.from = 60 * Number(match[1]) + Number(match[2]);
      found.to = 60 * Number(match[3]) + Number(match[4]);
      if (found.from >= DAY || found.to > DAY) return null;
      if (found.to <= found.from) found.to += DAY;
      found.whole = false;
    } else {
      const days = new Set();
      for (const name of part.split(",")) {
        if (GROUPS[name]) GROUPS[name].forEach((day) => days.add(day));
        else if (DAYS.includes(name)) days.add(DAYS.indexOf(name));
        else return null;
      }
      if (found.days) return null;
      found.days = [...days].sort();
    }
  }
  return found;
}

function daysText(days) {
  const key = [...days].sort().join();
  const group = Object.entries(GROUPS).find(([, members]) => members.join() === key);
  return group
    ? group[0]
    : [...days]
        .sort()
        .map((day) => DAYS[day])
        .join(",");
}

const timesText = ([from, to]) => (from === 0 && to === DAY ? "" : ` ${clock(from)}-${clock(to % DAY)}`);

/** The chosen stretches of each row. Rows are weekday numbers, or dates with their weekday. */
export function stretchesOf(texts, rows) {
  const chosen = new Map(rows.map((row) => [row.key, []]));
  for (const text of texts) {
    const when = readWhen(text);
    if (!when) continue;
    for (const row of rows)
      if (begins(when, row)) chosen.get(row.key).push([when.from, Math.min(DAY, when.to)]);
    if (when.to <= DAY) continue;
    // Over midnight: the rest is on the next row, also where the evening lies before the first.
    rows.forEach((row, place) => {
      const evening =
        row.date === undefined ? { weekday: (row.weekday + 6) % 7 } : (rows[place - 1] ?? dayBefore(row));
      if (begins(when, evening)) chosen.get(row.key).push([0, when.to - DAY]);
    });
  }
  for (const [key, stretches] of chosen) chosen.set(key, merged(stretches));
  return chosen;
}

/** Whether a stretch begins on this day. */
const begins = (when, row) =>
  (!when.days || when.days.includes(row.weekday)) &&
  (!when.dates || (row.date !== undefined && when.dates[0] <= row.date && row.date <= when.dates[1]));

function dayBefore({ date, weekday }) {
  const before = new Date(Date.parse(`${date}T00:00:00Z`) - 86_400_000);
  return { date: before.toISOString().slice(0, 10), weekday: (weekday + 6) % 7 };
}

function merged(stretches) {
  const ordered = [...stretches].sort((a, b) => a[0] - b[0]);
  const result = [];
  for (const [from, to] of ordered) {
    const last = result.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else result.push([from, to]);
  }
  return result;
}

/** Add or take out a stretch of some rows. */
export function withStretch(chosen, keys, [from, to], erase) {
  const result = new Map(chosen);
  for (const key of keys) {
    const held = result.get(key) ?? [];
    if (!erase) result.set(key, merged([...held, [from, to]]));
    else {
      result.set(
        key,
        held.flatMap(([a, b]) =>
          [
            [a, Math.min(b, from)],
            [Math.max(a, to), b],
          ].filter(([begin, end]) => begin < end),
        ),
      );
    }
  }
  return result;
}

/** Write the picture as texts, as few as there are different stretches. */
export function textsOf(chosen, rows) {
  const groups = new Map();
  for (const row of rows) {
    for (const stretch of chosen.get(row.key) ?? []) {
      const key = stretch.join("-");
      if (!groups.has(key)) groups.set(key, { stretch, rows: [] });
      groups.get(key).rows.push(row);
    }
  }
  return [...groups.values()].flatMap(({ stretch, rows: members }) => {
    const times = timesText(stretch);
    if (members[0].date === undefined) return [`${daysText(members.map((row) => row.weekday))}${times}`];
    return runs(members, rows).map(
      ([first, last]) => `${first.date}${last === first ? "" : `..${last.date}`}${times}`,
    );
  });
}

/** Neighbouring dates become one first..last. */
function runs(members, rows) {
  const result = [];
  for (const row of members) {
    const last = result.at(-1);
    if (last && rows.indexOf(last[1]) + 1 === rows.indexOf(row)) last[1] = row;
    else result.push([row, row]);
  }
  return result;
}

/** One text in words: "Wednesday, 14:00 to 16:00". */
export function whenWords(text) {
  const when = readWhen(text);
  if (!when) return text;
  const parts = [];
  if (when.dates)
    parts.push(when.dates[0] === when.dates[1] ? when.dates[0] : `${when.dates[0]} to ${when.dates[1]}`);
  if (when.days) {
    const group = daysText(when.days);
    parts.push(
      group === "daily"
        ? "every day"
        : group === "weekdays"
          ? "Monday to Friday"
          : group === "weekends"
            ? "Saturday and Sunday"
            : when.days.map((day) => DAY_NAMES[day]).join(", "),
    );
  } else if (!when.dates) parts.push("every day");
  parts.push(
    when.whole
      ? "all day"
      : `${clock(when.from)} to ${clock(when.to % DAY)}${when.to > DAY ? " of the next day" : ""}`,
  );
  return parts.join(", ");
}

/** The stretch of the same length right after one, if the day has room for it: "then" is usually later. */
export function later(text) {
  const when = readWhen(text);
  if (!when || when.whole || 2 * when.to - when.from > DAY) return text;
  return text.replace(
    /\d{1,2}:\d\d-\d{1,2}:\d\d/,
    `${clock(when.to)}-${clock((2 * when.to - when.from) % DAY)}`,
  );
}
