// Taking things along. Nothing is written anywhere until one of these is pressed.

import { button, element, show } from "./elements.js";
import { inWords } from "./api.js";
import { openChecks } from "./checks.js";
import { missing, same, settingOf } from "./setting.js";
import { markSaved } from "./work.js";

const LIVE = "priste live --policy policy.toml --state live-state";

export function openExport(store, view, { open, api }) {
  const state = element("div", { class: "list outcome", "aria-live": "polite" });
  const list = element("div", { class: "list" });
  const whose = element("p", { class: "quiet", hidden: true });
  store.watch(["world"], () => {
    const source = store.get("world")?.source;
    whose.hidden = (source?.people.length ?? 0) < 2;
    whose.textContent = whose.hidden
      ? ""
      : `The released trace is ${source.person ?? "one person"}’s alone, as priste protect releases it among all ${source.people.length}.`;
  });
  show(
    view,
    element("h2", { tabindex: "-1" }, "Take it along"),
    element(
      "p",
      { class: "quiet" },
      "The command line makes the same files, to the bit, with the same policy and seed.",
    ),
    whose,
    openChecks(store, { open, api }),
    list,
    state,
  );

  async function save(words, ask, name, again = null) {
    const long = /report|everything/.test(words) && store.get("run")?.steps.length > 200;
    const patience = long ? ": every release is computed again, which can take a minute" : "";
    show(state, element("span", { class: "busy" }, `preparing ${words}${patience}`));
    try {
      const answer = await ask();
      const told = /filename\*=UTF-8''([^;]+)/.exec(answer.headers.get("Content-Disposition") ?? "");
      const called = told ? decodeURIComponent(told[1]) : name;
      const address = URL.createObjectURL(await answer.blob());
      const link = element("a", { href: address, download: called });
      document.body.append(link);
      link.click();
      link.remove();
      // The browser needs the address until it has begun to save.
      setTimeout(() => URL.revokeObjectURL(address), 60_000);
      markSaved(store);
      show(state, `Saved ${words} as ${called}.`);
    } catch (error) {
      // Two runs of the same days tell more than one: the server asks whether that is meant.
      const insist =
        again && error.status === 409
          ? button("Save a second stream, without a guarantee about both", () => save(words, again, name))
          : null;
      show(state, element("span", { class: "says bad" }, inWords(error)), insist);
    }
  }

  const fromRun = (what) => () => api.file(`/runs/${store.get("run").id}/export/${what}`);
  const policyOf = () => api.file("/policy", { method: "POST", body: { setting: settingOf(store) } });

  store.watch(["run", "events", "secrets", "regions", "world", "protection"], () => {
    if (!store.get("world")) return;
    const run = store.get("run");
    const finished = Boolean(run?.done);
    const wrong = missing(store);
    const row = (title, words, press, disabled, why, properties) =>
      element(
        "section",
        { class: "card" },
        element(
          "div",
          { class: "row spread" },
          element(
            "div",
            { class: "grow" },
            element("h3", {}, title),
            element("p", { class: "quiet small" }, disabled ? why : words),
          ),
          button("Save", press, { disabled, "aria-label": `Save ${title.toLowerCase()}`, ...properties }),
        ),
      );
    // The policy is that of the choices at hand; what was released belongs to the run.
    const changed = finished && !wrong && !same(settingOf(store), run.setting);
    const key = `${finished}:${run?.id}:${wrong}:${changed}`;
    if (list.dataset.key === key) return;
    list.dataset.key = key;
    const first = "Run the week first.";
    show(
      list,
      row(
        "The policy",
        changed
          ? "Your present settings. They have changed since the run; “Everything” holds the policy of the run."
          : "What you chose, as a file that every priste command reads. It names your places: keep it to yourself.",
        () => save("the policy", finished && !changed ? fromRun("policy.toml") : policyOf, "policy.toml"),
        Boolean(wrong),
        wrong,
      ),
      row(
        "The released trace",
        "What apps and people may see. No true location is in it.",
        () => save("the released trace", fromRun("released"), "released.csv", fromRun("released?again=1")),
        !finished,
        first,
      ),
      row(
        "The report to share",
        "What was released, made from the releases alone: you may share it. It names no place and no secret.",
        () =>
          save(
            "the report to share",
            fromRun("report.html?shared=1"),
            "report-to-share.html",
            fromRun("report.html?shared=1&again=1"),
          ),
        !finished,
        first,
      ),
      row(
        "The report",
        "The same, and how far releases are from the truth and what uncalibrated noise would reveal. Both come from the truth: keep it to yourself.",
        () => save("the report", fromRun("report.html"), "report.html"),
        !finished,
        first,
      ),
      row(
        "The report with the truth",
        "The same with the true path drawn: keep it to yourself.",
        () => save("the report with the truth", fromRun("report.html?truth=1"), "report-with-the-truth.html"),
        !finished,
        first,
      ),
      element(
        "section",
        { class: "card" },
        element("h3", {}, "Use it with priste live"),
        element(
          "p",
          { class: "quiet small" },
          "The same policy guards locations as they come, from the day on which the service starts. Save it, then start the service beside it; a phone with OwnTracks or any gpsd receiver can feed it.",
        ),
        element("pre", { class: "scroll", tabindex: "0", "aria-label": "The command" }, LIVE),
        element(
          "div",
          { class: "row" },
          button("Save the policy for live", () => save("the policy", policyOf, "policy.toml"), {
            disabled: Boolean(wrong),
          }),
          button("Watch it here", () => {
            store.set({ tab: "week" });
            document.getElementById("watch").setAttribute("open", "");
            document.getElementById("watch").scrollIntoView();
          }),
        ),
      ),
      row(
        "The ledger",
        "Every release with its budget and leakage.",
        () => save("the ledger", fromRun("ledger.csv"), "ledger.csv"),
        !finished,
        first,
      ),
      row(
        "Everything",
        "Policy, released trace, ledger and both reports in one archive. It holds what comes from the truth: keep it to yourself.",
        () => save("everything", fromRun("all.zip"), "priste.zip", fromRun("all.zip?again=1")),
        !finished,
        first,
      ),
    );
  });
}
