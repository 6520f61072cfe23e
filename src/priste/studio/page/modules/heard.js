// What somebody hears who does not see the page. One place for all of it, outside of every step: what a
// step says of itself is silent as soon as another step is looked at.

/** Say something as soon as the reader has finished its sentence; the same words are not said twice. */
export function say(words) {
  const node = document.getElementById("heard");
  if (words && node.textContent !== words) node.textContent = words;
}
