// Secrets: what must stay deniable. The picture (kind, places, times) and the text of the event
// language are two views of one event; the server's parser turns each into the other.

import { button, choice, element, field, freshId, segments, show } from "./elements.js";
import { latest } from "./lateness.js";
import { settingOf } from "./setting.js";
import { timeline } from "./timeline.js";
import { later } from "./when.js";
import { inWords, unpacked } from "./api.js";
import { percent, plural } from "./words.js";

const KINDS = [
  ["presence", "Here, at any of these times"],
  ["then", "Here, then there"],
  ["at_least", "Here, several times"],
  ["text", "In my own words"],
];
const EVERY = [
  ["", "one secret over the whole time"],
  ["day", "each day is a secret of its own"],
  ["week", "each week is a secret of its own"],
];
const WHOLE_TIME = "daily";

let numbers = 0;

/** The event as the page holds it, from the draft of the server. */
export const eventOf = ({ name, formula, every }) => ({ id: (numbers += 1), name, formula, every: every ?? null, shape: null, answer: null, chances: null });

/** What the picture can show of a structure; null where only the text can say it. */
export function shapeOf(structure) {
  if (!structure) return null;
  const named = (part) => part.kind === "presence" && typeof part.region === "string";
  if (named(structure)) return { kind: "presence", stages: [{ region: structure.region, when: structure.when }], times: 2 };
  if (structure.kind === "at_least" && typeof structure.region === "string") return { kind: "at_least", stages: [{ region: structure.region, when: structure.when }], times: structure.times };
  if (structure.kind === "and" && structure.parts.length <= 4 && structure.parts.every(named)) return { kind: "then", stages: structure.parts.map(({ region, when }) => ({ region, when })), times: 2 };
  return null;
}

/** The structure of what the picture shows; null while it is not complete. */
export function structureOf(shape) {
  if (shape.stages.some((stage) => !stage.region || stage.when.length === 0)) return null;
  const presence = ({ region, when }) => ({ kind: "presence", region, when });
  if (shape.kind === "presence") return presence(shape.stages[0]);
  if (shape.kind === "at_least") return { ...presence(shape.stages[0]), kind: "at_least", times: shape.times };
  return { kind: "and", parts: shape.stages.map(presence) };
}

/** Give a place its new name in every event. */
export function renameInEvents(store) {
  return (old, name) => {
    const quoted = (word) => (/^[^\W\d][\w-]*$/u.test(word) ? word : `"${word}"`);
    const { also, ...protection } = store.get("protection");
    store.set({
      protection: { ...protection, also: also.map((place) => (place === old ? name : place)) },
      events: store.get("events").map((event) => {
        if (!event.shape) return { ...event, formula: event.formula.replaceAll(quoted(old), quoted(name)) };
        const stages = event.shape.stages.map((stage) => (stage.region === old ? { ...stage, region: name } : stage));
        return { ...event, shape: { ...event.shape, stages } };
      }),
    });
  };
}

