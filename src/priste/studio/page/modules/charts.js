// Leakage and belief over time, with and without priste. Every chart has the same numbers as a table.

import { drawing, element, show } from "./elements.js";
import { exact, odds, percent, times } from "./words.js";

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [420, 130, 44, 8, 10, 18];

const known = (values) => Array.from(values).filter((value) => value !== null && !Number.isNaN(value));
export const finiteMost = (values) =>
  known(values).reduce((most, value) => (Number.isFinite(value) ? Math.max(most, value) : most), 0);

/**
 * @typedef {{ title?: string, words?: string, steps?: number, curves?: [string, Iterable<number>][],
 *   limits?: number[], level?: number, top?: number, format?: (value: number) => string,
 *   marks?: Iterable<number>, now?: number, moments?: string[] }} Curves
 */

/**
 * Draw curves, pairs of a class and its values, over `steps` moments.
 * `marks` are the steps that the event speaks of; `limits` are what was guaranteed; `now` the moment shown.
 * @param {Curves} drawn
 */
export function chart({ title, words, steps, curves, limits, level, top, format, marks, now, moments }) {
  const most = rounded(top ?? 1);
  const x = (step) => LEFT + ((WIDTH - LEFT - RIGHT) * step) / Math.max(1, steps - 1);
  const drawn = (value) => Math.max(0, Math.min(value, most * 1.04));
  const y = (value) => HEIGHT - BOTTOM - ((HEIGHT - BOTTOM - TOP) * drawn(value)) / most;
  const curve = ([kind, values]) => {
    let path = "";
    let open = false;
    values.forEach((value, step) => {
      if (value === null || Number.isNaN(value)) {
        open = false;
        return;
      }
      path += `${open ? "L" : "M"}${x(step).toFixed(1)} ${y(value).toFixed(1)}`;
      open = true;
    });
    return drawing("path", { d: path, class: kind });
  };
  const svg = drawing("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    role: "img",
    "aria-label": `${title}. ${words}`,
  });
  for (const [from, to] of stretches(marks))
    svg.append(
      drawing("rect", {
        x: x(from) - 1,
        y: TOP,
        width: Math.max(2, x(to) - x(from) + 2),
        height: HEIGHT - TOP - BOTTOM,
        class: "when",
      }),
    );
  for (const share of [0, 0.5, 1]) {
    svg.append(
      drawing("line", {
        x1: LEFT,
        x2: WIDTH - RIGHT,
        y1: y(share * most),
        y2: y(share * most),
        class: "axis",
      }),
    );
    svg.append(
      drawing("text", { x: LEFT - 5, y: y(share * most) + 4, "text-anchor": "end" }, format(share * most)),
    );
  }
  if (level !== undefined && level !== null)
    svg.append(drawing("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(level), y2: y(level), class: "level" }));
  for (const limit of new Set(limits))
    if (limit !== undefined && limit !== null && limit <= most)
      svg.append(
        drawing("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(limit), y2: y(limit), class: "limit" }),
      );
  svg.append(...curves.map(curve));
  if (now !== null && now !== undefined)
    svg.append(drawing("line", { x1: x(now), x2: x(now), y1: TOP, y2: HEIGHT - BOTTOM, class: "now" }));
  if (moments.length) {
    svg.append(drawing("text", { x: LEFT, y: HEIGHT - 4 }, moments[0]));
    svg.append(drawing("text", { x: WIDTH - RIGHT, y: HEIGHT - 4, "text-anchor": "end" }, moments.at(-1)));
  }
  return element("div", { class: "chart" }, element("h4", {}, title), svg);
}

/** The next number that halves without crumbs, so that an axis can be read. */
function rounded(top) {
  const unit = 10 ** Math.floor(Math.log10(top));
  return [1, 1.2, 1.6, 2, 3, 4, 5, 6, 8, 10].map((step) => step * unit).find((step) => step >= top * 0.999);
}

function stretches(marks) {
  const result = [];
  for (const mark of marks) {
    const last = result.at(-1);
    if (last && mark === last[1] + 1) last[1] = mark;
    else result.push([mark, mark]);
  }
  return result;
}

export function leakageChart({ curves, bound, ...rest }) {
  const guarded = finiteMost(curves.leakage);
  const uncalibrated = finiteMost(curves.uncalibratedLeakage);
  // The guarantee stays readable: what rises far above it is cut, and the words say how far it goes.
  const top = Math.max(
    0.1,
    Math.max(guarded, bound ?? 0) * 1.25,
    Math.min(uncalibrated * 1.05, 4 * Math.max(bound ?? 0, guarded, 0.25)),
  );
  const alone = known(curves.uncalibratedLeakage).includes(Infinity) ? Infinity : uncalibrated;
  const beyond = alone > rounded(top) ? ", above the chart" : "";
  const words = `With priste at most ${odds(guarded)}${bound ? `, of ${odds(bound)} guaranteed` : ""}; without it ${odds(alone)}${beyond}.`;
  return [
    chart({
      title: "How far odds have moved",
      words,
      curves: [
        ["without", curves.uncalibratedLeakage],
        ["with", curves.leakage],
      ],
      limits: [bound],
      top,
      format: times,
      ...rest,
    }),
    element("p", { class: "small quiet" }, words),
  ];
}

export function beliefChart({ curves, cap, several = false, ...rest }) {
  const top = Math.min(
    1,
    Math.max(
      0.05,
      1.15 *
        Math.max(
          finiteMost(curves.belief),
          finiteMost(curves.uncalibratedBelief),
          curves.before ?? 0,
          cap ?? 0,
        ),
    ),
  );
  const upto = (values) => known(values.slice(0, (rest.now ?? values.length) + 1)).at(-1);
  const last = upto(curves.belief);
  const uncalibrated = upto(curves.uncalibratedBelief);
  const words = `Before any release ${percent(curves.before)}; at this moment ${percent(last)} with priste${uncalibrated === undefined ? "" : `, ${percent(uncalibrated)} without it`}.`;
  return [
    chart({
      title: `How sure the adversary is that ${several ? "any of them" : "it"} happened`,
      words,
      curves: [
        ["without", curves.uncalibratedBelief],
        ["with", curves.belief],
      ],
      limits: [cap],
      level: curves.before,
      top,
      format: (value) => `${exact(100 * value, 1)} %`,
      ...rest,
    }),
    element("p", { class: "small quiet" }, words),
  ];
}

export const chartKeys = () =>
  element(
    "ul",
    { class: "keys", "aria-hidden": "true" },
    element("li", {}, element("span", { class: "line is-released" }), "with priste"),
    element("li", {}, element("span", { class: "line is-uncalibrated" }), "without calibration"),
    element("li", {}, element("span", { class: "line is-limit" }), "guaranteed"),
    element("li", {}, element("span", { class: "box when-key" }), "the secret’s time"),
  );

const COLUMNS = [
  "time",
  "released cell",
  "distance",
  "leakage (ln)",
  "uncalibrated",
  "belief",
  "uncalibrated",
];

/** The same numbers as a table. It stays while charts are drawn anew, and is filled only while it is open. */
export function chartTable() {
  const holder = element("div", { class: "scroll", tabindex: "0", role: "region" });
  const node = element("details", {}, element("summary", {}, "As a table"), holder);
  let rows = () => [];
  let drawn = null;
  const fill = () => {
    const head = element(
      "thead",
      {},
      element(
        "tr",
        {},
        COLUMNS.map((words) => element("th", { scope: "col" }, words)),
      ),
    );
    show(
      holder,
      element(
        "table",
        {},
        head,
        element(
          "tbody",
          {},
          rows().map(([time, ...values]) =>
            element(
              "tr",
              {},
              element("td", {}, time),
              values.map((value) => element("td", {}, value)),
            ),
          ),
        ),
      ),
    );
  };
  node.addEventListener("toggle", () => node.open && fill());
  return {
    node,
    /** `key` tells whether the numbers are others than before. */
    update(name, key, make) {
      rows = make;
      holder.setAttribute("aria-label", `Numbers of ${name}`);
      if (key === drawn) return;
      drawn = key;
      if (node.open) fill();
    },
  };
}
