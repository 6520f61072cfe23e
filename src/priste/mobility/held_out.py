"""Choose the shrinkage of a population model by predicting people who were left out.

Whether a person stays and where a person goes are separate factors of the likelihood, so their
strengths are searched separately, each on a small grid. Candidates are scored on the same moves.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from priste.maps import Grid
from priste.mobility.population import (
    POPULARITY_LIMIT,
    Reach,
    Shrinkage,
    blended_stays,
    go_shares,
    shifted_stays,
    tally_of,
)
from priste.mobility.sequences import Moves, counts_of
from priste.mobility.smoothed_counts import GaussianPrior, smoothed
from priste.mobility.transitions import Transition
from priste.mobility.validation import FloatArray, IntArray

FOLDS = 5
"""Groups of people that are left out in turn; for one person, stretches of time."""

STAY_STRENGTHS = (3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 10_000.0)
GO_STRENGTHS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
PHASE_STRENGTHS = (math.inf, 300.0, 100.0, 30.0)
DECAYS = (1.0, 1.5, 2.0, 2.5, 3.0)
LEANS = (0.0, 0.5, 1.0)

_DIGITS = 7
"""Losses per move are compared to this many digits, so that no choice hangs on a last bit."""


def plain_transition(grid: Grid, moves: Moves) -> Transition:
    """Return counts of all hours on a Gaussian: what ``MarkovModel.fit`` fits without a cycle."""
    counts = counts_of(moves.sources, moves.targets, (grid.size, grid.size))
    return smoothed(counts, *GaussianPrior().prior(grid, counts))


def together(moves: Sequence[Moves]) -> Moves:
    """Return the moves of several people as one."""
    empty = np.empty(0, dtype=np.int64)
    return Moves(
        *(
            np.concatenate([empty, *(getattr(each, name) for each in moves)])
            for name in ("sources", "targets", "steps", "before")
        )
    )


def folds_of(people: Sequence[Moves]) -> Iterator[tuple[Moves, Moves]]:
    """Yield what is counted and what is left out, so that each move is left out once.

    Whole people are left out; of a single person, stretches of time. Nothing is yielded where
    nothing could be counted or nothing left out.
    """
    parts = [each for each in people if each.sources.size]
    if len(parts) == 1:
        cuts = np.array_split(np.arange(parts[0].sources.size), FOLDS)
        parts = [_part(parts[0], cut) for cut in cuts if cut.size]
    groups = min(FOLDS, len(parts))
    for group in range(groups if groups > 1 else 0):
        known = [part for number, part in enumerate(parts) if number % groups != group]
        yield together(known), together(parts[group::groups])


def _part(moves: Moves, which: IntArray) -> Moves:
    return Moves(
        moves.sources[which], moves.targets[which], moves.steps[which], moves.before[which]
    )


class _Fold:
    """One group left out: its moves, and the counts of the others by memory."""

    def __init__(
        self, grid: Grid, phases: Mapping[str, IntArray], known: Moves, held: Moves
    ) -> None:
        self.known = {name: tally_of(grid, known, phase) for name, phase in phases.items()}
        self.held = {name: tally_of(grid, held, phase) for name, phase in phases.items()}
        self.pooled = next(iter(self.known.values())).pooled()
        going = held.sources != held.targets
        self.sources, self.targets = held.sources[going], held.targets[going]
        self.phase = {name: each[held.steps[going] % len(each)] for name, each in phases.items()}
        self.moves = held.sources.size
        plain = plain_transition(grid, known).entries(held.sources, held.targets)
        self.plain_loss = -float(np.log(plain).sum())
        self._grid = grid

    def stay_loss(self, name: str, shifted: FloatArray, by_phase: float) -> float:
        """Return the loss on whether people left out stayed."""
        stay = blended_stays(self.known[name], shifted, by_phase)
        held = self.held[name]
        return -float((held.stays * np.log(stay) + held.leaves * np.log1p(-stay)).sum())

    def reach(self, decay: float, lean: float) -> FloatArray:
        """Return the ``reach`` of the moves of people left out."""
        found = Reach(self._grid, self.pooled, decay, lean)
        return found.entries(self.sources, self.targets)

    def go_loss(self, name: str | None, reach: FloatArray, shrinkage: Shrinkage) -> float:
        """Return the loss on where people left out went; ``None`` is without phases."""
        known = self.pooled if name is None else self.known[name]
        phase = np.zeros_like(self.sources) if name is None else self.phase[name]
        share = go_shares(known, reach, phase, self.sources, self.targets, shrinkage)
        return -float(np.log(share).sum())


class Comparison:
    """Memories compared on people left out, each with its best shrinkage."""

    def __init__(
        self, grid: Grid, phases: Mapping[str, IntArray], cuts: Iterable[tuple[Moves, Moves]]
    ) -> None:
        self._folds = [_Fold(grid, phases, known, held) for known, held in cuts]
        self.moves = sum(fold.moves for fold in self._folds)
        self._leans = LEANS if grid.size <= POPULARITY_LIMIT else LEANS[:1]

    def plain_nats(self) -> float:
        """Return the mean loss of the plain model."""
        return round(sum(fold.plain_loss for fold in self._folds) / self.moves, _DIGITS)

    def best(self, names: Iterable[str]) -> dict[str, tuple[float, Shrinkage]]:
        """Return the mean loss of each memory, and its best shrinkage."""
        going, reaches = self._best_reach()
        found = {}
        for name in names:
            stay_nats, stay, by_phase = self._best_stay(name)
            go_nats, shrinkage = self._best_go(name, going, reaches)
            chosen = replace(shrinkage, stay=stay, stay_by_phase=by_phase)
            found[name] = round(stay_nats + go_nats, _DIGITS), chosen
        return found

    def _nats(self, losses: Iterable[float]) -> float:
        return round(sum(losses) / self.moves, _DIGITS)

    def _best_stay(self, name: str) -> tuple[float, float, float]:
        found = []
        phases = self._folds[0].known[name].phases
        for strength in STAY_STRENGTHS:
            shifted = [shifted_stays(fold.known[name], strength) for fold in self._folds]
            for by_phase in PHASE_STRENGTHS if phases > 1 else PHASE_STRENGTHS[:1]:
                losses = (
                    fold.stay_loss(name, shift, by_phase)
                    for fold, shift in zip(self._folds, shifted, strict=True)
                )
                found.append((self._nats(losses), strength, by_phase))
        return min(found, key=lambda each: each[0])

    def _best_reach(self) -> tuple[Shrinkage, list[FloatArray]]:
        """Return the best decay, lean and strength for all hours together."""
        best: tuple[float, Shrinkage, list[FloatArray]] | None = None
        for decay, lean in product(DECAYS, self._leans):
            reaches = [fold.reach(decay, lean) for fold in self._folds]
            for strength in GO_STRENGTHS:
                choice = Shrinkage(go=strength, decay=decay, lean=lean)
                nats = self._nats(
                    fold.go_loss(None, reach, choice)
                    for fold, reach in zip(self._folds, reaches, strict=True)
                )
                if best is None or nats < best[0]:
                    best = nats, choice, reaches
        assert best is not None  # noqa: S101 - the loops are never empty
        return best[1], best[2]

    def _best_go(
        self, name: str, going: Shrinkage, reaches: list[FloatArray]
    ) -> tuple[float, Shrinkage]:
        found = []
        phases = self._folds[0].known[name].phases
        for by_phase in PHASE_STRENGTHS if phases > 1 else PHASE_STRENGTHS[:1]:
            choice = replace(going, go_by_phase=by_phase)
            losses = (
                fold.go_loss(name, reach, choice)
                for fold, reach in zip(self._folds, reaches, strict=True)
            )
            found.append((self._nats(losses), choice))
        return min(found, key=lambda each: each[0])