export function openEvents(store, view, api) {
  const list = element("div", { class: "list" });
  show(
    view,
    element("h2", {}, "What must stay deniable?"),
    element("p", { class: "quiet" }, "A place and a time make a secret: from all releases together, nobody shall be able to tell whether it happened."),
    list,
    element("div", { class: "row" }, button("New secret", () => addEvent(store))),
    element("div", { class: "row next" }, button("Next: whom do you fear?", () => store.set({ tab: "protection" }), { class: "main" })),
  );

  // --- the server reads every event: text, structure, sentence, steps -----------------------------------
  const change = (id, part) => store.set({ events: store.get("events").map((event) => (event.id === id ? { ...event, ...part } : event)) });

  let reading = false;
  const read = latest(120, (signal) => {
    const setting = settingOf(store);
    const events = store.get("events").map((event) => {
      const structure = event.shape && event.writer !== "text" ? structureOf(event.shape) : null;
      return structure ? { name: event.name, structure, every: event.every } : { name: event.name, formula: event.formula, every: event.every };
    });
    const asked = store.get("events");
    return api.post("/events", { setting: { ...setting, events } }, { signal }).then((found) => ({ found, asked }));
  }, {
    waiting: () => {
      reading = true;
    },
    answer: ({ found, asked }) => {
      reading = false;
      const answers = new Map(asked.map((event, number) => [event.id, found.events[number]]));
      store.set({
        readFor: readKey(),
        events: store.get("events").map((event) => {
          const answer = answers.get(event.id);
          if (!answer) return event;
          if (!answer.ok) return { ...event, answer };
          const steps = unpacked(answer.steps);
          const shape = event.writer === "text" || !event.shape ? shapeOf(answer.structure) : event.shape;
          return { ...event, formula: answer.formula, structure: answer.structure, shape, answer: { ...answer, steps } };
        }),
      });
    },
    failed: (error) => {
      reading = false;
      const events = store.get("events").map((event) => ({ ...event, answer: { ok: false, problem: { message: inWords(error), position: null } } }));
      store.set({ events, readFor: readKey() });
    },
  });

  /** What the answer depends on: asking again for the same would never end. */
  function readKey() {
    return JSON.stringify([
      store.get("regions").map(({ name, cells }) => [name, cells.length, cells[0], cells.at(-1), cells.reduce((sum, cell) => (sum * 31 + cell) % 1000003, 7)]),
      store.get("events").map(({ id, name, every, shape, writer, formula }) => [id, name, every, writer === "text" || !shape ? formula : shape]),
    ]);
  }
  let lastRead = null;
  store.watch(["events", "regions", "world"], () => {
    if (!store.get("world")) return;
    const key = readKey();
    const answered = reading || store.get("events").every((event) => event.answer);
    if (answered && (key === lastRead || key === store.get("readFor"))) return;
    lastRead = key;
    read();
  });

  // --- how likely each is before any release ---------------------------------------------------------------
  const ask = latest(350, (signal) => api.post("/chances", { setting: settingOf(store) }, { signal }), {
    waiting: () => store.set({ chances: { ...store.get("chances"), state: "computing" } }),
    answer: ({ events }) => store.set({ chances: { state: "known", events } }),
    failed: (error) => store.set({ chances: { state: "failed", events: [], message: inWords(error) } }),
  });
  let lastAsked = null;
  store.watch(["events", "regions", "protection"], () => {
    const events = store.get("events");
    if (!store.get("world") || events.length === 0 || !events.every((event) => event.answer?.ok)) return;
    const key = JSON.stringify([settingOf(store).events, settingOf(store).observer, settingOf(store).regions]);
    if (key === lastAsked) return;
    lastAsked = key;
    ask();
  });

  // --- the cards -----------------------------------------------------------------------------------------------
  const cards = new Map();
  store.watch(["events", "regions", "chances"], () => {
    const events = store.get("events");
    for (const [id, card] of cards) {
      if (events.some((event) => event.id === id)) continue;
      card.node.remove();
      cards.delete(id);
    }
    list.querySelector(".empty")?.remove();
    if (events.length === 0) list.append(element("div", { class: "empty" }, "Nothing is secret yet. Press New secret."));
    for (const event of events) {
      if (!cards.has(event.id)) {
        cards.set(event.id, eventCard(store, event.id, change));
        list.append(cards.get(event.id).node);
      }
      cards.get(event.id).update(event);
    }
  });
  store.watch(["world"], () => {
    for (const card of cards.values()) card.node.remove();
    cards.clear();
    lastRead = lastAsked = null;
  });
}

/** Make a secret out of the last painted place. */
export function addEvent(store) {
  const events = store.get("events");
  const regions = store.get("regions").filter((region) => region.cells.length);
  const region = (store.get("regions")[store.get("activeRegion")]?.cells.length ? store.get("regions")[store.get("activeRegion")] : regions[0])?.name ?? "";
  const taken = new Set(events.map((event) => event.name));
  let name = region ? `at ${region}` : "secret";
  for (let number = 2; taken.has(name); number += 1) name = `${region ? `at ${region}` : "secret"} ${number}`;
  const shape = { kind: "presence", stages: [{ region, when: [WHOLE_TIME] }], times: 2 };
  store.set({ events: [...events, { ...eventOf({ name, formula: "", every: null }), shape }] });
}

