"""The mobility section of a policy: a Gaussian, a model fitted on traces, or a saved one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Literal

from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.mobility import GaussianPrior, MarkovModel
from priste.policy.sections import MobilitySection
from priste.traces import Timeline, Trace, read_traces

Rule = Literal["nearest", "majority", "interpolated"]
Cycle = Literal["day", "week"]
CellSequence = tuple[int | None, ...]

FOLD = 5
"""One person of this many is held out."""


def model_of(
    section: MobilitySection,
    grid: Grid,
    timeline: Timeline,
    rule: Rule,
    folder: Path,
) -> MarkovModel:
    """Return the model that a policy's mobility section describes."""
    if section.kind == "gaussian":
        return MarkovModel.gaussian(grid, sigma=section.sigma or 0.0)
    if section.kind == "saved":
        model = MarkovModel.load(folder / (section.path or ""))
        if model.grid != grid:
            raise InvalidParameter(
                f"The saved model {section.path!r} is for another map "
                f"({model.grid.rows} by {model.grid.columns} cells of {model.grid.cell_size} km). "
                "Fit one on this map: priste fit"
            )
        return model
    traces = read_traces(folder / (section.traces or ""), section.format)
    sequences = cell_sequences(traces, grid, timeline, rule=rule, cycle=section.cycle)
    return fitted_model(grid, timeline, sequences, cycle=section.cycle, sigma=section.sigma)


def cell_sequences(
    traces: Iterable[Trace],
    grid: Grid,
    timeline: Timeline,
    *,
    rule: Rule = "nearest",
    cycle: Cycle | None = None,
) -> list[CellSequence]:
    """Return each trace as cells at the timeline's steps, None for gaps and beyond the map.

    Each person's own days are counted from the same hour as the timeline's, and weeks from the
    same day, so that a cycle means the same for all.
    """
    sequences = []
    for trace in traces:
        own = Timeline(_same_phase(trace.start, timeline, cycle), timeline.step, timeline.zone)
        sequences.append(own.cells(trace, grid, rule, outside="gap").cells)
    return sequences


def fitted_model(
    grid: Grid,
    timeline: Timeline,
    sequences: Sequence[CellSequence],
    *,
    cycle: Cycle | None = None,
    sigma: float | None = None,
) -> MarkovModel:
    """Return the model fitted on sequences of cells at the timeline's steps.

    Unseen moves are smoothed with a Gaussian of ``sigma`` km, taken from the data unless given.
    ``cycle`` fits one matrix per step of the day or week; the step must divide it.
    """
    smoothing = GaussianPrior(sigma=sigma)
    if cycle is None:
        return MarkovModel.fit(grid, sequences, smoothing)
    length = timedelta(days=7 if cycle == "week" else 1)
    if length % timeline.step:
        raise InvalidParameter(
            f"A model with a matrix per step of the {cycle} needs a step that divides it. "
            f"Got steps of {timeline.step}."
        )
    return MarkovModel.fit(grid, sequences, smoothing, cycle=length // timeline.step)


@dataclass(frozen=True)
class HeldOut:
    """How well a model predicts people it was not fitted on.

    ``nats_per_move`` is the mean of -ln Pr(next cell | this cell), lower is better;
    ``uniform_nats`` is that of a model that knows nothing.
    """

    people: int
    moves: int
    nats_per_move: float
    uniform_nats: float


def held_out_score(
    grid: Grid,
    timeline: Timeline,
    sequences: Sequence[CellSequence],
    *,
    cycle: Cycle | None = None,
    sigma: float | None = None,
) -> HeldOut | None:
    """Fit on four people of five and return how well the fifth is predicted.

    With fewer than five people the last fifth of each one's steps is held out. None when there
    is too little to hold out.
    """
    if len(sequences) >= FOLD:
        tests = [(0, cells) for cells in sequences[FOLD - 1 :: FOLD]]
        known = [cells for number, cells in enumerate(sequences) if number % FOLD != FOLD - 1]
    else:
        cuts = [len(cells) - len(cells) // FOLD for cells in sequences]
        tests = [(cut, cells[cut:]) for cut, cells in zip(cuts, sequences, strict=True)]
        known = [cells[:cut] for cut, cells in zip(cuts, sequences, strict=True)]
    moves = sum(_moves(cells) for _, cells in tests)
    if not moves or not any(_moves(cells) for cells in known):
        return None
    model = fitted_model(grid, timeline, known, cycle=cycle, sigma=sigma)
    total = model.log_likelihood(
        [cells for _, cells in tests], offsets=[offset for offset, _ in tests]
    )
    return HeldOut(len(tests), moves, -total / moves, math.log(grid.size))


def _moves(cells: CellSequence) -> int:
    return sum(a is not None and b is not None for a, b in pairwise(cells))


def _same_phase(moment: datetime, timeline: Timeline, cycle: Cycle | None) -> datetime:
    """Return the last instant up to ``moment`` at which a cycle of the timeline begins."""
    length = timedelta(days=7 if cycle == "week" else 1)
    return moment - (moment - timeline.start) % length
