// The week that was opened: its days, the secret in them, and, folded away, which days, cells and steps.

import { button, choice, element, field, show } from "./elements.js";
import { freeTone } from "./colours.js";
import { openLive } from "./live.js";
import { openSuggestions } from "./regions.js";
import { guarded, spoken } from "./secrets.js";
import { settingOf } from "./setting.js";
import { weekPicture } from "./week_picture.js";
import { dateWords, lengthWords, metres, percent, plural } from "./words.js";
import { loadWorld, nearestCity } from "./world.js";

const CELLS = ["0.1", "0.2", "0.3", "0.5", "0.65", "1", "2", "5"];
const STEPS = [
  ["15min", "15 minutes"],
  ["30min", "30 minutes"],
  ["1h", "1 hour"],
  ["2h", "2 hours"],
  ["6h", "6 hours"],
];
const WEEKS = [1, 2, 3, 4, 6, 8];

/** How many places that are only suggested the picture of the days shows. */
const STAYS = 2;

/** Above so many people a list is searched by typing. */
const MANY = 12;

export function openWeek(store, view, { open, api, close, openPolicy }) {
  const facts = element("div", { class: "tiles" });
  const picture = element("section", { class: "card" });
  const secrets = element("section", { class: "card" });
  const whole = element("p", { class: "says note", hidden: true });
  const notes = element("div", { class: "list" });
  const live = element("div", {});
  const state = element("div", { class: "list" });
  const ground = groundCard();
  const policy = element("input", {
    type: "file",
    class: "only-heard",
    id: "policy-file",
    accept: ".toml,text/plain",
    on: { change: () => policy.files[0] && void openPolicy(policy.files[0]) },
  });
  show(
    view,
    element("h2", { tabindex: "-1" }, "This week"),
    ground.person,
    whole,
    picture,
    secrets,
    facts,
    ground.node,
    state,
    notes,
    element(
      "details",
      {},
      element("summary", {}, "Open a policy that you have"),
      element(
        "section",
        { class: "card" },
        element("p", { class: "quiet small" }, "Its map, places, secrets and guarantees replace the draft."),
        element(
          "div",
          { class: "row" },
          policy,
          element("label", { for: "policy-file", class: "button" }, "Choose a policy.toml"),
        ),
      ),
    ),
    element(
      "details",
      { id: "watch" },
      element("summary", {}, "Watch a running priste live on this map"),
      element("section", { class: "card" }, live),
    ),
    element(
      "div",
      { class: "row next" },
      button("Next: secret places", () => store.set({ tab: "places" }), { class: "main" }),
      button("Open another file", close, { class: "plain" }),
    ),
  );
  const endLive = openLive(store, live, api);

  store.watch(["world"], () => {
    const world = store.get("world");
    if (!world) return;
    const { source, clock, trace } = world;
    const dates = new Set(clock.times.map((time) => time.slice(0, 10)));
    show(
      facts,
      tile(source.shown.toLocaleString("en"), "positions in these days"),
      tile(plural(dates.size, "day"), `from ${dateWords(clock.times[0])}`),
      tile(percent(trace.stepsWithFix / clock.steps), "of the steps have a position"),
    );
    const more = source.span.days > dates.size || source.fixes > source.shown;
    whole.hidden = !more;
    whole.textContent = more
      ? `These are ${dates.size} of ${plural(source.span.days, "day")} with positions, from ${dateWords(source.span.first)} to ${dateWords(source.span.last)}. Only these days are shown, tried and released; choose others under “Days, map and steps”.`
      : "";
    show(
      notes,
      (source.notes ?? []).map((note) => element("p", { class: "quiet small" }, note)),
    );
    void loadWorld().then((earth) => {
      if (!earth || store.get("world") !== world || source.kind === "town") return;
      const { name, km } = nearestCity(earth.cities, store.get("geometry").middle());
      notes.prepend(
        element(
          "p",
          { class: "quiet small" },
          `The middle of the map lies ${metres(1000 * km)} from ${name}.`,
        ),
      );
    });
    ground.update(world);
  });

  store.watch(["world", "regions", "events", "secrets", "suggestions"], () => {
    const world = store.get("world");
    if (!world) return;
    const events = guarded(store);
    const steps = [...new Set(events.flatMap((event) => (event.answer?.ok ? [...event.answer.steps] : [])))];
    show(
      picture,
      element("h3", {}, "Where the days are spent"),
      weekPicture({
        clock: world.clock,
        cells: world.trace.cells,
        regions: [...store.get("regions"), ...stays(store)],
        events: spoken(store.get("events"), store.get("secrets")),
        steps,
      }),
    );
    show(
      secrets,
      element("h3", {}, events.length === 1 ? "The secret" : "The secrets"),
      events.map((event) =>
        element(
          "p",
          {},
          element("b", { class: "is-secret" }, event.name),
          event.answer?.sentence ? `: ${event.answer.sentence}` : "",
          event.example ? element("span", { class: "quiet" }, " This is an example of the draft.") : null,
        ),
      ),
      events.length === 0 ? element("p", { class: "quiet" }, "Nothing is secret yet. Paint a place.") : null,
      element(
        "div",
        { class: "row" },
        button("Change it", () => store.set({ tab: events.length ? "secrets" : "places" })),
      ),
    );
  });

  store.watch(["opening"], () => {
    const opening = store.get("opening");
    show(
      state,
      opening?.state === "failed"
        ? element("p", { class: "says bad", role: "alert" }, opening.message, " ", opening.hint ?? "")
        : null,
      opening?.state === "opening"
        ? element("span", { class: "busy" }, "laying out the map and how people move on it")
        : null,
    );
    if (opening?.state !== "opening" && store.get("world")) ground.update(store.get("world"));
  });

  /** Which days, which part of the earth, how fine. Its fields stay, so that what was chosen stays, too. */
  function groundCard() {
    const again = (changes, what) =>
      open(() => api.post("/ground", { setting: settingOf(store), ...changes }), what);
    const clockOf = () => store.get("world").setting.clock;
    const size = choice([], "", (value) =>
      again({ map: { ...store.get("world").setting.map, cell_size: Number(value) } }, "the map"),
    );
    const regrain = (value) =>
      again({ clock: regrained(clockOf(), store.get("world").clock, value) }, "the clock");
    const step = choice([], "", regrain, { "data-part": "step" });
    const zone = element("input", {
      type: "text",
      list: "zones",
      autocomplete: "off",
      spellcheck: "false",
      on: {
        change: () =>
          zone.value !== clockOf().zone && again({ clock: { ...clockOf(), zone: zone.value } }, "the clock"),
      },
    });
    const first = element("input", { type: "date", on: { change: () => redate() } });
    const weeks = choice([], "", () => redate());
    const redate = () => {
      if (!first.value) return;
      const { step_seconds: seconds } = store.get("world").clock;
      const steps = Math.max(1, Math.round((Number(weeks.value) * 604800) / seconds));
      again({ clock: { ...clockOf(), start: `${first.value}T00:00:00`, steps } }, "the clock");
    };
    const person = element("div", {});
    const words = element("p", { class: "quiet small" });
    const zones = element("datalist", { id: "zones" });
    const node = element(
      "div",
      { class: "list" },
      element(
        "details",
        {},
        element("summary", {}, "Days, map and steps"),
        element(
          "section",
          { class: "card" },
          words,
          element(
            "div",
            { class: "row" },
            element("div", { class: "grow" }, field("First day", first)),
            element("div", { class: "grow" }, field("Length", weeks)),
          ),
          field("Time zone of the clock", zone),
          zones,
          element(
            "div",
            { class: "row" },
            element("div", { class: "grow" }, field("Size of a cell", size)),
            element("div", { class: "grow" }, field("Length of a step", step)),
          ),
          element(
            "div",
            { class: "row" },
            button("Limit the map to what is in view", () => {
              const seen = Object.fromEntries(
                Object.entries(store.get("seen")).map(([side, degrees]) => [
                  side,
                  Number(degrees.toFixed(5)),
                ]),
              );
              void again(
                { map: { ...seen, cell_size: store.get("world").setting.map.cell_size } },
                "the map",
              );
            }),
          ),
        ),
      ),
    );
    const options = (list, value, own) =>
      list.some(([each]) => each === value) ? list : [[value, own], ...list];
    const fill = (select, list, value) => {
      const key = JSON.stringify(list);
      if (select.dataset.key !== key) {
        select.dataset.key = key;
        show(
          select,
          list.map(([each, text]) => element("option", { value: each }, text)),
        );
      }
      select.value = value;
    };
    return {
      node,
      person,
      update({ source, map, clock, setting }) {
        words.textContent = `${plural(map.columns, "column")} and ${plural(map.rows, "row")} of cells, ${plural(clock.steps, "step")}. Smaller cells and shorter steps are more precise and take longer.`;
        const cells = CELLS.map((each) => [each, metres(1000 * Number(each))]);
        const wide = String(map.cellSize);
        fill(size, options(cells, wide, metres(1000 * map.cellSize)), wide);
        fill(step, options(STEPS, setting.clock.step, lengthWords(setting.clock.step)), setting.clock.step);
        const long = String((clock.steps * clock.step_seconds) / 604800);
        const lengths = WEEKS.map((each) => [String(each), plural(each, "week")]);
        const days = Math.ceil(Number(long) * 7);
        fill(weeks, options(lengths, long, plural(days, "day")), long);
        first.value = clock.times[0].slice(0, 10);
        first.min = source.span.first;
        first.max = source.span.last;
        zone.value = clock.zone;
        if (!zones.firstChild)
          show(
            zones,
            (store.get("info")?.zones ?? []).map((each) => element("option", { value: each })),
          );
        const key = JSON.stringify([source.people, source.person]);
        if (person.dataset.key === key) return;
        person.dataset.key = key;
        show(person, source.people.length > 1 ? whose(source) : null);
      },
    };
  }

  /** Whose week: a list, or one that is searched by typing where it is long. */
  function whose({ people, counts, person }) {
    const take = (user) => open(() => api.post("/person", { user }), user);
    const many = people.length > MANY;
    const names = people.map((name, place) => [name, `${name}, ${plural(counts[place], "position")}`]);
    const input = many
      ? element("input", {
          type: "text",
          list: "people",
          value: person,
          autocomplete: "off",
          on: {
            focus: () => input.select(),
            change: () => {
              if (people.includes(input.value) && input.value !== person) void take(input.value);
              else input.value = person;
            },
          },
        })
      : choice(names, person, take);
    return element(
      "section",
      { class: "card" },
      field("Whose week", input, many ? `One of ${people.length} people: type a part of the name.` : ""),
      many
        ? element(
            "datalist",
            { id: "people" },
            names.map(([name, text]) => element("option", { value: name }, text)),
          )
        : null,
    );
  }
  return endLive;
}

/** Where the person stays most and no place is yet: else the days of one of many people look empty. */
function stays(store) {
  const regions = [...store.get("regions")];
  const known = [...store.get("world").trace.cells].filter((cell) => cell >= 0);
  const held = new Set(regions.flatMap(({ cells }) => [...cells]));
  if (2 * known.filter((cell) => held.has(cell)).length >= known.length) return [];
  return openSuggestions(store)
    .slice(0, STAYS)
    .map(({ place }) => {
      const stay = { name: `${place.name} (suggested)`, cells: place.cells, tone: freeTone(regions) };
      regions.push(stay);
      return stay;
    });
}

/** The same stretch of time in steps of another length. */
function regrained(setting, clock, step) {
  const [, number, unit] = /^(\d+)(min|h)$/.exec(step);
  const seconds = Number(number) * (unit === "h" ? 3600 : 60);
  return { ...setting, step, steps: Math.max(1, Math.round((clock.steps * clock.step_seconds) / seconds)) };
}

const tile = (number, words) =>
  element("div", { class: "tile" }, element("b", {}, number), element("span", {}, words));