function eventCard(store, id, change) {
  const mine = () => store.get("events").find((event) => event.id === id);
  const reshape = (part) => change(id, { shape: { ...mine().shape, ...part }, writer: "picture" });
  const clockOf = store.get("world").clock;
  const name = element("input", { type: "text", maxlength: "80", autocomplete: "off", on: { change: () => name.value.trim() && change(id, { name: name.value.trim() }) } });
  const kinds = element("div", {});
  const stages = element("div", { class: "list" });
  const every = choice(EVERY, "", (value) => change(id, { every: value || null }));
  const text = element("textarea", { rows: "2", spellcheck: "false", autocapitalize: "off" });
  const problem = element("p", { class: "says bad small", id: freshId("problem"), hidden: true });
  const sentence = element("p", { class: "says", "aria-live": "polite" });
  const chance = element("div", { "aria-live": "polite" });
  text.addEventListener("input", () => change(id, { formula: text.value, writer: "text", shape: null }));
  text.addEventListener("blur", () => {
    const event = mine();
    if (event?.answer?.ok) text.value = event.formula;
  });
  const textField = field("As text, in the event language", text);
  text.setAttribute("aria-describedby", problem.id);
  const node = element(
    "section",
    { class: "card", "aria-label": "Secret" },
    element("div", { class: "row" }, element("div", { class: "grow" }, field("Name", name)), button("Remove", () => store.set({ events: store.get("events").filter((event) => event.id !== id) }), { class: "plain" })),
    kinds,
    stages,
    field("How often", every),
    textField,
    problem,
    sentence,
    chance,
  );
  let drawn = null;
  let widgets = [];

  function drawStages(event) {
    const { shape } = event;
    const places = store.get("regions").filter((region) => region.cells.length).map((region) => region.name);
    const key = JSON.stringify([shape?.kind, shape?.stages.length, places, shape?.stages.map((stage) => stage.region), shape?.times]);
    if (key !== drawn) {
      drawn = key;
      const focus = document.activeElement?.dataset?.part;
      widgets = [];
      show(
        kinds,
        segments("What happened", KINDS, shape?.kind ?? "text", (kind) => {
          if (kind === "text") return change(id, { writer: "text", shape: null });
          const old = mine().shape ?? { stages: [{ region: places[0] ?? "", when: [WHOLE_TIME] }], times: 2 };
          const first = old.stages[0];
          const second = old.stages[1] ?? { region: places.find((place) => place !== first.region) ?? first.region, when: first.when.map(later) };
          return change(id, { writer: "picture", shape: { ...old, kind, stages: kind === "then" ? [first, second] : [first] } });
        }),
      );
      show(stages, shape ? shape.stages.map((stage, number) => stageBox(shape, stage, number, places)) : element("p", { class: "quiet small" }, "Write anything that the event language can say: and, or, not, counts, patterns. A simple text turns back into a picture."));
      if (focus) stages.querySelector(`[data-part="${focus}"]`)?.focus();
    }
    widgets.forEach((widget, number) => widget.update(shape.stages[number].when));
  }

  function stageBox(shape, stage, number, places) {
    const options = places.includes(stage.region) ? places : [stage.region, ...places];
    const where = choice(options.map((place) => [place, place || "choose a place"]), stage.region, (region) => reshape({ stages: mine().shape.stages.with(number, { ...mine().shape.stages[number], region }) }), { "data-part": `where-${number}` });
    const widget = timeline({
      times: clockOf.times,
      stepMinutes: clockOf.step_seconds / 60,
      label: `When at ${stage.region}`,
      change: (when) => reshape({ stages: mine().shape.stages.with(number, { ...mine().shape.stages[number], when }) }),
    });
    widgets.push(widget);
    const count = element("input", { type: "number", min: "1", max: "999", value: String(shape.times), "data-part": "times", on: { change: (event) => reshape({ times: Math.max(1, Math.min(999, Math.round(Number(event.target.value)) || 1)) }) } });
    return element(
      "div",
      { class: shape.stages.length > 1 ? "stage-box" : "list" },
      element("div", { class: "row" }, element("div", { class: "grow" }, field(number ? "and there" : "Where", where)), shape.kind === "at_least" ? field("At least", count) : null),
      widget.node,
    );
  }

  return {
    node,
    update(event) {
      if (document.activeElement !== name) name.value = event.name;
      drawStages(event);
      if (every.value !== (event.every ?? "")) every.value = event.every ?? "";
      // What somebody is writing is theirs; as soon as the picture speaks, the text follows it.
      const writing = document.activeElement === text && event.writer === "text";
      if (!writing && text.value !== event.formula) text.value = event.formula;
      const { answer } = event;
      const incomplete = event.shape && !structureOf(event.shape);
      const wrong = answer && !answer.ok && !incomplete;
      problem.hidden = !wrong;
      problem.textContent = wrong ? answer.problem.message : "";
      text.setAttribute("aria-invalid", String(Boolean(wrong)));
      node.setAttribute("aria-label", `Secret: ${event.name}`);
      if (incomplete) show(sentence, "Choose a place and at least one time.");
      else if (!answer) show(sentence, element("span", { class: "busy" }, "reading"));
      else if (answer.ok) show(sentence, answer.sentence);
      sentence.hidden = Boolean(wrong);
      show(chance, wrong || incomplete ? null : chanceWords(store.get("chances"), event));
    },
  };
}

function chanceWords(chances, event) {
  if (!event.answer?.ok) return null;
  const found = (chances?.events ?? []).filter((each) => each.event === event.name);
  if (chances?.state === "failed") return element("p", { class: "says bad small" }, chances.message);
  if (found.length === 0) return chances?.state === "computing" ? element("span", { class: "busy" }, "How likely is it?") : null;
  const guess = found.map((each) => each.population).filter((each) => each !== null);
  const lowest = Math.min(...guess);
  const highest = Math.max(...guess);
  const head = percent(lowest) === percent(highest) ? percent(highest) : `${percent(lowest)} to ${percent(highest)}`;
  return element(
    "div",
    { class: chances.state === "computing" ? "computing" : "" },
    element("p", { class: "chance" }, head),
    element("p", { class: "quiet small" }, `likely before any release, to one who knows how people here move${found.length > 1 ? ` (${plural(found.length, "period")})` : ""}. ${found.length === 1 ? `${found[0].words}.` : ""}`),
    found.length > 1 || event.answer.unguarded?.length
      ? element(
          "details",
          { class: "occurrences" },
          element("summary", {}, found.length > 1 ? `Each of the ${found.length} by itself` : "Not guarded"),
          element("ul", { class: "list" }, found.map((each) => element("li", {}, `${each.name}: ${each.words}`)), (event.answer.unguarded ?? []).map((each) => element("li", { class: "quiet" }, `${each.period}: ${each.reason}`))),
        )
      : null,
  );
}
