// The modules of the page that compute and draw nothing, in node's own test runner.

import assert from "node:assert/strict";
import { test } from "node:test";
import { readFileSync } from "node:fs";

const modules = new URL("../../src/priste/studio/page/modules/", import.meta.url);
const load = (name) => import(new URL(name, modules));

test("secrets of several keep their events through other names, and answers speak of whole names", async () => {
  const { secretsIn, secretsOf, spoken, unguarded } = await load("secrets.js");
  const events = [
    { id: 1, name: "treatment" },
    { id: 2, name: "group" },
    { id: 3, name: "bar" },
  ];
  const listed = [
    { name: "health", together: ["treatment", "group"], guarantee: { epsilon: 0.5 } },
    { name: "where", answers: [{ name: "a", formula: 'at("my bar", 3)' }], every: "week" },
  ];
  const secrets = secretsOf(listed, events);
  assert.deepEqual(secrets[0].together, [1, 2]);
  const renamed = events.map((event) => (event.id === 2 ? { ...event, name: "choir" } : event));
  assert.deepEqual(secretsIn(secrets, renamed), [
    { name: "health", together: ["treatment", "choir"], guarantee: { epsilon: 0.5 } },
    listed[1],
  ]);
  const regions = ["my bar", "bar", "bars"].map((name) => ({ name, cells: [1], painted: true }));
  assert.deepEqual(
    unguarded(regions, spoken([], secrets)).map(({ name }) => name),
    ["bar", "bars"],
  );
});

test("a draft can leave out times of the week, and neither all of it nor dates", async () => {
  const { canBeLeftOut } = await load("checks.js");
  assert.ok(canBeLeftOut(["wed 14:00-16:00", "daily 22:00-06:00"]));
  for (const hours of [[], ["daily"], ["wed 14:00-16:00", "2026-03-04"], ["3..5"]])
    assert.ok(!canBeLeftOut(hours));
});

test("a painted place that no secret speaks of is told, a drafted one is not", async () => {
  const { secretPlaces, unguarded, untouchedExamples } = await load("secrets.js");
  const regions = [
    { name: "home", cells: [1], painted: false },
    { name: "clinic", cells: [2], painted: true },
    { name: "bar", cells: [3], painted: true },
    { name: "not yet", cells: [], painted: true },
  ];
  const shape = { kind: "presence", stages: [{ region: "clinic", when: ["daily"] }], times: 2 };
  const events = [
    { name: "at clinic", shape, example: false },
    { name: "drafted", shape: null, formula: "presence(home, 1)", example: true },
  ];
  assert.deepEqual(
    unguarded(regions, events).map(({ name }) => name),
    ["bar"],
  );
  assert.deepEqual([...secretPlaces(regions, events)], ["home", "clinic"]);
  assert.deepEqual(
    untouchedExamples(events).map(({ name }) => name),
    ["drafted"],
  );
});

test("places are found in every part of a tree", async () => {
  const { placesIn } = await load("secrets.js");
  const at = (region) => ({ kind: "at", region, when: "1" });
  const structure = {
    kind: "or",
    parts: [
      { kind: "not", part: at("a") },
      { kind: "pattern", places: [at("b"), at("c")] },
      at({ cells: [1] }),
    ],
  };
  assert.deepEqual(placesIn({ answer: { structure } }), ["a", "b", "c"]);
});

test("a run goes to the truth at the secret place and the release far from it", async () => {
  const { secretMoment } = await load("secrets.js");
  const step = (trueCell, releasedCell, error) => ({ trueCell, releasedCell, error });
  const run = {
    start: { events: [{ steps: [0, 1, 2, 3] }, { steps: [4] }] },
    steps: [step(1, 9, 5000), step(7, 7, 0), step(7, 3, 800), step(7, 2, 1200), step(1, 9, 9000)],
  };
  assert.deepEqual(
    secretMoment(run, () => new Set([7])),
    { chosenEvent: 0, shown: 3 },
  );
  // Nobody was there: the farthest release of the secret's time.
  assert.equal(secretMoment(run, () => new Set([100])).shown, 4);
  const silent = { start: { events: [{ steps: [2] }] }, steps: [step(1, -1, null)] };
  assert.deepEqual(
    secretMoment(silent, () => new Set()),
    { chosenEvent: 0, shown: 0 },
  );
});

