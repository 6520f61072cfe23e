// Watching a `priste live` that runs on this machine. The server of the studio asks it, with its token;
// the page itself talks to nobody else.

import { finite, inWords } from "./api.js";
import { clockTime, odds, percent } from "./words.js";
import { button, element, field, show } from "./elements.js";

/** A moment as a service writes it, in the words of a clock. */
function moment(text) {
  const { label, clock } = clockTime(text);
  return `${label}, ${clock}${text.endsWith("Z") ? " UTC" : ""}`;
}

export function openLive(store, node, api) {
  const url = element("input", {
    type: "url",
    value: "http://127.0.0.1:8787",
    autocomplete: "off",
    spellcheck: "false",
  });
  const person = element("input", { type: "text", value: "me", autocomplete: "off", spellcheck: "false" });
  const token = element("input", { type: "password", autocomplete: "off" });
  const state = element("div", { class: "list", "aria-live": "polite" });
  const watch = element("button", { type: "submit", class: "main" }, "Watch");
  const stop = button("Stop watching", () => end());
  let reading = null;
  let id = null;
  const form = {
    class: "list",
    on: {
      submit: (event) => {
        event.preventDefault();
        void begin();
      },
    },
  };
  show(
    node,
    element(
      "form",
      form,
      field("Address", url),
      field("Person", person),
      field("Token, if it has one", token),
      element("div", { class: "row" }, watch, stop),
      state,
    ),
  );
  stop.hidden = true;

  async function begin() {
    end();
    const mine = new AbortController();
    reading = mine;
    let live = { points: [], words: "connecting", state: "connecting" };
    const tell = (part) => {
      if (mine.signal.aborted) return;
      live = { ...live, ...part };
      store.set({ live });
    };
    tell({});
    try {
      const started = await api.post("/live", {
        url: url.value,
        person: person.value,
        ...(token.value ? { token: token.value } : {}),
      });
      id = started.watch;
      for await (const { name, data } of api.events(`/live/${id}/events`, { signal: mine.signal })) {
        if (mine.signal.aborted) return;
        if (name === "connected")
          tell({ state: "connected", words: "Connected. The next release appears when its step is over." });
        else if (name === "point") {
          live.points.push([data.lat, data.lon]);
          tell({ state: "connected", latest: data, words: `Released for ${moment(data.time)}.` });
        } else if (name === "guarantee") tell({ guarantee: data });
        else if (name === "lost") tell({ state: "lost", words: data.message });
        else if (name === "failed") tell({ state: "failed", words: data.message });
      }
    } catch (error) {
      tell({ state: "failed", words: inWords(error) });
    }
  }

  function end() {
    if (!reading) return;
    reading.abort();
    reading = null;
    if (id) void api.remove(`/live/${id}`).catch(() => {});
    id = null;
    store.set({ live: null });
  }

  store.watch(["live"], () => {
    const live = store.get("live");
    const watching = Boolean(live) && live.state !== "failed";
    watch.hidden = watching;
    stop.hidden = !watching;
    if (!live) return show(state);
    return show(
      state,
      live.state === "connecting"
        ? element("span", { class: "busy" }, live.words)
        : element(
            "p",
            { class: `says${live.state === "failed" ? " bad" : live.state === "lost" ? " note" : ""}` },
            live.words,
          ),
      live.guarantee?.events.length
        ? element(
            "ul",
            { class: "list small" },
            live.guarantee.events.map((event) =>
              element(
                "li",
                {},
                element("b", {}, event.name),
                `: ${event.leakage === null || event.leakage === undefined ? "" : `odds moved by at most ${odds(finite(event.leakage))}`}${event.belief === null || event.belief === undefined ? "" : `, the adversary got at most ${percent(event.belief)} sure`}. Guaranteed: ${event.guarantee}.`,
              ),
            ),
          )
        : null,
      live.latest
        ? element(
            "p",
            { class: "small" },
            `${live.points.length} shown; the latest is at ${live.latest.lat.toFixed(5)}, ${live.latest.lon.toFixed(5)}.`,
          )
        : null,
    );
  });

  // Who closes the week, or opens another, no longer watches.
  return end;
}
