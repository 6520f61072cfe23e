// Which colour a region has; the colours themselves are in style/tokens.css, for light and dark.

const TONES = 8;

export const tone = (number) => `--region-${number % TONES}`;
export const toneClass = (number) => `tone-${number % TONES}`;
export const tint = (active) => (active ? 0.45 : 0.28);

/** The first tone that no region has. */
export function freeTone(regions) {
  for (let number = 0; number < TONES; number += 1)
    if (!regions.some((region) => region.tone === number)) return number;
  return regions.length % TONES;
}
