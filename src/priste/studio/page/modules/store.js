// What the page knows, in one place. A part of the page asks to be told when one of the things it
// shows changed; nobody reaches into another part.

export class Store {
  #values;
  #listeners = new Set();
  #pending = new Set();

  constructor(values) {
    this.#values = { ...values };
  }

  get(name) {
    return this.#values[name];
  }

  /** Change several things at once; listeners hear of it together, once per turn of the page. */
  set(changes) {
    for (const [name, value] of Object.entries(changes)) {
      if (Object.is(this.#values[name], value)) continue;
      this.#values[name] = value;
      if (this.#pending.size === 0) queueMicrotask(() => this.#tell());
      this.#pending.add(name);
    }
  }

  /** Call `listener` now and whenever one of `names` changed. */
  watch(names, listener) {
    this.#listeners.add({ names: new Set(names), listener });
    listener(this);
  }

  #tell() {
    const changed = new Set(this.#pending);
    this.#pending.clear();
    for (const { names, listener } of this.#listeners) {
      if ([...changed].some((name) => names.has(name))) listener(this);
    }
  }
}
