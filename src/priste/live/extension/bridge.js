// Between page.js, which the page can see, and background.js, which it cannot.
document.addEventListener("priste-ask", async (event) => {
  const id = Number(event.detail);
  let answer = { failed: "The extension was reloaded: reload the page." };
  try {
    answer = await chrome.runtime.sendMessage("latest");
  } catch {
    // The extension is gone; the page is not given anything else.
  }
  document.dispatchEvent(
    new CustomEvent("priste-answer", { detail: JSON.stringify({ id, answer }) }),
  );
});
