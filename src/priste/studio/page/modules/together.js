// Secrets with several answers: events that are guarded together, so that also which of them happened stays
// deniable, and secrets of an opened policy that have a formula for each answer.

import { button, checkbox, element, field, freshId, show } from "./elements.js";
import { chanceWords } from "./event_card.js";
import { say } from "./heard.js";
import { secretOf, secretsOf } from "./secrets.js";
import { knower } from "./setting.js";
import { timeline } from "./timeline.js";

/** Guard the events of a page together: those there are, or one more at another place. */
export function addTogether(store, addSecret) {
  const taken = new Set(store.get("secrets").flatMap(({ together }) => together ?? []));
  const free = () => store.get("events").filter(({ id }) => !taken.has(id));
  const { home } = store.get("protection").mobility;
  const others = store
    .get("regions")
    .filter(({ name, cells }) => cells.length && !secretOf(store.get("events"), name))
    .sort((one, other) => Number(one.name === home) - Number(other.name === home));
  const [model] = free();
  while (free().length < 2 && others.length)
    addSecret(store, others.shift().name, false, model?.shape?.stages[0].when, model?.every);
  const names = new Set([...store.get("events"), ...store.get("secrets")].map(({ name }) => name));
  let name = "together";
  for (let number = 2; names.has(name); number += 1) name = `together ${number}`;
  const [first] = free();
  const members = free().filter(({ every }) => every === first.every);
  const made = secretsOf([{ name, together: members.slice(0, 2).map((event) => event.name) }], members);
  store.set({ secrets: [...store.get("secrets"), ...made] });
}

/** Make the card of the secret `id`. */
export function togetherCard(store, id, addSecret) {
  const mine = () => store.get("secrets").find((secret) => secret.id === id);
  const change = (part) =>
    store.set({
      secrets: store.get("secrets").map((secret) => (secret.id === id ? { ...secret, ...part } : secret)),
    });
  const members = () => store.get("events").filter((event) => mine().together?.includes(event.id));
  const name = element("input", {
    type: "text",
    maxlength: "80",
    autocomplete: "off",
    on: { change: () => name.value.trim() && change({ name: name.value.trim() }) },
  });
  const which = element("div", {});
  const times = element("div", { class: "list" });
  const problem = element("p", { class: "says bad small", id: freshId("problem"), hidden: true });
  const sentence = element("p", { class: "says", "aria-live": "polite" });
  const chance = element("div", {});
  const node = element(
    "section",
    { class: "card" },
    element(
      "div",
      { class: "row" },
      element("div", { class: "grow" }, field("Name", name)),
      button("Remove", () => store.set({ secrets: store.get("secrets").filter((each) => each.id !== id) }), {
        class: "plain",
      }),
    ),
    which,
    times,
    problem,
    sentence,
    chance,
  );
  let drawn = null;
  let widget = null;

  /** The places and events that may be in it; a place without a secret gets one with the same times. */
  function choices() {
    const events = store.get("events");
    const inside = new Set(mine().together);
    const turn = (event) => (on) =>
      change({ together: on ? [...inside, event.id] : [...inside].filter((each) => each !== event.id) });
    const places = store
      .get("regions")
      .filter(({ name: place, cells }) => cells.length && !secretOf(events, place));
    return element(
      "fieldset",
      {},
      element("legend", {}, "Which of these happened stays deniable"),
      element(
        "div",
        { class: "row" },
        events.map((event) => checkbox(event.name, inside.has(event.id), turn(event))),
        places.map(({ name: place }) =>
          checkbox(`at ${place}`, false, () => {
            const [first] = members();
            const made = addSecret(store, place, false, first?.shape?.stages[0].when, first?.every);
            change({ together: [...inside, made] });
            say(`at ${place} is a secret now, guarded with the others.`);
          }),
        ),
      ),
    );
  }

  function answerRows() {
    return mine().answers.map(({ name: answer, formula }, place) => {
      const text = element("textarea", { rows: "2", spellcheck: "false" });
      text.value = formula;
      text.addEventListener("change", () =>
        change({ answers: mine().answers.with(place, { name: answer, formula: text.value }) }),
      );
      return field(`Answer “${answer}”, in the event language`, text);
    });
  }

  /** The times of all of them, where they are the same. */
  function showTimes() {
    const shapes = members().map(({ shape }) => (shape?.kind === "presence" ? shape.stages[0].when : null));
    const same = shapes.length > 1 && shapes.every((when) => when && when.join() === shapes[0].join());
    times.hidden = !same;
    if (!same) return;
    if (!widget) {
      const { clock } = store.get("world");
      widget = timeline({
        times: clock.times,
        stepMinutes: clock.step_seconds / 60,
        label: `When, for all of ${mine().name}`,
        change: (when) =>
          store.set({
            events: store.get("events").map((event) => {
              if (!mine().together.includes(event.id)) return event;
              const shape = { ...event.shape, stages: [{ ...event.shape.stages[0], when }] };
              return { ...event, shape, writer: "picture", example: false };
            }),
          }),
      });
      show(times, element("h3", { class: "small" }, "When, for all of them"), widget.node);
    }
    widget.update(shapes[0]);
  }

  return {
    node,
    update(secret) {
      if (document.activeElement !== name) name.value = secret.name;
      node.setAttribute("aria-label", `Guarded together: ${secret.name}`);
      const places = store.get("regions").map(({ name: place, cells }) => [place, cells.length > 0]);
      const events = store
        .get("events")
        .map(({ id: number, name: text, shape }) => [number, text, shape?.stages[0].region]);
      const key = JSON.stringify([secret.together, secret.answers, places, events]);
      if (key !== drawn) {
        drawn = key;
        const held = which.contains(document.activeElement)
          ? [...which.querySelectorAll("input, textarea")].indexOf(document.activeElement)
          : -1;
        show(which, secret.together ? choices() : answerRows());
        which.querySelectorAll("input, textarea")[held]?.focus();
      }
      if (secret.together) showTimes();
      const { answer } = secret;
      problem.hidden = !answer || answer.ok;
      problem.textContent = problem.hidden ? "" : answer.problem.message;
      sentence.hidden = !problem.hidden;
      if (!answer) show(sentence, element("span", { class: "busy" }, "reading"));
      else if (answer.ok && sentence.textContent !== answer.sentence) show(sentence, answer.sentence);
      show(
        chance,
        chanceWords(store.get("chances"), secret, knower(store), "That any of them happened is so"),
      );
    },
  };
}
