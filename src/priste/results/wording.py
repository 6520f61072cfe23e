"""Numbers in words: one wording for each, in every report and command."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence

import numpy as np

from priste.audit import EventAudit, RecurrenceAudit
from priste.maps import Grid
from priste.quantify import AnyPrior, Guarantee

WORTH_NAMING = 0.1
"""A cell of a prior is marked if its weight is at least this share of the heaviest one's."""

LIKELY = 0.05
MOST_NAMED = 4
REST = 0.005
"""From what probability on a place is named, how many at most, and what is left unsaid."""

LARGEST_SAID = math.log(1e6)
"""Above this factor the number is not stated, because it says nothing more."""


def odds(leakage: float) -> str:
    """Say a leakage as the factor by which odds may move.

    >>> odds(0.5), odds(3), odds(math.inf), odds(0)
    ('1.65×', '20×', 'without limit', '1.00×')
    >>> odds(13.3), odds(30), odds(5144)
    ('600,000×', 'more than a million×', 'more than a million×')
    """
    if math.isinf(leakage):
        return "without limit"
    if leakage > LARGEST_SAID:
        return "more than a million×"
    factor = math.exp(leakage)
    if factor < 10:
        return f"{factor:.2f}×"
    digits = max(0, math.floor(math.log10(factor)) - 1)  # two figures that mean something
    return f"{round(factor, -digits):,.0f}×"


def moved(leakage: float) -> str:
    """Say by how much odds have moved at most.

    >>> [f"moved {moved(leakage)}" for leakage in (0.5, 30, math.inf)]
    ['moved by at most 1.65×', 'moved by more than a million×', 'moved without limit']
    """
    said = odds(leakage)
    if math.isinf(leakage):
        return said
    return f"by {said}" if leakage > LARGEST_SAID else f"by at most {said}"


def percent(probability: float) -> str:
    """Say a probability in percent without claiming certainty that is not there.

    >>> percent(0.5), percent(0.0), percent(0.99999), percent(1e-9), percent(1.0)
    ('50.0 %', '0 %', '> 99.9 %', '< 0.1 %', '100 %')
    """
    if probability in (0.0, 1.0):
        return f"{probability:.0%}".replace("%", " %")
    if probability < 0.001:
        return "< 0.1 %"
    if probability > 0.999:
        return "> 99.9 %"
    return f"{100 * probability:.1f} %"


def length(metres: float) -> str:
    """Say a length: metres below a kilometre, kilometres above, in two figures that mean something.

    >>> length(90.2), length(502.0), length(1843.0), length(20_000), length(math.nan)
    ('90 m', '500 m', '1.8 km', '20 km', '–')
    >>> length(996.0)
    '1.0 km'
    """
    if math.isnan(metres):
        return "–"
    shown = round(metres, -1) if metres >= 99.5 else metres
    if shown < 1000:
        return f"{shown:.0f} m"
    return f"{metres / 1000:.1f} km" if metres < 9_950 else f"{metres / 1000:,.0f} km"


def degrees(value: float, positive: str, negative: str) -> str:
    """Say a coordinate.

    >>> degrees(-0.25, "N", "S"), degrees(7.05, "E", "W")
    ('0.25° S', '7.05° E')
    """
    return f"{abs(value):.6g}° {positive if value >= 0 else negative}"


def cell_words(cell: int, grid: Grid, regions: Mapping[str, Container[int]]) -> str:
    """Return the name of a cell: its region, its coordinates, or its number.

    >>> grid = Grid.covering(46.0, 7.0, 46.05, 7.08, cell_size=1.0)
    >>> cell_words(3, grid, {}), cell_words(3, grid, {"home": [3]})
    ('near 46.003° N, 7.04° E', 'in home')
    """
    for name, cells in regions.items():
        if cell in cells:
            return f"in {name}"
    if not grid.is_geographic:
        return f"in cell {cell}"
    lat, lon = grid.latlon(cell)
    return f"near {degrees(round(lat, 3), 'N', 'S')}, {degrees(round(lon, 3), 'E', 'W')}"


def worst_prior(audit: EventAudit) -> dict[int, float]:
    """Return the prior that learns most, over the cells where the user began.

    Given priors are mixed into it. Empty where nobody learns anything.
    """
    if audit.max <= 0 or not audit.worst_given:
        return dict(audit.worst_prior) if audit.max > 0 else {}
    given = (
        weight * audit.adversary.of_model(model).given_prior(number)
        for (model, number), weight in audit.worst_given.items()
    )
    mixed = np.sum(list(given), axis=0)
    return {int(cell): float(mixed[cell]) for cell in np.flatnonzero(mixed)}


def heaviest(prior: Mapping[int, float]) -> dict[int, float]:
    """Return the cells of a prior to be named: those not far below the heaviest one."""
    top = max(prior.values(), default=0.0)
    return {cell: weight for cell, weight in sorted(prior.items()) if weight >= WORTH_NAMING * top}


