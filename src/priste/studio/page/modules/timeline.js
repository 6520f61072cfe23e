// Days by hours: the picture of when. Painting it is for the mouse; the list of stretches and the
// fields below say and change the same for everybody.

import { button, choice, drawing, element, field, freshId, segments, show } from "./elements.js";
import { readWhen, stretchesOf, textsOf, whenWords, withStretch } from "./when.js";
import { DAYS, DAY_NAMES, clock, clockTime, plural } from "./words.js";

const DAY = 24 * 60;
const LEFT = 62;
const WIDTH = 400;
const ROW = 20;

/** Rows of the picture: the weekdays that the clock has, or its dates. */
export function rowsOf(times, kind) {
  const dates = new Map();
  for (const text of times) {
    const at = clockTime(text);
    if (!dates.has(at.date))
      dates.set(at.date, { key: at.date, date: at.date, weekday: at.weekday, label: at.label });
  }
  if (kind === "dates") return [...dates.values()];
  const held = new Set([...dates.values()].map((row) => row.weekday));
  return DAYS.map((key, weekday) => ({ key, weekday, label: DAY_NAMES[weekday].slice(0, 3) })).filter((row) =>
    held.has(row.weekday),
  );
}

/** A widget that shows texts of times and calls `change(texts)`. */
export function timeline({ times, stepMinutes, label, change }) {
  let texts = [];
  let kind = "week";
  const grain = Math.max(60, Math.min(DAY, stepMinutes));
  const picture = element("div", { class: "timeline" });
  const list = element("ul", { class: "list stretches", "aria-label": `${label}: the chosen times` });
  const kinds = element("div", {});
  const form = adder();
  const node = element("div", { class: "when" }, kinds, picture, list, form);
  const rows = () => rowsOf(times, kind);

  function update(next) {
    if (next.join("|") === texts.join("|") && picture.firstChild) return;
    texts = next;
    if (texts.some((text) => readWhen(text)?.dates)) kind = "dates";
    draw();
  }

  function changed(next) {
    texts = next;
    draw();
    change(next);
  }

  function draw() {
    show(
      kinds,
      segments(
        "Rows of the picture",
        [
          ["week", "Every week"],
          ["dates", "On dates"],
        ],
        kind,
        (value) => {
          kind = value;
          draw();
        },
        { heard: true },
      ),
    );
    drawPicture();
    const unread = texts.filter((text) => !readWhen(text));
    show(
      list,
      texts.length === 0
        ? element(
            "li",
            { class: "quiet small" },
            "No time chosen yet: drag over the picture, or add one below.",
          )
        : null,
      texts.map((text, number) =>
        element(
          "li",
          { class: "row spread" },
          element("span", {}, whenWords(text)),
          button("Remove", () => changed(texts.toSpliced(number, 1)), {
            class: "plain small",
            "aria-label": `Remove ${whenWords(text)}`,
          }),
        ),
      ),
      unread.length
        ? element(
            "li",
            { class: "quiet small" },
            "The picture does not show steps and moments, but they count.",
          )
        : null,
    );
  }

  function drawPicture() {
    const lines = rows();
    const chosen = stretchesOf(texts, lines);
    const height = lines.length * ROW + 18;
    const x = (minutes) => LEFT + (minutes / DAY) * (WIDTH - LEFT);
    const words = texts.length ? texts.map(whenWords).join("; ") : "nothing chosen";
    const svg = drawing("svg", {
      viewBox: `0 0 ${WIDTH} ${height}`,
      role: "img",
      "aria-label": `${label}: ${words}`,
      class: "hours",
    });
    lines.forEach((row, place) => {
      const y = place * ROW;
      svg.append(
        drawing("text", { x: LEFT - 6, y: y + 14, "text-anchor": "end", class: "day-name" }, row.label),
      );
      svg.append(
        drawing("rect", {
          x: LEFT,
          y: y + 2,
          width: WIDTH - LEFT,
          height: ROW - 4,
          rx: 3,
          class: "day-ground",
        }),
      );
      for (const [from, to] of chosen.get(row.key)) {
        svg.append(
          drawing("rect", {
            x: x(from),
            y: y + 2,
            width: Math.max(1.5, x(to) - x(from)),
            height: ROW - 4,
            rx: 3,
            class: "day-chosen",
          }),
        );
      }
    });
    for (const hour of [0, 6, 12, 18, 24]) {
      svg.append(
        drawing("line", {
          x1: x(60 * hour),
          x2: x(60 * hour),
          y1: 0,
          y2: lines.length * ROW,
          class: "hour-line",
        }),
      );
      svg.append(
        drawing(
          "text",
          {
            x: x(60 * hour),
            y: height - 4,
            "text-anchor": hour === 24 ? "end" : hour ? "middle" : "start",
            class: "hour-name",
          },
          `${hour}:00`,
        ),
      );
    }
    const ghost = drawing("rect", { class: "day-ghost", visibility: "hidden" });
    svg.append(ghost);
    show(picture, svg);
    picture.classList.toggle("tall", lines.length > 9);

    let drag = null;
    const at = (event) => {
      const box = svg.getBoundingClientRect();
      const across = ((event.clientX - box.left) / box.width) * WIDTH;
      const down = ((event.clientY - box.top) / box.height) * height;
      const minutes = ((across - LEFT) / (WIDTH - LEFT)) * DAY;
      return {
        row: Math.max(0, Math.min(lines.length - 1, Math.floor(down / ROW))),
        cell: Math.max(0, Math.min(DAY / grain - 1, Math.floor(minutes / grain))),
      };
    };
    const span = (end) => ({
      first: Math.min(drag.row, end.row),
      last: Math.max(drag.row, end.row),
      from: grain * Math.min(drag.cell, end.cell),
      to: grain * (Math.max(drag.cell, end.cell) + 1),
    });
    svg.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      event.preventDefault();
      svg.setPointerCapture(event.pointerId);
      drag = at(event);
      const minute = grain * drag.cell;
      drag.erase = chosen.get(lines[drag.row].key).some(([from, to]) => from <= minute && minute < to);
      svg.dispatchEvent(new PointerEvent("pointermove", event));
    });
    svg.addEventListener("pointermove", (event) => {
      if (!drag) return;
      const part = span(at(event));
      for (const [name, value] of Object.entries({
        x: x(part.from),
        y: part.first * ROW + 1,
        width: x(part.to) - x(part.from),
        height: (part.last - part.first + 1) * ROW - 2,
        rx: 3,
      }))
        ghost.setAttribute(name, value);
      ghost.setAttribute("visibility", "visible");
    });
    svg.addEventListener("pointerup", (event) => {
      if (!drag) return;
      const part = span(at(event));
      const keys = lines.slice(part.first, part.last + 1).map((row) => row.key);
      const { erase } = drag;
      drag = null;
      const unread = texts.filter((text) => !readWhen(text));
      // On a picture of weeks, dates that cannot be shown there would be lost without a word: keep them.
      const elsewhere = kind === "week" ? texts.filter((text) => readWhen(text)?.dates) : [];
      changed([
        ...textsOf(withStretch(chosen, keys, [part.from, part.to], erase), lines),
        ...elsewhere,
        ...unread,
      ]);
    });
    svg.addEventListener("pointercancel", () => {
      drag = null;
      ghost.setAttribute("visibility", "hidden");
    });
  }

  function adder() {
    const hours = Array.from({ length: 24 * 4 }, (_, quarter) => clock(15 * quarter)).filter(
      (_, quarter) => (15 * quarter) % Math.min(60, Math.max(15, stepMinutes)) === 0,
    );
    const day = choice(
      [
        ["daily", "Every day"],
        ["weekdays", "Monday to Friday"],
        ["weekends", "Saturday, Sunday"],
        ...DAYS.map((name, number) => [name, DAY_NAMES[number]]),
        ...rowsOf(times, "dates").map((row) => [row.date, row.label]),
      ],
      "daily",
      () => {},
      { "aria-label": "Day" },
    );
    const from = choice(
      hours.map((text) => [text, text]),
      "14:00",
      () => {},
      { "aria-label": "From" },
    );
    const to = choice(
      [...hours.slice(1), "00:00"].map((text) => [text, text === "00:00" ? "24:00" : text]),
      "16:00",
      () => {},
      { "aria-label": "To" },
    );
    const add = button("Add this time", () => {
      const whole = from.value === to.value;
      const text = whole ? day.value : `${day.value} ${from.value}-${to.value}`;
      if (!texts.includes(text)) changed([...texts, text]);
    });
    return element(
      "details",
      {},
      element("summary", {}, "Add a time by its numbers"),
      element("div", { class: "adder" }, field("Day", day), field("From", from), field("To", to), add),
    );
  }

  return { node, update, id: freshId("timeline"), count: () => plural(texts.length, "time") };
}
