// What places and secrets have to do with each other, and what somebody should know before a run.

let numbers = 0;

/** Secrets as the page holds them: their events by number, because names change. */
export const secretsOf = (listed, events) =>
  (listed ?? []).map(({ name, together = null, answers = null, every = null, guarantee = null }) => ({
    id: (numbers += 1),
    name,
    together: together && events.filter((event) => together.includes(event.name)).map(({ id }) => id),
    answers,
    every,
    guarantee,
    answer: null,
  }));

/** Secrets as a setting has them. */
export const secretsIn = (secrets, events) =>
  secrets.map(({ name, together, answers, every, guarantee }) => ({
    name,
    ...(together
      ? { together: events.filter(({ id }) => together.includes(id)).map((event) => event.name) }
      : { answers, every }),
    ...(guarantee ? { guarantee } : {}),
  }));

/** All that is guarded: events, and secrets of several. */
export const guarded = (store) => [...store.get("events"), ...store.get("secrets")];

/** What is guarded under a name, as the events that it is made of. */
export function partsOf(store, name) {
  const secret = store.get("secrets").find((each) => each.name === name);
  if (!secret) return store.get("events").filter((event) => event.name === name);
  if (secret.answers) return secret.answers;
  return store.get("events").filter(({ id }) => secret.together.includes(id));
}

/** The events and the formulas of answers: all that may speak of a place. */
export const spoken = (events, secrets = []) => [
  ...events,
  ...secrets.flatMap(({ answers }) => answers ?? []),
];

/** The names of the places that an event speaks of, as far as its picture or its tree tells. */
export function placesIn({ shape = null, answer = null }) {
  if (shape) return shape.stages.map((stage) => stage.region);
  const named = [];
  const walk = (tree) => {
    if (!tree) return;
    if (typeof tree.region === "string") named.push(tree.region);
    for (const part of tree.parts ?? tree.places ?? []) walk(part);
    walk(tree.part);
  };
  walk(answer?.structure);
  return named;
}

/** Whether an event speaks of a place; of one that is only text, its name in the text decides. */
const speaksOf = (event, name) =>
  event.shape || event.answer?.structure
    ? placesIn(event).includes(name)
    : wordsOf(event.formula ?? "").includes(name);

/** The names and quoted texts of a formula. */
const wordsOf = (formula) =>
  [...formula.matchAll(/"([^"]*)"|[\p{L}_][\p{L}\p{N}_-]*/gu)].map(([word, quoted]) => quoted ?? word);

/** The names of all places that some secret speaks of. */
export const secretPlaces = (regions, events) =>
  new Set(regions.map(({ name }) => name).filter((name) => events.some((event) => speaksOf(event, name))));

/** Places that somebody painted and no secret speaks of. */
export const unguarded = (regions, events) =>
  regions.filter(
    ({ name, cells, painted }) => painted && cells.length && !events.some((event) => speaksOf(event, name)),
  );

/** Secrets of a draft that nobody has looked at: examples, not what somebody wants to hide. */
export const untouchedExamples = (events) => events.filter((event) => event.example);

/** The secret that was made for a place and whose times can be chosen beside the place. */
export const secretOf = (events, name) =>
  events.find(
    ({ shape }) => shape?.kind === "presence" && shape.stages.length === 1 && shape.stages[0].region === name,
  );

/** The cells that something guarded is about. */
export function cellsOf(store, name) {
  const parts = partsOf(store, name);
  const regions = store.get("regions").filter((region) => parts.some((part) => speaksOf(part, region.name)));
  return new Set(regions.flatMap(({ cells }) => [...cells]));
}

/**
 * The moment of a run that shows best what it is for: the truth at the secret place, the release as far from
 * it as possible. `cells(event)` are the cells that an event of the run is about.
 */
export function secretMoment(run, cells) {
  /** @type {{ score: number, chosenEvent: number, shown: number }} */
  let best = null;
  for (const [number, event] of run.start.events.entries()) {
    const inside = cells(event);
    for (const step of event.steps) {
      const made = run.steps[step];
      if (!made || made.error === null || made.error === undefined) continue;
      const score =
        (inside.has(made.trueCell) ? 2e9 : 0) + (inside.has(made.releasedCell) ? 0 : 1e9) + made.error;
      if (!best || score > best.score) best = { score, chosenEvent: number, shown: step };
    }
  }
  if (best) return { chosenEvent: best.chosenEvent, shown: best.shown };
  const first = run.start.events[0]?.steps[0] ?? run.steps.length - 1;
  return { chosenEvent: 0, shown: Math.max(0, Math.min(first, run.steps.length - 1)) };
}
