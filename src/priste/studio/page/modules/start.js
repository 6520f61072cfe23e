// The first page: the built-in town in one press, or any file that priste reads.

import { button, checkbox, element, field, show } from "./elements.js";
import { picture } from "./picture.js";
import { bytes, plural } from "./words.js";

export function openStart(store, node, { open, api }) {
  const state = element("div", { class: "list", "aria-live": "polite" });
  const input = element("input", {
    type: "file",
    class: "only-heard",
    id: "file",
    multiple: true,
    on: { change: () => input.files.length && take([...input.files]) },
  });
  const folder = element("input", {
    type: "file",
    class: "only-heard",
    id: "folder",
    webkitdirectory: true,
    on: { change: () => folder.files.length && take([...folder.files]) },
  });
  const zone = element("input", {
    type: "text",
    list: "all-zones",
    autocomplete: "off",
    spellcheck: "false",
  });
  const zones = element("datalist", { id: "all-zones" });
  const zoneForm = element(
    "form",
    {
      class: "row",
      hidden: true,
      on: {
        submit: (event) => {
          event.preventDefault();
          if (zone.value && last) send(last, { zone: zone.value });
        },
      },
    },
    element(
      "div",
      { class: "grow" },
      field("The times of this file are on the clocks of", zone, "For example Europe/Berlin."),
    ),
    zones,
    element("button", { type: "submit", class: "main" }, "Read it again"),
  );
  const mine = checkbox("All files are one person’s", false, () => {});
  let last = null;
  const town = button("Open the town", () => open(() => api.post("/town"), "the town"), {
    class: "main large",
  });
  const choose = element("label", { for: "file", class: "button large-label" }, "Choose files");
  const chooseFolder = element("label", { for: "folder", class: "button" }, "or a folder");
  const back = element("section", { class: "way", hidden: true });
  const drop = element(
    "section",
    { class: "way drop", "aria-label": "Your own file" },
    element("h2", {}, "Your own week"),
    element(
      "p",
      {},
      "Drop files, a folder or a ZIP here: GPX, CSV, GeoJSON, Parquet, FIT, KML, NMEA, Google’s location history, Geolife.",
    ),
    element("div", { class: "row" }, input, choose, folder, chooseFolder),
    mine,
  );
  const given = element("section", { class: "way" });
  const live = element("p", {}, "Is ", element("code", {}, "priste live"), " running on this machine?");
  show(
    node,
    element(
      "div",
      { class: "hero" },
      element(
        "div",
        {},
        element("h1", {}, "See your week. Paint what is secret. Choose the adversary. See what it learns."),
        element(
          "p",
          { class: "lead" },
          "Apps get locations that bound what an adversary can learn about whether it happened. Here you see it work, on this machine, before anything is shared.",
        ),
      ),
      picture(),
    ),
    state,
    zoneForm,
    element(
      "div",
      { class: "ways" },
      back,
      given,
      element(
        "section",
        { class: "way" },
        element("h2", {}, "A made-up town"),
        element(
          "p",
          {},
          "Ada’s two weeks: home, office, and a treatment each Wednesday that nobody at work needs to know of.",
        ),
        town,
      ),
      drop,
      element(
        "section",
        { class: "way" },
        element("h2", {}, "Watch it live"),
        live,
        button("Watch a running stream", () => store.set({ phase: "live" })),
      ),
    ),
    element(
      "ul",
      { class: "facts" },
      element("li", {}, "Nothing leaves this machine"),
      element("li", {}, "Nothing is written unless you export it"),
      element("li", {}, "No account, no network"),
    ),
  );

  // Who went back to this page goes on with what is open.
  store.watch(["phase", "world"], () => {
    const source = store.get("world")?.source;
    back.hidden = !source || store.get("phase") !== "start";
    if (back.hidden) return;
    show(
      back,
      element("h2", {}, "What you have open"),
      element("p", {}, source.kind === "town" ? "The town, with what you painted in it." : source.name),
      button("Continue", () => store.set({ phase: "bench" }), { class: "main large" }),
    );
  });

  store.watch(["info"], () => {
    show(
      zones,
      (store.get("info")?.zones ?? []).map((each) => element("option", { value: each })),
    );
    const file = store.get("info")?.file;
    given.hidden = !file;
    if (file)
      show(
        given,
        element("h2", {}, "The file you named"),
        element("p", {}, file),
        button(`Open ${file}`, () => open(() => api.post("/file"), file), { class: "main large" }),
      );
  });

  function take(files) {
    const most = store.get("info")?.upload_bytes ?? 40_000_000;
    const size = files.reduce((sum, file) => sum + file.size, 0);
    const name = files.length === 1 ? `“${files[0].name}”` : plural(files.length, "file");
    input.value = folder.value = "";
    if (size > most) {
      store.set({
        opening: {
          state: "failed",
          message: `${name} ${files.length === 1 ? "has" : "have"} ${bytes(size)}; the studio reads up to ${bytes(most)}.`,
          hint: `Name it on the command line instead: priste studio ${files.length === 1 ? files[0].name : "FOLDER"}`,
        },
      });
      return;
    }
    last = files;
    send(files, {});
  }

  function send(files, reading) {
    const whose = mine.querySelector("input").checked && files.length > 1 ? { user: "me" } : {};
    const name = files.length === 1 ? `“${files[0].name}”` : plural(files.length, "file");
    void open(() => api.upload(files, { ...whose, ...reading }), name);
  }

  // Everywhere on the page: who misses the box by a hand's breadth should not get the file shown by the browser.
  for (const type of ["dragenter", "dragover"]) {
    document.addEventListener(type, (event) => {
      event.preventDefault();
      drop.classList.add("over");
    });
  }
  document.addEventListener("dragleave", (event) => !event.relatedTarget && drop.classList.remove("over"));
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    void dropped(event.dataTransfer).then((files) => files.length && take(files));
  });

  store.watch(["opening"], () => {
    const opening = store.get("opening");
    const busy = opening?.state === "opening";
    town.disabled = busy;
    show(
      state,
      busy
        ? element(
            "p",
            { class: "says" },
            element(
              "span",
              { class: "busy" },
              `Opening ${opening.what}: reading it, laying out the map, learning how people move.`,
            ),
          )
        : null,
      opening?.state === "failed"
        ? element(
            "div",
            { class: "says bad", role: "alert" },
            element("b", {}, "That did not work. "),
            opening.message,
            opening.hint ? element("p", { class: "small" }, opening.hint) : null,
          )
        : null,
    );
    zoneForm.hidden = opening?.state !== "failed" || opening.parameter !== "zone" || !last;
    if (opening?.state === "failed") state.scrollIntoView({ block: "nearest" });
  });
}

/** The files that were dropped, those of folders among them with their paths. */
async function dropped(transfer) {
  const entries = [...(transfer?.items ?? [])].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.some((entry) => entry.isDirectory)) return [...(transfer?.files ?? [])];
  const found = [];
  const walk = async (entry) => {
    if (entry.isFile) {
      const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
      Object.defineProperty(file, "webkitRelativePath", { value: entry.fullPath.replace(/^\//, "") });
      found.push(file);
      return;
    }
    const reader = entry.createReader();
    for (;;) {
      const part = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
      if (!part.length) return;
      for (const each of part) await walk(each);
    }
  };
  for (const entry of entries) await walk(entry);
  return found;
}
