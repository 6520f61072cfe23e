"""Automata to look at: as text and in Graphviz's DOT language."""

from __future__ import annotations

from priste.arguments import check_int
from priste.events.automaton import Automaton, Layer
from priste.events.printing import cells_text

OUTCOMES = ("did not happen", "happened")
"""What the two last worlds mean."""

CELLS_LENGTH = 60
"""Sets of cells are shown up to this many characters."""


def text_drawing(automaton: Automaton, max_layers: int) -> str:
    """Draw an automaton as text: for each layer, where each world goes on which cells.

    At most ``max_layers`` layers are shown, and the number left out is said.

    >>> from priste.events import presence
    >>> print(presence([0, 1], [3, 4]).automaton().drawing())
    start: world 0
    step 3: 1 world -> 2 worlds
      world 0: other cells -> 0, {0, 1} -> 1
    step 4: 2 worlds -> 2 worlds
      world 0: other cells -> 0, {0, 1} -> 1
      world 1: any cell -> 1
    end: world 0 = did not happen, world 1 = happened
    """
    _check_max_layers(max_layers)
    if automaton.constant is not None:
        return f"{_constant_text(automaton.constant)}: no step matters"
    lines = ["start: world 0"]
    for layer in automaton.layers[:max_layers]:
        before, after = _count(len(layer.moves)), _count(layer.worlds_after)
        lines.append(f"step {layer.step}: {before} -> {after}")
        for world in range(len(layer.moves)):
            arrows = ", ".join(f"{cells} -> {to}" for cells, to in _arrows(layer, world))
            lines.append(f"  world {world}: {arrows}")
    hidden = len(automaton.layers) - max_layers
    if hidden > 0:
        lines.append(f"... {hidden} more layers, to step {automaton.layers[-1].step}")
    lines.append("end: " + ", ".join(f"world {w} = {text}" for w, text in enumerate(OUTCOMES)))
    return "\n".join(lines)


def dot_drawing(automaton: Automaton, max_layers: int) -> str:
    """Draw an automaton for Graphviz (``dot -Tsvg``): worlds left to right, one rank per step.

    At most ``max_layers`` layers are shown; a node says how many were left out.
    """
    _check_max_layers(max_layers)
    lines = ["digraph event {", "  rankdir=LR;", "  node [shape=circle];"]
    if automaton.constant is not None:
        lines.append(f'  "end" [shape=box, label="{_constant_text(automaton.constant)}"];')
        return "\n".join([*lines, "}"])
    shown = automaton.layers[:max_layers]
    lines.append('  "0.0" [label="start"];')
    for depth, layer in enumerate(shown, start=1):
        is_end = depth == len(automaton.layers)
        for world in range(layer.worlds_after):
            style = f'shape=box, label="{OUTCOMES[world]}"' if is_end else f'label="{world}"'
            lines.append(f'  "{depth}.{world}" [{style}];')
        for world in range(len(layer.moves)):
            for cells, target in _arrows(layer, world):
                label = f"step {layer.step}: {cells}"
                lines.append(f'  "{depth - 1}.{world}" -> "{depth}.{target}" [label="{label}"];')
    hidden = len(automaton.layers) - len(shown)
    if hidden:
        lines.append(f'  "more" [shape=plaintext, label="{hidden} more layers"];')
        for world in range(shown[-1].worlds_after if shown else 1):
            lines.append(f'  "{len(shown)}.{world}" -> "more";')
    return "\n".join([*lines, "}"])


def _arrows(layer: Layer, world: int) -> list[tuple[str, int]]:
    """Return (cells, next world) for a world, the cells with one target joined."""
    row = layer.moves[world]
    if len(set(row)) == 1:
        return [("any cell", row[0])]
    cells_to: dict[int, set[int]] = {}
    for number, target in enumerate(row[1:], start=1):
        if target != row[0]:
            cells_to.setdefault(target, set()).update(layer.classes[number - 1])
    named = [(_cells_label(cells), target) for target, cells in cells_to.items()]
    return [("other cells", row[0]), *named]


def _cells_label(cells: set[int]) -> str:
    text = cells_text(cells)
    return text if len(text) <= CELLS_LENGTH else f"{text[: CELLS_LENGTH - 4]}...}}"


def _constant_text(value: bool) -> str:
    return "always happens" if value else "never happens"


def _count(worlds: int) -> str:
    return "1 world" if worlds == 1 else f"{worlds} worlds"


def _check_max_layers(max_layers: int) -> None:
    check_int(max_layers, "max_layers", "a drawing", least=1)
