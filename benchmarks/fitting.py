"""How well fitted models predict people whom they have not seen: the chosen one beside the plain.

``python -m benchmarks.fitting --geolife DIR [--people 12]`` leaves each of the first people of a
Geolife folder out in turn, chooses and fits a model on the others as ``priste fit`` does, and
scores it on the moves of the one left out, who had no part in the choice; and once more with the
cell where that person's nights are spent as their home. Nothing of them is shown but the mean of
-ln Pr(next cell | this cell) a move, in nats.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

from benchmarks.arguments import parser_of
from priste.maps import Grid
from priste.mobility import MarkovModel, home_habits_of
from priste.mobility.home import usual_home
from priste.policy import cell_sequences, chosen_memory, population_model
from priste.policy.formula_models import nights
from priste.policy.model_choice import PersonCells, fitted_model
from priste.traces import Timeline, read_traces

BEIJING = (39.80, 116.20, 40.08, 116.56)
FEWEST_MOVES = 200
"""People with fewer moves on the map are passed over: their mean says little."""


def main(arguments: Sequence[str] = ()) -> None:
    """Print a line for each person, and how many are predicted better and worse."""
    parser = parser_of(__doc__)
    parser.add_argument("--geolife", type=Path, required=True, help="a Geolife folder (its Data)")
    parser.add_argument("--people", type=int, default=12, help="how many")
    parser.add_argument("--cell", type=float, default=2.0, help="km")
    options = parser.parse_args(arguments)
    grid = Grid.covering(*BEIJING, options.cell)
    line = Timeline(datetime(2008, 1, 7), timedelta(minutes=15), "Asia/Shanghai")
    people: list[PersonCells] = []
    for folder in sorted(path for path in options.geolife.iterdir() if path.is_dir()):
        found = cell_sequences(read_traces(folder), grid, line, cycle="week")
        people += [person for person in found if _moves(person) >= FEWEST_MOVES]
        if len(people) >= options.people:
            break
    print(f"{grid.rows} × {grid.columns} cells, {len(people)} people, steps of 15 min")
    print("| person | moves | memory chosen on the others | plain | chosen | home known |")
    print("|---|---|---|---|---|---|")
    night = nights(line)
    differences, with_home = [], []
    for number, person in enumerate(people):
        others = people[:number] + people[number + 1 :]
        choice = chosen_memory(grid, line, others, "auto")
        plain = _nats(fitted_model(grid, line, others), person)
        model = population_model(grid, line, others, choice)
        chosen = _nats(model, person)
        habits = home_habits_of(grid, ([each.cells] for each in others), night)
        home = usual_home(grid, [person.cells], night)
        known = _nats(with_home(model, home, habits, night), person)
        differences.append(chosen - plain)
        with_home.append(known - chosen)
        print(
            f"| {number + 1} | {_moves(person)} | {choice.memory} | {plain:.3f} | {chosen:.3f} "
            f"| {known:.3f} |",
            flush=True,
        )
    for words, found in (("chosen less plain", differences), ("home less chosen", with_home)):
        worse = sum(each > 0 for each in found)
        print(f"{words}: mean {sum(found) / len(found):+.3f} nats a move; worse for {worse}")


def _moves(person: PersonCells) -> int:
    return sum(a is not None and b is not None for a, b in pairwise(person.cells))


def _nats(model: MarkovModel, person: PersonCells) -> float:
    return -float(model.log_likelihood([person.cells])) / _moves(person)


if __name__ == "__main__":
    main(sys.argv[1:])
