// Talking to the server on this machine. Nothing here, and nothing on the page, asks anybody else.

const KEPT = "priste-token";
const SESSION = "priste-session";

/** The token is in the fragment of the address, which browsers never send; it does not stay there. */
export function takeToken() {
  const found = /(?:^#|&)token=([^&]+)/.exec(location.hash);
  if (found) {
    sessionStorage.setItem(KEPT, decodeURIComponent(found[1]));
    history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem(KEPT);
}

/** What went wrong, in the words of the server or, where there is none, in ours. */
export class Problem extends Error {
  constructor({ message, hint = "", problems = [] }, status = 0) {
    super(message);
    this.hint = hint;
    /** @type {{ path: string, message: string }[]} */
    this.problems = problems;
    this.status = status;
  }
}

/** An error for people. What is not the server's word is a fault of this page, and goes to the console. */
export function inWords(error) {
  if (error instanceof Problem)
    return [
      error.message,
      error.hint,
      ...error.problems.map((each) => each.message).filter((each) => !error.message.includes(each)),
    ]
      .filter(Boolean)
      .join(" ");
  console.error(error);
  return "The page could not read the studio's answer. Reload it. If that does not help, it is a bug in priste.";
}

const UNREACHABLE = {
  message: "The studio on this machine does not answer.",
  hint: "Was its terminal closed? Start “priste studio” again and open the address that it prints.",
};

export class Api {
  #token;
  #session = sessionStorage.getItem(SESSION);
  #opening = null;

  constructor(token) {
    this.#token = token;
  }

  /**
   * @param {string} path
   * @param {{ method?: string, body?: any, headers?: object, signal?: AbortSignal, keepalive?: boolean }} options
   */
  async #request(path, { method = "GET", body, headers = {}, signal, keepalive } = {}) {
    const raw = body instanceof Blob;
    let answer;
    try {
      answer = await fetch(path, {
        method,
        signal,
        keepalive,
        cache: "no-store",
        headers: {
          "X-Priste-Token": this.#token ?? "",
          ...(body && !raw ? { "Content-Type": "application/json" } : {}),
          ...headers,
        },
        body: body === undefined || raw ? body : JSON.stringify(body),
      });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Problem(UNREACHABLE);
    }
    if (answer.ok) return answer;
    let told = null;
    try {
      told = (await answer.json()).error;
    } catch {
      // Not our server's words; ours will do.
    }
    throw new Problem(
      told ?? {
        message: `The studio answered with ${answer.status} and no message.`,
        hint: "Reload the page.",
      },
      answer.status,
    );
  }

  async #json(path, options) {
    return (await this.#request(path, options)).json();
  }

  info() {
    return this.#json("/api/info");
  }

  basemap(path) {
    return this.#request(`/api/basemap/${path}`);
  }

  /** One session for each tab, opened when first needed. */
  async #own(path = "") {
    if (!this.#session) {
      this.#opening ??= this.#json("/api/sessions", { method: "POST" }).then(({ session }) => {
        this.#session = session;
        sessionStorage.setItem(SESSION, session);
      });
      try {
        await this.#opening;
      } finally {
        this.#opening = null;
      }
    }
    return `/api/sessions/${this.#session}${path}`;
  }

  async get(path, options = {}) {
    return this.#json(await this.#own(path), options);
  }

  async post(path, body, options = {}) {
    return this.#json(await this.#own(path), { ...options, method: "POST", body });
  }

  /**
   * Send files as they are, one after the other; names go in a header because they may hold anything.
   * `reading` says how they are to be read: { zone, user }.
   */
  async upload(files, reading = {}) {
    const batch = crypto.randomUUID().replaceAll("-", "").slice(0, 12);
    let answer = null;
    for (const [number, file] of files.entries()) {
      const query = new URLSearchParams({ batch, ...reading });
      if (number < files.length - 1) query.set("more", "1");
      answer = await this.#json(await this.#own(`/upload?${query}`), {
        method: "POST",
        body: file,
        headers: { "X-Priste-Name": encodeURIComponent(file.webkitRelativePath || file.name) },
      });
    }
    return answer;
  }

  /** What this tab was at work on before it was loaded again; null if that is gone. */
  async again() {
    if (!this.#session) return null;
    try {
      return await this.#json(`/api/sessions/${this.#session}`);
    } catch {
      this.forget();
      return null;
    }
  }

  /** Begin anew: the next question opens another session. */
  forget() {
    this.#session = null;
    sessionStorage.removeItem(SESSION);
  }

  async remove(path) {
    await this.#request(await this.#own(path), { method: "DELETE" });
  }

  async file(path, options = {}) {
    return this.#request(await this.#own(path), options);
  }

  /**
   * Read server-sent events with `fetch`, which can carry the token; breaks are mended by resuming.
   * @param {string} path
   * @param {{ signal?: AbortSignal }} options
   */
  async *events(path, { signal } = {}) {
    let last = null;
    let missed = 0;
    const address = await this.#own(path);
    while (true) {
      try {
        const answer = await this.#request(address, {
          signal,
          headers: last === null ? {} : { "Last-Event-ID": last },
        });
        for await (const message of messages(answer.body)) {
          missed = 0;
          last = message.id ?? last;
          yield { name: message.name, data: message.data ? JSON.parse(message.data) : {} };
          if (["done", "failed", "cancelled"].includes(message.name)) return;
        }
      } catch (error) {
        if (signal?.aborted || error.name === "AbortError") return;
        if (error instanceof Problem && error.status) throw error;
      }
      missed += 1;
      if (missed > 5) throw new Problem(UNREACHABLE);
      await new Promise((resume) => setTimeout(resume, 300 * missed));
    }
  }

  /** Tell the server that this tab is gone; unless it comes back soon, what it held is freed. */
  leave() {
    if (this.#session)
      void this.#request(`/api/sessions/${this.#session}/leave`, { method: "POST", keepalive: true }).catch(
        () => {},
      );
  }

  /** End the work of this tab for good. */
  async end() {
    const session = this.#session;
    this.forget();
    if (session) await this.#request(`/api/sessions/${session}`, { method: "DELETE" }).catch(() => {});
  }
}

async function* messages(body) {
  let rest = "";
  for await (const text of chunks(body.pipeThrough(new TextDecoderStream()))) {
    rest += text.replaceAll("\r\n", "\n");
    for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
      const message = { name: "message", data: "" };
      for (const line of rest.slice(0, end).split("\n")) {
        const [, key, value] = /^(\w*):? ?(.*)$/.exec(line) ?? [];
        if (key === "event") message.name = value;
        else if (key === "id") message.id = value;
        else if (key === "data") message.data += message.data ? `\n${value}` : value;
      }
      rest = rest.slice(end + 2);
      if (message.data || message.name !== "message") yield message;
    }
  }
}

// Chromium's streams can be iterated; Safari's cannot yet.
async function* chunks(stream) {
  const reader = stream.getReader();
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** Read an array that the server packed; -1 and NaN stand for "none". */
export function unpacked(packed) {
  if (Array.isArray(packed)) return packed;
  const [[kind, text]] = Object.entries(packed);
  const buffer = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;
  return kind === "i32" ? new Int32Array(buffer) : new Float32Array(buffer);
}

/** The text "inf" is how JSON carries infinity. */
export const finite = (value) => (value === "inf" ? Infinity : value === "-inf" ? -Infinity : value);
