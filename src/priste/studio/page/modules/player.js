// Going back and forth in time through what was released.

import { button, drawing, element, show } from "./elements.js";
import { offWords } from "./words.js";

// Drawn, because not every machine has a font with these signs.
const SIGNS = { back: "M3 2h2v12H3zM14 2v12L6 8z", play: "M4 2v12l10-6z", pause: "M3 2h4v12H3zM9 2h4v12H9z" };
const sign = (name) =>
  drawing(
    "svg",
    { viewBox: "0 0 16 16", class: "icon", "aria-hidden": "true" },
    drawing("path", { d: SIGNS[name] }),
  );

const STEPS_A_SECOND = 8;

/** The run whose moments are gone through: of two that are compared, the longer one. */
function longest(store) {
  const runs = [store.get("run"), store.get("tab") === "compare" ? store.get("kept")?.run : null];
  return runs.reduce(
    (most, run) => ((run?.steps.length ?? 0) > (most?.steps.length ?? 0) ? run : most),
    null,
  );
}

export function openPlayer(store, node) {
  const range = element("input", {
    type: "range",
    min: "0",
    max: "0",
    step: "1",
    "aria-label": "Moment of the week",
    on: { input: () => store.set({ shown: Number(range.value), follow: false, playing: false }) },
  });
  const moment = element("span", { class: "moment" });
  const back = button(sign("back"), () => store.set({ shown: 0, follow: false }), {
    "aria-label": "Back to the beginning",
  });
  const play = button("", () => {
    const playing = !store.get("playing");
    const over = store.get("shown") >= longest(store).steps.length - 1;
    store.set({ playing, follow: false, ...(playing && over ? { shown: 0 } : {}) });
  });
  const latestOne = button("Latest", () =>
    store.set({ follow: true, playing: false, shown: longest(store).steps.length - 1 }),
  );
  show(node, back, play, range, moment, latestOne);

  let timer = null;
  store.watch(["playing"], () => {
    clearInterval(timer);
    if (!store.get("playing")) return;
    timer = setInterval(() => {
      const run = longest(store);
      const next = (store.get("shown") ?? -1) + 1;
      if (run && next < run.steps.length) store.set({ shown: next });
      else if (!run || run.state !== "running") store.set({ playing: false });
    }, 1000 / STEPS_A_SECOND);
  });

  store.watch(["run", "shown", "playing", "kept", "tab"], () => {
    const run = longest(store);
    node.hidden = !run || run.steps.length === 0;
    if (node.hidden) return;
    const shown = store.get("shown") ?? 0;
    range.max = String(run.steps.length - 1);
    range.value = String(shown);
    const step = run.steps[Math.min(shown, run.steps.length - 1)];
    moment.textContent = step?.label ?? "";
    range.setAttribute("aria-valuetext", step ? `${step.label}, ${offWords(step)}` : "");
    if (play.dataset.sign !== String(store.get("playing"))) {
      play.dataset.sign = String(store.get("playing"));
      show(play, sign(store.get("playing") ? "pause" : "play"));
    }
    play.setAttribute("aria-label", store.get("playing") ? "Pause" : "Play");
  });
}
