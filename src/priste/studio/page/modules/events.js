// Secrets: what must stay deniable. The picture (kind, places, times) and the text of the event
// language are two views of one event; the server's parser turns each into the other.

import { button, element, keyed, show } from "./elements.js";
import { eventCard } from "./event_card.js";
import { WHOLE_TIME, shapeOf, structureOf } from "./event_shape.js";
import { latest } from "./lateness.js";
import { addTogether, togetherCard } from "./together.js";
import { guarded, secretsIn } from "./secrets.js";
import { settingOf } from "./setting.js";
import { inWords, unpacked } from "./api.js";

let numbers = 0;

/**
 * The event as the page holds it. `example` tells that it stands in a draft and nobody has looked at it yet,
 * `made` that it was made because somebody painted a place.
 */
export const eventOf = ({
  name,
  formula,
  every = null,
  span = null,
  guarantee = null,
  example = false,
  made = false,
}) => ({
  id: (numbers += 1),
  name,
  formula,
  every,
  span,
  guarantee,
  example,
  made,
  shape: null,
  answer: null,
});

/** Give a place its new name in every event. */
export function renameInEvents(store) {
  return (old, name) => {
    const quoted = (word) => (/^[^\W\d][\w-]*$/u.test(word) ? word : `"${word}"`);
    const renamed = (place) => (place === old ? name : place);
    const { also, mobility, ...protection } = store.get("protection");
    const living = mobility.home ? { ...mobility, home: renamed(mobility.home) } : mobility;
    store.set({
      protection: { ...protection, also: also.map(renamed), mobility: living },
      events: store.get("events").map((event) => {
        if (!event.shape) return { ...event, formula: event.formula.replaceAll(quoted(old), quoted(name)) };
        const stages = event.shape.stages.map((stage) =>
          stage.region === old ? { ...stage, region: name } : stage,
        );
        return { ...event, shape: { ...event.shape, stages } };
      }),
    });
  };
}

