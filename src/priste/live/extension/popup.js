// Settings of the extension, and the switch for the site that is open.
const part = (id) => document.getElementById(id);

async function show() {
  const kept = await chrome.runtime.sendMessage("settings");
  for (const name of ["url", "person", "token"]) part(name).value = kept[name];
  const [tab] = await chrome.tabs.query({ active: true, currentWindow: true });
  const at = tab?.url ? new URL(tab.url) : null;
  if (at && /^https?:$/.test(at.protocol)) {
    part("site").hidden = false;
    part("host").textContent = at.hostname;
    part("released").checked = !kept.own.includes(at.hostname);
  }
  await check();
}

async function check() {
  const found = await chrome.runtime.sendMessage("latest");
  part("state").className = found.failed ? "failed" : "";
  part("state").textContent =
    found.failed ?? `The latest release is of ${new Date(found.timestamp).toLocaleString()}.`;
}

for (const name of ["url", "person", "token"])
  part(name).addEventListener("change", async (event) => {
    if (!event.target.reportValidity()) return;
    await chrome.storage.local.set({ [name]: event.target.value.trim().replace(/\/+$/, "") });
    await check();
  });

part("released").addEventListener("change", async (event) => {
  const host = part("host").textContent;
  const { own } = await chrome.runtime.sendMessage("settings");
  const others = own.filter((each) => each !== host);
  await chrome.storage.local.set({ own: event.target.checked ? others : [...others, host] });
});

show();
