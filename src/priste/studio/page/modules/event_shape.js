// The part of the event language that the picture can show: presence here, here then there, and counts.

/** The time of a new secret: all of it. */
export const WHOLE_TIME = "daily";

/** What the picture can show of a structure; null where only the text can say it. */
export function shapeOf(structure) {
  if (!structure) return null;
  const named = (part) => part.kind === "presence" && typeof part.region === "string";
  if (named(structure))
    return { kind: "presence", stages: [{ region: structure.region, when: structure.when }], times: 2 };
  if (structure.kind === "at_least" && typeof structure.region === "string")
    return {
      kind: "at_least",
      stages: [{ region: structure.region, when: structure.when }],
      times: structure.times,
    };
  if (structure.kind === "and" && structure.parts.length <= 4 && structure.parts.every(named))
    return { kind: "then", stages: structure.parts.map(({ region, when }) => ({ region, when })), times: 2 };
  return null;
}

/** The structure of what the picture shows; null while it is not complete. */
export function structureOf(shape) {
  if (shape.stages.some((stage) => !stage.region || stage.when.length === 0)) return null;
  const presence = ({ region, when }) => ({ kind: "presence", region, when });
  if (shape.kind === "presence") return presence(shape.stages[0]);
  if (shape.kind === "at_least")
    return { ...presence(shape.stages[0]), kind: "at_least", times: shape.times };
  return { kind: "and", parts: shape.stages.map(presence) };
}
