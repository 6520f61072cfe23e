"""From a policy and what was released under it to a report, ready to be shown.

What is made from releases alone may be published with them. Distances, the comparison with
the uncalibrated mechanism and the true path are made from true locations; a report that holds any
of them says so (:attr:`~priste.report.stream_report.StreamReport.private`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.policy import Policy, explain_policy
from priste.randomness import BitSource, Seed, bit_source
from priste.release import Ledger, Release, Uncalibrated
from priste.report.audits import OnEvent, audit_releases, columns_of_releases
from priste.report.other_movement import if_people_move_otherwise
from priste.report.outline import Line
from priste.report.stream_report import EventTrack, StreamReport
from priste.report.strip import strip_of
from priste.report.usefulness import Usefulness, usefulness
from priste.traces import CellOfEachStep


def uncalibrated_releases(
    policy: Policy, truth: CellOfEachStep, rng: Seed | BitSource = None
) -> Ledger:
    """Return what the mechanism alone would have released for these true cells: no guarantee.

    It is drawn anew at each call and must never be published.
    """
    protector = policy.protector(rng=rng, calibrator=Uncalibrated())
    for cell in truth:
        protector.release(cell)
    return protector.ledger


def uncalibrated_cells(
    policy: Policy, truth: CellOfEachStep, rng: Seed | BitSource = None
) -> tuple[int | None, ...]:
    """Return the cells that the mechanism alone would have released, without measuring them."""
    places = policy.mechanism.output_cells()
    if policy.mechanism.uses_belief:  # its law depends on what was released before
        return _cells(uncalibrated_releases(policy, truth, rng), places)
    if places is None:
        return (None,) * len(truth)
    bits = bit_source(rng)
    return tuple(
        None if cell is None else int(places[policy.mechanism.sample(cell, bits)]) for cell in truth
    )


def stream_report(
    policy: Policy,
    releases: Ledger,
    *,
    title: str,
    truth: CellOfEachStep | None = None,
    uncalibrated: Ledger | None = None,
    show_truth: bool = False,
    own_places: bool = False,
    outline: tuple[Line, ...] = (),
    on_event: OnEvent | None = None,
) -> StreamReport:
    """Return the report of one stream.

    ``releases`` is its ledger. With the true cells ``truth`` the report tells distances, and
    with ``uncalibrated``, a stream of :func:`uncalibrated_releases`, what the mechanism alone
    would have told. The true path itself is in it only with ``show_truth``. ``own_places`` tells
    that the regions of the policy are where this user lives or goes. ``outline`` is drawn on its
    maps; see :func:`~priste.report.outline.read_outline`.
    """
    if truth is not None and len(truth) != len(releases):
        raise InvalidParameter(
            f"The truth has {len(truth)} steps and the stream {len(releases)}. "
            "Are they of the same user and policy?"
        )
    if show_truth and truth is None:
        raise InvalidParameter("To show the truth, give it: the file that was protected.")
    guarded = audit_releases(policy, releases, on_event=on_event)
    alone = {} if uncalibrated is None else audit_releases(policy, uncalibrated, beside=False)
    # One event stands for all: it takes as long again for every other way to move.
    most_told = max(guarded, key=lambda name: guarded[name].max)
    otherwise = if_people_move_otherwise(policy, columns_of_releases(policy, releases), {most_told})
    grid, line = policy.grid, policy.timeline
    explained = explain_policy(policy)
    places = policy.mechanism.output_cells()
    worth = None if truth is None else _worth(policy, truth, releases, uncalibrated)
    return StreamReport(
        title=title,
        grid=grid,
        times=tuple(f"{line.time_of(step):%a %d %b %H:%M}" for step in range(len(releases))),
        guarantee=(*explained.summary, explained.against, *explained.guaranteed),
        not_guaranteed=(*explained.not_guaranteed, *explained.unguarded),
        regions={name: each.cells for name, each in policy.regions.items() if each.cells},
        events=tuple(
            EventTrack(
                name=event.name,
                period=event.period,
                text=event.text,
                epsilon=event.epsilon,
                steps=tuple(layer.step for layer in event.event.automaton().layers),
                guarded=guarded[name],
                uncalibrated=alone.get(name),
                otherwise=otherwise.get(name, {}),
            )
            for name, event in policy.events.items()
        ),
        released=_cells(releases, places),
        budgets=tuple(release.budget for release in releases),
        full_budget=policy.mechanism.budget,
        calibrator=policy.calibrator,
        own_places=own_places,
        against=policy.chosen_adversary.words,
        distances=() if truth is None else _distances(grid, truth, _cells(releases, places)),
        uncalibrated_distances=()
        if truth is None or uncalibrated is None
        else _distances(grid, truth, _cells(uncalibrated, places)),
        usefulness=worth,
        strip=()
        if worth is None
        else strip_of(
            [line.time_of(step) for step in range(len(releases))],
            line.step,
            worth.errors,
            grid.cell_size,
            {
                layer.step
                for event in policy.events.values()
                for layer in event.event.automaton().layers
            },
        ),
        truth=tuple(truth) if show_truth and truth is not None else None,
        step_hours=line.step.total_seconds() / 3600,
        population=None if truth is None else policy.population,
        outline=outline,
    )


def _worth(
    policy: Policy, truth: CellOfEachStep, releases: Ledger, uncalibrated: Ledger | None
) -> Usefulness:
    places = policy.mechanism.output_cells()
    return usefulness(
        policy.grid,
        truth,
        _cells(releases, places),
        [event.event for event in policy.events.values()],
        policy.timeline.step.total_seconds(),
        None if uncalibrated is None else _cells(uncalibrated, places),
    )


def released_cells(policy: Policy, releases: Sequence[Release]) -> tuple[int | None, ...]:
    """Return the cell of the map that each release means, None for silence."""
    return _cells(releases, policy.mechanism.output_cells())


def _cells(releases: Sequence[Release], places: NDArray[np.int64] | None) -> tuple[int | None, ...]:
    """Return the cell that each output means; an output that means none is not drawn."""
    if places is None:
        return (None,) * len(releases)
    return tuple(None if r.cell is None else int(places[r.cell]) for r in releases)


def _distances(grid: Grid, truth: CellOfEachStep, released: CellOfEachStep) -> tuple[float, ...]:
    """Return the km between true and released cells where both are known."""
    centers = grid.centers
    return tuple(
        float(np.hypot(*(centers[there] - centers[here])))
        for here, there in zip(truth, released, strict=True)
        if here is not None and there is not None
    )