def who_learns_most(audit: EventAudit, grid: Grid, regions: Mapping[str, Container[int]]) -> str:
    """Return in words the prior that learns most from the releases.

    >>> grid = Grid(rows=2, columns=4, cell_size=1.0)
    >>> audit = EventAudit((0.4,), (0.1,), 0.1, {7: 0.75, 3: 0.25})
    >>> who_learns_most(audit, grid, {"home": [7]})
    'Those who learn most think that the user began in cell 3 (25.0 %) or in home (75.0 %).'
    >>> who_learns_most(EventAudit((0.0,), (0.1,), 0.1, {}), grid, {})
    'No prior learns anything.'
    """
    if audit.max <= 0:
        return "No prior learns anything."
    places: dict[str, float] = {}
    for cell, weight in worst_prior(audit).items():
        place = cell_words(cell, grid, regions)
        places[place] = places.get(place, 0.0) + weight
    likely = {place: weight for place, weight in places.items() if weight >= LIKELY}
    said = "Those who learn most think that the user began "
    if not likely or len(likely) > MOST_NAMED:
        return f"{said}where the given prior puts people, which is at many places."
    listed = " or ".join(f"{place} ({percent(likely[place])})" for place in sorted(likely))
    rest = 1.0 - sum(likely.values())
    return f"{said}{listed}{' or at other places' if rest > REST else ''}."


def recurrence_words(name: str, audit: RecurrenceAudit) -> str:
    """Say how far statements about all periods of a recurring event have moved.

    >>> recurrence_words("visit", RecurrenceAudit(6, 0.5, None))
    'visit, over its 6 periods: the odds of "at least once" moved by at most 1.65×.'
    """
    asked = {"at least once": audit.at_least_once, "every time": audit.every_time}
    said = [
        f'of "{what}" moved {moved(value)}' for what, value in asked.items() if value is not None
    ]
    words = f"the odds {', and '.join(said)}" if said else "how far the odds moved is not known"
    return f"{name}, over its {audit.periods} periods: {words}."


def believed_words(answers: Sequence[str]) -> str:
    """Say what a belief about an event, or about a secret with so many answers, is a belief in.

    >>> believed_words(["happened", "did not happen"])
    'that it happened'
    >>> believed_words(["oncology", "dentist", "neither"])
    'that the answer is not “neither”'
    """
    return "that it happened" if len(answers) == 2 else f"that the answer is not “{answers[-1]}”"


def surest_words(belief: float, answers: Sequence[str]) -> str:
    """Say the largest belief of the adversary in an event, or in one answer of a secret.

    >>> surest_words(0.12, ["happened", "did not happen"])
    'the surest believes 12.0 %'
    >>> surest_words(0.12, ["oncology", "dentist", "neither"])
    'the surest believes one of its answers with 12.0 %'
    """
    of_what = "" if len(answers) == 2 else "one of its answers with "
    return f"the surest believes {of_what}{percent(belief)}"


def reached_words(guarantee: Guarantee, audit: EventAudit) -> str:
    """Say how far the releases went in what is guaranteed.

    >>> from priste.quantify import BeliefBound, OddsBound
    >>> audit = EventAudit((0.5, 0.4), (0.1, 0.1), 0.1, {}, for_event=(0.5, 0.2),
    ...                    against_event=(0.3, 0.4), highest_belief=(0.11, 0.12))
    >>> reached_words(OddsBound(0.5, 0.5), audit)
    'odds moved by at most 1.65×'
    >>> reached_words(OddsBound(0.5, math.inf), audit)
    'odds that it happened rose by at most 1.65×'
    >>> reached_words(OddsBound(0.5, 1.0), audit)
    'odds that it happened rose by at most 1.65× and fell by at most 1.49×'
    >>> reached_words(BeliefBound(0.2), audit)
    'the surest believes 12.0 %'
    """
    if guarantee.belief_cap is not None:
        highest = max(audit.highest_belief, default=math.nan)
        return f"the surest believes {percent(highest)}"
    up = max(audit.for_event or audit.leakage, default=0.0)
    down = max(audit.against_event or audit.leakage, default=0.0)
    if guarantee.up == guarantee.down:
        return f"odds moved {moved(max(up, down))}"
    parts = []
    if guarantee.up < math.inf:
        parts.append(f"rose {moved(max(up, 0.0))}")
    if guarantee.down < math.inf:
        parts.append(f"fell {moved(max(down, 0.0))}")
    return f"odds that it happened {' and '.join(parts)}"


def any_prior_words(audit: EventAudit) -> str:
    """Say what adversaries with any prior could have learnt, where fewer are guarded against."""
    if not audit.any_prior or audit.adversary == AnyPrior():
        return ""
    return (
        "With any belief about where the user began, and the same model of movement, odds could "
        f"have moved {moved(audit.max_any_prior)}: that is not guaranteed."
    )


def from_to(before: float, after: float) -> str:
    """Say two probabilities, the second of which follows the first.

    >>> from_to(0.036, 0.0361), from_to(0.036, 0.2)
    ('3.6 % before and after', '3.6 % before and 20.0 % after')
    """
    first, second = percent(before), percent(after)
    return f"{first} before and after" if first == second else f"{first} before and {second} after"
