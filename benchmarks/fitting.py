"""How well fitted models predict people whom they have not seen, and what to do with gaps.

``python -m benchmarks.fitting --geolife DIR [--people 12]`` leaves each of the first people of a
Geolife folder out in turn, chooses and fits a model on the others as ``priste fit`` does, and
scores it on the moves of the one left out, who had no part in the choice; then with the cell where
that person's nights are spent as their home; then, on the second half of their days, with a model
of the first half. The scores are means of -ln Pr(next cell | this cell) a move, in nats.

``--gaps`` compares treatments of steps without a fix instead: the last cell repeated, known moves
only, stays filled in between two fixes in one cell, and expected moves (EM). Each is fitted on two
thirds of the people and scored on the others: -ln Pr(next known cell | last known cell), with all
steps between them marginalised, by the number of steps between.

Both write ``benchmarks/results/fitting.json``, part by part; no person is named in it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.arguments import parser_of
from benchmarks.circumstances import circumstances
from priste.maps import Grid
from priste.mobility import (
    MarkovModel,
    OwnStrength,
    choose_own_strength,
    day_windows,
    home_habits_of,
    memories_of,
    own_history,
    usual_home,
    with_home,
)
from priste.mobility.memory import expected_moves
from priste.mobility.population import Shrinkage, population_transitions, tally_of_counts
from priste.mobility.sequences import GAP
from priste.policy import cell_sequences, chosen_memory, population_model
from priste.policy.formula_models import nights
from priste.policy.model_choice import PersonCells, fitted_model
from priste.traces import Timeline, read_traces

RESULTS = Path(__file__).parent / "results" / "fitting.json"
BEIJING = (39.80, 116.20, 40.08, 116.56)
FEWEST_MOVES = 200
"""People with fewer moves on the map are passed over: their mean says little."""

Cells = Sequence[int | None]
Floats = NDArray[np.float64]


def main(arguments: Sequence[str] = ()) -> None:
    """Print the table that was asked for."""
    parser = parser_of(__doc__)
    parser.add_argument("--geolife", type=Path, required=True, help="a Geolife folder (its Data)")
    parser.add_argument("--people", type=int, default=12, help="how many")
    parser.add_argument("--cell", type=float, default=2.0, help="km")
    parser.add_argument("--gaps", action="store_true", help="compare treatments of gaps")
    options = parser.parse_args(arguments)
    grid = Grid.covering(*BEIJING, options.cell)
    line = Timeline(datetime(2008, 1, 7), timedelta(minutes=15), "Asia/Shanghai")
    people: list[PersonCells] = []
    for folder in sorted(path for path in options.geolife.iterdir() if path.is_dir()):
        found = cell_sequences(read_traces(folder), grid, line)
        people += [person for person in found if _moves(person.cells) >= FEWEST_MOVES]
        if len(people) >= options.people:
            break
    print(f"{grid.rows} × {grid.columns} cells, {len(people)} people, steps of 15 min")
    if options.gaps:
        rows = _compare_gaps(grid, line, [person.cells for person in people])
    else:
        rows = _predict_people(grid, line, people)
    held = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    held["gaps" if options.gaps else "people"] = {
        "cells": grid.size,
        "people": len(people),
        "rows": rows,
        "circumstances": circumstances(),
    }
    RESULTS.write_text(json.dumps(held, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


SCORES = ("plain", "chosen", "home", "later, home", "later, own 5 moves", "later, own")
"""Models scored on all moves of a person, and those scored on the second half of the known days."""


def _predict_people(grid: Grid, line: Timeline, people: list[PersonCells]) -> list[dict[str, Any]]:
    kept = []
    print("| person | moves | memory | plain | chosen | home | 2nd half: home | own 5/5 | own |")
    print("|---|---|---|---|---|---|---|---|---|")
    night = nights(line)
    windows = day_windows(line.start, line.step)
    rows = []
    for number, person in enumerate(people):
        others = people[:number] + people[number + 1 :]
        choice = chosen_memory(grid, line, others, "auto")
        plain = fitted_model(grid, line, others)
        model = population_model(grid, line, others, choice)
        habits = home_habits_of(grid, ([each.cells] for each in others), night)
        home = with_home(model, usual_home(grid, [person.cells], night), habits, night)
        later = _halves(person.cells)
        only_later = [cell if now else None for cell, now in zip(person.cells, later, strict=True)]
        strength = choose_own_strength(home, [person.cells], windows, leave_out=[later])
        own = [
            own_history(home, [person.cells], windows, leave_out=[later], strength=each)
            for each in (OwnStrength(), strength)
        ]
        scores = [_nats(each, person.cells) for each in (plain, model, home)]
        scores += [_nats(each, only_later) for each in (home, *own)]
        rows.append(scores)
        kept.append(
            {
                "moves": _moves(person.cells),
                "memory": str(choice.memory),
                "strength": [strength.population, strength.window],
                **{name: round(score, 4) for name, score in zip(SCORES, scores, strict=True)},
            }
        )
        shown = " | ".join(f"{score:.3f}" for score in scores)
        print(
            f"| {number + 1} | {_moves(person.cells)} | {choice.memory} | {shown} | "
            f"({strength.population:g}, {strength.window:g})",
            flush=True,
        )
    means = np.mean(rows, axis=0)
    print("| mean | | | " + " | ".join(f"{mean:.3f}" for mean in means) + " |")
    return kept


def _halves(cells: Cells) -> list[bool]:
    """Tell which steps belong to the second half of the known ones."""
    known = np.cumsum([cell is not None for cell in cells])
    return [bool(count > known[-1] / 2) for count in known]


def _moves(cells: Cells) -> int:
    return sum(a is not None and b is not None for a, b in pairwise(cells))


def _nats(model: MarkovModel, cells: Cells) -> float:
    return -float(model.log_likelihood([cells])) / max(_moves(cells), 1)


# Gaps

DAY = 96
BUCKETS = ((1, 1), (2, 4), (5, 16), (17, 48), (49, DAY))
"""Steps between two known cells, up to a day."""

STRENGTHS = Shrinkage(stay=30, go=30, stay_by_phase=300, go_by_phase=300)
"""The same for every treatment, so that only the counts differ."""

Jump = tuple[int, int, int, int]
"""Step of the day, steps until the next known cell, that cell before, the cell after."""


def _compare_gaps(grid: Grid, line: Timeline, people: list[Cells]) -> list[dict[str, Any]]:
    phases = memories_of(line.start.replace(tzinfo=None), line.step)["parts"]
    jumps = [_jumps(cells) for cells in people]
    known = [jump for number, each in enumerate(jumps) if number % 3 for jump in each]
    held = [jump for number, each in enumerate(jumps) if not number % 3 for jump in each]
    walks = [
        np.array([GAP if cell is None else cell for cell in cells], dtype=np.int64)
        for number, cells in enumerate(people)
        if number % 3
    ]
    counted = _Counter(grid, phases)
    base = counted.counts(known, lambda k, i, j: k == 1)
    treatments = {
        "last cell repeated": counted.counts(known, lambda k, i, j: True),
        "stays of up to 4 h filled in": counted.counts(
            known, lambda k, i, j: k == 1 or (i == j and k <= 16)
        ),
        "known moves only": base,
    }
    for limit in (4, 16, DAY):
        expected = base
        for _ in range(2):
            expected = expected_moves(walks, np.array(phases), counted.matrices(expected), limit)
        treatments[f"expected moves, gaps of up to {limit} steps"] = expected
    print("| treatment | stay | " + " | ".join(f"{a}-{b}" for a, b in BUCKETS) + " | all |")
    print("|---|---|" + "---|" * (len(BUCKETS) + 1))
    kept = []
    for name, counts in treatments.items():
        matrices = counted.matrices(counts)
        weights = base.sum(axis=2)
        stay = sum((np.diagonal(m) * w).sum() for m, w in zip(matrices, weights, strict=True))
        losses = counted.losses(held, matrices)
        steps = np.array([jump[1] for jump in sorted(held)])
        means = [losses[(steps >= a) & (steps <= b)].mean() for a, b in BUCKETS]
        shown = " | ".join(f"{mean:.3f}" for mean in [*means, losses.mean()])
        print(f"| {name} | {stay / weights.sum():.2f} | {shown} |", flush=True)
        kept.append(
            {
                "treatment": name,
                "stay": round(float(stay / weights.sum()), 4),
                "by_steps": [round(float(mean), 4) for mean in means],
                "all": round(float(losses.mean()), 4),
            }
        )
    return kept


def _jumps(cells: Cells) -> list[Jump]:
    known = [(step, cell) for step, cell in enumerate(cells) if cell is not None]
    return [(s % DAY, t - s, i, j) for (s, i), (t, j) in pairwise(known) if t - s <= DAY]


class _Counter:
    """Counts of moves by phase of the day, and the models that they make."""

    def __init__(self, grid: Grid, phases: Sequence[int]) -> None:
        self._grid, self._phases = grid, phases
        self._shape = (max(phases) + 1, grid.size, grid.size)

    def _phase(self, step: int) -> int:
        return self._phases[step % DAY]

    def counts(self, jumps: list[Jump], read: Callable[[int, int, int], bool]) -> Floats:
        """Count jumps that are read as stays until the last step, and then the move."""
        found = np.zeros(self._shape)
        for step, k, i, j in jumps:
            if read(k, i, j):
                for later in range(k - 1):
                    found[self._phase(step + later), i, i] += 1
                found[self._phase(step + k - 1), i, j] += 1
        return found

    def matrices(self, counts: Floats) -> list[Floats]:
        """Return the shrunk model of each phase."""
        tally = tally_of_counts(counts)
        found = population_transitions(self._grid, tally, STRENGTHS)
        return [each.toarray() for each in found]

    def losses(self, jumps: list[Jump], matrices: list[Floats]) -> Floats:
        """Return -ln Pr(cell after | cell before) of the sorted jumps, over all ways between."""
        ordered = sorted(jumps)
        found = np.empty(len(ordered))
        for step in range(DAY):
            places = np.array([n for n, jump in enumerate(ordered) if jump[0] == step], dtype=int)
            if not places.size:
                continue
            places = places[::-1]  # the longest first
            length = np.array([ordered[n][1] for n in places])
            now = np.eye(self._grid.size)[[ordered[n][2] for n in places]]
            for later in range(int(length.max())):
                live = int((length > later).sum())
                now = now[:live] @ matrices[self._phase(step + later)]
                for row in np.flatnonzero(length[:live] == later + 1).tolist():
                    found[places[row]] = -np.log(now[row, ordered[places[row]][3]])
        return found


if __name__ == "__main__":
    main(sys.argv[1:])