export function openEvents(store, view, api) {
  const list = element("div", { class: "list" });
  const groups = element("div", { class: "list" });
  const join = button("Guard several together", () => addTogether(store, addSecret), {
    title: "Then it also stays deniable which of them happened, and whether all did.",
  });
  show(
    view,
    element("h2", { tabindex: "-1" }, "What must stay deniable?"),
    element(
      "p",
      { class: "quiet" },
      "A place and a time make a secret. What all releases together reveal about it is bounded.",
    ),
    list,
    groups,
    element(
      "div",
      { class: "row" },
      button("New secret", () => addEvent(store)),
      join,
    ),
    element(
      "div",
      { class: "row next" },
      button("Next: the adversary", () => store.set({ tab: "protection" }), { class: "main" }),
    ),
  );

  // --- the server reads every event: text, structure, sentence, steps -----------------------------------
  const change = (id, part) =>
    store.set({
      events: store
        .get("events")
        .map((event) => (event.id === id ? { ...event, example: false, ...part } : event)),
    });

  let reading = false;
  const read = latest(
    120,
    (signal) => {
      const setting = settingOf(store);
      const events = store.get("events").map((event) => {
        const structure = event.shape && event.writer !== "text" ? structureOf(event.shape) : null;
        const { name, formula, every, span } = event;
        return { name, every, span, ...(structure ? { structure } : { formula }) };
      });
      const [asked, secrets] = [store.get("events"), store.get("secrets")];
      return api
        .post("/events", { setting: { ...setting, events } }, { signal })
        .then((found) => ({ found, asked, secrets }));
    },
    {
      waiting: () => {
        reading = true;
      },
      answer: ({ found, asked, secrets }) => {
        reading = false;
        const grouped = new Map(
          secrets.map(({ id }, number) => {
            const answer = found.secrets[number];
            return [id, answer.ok ? { ...answer, steps: unpacked(answer.steps) } : answer];
          }),
        );
        const answers = new Map(asked.map((event, number) => [event.id, found.events[number]]));
        store.set({
          readFor: readKey(),
          secrets: store
            .get("secrets")
            .map((secret) => ({ ...secret, answer: grouped.get(secret.id) ?? secret.answer })),
          events: store.get("events").map((event) => {
            const answer = answers.get(event.id);
            if (!answer) return event;
            if (!answer.ok) return { ...event, answer };
            const steps = unpacked(answer.steps);
            const shape = event.writer === "text" || !event.shape ? shapeOf(answer.structure) : event.shape;
            return {
              ...event,
              formula: answer.formula,
              structure: answer.structure,
              shape,
              answer: { ...answer, steps },
            };
          }),
        });
      },
      failed: (error) => {
        reading = false;
        const events = store.get("events").map((event) => ({
          ...event,
          answer: { ok: false, problem: { message: inWords(error), position: null } },
        }));
        const { answer } = events[0] ?? { answer: null };
        const secrets = store.get("secrets").map((secret) => ({ ...secret, answer }));
        store.set({ events, secrets, readFor: readKey() });
      },
    },
  );

  /** What the answer depends on: asking again for the same would never end. */
  function readKey() {
    return JSON.stringify([
      store
        .get("regions")
        .map(({ name, cells }) => [
          name,
          cells.length,
          cells[0],
          cells.at(-1),
          cells.reduce((sum, cell) => (sum * 31 + cell) % 1000003, 7),
        ]),
      store
        .get("events")
        .map(({ id, name, every, span, shape, writer, formula }) => [
          id,
          name,
          every,
          span,
          writer === "text" || !shape ? formula : shape,
        ]),
      secretsIn(store.get("secrets"), store.get("events")),
    ]);
  }
  let lastRead = null;
  store.watch(["events", "secrets", "regions", "world"], () => {
    if (!store.get("world")) return;
    const key = readKey();
    const answered = reading || guarded(store).every((each) => each.answer);
    if (answered && (key === lastRead || key === store.get("readFor"))) return;
    lastRead = key;
    read();
  });

  // --- how likely each is before any release ---------------------------------------------------------------
  const ask = latest(350, (signal, setting) => api.post("/chances", { setting }, { signal }), {
    waiting: () => store.set({ chances: { ...store.get("chances"), state: "computing" } }),
    answer: ({ events }) => store.set({ chances: { state: "known", events } }),
    failed: (error) => store.set({ chances: { state: "failed", events: [], message: inWords(error) } }),
  });
  let lastAsked = null;
  store.watch(["events", "secrets", "regions", "protection"], () => {
    const asked = guarded(store);
    if (!store.get("world") || asked.length === 0 || !asked.every((each) => each.answer?.ok)) return;
    const setting = settingOf(store);
    const key = JSON.stringify([setting.events, setting.secrets, setting.adversary, setting.regions]);
    if (key === lastAsked) return;
    lastAsked = key;
    ask(setting);
  });

  // --- the cards -----------------------------------------------------------------------------------------------
  const empty = element("p", { class: "empty" }, "Nothing is secret yet. Press New secret.");
  view.insertBefore(empty, list);
  const fill = keyed(
    list,
    ({ id }) => id,
    ({ id }) => eventCard(store, id, change),
  );
  const fillGroups = keyed(
    groups,
    ({ id }) => id,
    ({ id }) => togetherCard(store, id, addSecret),
  );
  store.watch(["events", "secrets", "regions", "chances"], () => {
    empty.hidden = guarded(store).length > 0;
    const places = store.get("regions").filter((region) => region.cells.length).length;
    join.hidden = store.get("events").length + places < 2;
    if (!store.get("world")) return;
    fill(store.get("events"));
    fillGroups(store.get("secrets"));
  });
  store.watch(["world"], () => {
    lastRead = lastAsked = null;
  });
}

/** Make a secret out of the chosen place. */
export function addEvent(store) {
  const painted = store.get("regions").filter((region) => region.cells.length);
  const chosen = store.get("regions")[store.get("activeRegion")];
  addSecret(store, (chosen?.cells.length ? chosen : painted[0])?.name ?? "", false);
}

/** Make a secret of being at a place, at all times until somebody chooses fewer; returns its number. */
export function addSecret(store, region, made = true, when = [WHOLE_TIME], every = "week") {
  const events = store.get("events");
  const taken = new Set(events.map((event) => event.name));
  const stem = region ? `at ${region}` : "secret";
  let name = stem;
  for (let number = 2; taken.has(name); number += 1) name = `${stem} ${number}`;
  const shape = { kind: "presence", stages: [{ region, when }], times: 2 };
  const event = { ...eventOf({ name, formula: "", every, made }), shape };
  store.set({ events: [...events, event] });
  return event.id;
}
