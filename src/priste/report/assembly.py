"""From a policy and what was released under it to a report, ready to be shown.

A report shows the events and places of the policy, and with the truth errors, the comparison with
the uncalibrated mechanism and the true path: it is for the person it is about. A page to be shared
is made by :mod:`priste.report.shared`.
"""

from __future__ import annotations

from priste.errors import InvalidParameter
from priste.policy import Policy, explain_policy
from priste.randomness import BitSource, Seed
from priste.release import Ledger, Uncalibrated
from priste.report.stream_report import EventTrack, StreamReport
from priste.report.strip import strip_of
from priste.results import (
    TrueSteps,
    audit_releases,
    columns_of_releases,
    other_adversaries,
    released_cells,
    usefulness,
)
from priste.results.audits import OnEvent, audit_recurrences
from priste.results.run_summary import check_same_steps
from priste.results.true_steps import NONE
from priste.results.wording import believed_words, recurrence_words
from priste.traces import CellOfEachStep


def uncalibrated_releases(
    policy: Policy, truth: CellOfEachStep, rng: Seed | BitSource = None
) -> Ledger:
    """Return one stream of the uncalibrated mechanism for these true cells: no guarantee.

    It is drawn anew at each call and must never be published.
    """
    protector = policy.protector(rng=rng, calibrator=Uncalibrated())
    for cell in truth:
        protector.release(cell)
    return protector.ledger


def stream_report(
    policy: Policy,
    releases: Ledger,
    *,
    title: str,
    truth: TrueSteps | None = None,
    uncalibrated: Ledger | None = None,
    show_truth: bool = False,
    own_places: bool = False,
    any_prior: bool = True,
    on_event: OnEvent | None = None,
) -> StreamReport:
    """Return the report of one stream.

    ``releases`` is its ledger. With the ``truth`` the report tells errors, and with
    ``uncalibrated``, a stream of :func:`uncalibrated_releases`, what the mechanism without a
    calibrator would have revealed. The true path itself is in it only with ``show_truth``.
    ``own_places`` tells that the regions of the policy are where this user lives or goes.
    Without ``any_prior`` it does not tell what adversaries with any prior learn, which takes long
    on large maps.
    """
    if truth is not None:
        check_same_steps(truth, releases)
    if show_truth and truth is None:
        raise InvalidParameter(
            "must be given to be shown: the file that was protected",
            parameter="truth",
            owner="stream_report",
        )
    guarded = audit_releases(policy, releases, beside=any_prior, on_event=on_event)
    alone = {} if uncalibrated is None else audit_releases(policy, uncalibrated, beside=False)
    # One event stands for all: it takes as long again for every other model.
    most_told = max(guarded, key=lambda name: guarded[name].max)
    columns = columns_of_releases(policy, releases)
    otherwise = other_adversaries(policy, columns, {most_told}, truth)
    grid, line = policy.grid, policy.timeline
    explained = explain_policy(policy)
    released = released_cells(policy, releases)
    worth = None if truth is None else usefulness(policy, truth, released)
    steps = {
        name: tuple(layer.step for layer in event.event.automaton().layers)
        for name, event in policy.events.items()
    }
    return StreamReport(
        title=title,
        grid=grid,
        times=tuple(f"{line.time_of(step):%a %d %b %H:%M}" for step in range(len(releases))),
        guarantee=(*explained.summary, explained.against, *explained.guaranteed),
        not_guaranteed=(
            *explained.not_guaranteed,
            *explained.unguarded,
            *(recurrence_words(*each) for each in audit_recurrences(policy, columns).items()),
        ),
        regions={name: each.cells for name, each in policy.regions.items() if each.cells},
        events=tuple(
            EventTrack(
                name=event.name,
                period=event.period,
                text=event.text,
                epsilon=event.epsilon,
                steps=steps[name],
                guarded=guarded[name],
                uncalibrated=alone.get(name),
                otherwise=otherwise.get(name, {}),
                releases=sum(released[s] is not None for s in steps[name] if s < len(released)),
                believed=believed_words(event.stated.answers),
            )
            for name, event in policy.events.items()
        ),
        released=released,
        budgets=tuple(release.budget for release in releases),
        full_budget=policy.mechanism.budget,
        calibrator=policy.calibrator,
        own_places=own_places,
        against=policy.chosen_adversary.words,
        usefulness=worth,
        strip=()
        if worth is None
        else strip_of(
            [line.time_of(step) for step in range(len(releases))],
            line.step,
            worth.errors,
            grid.cell_size,
            {step for each in steps.values() for step in each},
            {step for hours in policy.guarded_hours for step in hours},
        ),
        truth=cells_of(truth) if show_truth and truth is not None else None,
        step_hours=line.step.total_seconds() / 3600,
        population=None if truth is None else policy.population,
        continued=bool(releases.past),
    )


def cells_of(truth: TrueSteps) -> tuple[int | None, ...]:
    """Return the true cell of each step, None where there is none."""
    return tuple(None if cell == NONE else cell for cell in truth.cells.tolist())
