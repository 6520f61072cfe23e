// What is guarded beside the guarantee itself: the models of movement that an adversary may hold, and hours
// around the secret in which nothing depends on where the person is. Each choice costs; how much is a press away.

import { button, element, segments, show } from "./elements.js";
import { inWords, Problem } from "./api.js";
import { missing, settingOf } from "./setting.js";
import { metres } from "./words.js";

const FAMILIES = [
  ["home", "How people move, and your home"],
  ["all", "Also your own earlier days, and people without that home"],
];
const HOURS = [
  ["off", "None"],
  ["30min", "30 minutes"],
  ["auto", "1 hour"],
  ["2h", "2 hours"],
];
const RUNS = 4;

/** Which of the choices a section of movement stands for; null where the page cannot tell. */
export function familyOf(mobility) {
  if (!mobility.home || mobility.kind === "several") return null;
  if (!mobility.family) return "all";
  const members = [...mobility.family].sort().join();
  return members === "home" ? "home" : ["own,roaming", "home,own,roaming"].includes(members) ? "all" : null;
}

/** The section with another choice. */
export function withFamily(mobility, choice) {
  const rest = Object.fromEntries(Object.entries(mobility).filter(([key]) => key !== "family"));
  return choice === "home" ? { ...rest, family: ["home"] } : rest;
}

/** The card with both choices and their costs. */
export function openKnowledge(store, change, api) {
  const families = element("div", {});
  const hours = element("div", {});
  const own = element("p", { class: "quiet small" });
  const costs = element("div", { class: "list", "aria-live": "polite" });
  const ask = button("What does each of these cost?", () => void compare());
  const card = element(
    "section",
    { class: "card" },
    element("h3", {}, "What else is guarded"),
    families,
    hours,
    element(
      "p",
      { class: "quiet small" },
      "Around the secret’s times, releases do not depend on where you are. This holds whatever the adversary knows about movement.",
    ),
    own,
    element("div", { class: "row" }, ask),
    costs,
  );
  const guardedHours = () => store.get("protection").guarantee.guarded_hours ?? "auto";
  const setHours = (value) =>
    change({ guarantee: { ...store.get("protection").guarantee, guarded_hours: value } });
  let shown = null;
  store.watch(["world", "protection"], () => {
    if (!store.get("world")) return;
    const { mobility } = store.get("protection");
    const family = familyOf(mobility);
    const now = guardedHours();
    const known = HOURS.some(([value]) => value === now) ? HOURS : [...HOURS, [now, now]];
    const key = JSON.stringify([family, now]);
    if (key === shown) return;
    shown = key;
    const held = card.contains(document.activeElement) ? document.activeElement.getAttribute("value") : null;
    families.hidden = family === null;
    show(
      families,
      family === null
        ? null
        : segments("What the adversary may know about how you move", FAMILIES, family, (value) =>
            change({ mobility: withFamily(store.get("protection").mobility, value) }),
          ),
    );
    show(hours, segments("Guarded hours before and after each secret", known, now, setHours));
    own.textContent =
      mobility.kind === "several" ? "The models of movement are those of the policy that you opened." : "";
    show(costs);
    if (held) card.querySelector(`input[value="${held}"]`)?.focus();
  });

  /** Forecast every choice with the others as they are, on the same days and with the same random numbers. */
  async function compare() {
    const wrong = missing(store);
    if (wrong) return show(costs, element("p", { class: "says note small" }, wrong));
    const setting = settingOf(store);
    const family = familyOf(setting.mobility);
    const tried = [
      ...(family === null ? [] : FAMILIES).map(([value, words]) => ({
        words,
        now: value === family,
        setting: { ...setting, mobility: withFamily(setting.mobility, value) },
      })),
      ...HOURS.map(([value, words]) => ({
        words: `guarded hours: ${words.toLowerCase()}`,
        now: value === guardedHours(),
        setting: { ...setting, guarantee: { ...setting.guarantee, guarded_hours: value } },
      })),
    ];
    const found = [];
    ask.disabled = true;
    try {
      for (const each of tried) {
        show(costs, table(found), element("span", { class: "busy" }, `trying ${each.words}`));
        found.push({ ...each, cost: await forecast(each.setting) });
      }
      show(costs, table(found));
    } catch (error) {
      show(costs, table(found), element("p", { class: "says bad small" }, inWords(error)));
    } finally {
      ask.disabled = false;
    }
  }

  async function forecast(setting) {
    const { job } = await api.post("/forecasts", { setting, runs: RUNS });
    for await (const { name, data } of api.events(`/jobs/${job}/events`)) {
      if (name === "done") return data;
      if (name === "failed") throw new Problem(data);
      if (name === "cancelled")
        throw new Problem({ message: "Something else was asked meanwhile. Press again." });
    }
    return null;
  }
  return card;
}

function table(rows) {
  if (!rows.length) return null;
  const cell = (value) => element("td", {}, value ? metres(value.metres) : "–");
  return element(
    "table",
    { class: "figures" },
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        ["mean error", "everywhere", "far", "near"].map((head) => element("th", { scope: "col" }, head)),
      ),
    ),
    element(
      "tbody",
      {},
      rows.map(({ words, now, cost }) =>
        element(
          "tr",
          { class: now ? "chosen" : null },
          element("td", {}, words, now ? " (chosen)" : ""),
          cell(cost?.everywhere),
          cell(cost?.far),
          cell(cost?.near),
        ),
      ),
    ),
  );
}
