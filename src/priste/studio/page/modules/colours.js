// Which colour a place has; the colours themselves are in style/tokens.css, for light and dark. One colour
// is the secret's and nothing else's.

const TONES = 8;

/** The colour of a place: that of the secret where one speaks of it. */
export const tone = (number, secret = false) => (secret ? "--secret" : `--region-${number % TONES}`);
export const toneClass = (number, secret = false) => (secret ? "tone-secret" : `tone-${number % TONES}`);
export const tint = (active) => (active ? 0.45 : 0.28);

/** The first tone that no region has. */
export function freeTone(regions) {
  for (let number = 0; number < TONES; number += 1)
    if (!regions.some((region) => region.tone === number)) return number;
  return regions.length % TONES;
}
