// Asks priste live for the latest release, and decides which sites get released locations.
const DEFAULTS = { url: "http://127.0.0.1:8787", person: "me", token: "", own: [] };
const everywhere = { matches: ["<all_urls>"], allFrames: true, matchOriginAsFallback: true };
const early = { ...everywhere, runAt: "document_start", persistAcrossSessions: true };

const settings = () => chrome.storage.local.get(DEFAULTS);

async function latest() {
  const { url, person, token } = await settings();
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  try {
    const asked = `${url}/people/${encodeURIComponent(person)}/latest`;
    const answer = await fetch(asked, { headers, cache: "no-store", credentials: "omit" });
    if (answer.status === 204) return { failed: "Nothing has been released yet." };
    if (!answer.ok) return { failed: `priste live answered ${answer.status}.` };
    const { geometry, properties } = await answer.json();
    const [longitude, latitude] = geometry.coordinates;
    const timestamp = Date.parse(properties.time);
    return { latitude, longitude, accuracy: properties.accuracy, timestamp };
  } catch {
    return { failed: "priste live does not answer." };
  }
}

// A site in `own` gets the browser's geolocation: neither script runs there.
async function apply() {
  const { own } = await settings();
  const excludeMatches = own.map((host) => `*://${host}/*`);
  const scripts = [
    { id: "page", js: ["page.js"], world: "MAIN", ...early, excludeMatches },
    { id: "bridge", js: ["bridge.js"], world: "ISOLATED", ...early, excludeMatches },
  ];
  await chrome.scripting.unregisterContentScripts();
  await chrome.scripting.registerContentScripts(scripts);
  // Chromium: elsewhere the browser's own location is blocked, also for frames without a script.
  const location = chrome.contentSettings?.location;
  if (!location) return;
  await location.clear({});
  await location.set({ primaryPattern: "<all_urls>", setting: "block" });
  for (const primaryPattern of excludeMatches) await location.set({ primaryPattern, setting: "ask" });
}

let turn = Promise.resolve();
const again = () => (turn = turn.then(apply, apply));

chrome.runtime.onInstalled.addListener(again);
chrome.runtime.onStartup.addListener(again);
chrome.storage.onChanged.addListener((changes) => "own" in changes && again());
chrome.runtime.onMessage.addListener((message, sender, answer) => {
  const asked = { latest, settings }[message];
  asked?.().then(answer);
  return asked !== undefined;
});
