// Elements from plain values. Text always becomes a text node, so nothing that a person or a file
// wrote can ever turn into markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null) continue;
    if (name.startsWith("aria-")) {
      node.setAttribute(name, String(value)); // "false" says something, too
    } else if (value === false) {
      continue;
    } else if (name === "on") {
      for (const [type, listener] of Object.entries(value)) node.addEventListener(type, listener);
    } else if (name === "style") {
      // Property by property: the content security policy forbids style attributes.
      for (const [key, setting] of Object.entries(value)) node.style.setProperty(key, setting);
    } else if (name === "value" || name === "checked" || name === "disabled" || name === "selected") {
      node[name] = value;
    } else {
      node.setAttribute(name, value === true ? "" : String(value));
    }
  }
  node.append(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return node;
}

/** Make an HTML element: `element("p", { class: "quiet" }, "Hello")`. */
export const element = (tag, properties, ...children) =>
  fill(document.createElement(tag), properties, children);

/** Make an SVG element. */
export const drawing = (tag, properties, ...children) =>
  fill(document.createElementNS(SVG, tag), properties, children);

/** Replace what is inside a node; nodes that are kept keep their focus. */
export function show(node, ...children) {
  node.replaceChildren(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return node;
}

/**
 * Keep the children of a node in step with a list: `make(item)` returns { node, update(item, place) } once
 * for every key, and what stays is updated where it is, so that it keeps its focus.
 */
export function keyed(holder, keyOf, make) {
  const kept = new Map();
  return (items) => {
    const keys = new Set(items.map(keyOf));
    for (const [key, row] of kept) {
      if (keys.has(key)) continue;
      row.node.remove();
      kept.delete(key);
    }
    items.forEach((item, place) => {
      const key = keyOf(item);
      if (!kept.has(key)) kept.set(key, make(item));
      const row = kept.get(key);
      if (holder.children[place] !== row.node) holder.insertBefore(row.node, holder.children[place] ?? null);
      row.update?.(item, place);
    });
    return kept;
  };
}

let count = 0;
/** Return an id that no other element of the page has. */
export const freshId = (stem) => `${stem}-${(count += 1)}`;

/** A labelled field around an input; `hint` is told to screen readers with it. */
export function field(words, input, hint) {
  input.id ||= freshId("field");
  const parts = [element("label", { for: input.id }, words), input];
  if (hint) {
    const id = freshId("hint");
    input.setAttribute("aria-describedby", id);
    parts.push(element("span", { id, class: "quiet small" }, hint));
  }
  return element("div", { class: "field" }, parts);
}

/** Radio buttons that look like one control. `choices` are [value, words]. */
export function segments(legend, choices, chosen, change, { heard = false } = {}) {
  const name = freshId("choice");
  return element(
    "fieldset",
    {},
    element("legend", { class: heard ? "only-heard" : null }, legend),
    element(
      "div",
      { class: "segments" },
      choices.map(([value, words]) =>
        element(
          "label",
          {},
          element("input", {
            type: "radio",
            name,
            value,
            checked: value === chosen,
            on: { change: () => change(value) },
          }),
          words,
        ),
      ),
    ),
  );
}

export function button(words, press, properties = {}) {
  return element("button", { type: "button", ...properties, on: { click: press } }, words);
}

export function checkbox(words, checked, change) {
  return element(
    "label",
    { class: "check" },
    element("input", { type: "checkbox", checked, on: { change: (event) => change(event.target.checked) } }),
    words,
  );
}

/** A select of [value, words]. */
export function choice(options, chosen, change, properties = {}) {
  return element(
    "select",
    { ...properties, on: { change: (event) => change(event.target.value) } },
    options.map(([value, words]) => element("option", { value, selected: value === chosen }, words)),
  );
}
