// What somebody should look at before a run or an export: places that nothing guards, examples that nobody
// chose, and hours that were read when the policy was drafted.

import { button, element, keyed, show } from "./elements.js";
import { addSecret } from "./events.js";
import { spoken, unguarded, untouchedExamples } from "./secrets.js";
import { settingOf } from "./setting.js";
import { readWhen, whenWords } from "./when.js";

/** Whether a draft can leave these times out: times of the week, and not all of it. */
export const canBeLeftOut = (hours) =>
  hours.length > 0 &&
  hours.every((text) => {
    const when = readWhen(text);
    return when && !when.dates && !(when.whole && (!when.days || when.days.length === 7));
  });

/** The list of what to look at, each with what to do about it. */
export function openChecks(store, { open, api }) {
  const list = element("div", { class: "list", "aria-live": "polite" });
  const state = element("div", { class: "list" });
  const node = element("div", { class: "list" }, list, state);
  const fill = keyed(
    list,
    ({ key }) => key,
    ({ words, action, press, keep }) => ({
      node: element(
        "div",
        { class: "says note check-note" },
        element("p", {}, words),
        action
          ? element(
              "div",
              { class: "row" },
              button(action, press),
              keep ? button("Keep it", keep, { class: "plain" }) : null,
            )
          : null,
      ),
    }),
  );
  const change = (id, part) =>
    store.set({ events: store.get("events").map((each) => (each.id === id ? { ...each, ...part } : each)) });
  /** Draft again without the hours of the secrets; what was painted stays, examples go. */
  const draftAgain = () => {
    const examples = new Set(untouchedExamples(store.get("events")).map(({ name }) => name));
    const setting = settingOf(store);
    const events = setting.events.filter(({ name }) => !examples.has(name));
    void open(() => api.post("/draft", { setting: { ...setting, events } }), "another draft");
  };
  store.watch(["events", "secrets", "regions", "run", "explained"], () => {
    const [events, regions] = [store.get("events"), store.get("regions")];
    const examples = untouchedExamples(events);
    const isExample = (name) => examples.some((event) => event.name === name);
    const read = Object.entries(store.get("explained")?.read_when_drafted ?? {});
    fill([
      ...unguarded(regions, spoken(events, store.get("secrets"))).map(({ name }) => ({
        key: `place ${name}`,
        words: `“${name}” is painted, but no secret speaks of it: it is not guarded.`,
        action: "Guard it",
        press: () => addSecret(store, name),
      })),
      ...examples.map(({ id, name, answer }) => ({
        key: `example ${id} ${Boolean(answer?.sentence)}`,
        words: `“${name}” is an example of the draft, not yours. ${answer?.sentence ?? ""}`,
        action: "Remove it",
        press: () => store.set({ events: store.get("events").filter((each) => each.id !== id) }),
        keep: () => change(id, { example: false }),
      })),
      ...read
        .filter(([name]) => !isExample(name))
        .map(([name, hours]) => {
          const possible = read.every(([, each]) => canBeLeftOut(each));
          return {
            key: `read ${name} ${hours.join()} ${possible}`,
            words: `The hours of “${name}”${hours.length ? ` (${hours.map(whenWords).join("; ")})` : ""} were read when this map, its places and its numbers were drafted, so these may reveal something about them. ${possible ? "Another draft leaves them out; what you painted stays." : "Choose fewer hours of the week, and another draft can leave them out."}`,
            action: possible ? "Draft again without them" : null,
            press: draftAgain,
          };
        }),
    ]);
  });
  store.watch(["opening"], () => {
    const opening = store.get("opening");
    show(
      state,
      opening?.state === "opening" ? element("span", { class: "busy" }, "drafting again") : null,
      opening?.state === "failed"
        ? element("p", { class: "says bad", role: "alert" }, opening.message)
        : null,
    );
  });
  return node;
}