test("times go from text to picture and back", async () => {
  const { later, readWhen, stretchesOf, textsOf, whenWords, withStretch } = await load("when.js");
  const rows = [
    { key: "tue", weekday: 1 },
    { key: "wed", weekday: 2 },
  ];
  const chosen = stretchesOf(["wed 22:00-02:00", "tue 08:00-10:00"], rows);
  assert.deepEqual(chosen.get("tue"), [[480, 600]]);
  assert.deepEqual(chosen.get("wed"), [[1320, 1440]]);
  const more = withStretch(chosen, ["tue", "wed"], [540, 660], false);
  assert.deepEqual(more.get("tue"), [[480, 660]]);
  assert.deepEqual(textsOf(withStretch(more, ["tue"], [0, 1440], true), rows), [
    "wed 09:00-11:00",
    "wed 22:00-00:00",
  ]);
  assert.equal(readWhen("3..5"), null);
  assert.equal(whenWords("weekdays 08:00-18:00"), "Monday to Friday, 08:00 to 18:00");
  assert.equal(later("wed 14:00-16:00"), "wed 16:00-18:00");
});

test("a day is cut where the place changes", async () => {
  const { piecesOf } = await load("week_picture.js");
  const places = [0, 1, 2, 3].map((k) => ({
    row: k < 2 ? 0 : 1,
    begin: (k % 2) / 2,
    end: (k % 2) / 2 + 0.5,
  }));
  const kinds = ["home", "home", "home", null];
  assert.deepEqual(
    piecesOf(places, (step) => kinds[step]),
    [
      { row: 0, begin: 0, end: 1, kind: "home" },
      { row: 1, begin: 0, end: 0.5, kind: "home" },
    ],
  );
});

test("which models are guarded is read and written", async () => {
  const { familyOf, withFamily } = await load("knowledge.js");
  const mobility = { kind: "fit", home: "home" };
  assert.equal(familyOf(mobility), "all");
  assert.equal(familyOf(withFamily(mobility, "home")), "home");
  assert.deepEqual(withFamily(withFamily(mobility, "home"), "all"), mobility);
  assert.equal(familyOf({ ...mobility, family: ["narrow"] }), null);
  assert.equal(familyOf({ kind: "several" }), null);
  assert.equal(familyOf({ kind: "gaussian" }), null);
});

test("cells and positions answer each other", async () => {
  const { Geometry } = await load("geometry.js");
  const [rows, columns] = [4, 6];
  const corners = Array.from({ length: (rows + 1) * (columns + 1) }, (_, k) => k);
  const geometry = new Geometry({
    rows,
    columns,
    lat: corners.map((k) => 46 + 0.01 * Math.floor(k / (columns + 1))),
    lon: corners.map((k) => 7 + 0.01 * (k % (columns + 1))),
  });
  for (let cell = 0; cell < rows * columns; cell += 1)
    assert.equal(geometry.cellAt(...geometry.center(cell)), cell);
  assert.equal(geometry.cellAt(45.9, 7.01), null);
  assert.deepEqual(geometry.line(0, 3), [0, 1, 2, 3]);
  assert.equal(geometry.edgesOf([0]).length, 8);
});

test("the world is small, whole and where it should be", async () => {
  const { nearestCity, unpackedLines } = await load("world.js");
  const text = readFileSync(new URL("../world.json", modules));
  assert.ok(text.length < 1e6);
  const world = JSON.parse(text.toString());
  for (const { box } of unpackedLines(world)) assert.ok(box[0] >= -0.01 && box[2] <= 256.01);
  const cities = world.cities.map(([name, lat, lon]) => ({ name, lat, lon }));
  const { name, km } = nearestCity(cities, [39.98, 116.33]);
  assert.equal(name, "Beijing");
  assert.ok(km > 5 && km < 15);
});
