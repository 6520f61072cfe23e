// The first page: the built-in town in one press, or any file that priste reads.

import { button, element, show } from "./elements.js";
import { picture } from "./picture.js";
import { bytes } from "./words.js";

export function openStart(store, node, { open, api }) {
  const state = element("div", { class: "list", "aria-live": "polite" });
  const input = element("input", {
    type: "file",
    class: "only-heard",
    id: "file",
    on: { change: () => input.files[0] && take(input.files[0]) },
  });
  const town = button("Open the town", () => open(() => api.post("/town"), "the town"), {
    class: "main large",
  });
  const choose = element("label", { for: "file", class: "button large-label" }, "Choose a file");
  const drop = element(
    "section",
    { class: "way drop", "aria-label": "Your own file" },
    element("h2", {}, "Your own week"),
    element(
      "p",
      {},
      "Drop a file here: GPX, CSV, GeoJSON, Parquet, FIT, KML, NMEA, Google’s location history, Geolife.",
    ),
    element("div", { class: "row" }, input, choose),
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
        element(
          "h1",
          {},
          "See your week. Paint what is secret. Choose the adversary. See what it learns.",
        ),
        element(
          "p",
          { class: "lead" },
          "Apps get locations from which nobody can tell whether it happened. Here you see it work, on this machine, before anything is shared.",
        ),
      ),
      picture(),
    ),
    state,
    element(
      "div",
      { class: "ways" },
      given,
      element(
        "section",
        { class: "way" },
        element("h2", {}, "A town that does not exist"),
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

  store.watch(["info"], () => {
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

  function take(file) {
    const most = store.get("info")?.upload_bytes ?? 40_000_000;
    input.value = "";
    if (file.size > most) {
      store.set({
        opening: {
          state: "failed",
          message: `“${file.name}” has ${bytes(file.size)}; the studio reads files of up to ${bytes(most)}.`,
          hint: `Name it on the command line instead: priste studio ${file.name}`,
        },
      });
      return;
    }
    void open(() => api.upload(file), `“${file.name}”`);
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
    if (event.dataTransfer?.files[0]) take(event.dataTransfer.files[0]);
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
    if (opening?.state === "failed") state.scrollIntoView({ block: "nearest" });
  });
}
