// The week that was opened: what is in the file, the size of cells and steps, and whom it is about.

import { button, choice, element, field, show } from "./elements.js";
import { openLive } from "./live.js";
import { settingOf } from "./setting.js";
import { metres, percent, plural } from "./words.js";

const CELLS = [
  ["0.1", "100 m"],
  ["0.2", "200 m"],
  ["0.3", "300 m"],
  ["0.5", "500 m"],
  ["0.65", "650 m"],
  ["1", "1 km"],
  ["2", "2 km"],
  ["5", "5 km"],
];
const STEPS = [
  ["15min", "15 minutes"],
  ["30min", "30 minutes"],
  ["1h", "1 hour"],
  ["2h", "2 hours"],
  ["6h", "6 hours"],
];

export function openWeek(store, view, { open, api, close }) {
  const facts = element("div", { class: "list" });
  const live = element("div", {});
  show(
    view,
    element("h2", {}, "This week"),
    facts,
    element(
      "details",
      {},
      element("summary", {}, "Watch a running priste live on this map"),
      element("section", { class: "card" }, live),
    ),
    element(
      "div",
      { class: "row next" },
      button("Next: sensitive places", () => store.set({ tab: "places" }), { class: "main" }),
      button("Open another file", close, { class: "plain" }),
    ),
  );
  const endLive = openLive(store, live, api);

  store.watch(["world", "opening"], () => {
    const world = store.get("world");
    if (!world) return;
    const { source, map, clock, trace } = world;
    const opening = store.get("opening");
    const withOwn = (options, value, words) =>
      options.some(([each]) => each === value) ? options : [[value, words], ...options];
    const size = String(map.cellSize);
    const step = world.setting.clock.step;
    // Made anew as a whole: whoever has just chosen a size by keys stays where they are.
    const held = [...facts.querySelectorAll("select, button")].indexOf(document.activeElement);
    show(
      facts,
      element(
        "div",
        { class: "tiles" },
        tile(String(source.fixes.toLocaleString("en")), "positions"),
        tile(
          plural(new Set(clock.times.map((time) => time.slice(0, 10))).size, "day"),
          `${clock.times[0].slice(0, 10)} on`,
        ),
        tile(percent(trace.stepsWithFix / clock.steps), "of the time known"),
      ),
      source.people.length > 1
        ? element(
            "section",
            { class: "card" },
            field(
              "Whose week",
              choice(
                source.people.map((name) => [name, name]),
                source.person,
                (user) => open(() => api.post("/person", { user }), user),
              ),
            ),
          )
        : null,
      element(
        "section",
        { class: "card" },
        element("h3", {}, "How finely it is cut"),
        element(
          "p",
          { class: "quiet small" },
          `${map.columns} by ${map.rows} cells, ${plural(clock.steps, "step")} in ${clock.zone}. Smaller cells and shorter steps say more and take longer.`,
        ),
        element(
          "div",
          { class: "row" },
          element(
            "div",
            { class: "grow" },
            field(
              "Size of a cell",
              choice(withOwn(CELLS, size, metres(1000 * map.cellSize)), size, (value) =>
                open(
                  () =>
                    api.post("/ground", {
                      setting: settingOf(store),
                      map: { ...world.setting.map, cell_size: Number(value) },
                    }),
                  "the map",
                ),
              ),
            ),
          ),
          element(
            "div",
            { class: "grow" },
            field(
              "Length of a step",
              choice(withOwn(STEPS, step, step), step, (value) =>
                open(
                  () =>
                    api.post("/ground", {
                      setting: settingOf(store),
                      clock: regrained(world.setting.clock, clock, value),
                    }),
                  "the clock",
                ),
              ),
            ),
          ),
        ),
        element(
          "div",
          { class: "row" },
          button("Cut the map to what is in view", () => {
            const view = Object.fromEntries(
              Object.entries(store.get("seen")).map(([side, degrees]) => [side, Number(degrees.toFixed(5))]),
            );
            void open(
              () =>
                api.post("/ground", {
                  setting: settingOf(store),
                  map: { ...view, cell_size: world.setting.map.cell_size },
                }),
              "the map",
            );
          }),
        ),
        opening?.state === "failed"
          ? element("p", { class: "says bad", role: "alert" }, opening.message, " ", opening.hint ?? "")
          : null,
        opening?.state === "opening"
          ? element("span", { class: "busy" }, "cutting it anew, and learning how people move on it")
          : null,
      ),
      [...(source.notes ?? []), ...(source.setting_notes ?? [])].map((note) =>
        element("p", { class: "quiet small" }, note),
      ),
    );
    if (held >= 0) facts.querySelectorAll("select, button")[held]?.focus();
  });
  return endLive;
}

/** The same stretch of time in steps of another length. */
function regrained(setting, clock, step) {
  const [, number, unit] = /^(\d+)(min|h)$/.exec(step);
  const seconds = Number(number) * (unit === "h" ? 3600 : 60);
  return { ...setting, step, steps: Math.max(1, Math.round((clock.steps * clock.step_seconds) / seconds)) };
}

const tile = (number, words) =>
  element("div", { class: "tile" }, element("b", {}, number), element("span", {}, words));
