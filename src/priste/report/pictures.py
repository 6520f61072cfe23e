"""The pictures of a stream on its page: the map, a card for each event, the price."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from priste.report.charts import (
    Chart,
    Line,
    Mark,
    Scale,
    bands_of,
    level,
    over_steps,
    time_marks,
    value_marks,
)
from priste.report.map_view import MapDrawing, MapView, Panel
from priste.report.stream_report import EventTrack, StreamReport
from priste.results.usefulness import CURVE_KM, PRISTE, UNCALIBRATED
from priste.results.wording import (
    heaviest,
    length,
    odds,
    percent,
    who_learns_most,
    worst_prior,
)

HOURS_AROUND = 12.0
"""A chart of an event shows this many hours before and after it."""

MOST_MULTIPLES = 14
"""How many occurrences of a recurring event are drawn; the others are in the table."""

ALMOST_ALL = 0.995
"""The chart of distances goes as far as this share of the releases."""

MOST_OVER = 3.0
"""What is more than this many times the guarantee, or what was reached, goes off the chart."""


@dataclass(frozen=True)
class Occurrence:
    """One event, or one day or week of a recurring one: its charts, zoomed to the day around it."""

    track: EventTrack
    label: str
    leakage: Chart
    belief: Chart


@dataclass(frozen=True)
class EventCard:
    """An event with all its occurrences, and where those who learn most think it began."""

    name: str
    occurrences: tuple[Occurrence, ...]
    of: int
    learners: MapView | None

    @property
    def first(self) -> EventTrack:
        """The first occurrence."""
        return self.occurrences[0].track

    @property
    def worst(self) -> EventTrack:
        """The occurrence with the largest leakage."""
        return max((each.track for each in self.occurrences), key=lambda each: each.guarded.max)


def stream_map(report: StreamReport) -> MapView:
    """Return the map: what was released and, if the report has it, the truth next to it."""
    seen = {cell for cell in report.released if cell is not None}
    if report.truth is not None:
        seen |= {cell for cell in report.truth if cell is not None}
    drawing = MapDrawing(report.grid, sorted(seen), report.regions)
    panels = [_panel(drawing, report.released, "What was released", "released")]
    if report.truth is not None:
        panels.insert(0, _panel(drawing, report.truth, "Where the user was", "true"))
    return drawing.view(panels, population=report.population)


def _panel(drawing: MapDrawing, cells: Sequence[int | None], title: str, style: str) -> Panel:
    there = [cell for cell in cells if cell is not None]
    words = (
        f"{title}: {len(there)} steps in {len(set(there))} cells; stronger cells have more steps."
    )
    return Panel(title, words, drawing.counted(there, style))


def event_cards(report: StreamReport) -> tuple[EventCard, ...]:
    """Return one card for each event; occurrences of a recurring one share a card and its scale."""
    groups: dict[str, list[tuple[str, EventTrack]]] = {}
    for track in report.events:
        groups.setdefault(track.name, []).append((track.period or "", track))
    cards = []
    for name, members in groups.items():
        tracks = [track for _, track in members]
        scale = _leakage_scale(tracks)
        most = sorted(members, key=lambda each: each[1].guarded.max, reverse=True)[:MOST_MULTIPLES]
        cards.append(
            EventCard(
                name,
                tuple(
                    Occurrence(
                        track,
                        period,
                        _leakage_chart(report, track, scale, tracks),
                        _belief_chart(report, track),
                    )
                    for period, track in members
                    if (period, track) in most
                ),
                len(members),
                _learners(report, tracks),
            )
        )
    return tuple(cards)


def _learners(report: StreamReport, tracks: Sequence[EventTrack]) -> MapView | None:
    """Return where those who learn most think that the user began, over all occurrences."""
    weights: dict[int, float] = {}
    for track in tracks:
        for cell, weight in heaviest(worst_prior(track.guarded)).items():
            weights[cell] = max(weights.get(cell, 0.0), weight)
    if not weights:
        return None
    drawing = MapDrawing(report.grid, sorted(weights), report.regions)
    words = "Those who learn most think that the user began at the marked places."
    panel = Panel("Who learns most", words, (), drawing.dots(weights, words))
    return drawing.view([panel], population=report.population)


def learners_words(report: StreamReport, card: EventCard) -> str:
    """Say where those begin who learn most about the worst occurrence."""
    regions = {name: frozenset(cells) for name, cells in report.regions.items()}
    return who_learns_most(card.worst.guarded, report.grid, regions)


def day_around(report: StreamReport, track: EventTrack) -> range:
    """Return the steps of the day around an event."""
    reach = max(1, round(HOURS_AROUND / report.step_hours))
    steps = [step for step in track.steps if step < report.steps]
    if not steps:
        return range(max(0, report.steps - 2 * reach), report.steps)
    return range(max(0, min(steps) - reach), min(report.steps, max(steps) + reach + 1))


def _leakage_scale(tracks: Sequence[EventTrack]) -> Scale:
    """Return one scale for all occurrences; what is far over the guarantee goes off the chart."""
    told = [1e-3]
    others: list[float] = []
    for track in tracks:
        told += [v for v in track.guarded.leakage if math.isfinite(v)]
        others += track.guarded.any_prior if track.any_prior else ()
        others += () if track.uncalibrated is None else track.uncalibrated.leakage
        if math.isfinite(track.epsilon):
            told.append(1.2 * track.epsilon)
    most = MOST_OVER * max(told)
    return Scale(0.0, 1.05 * max([max(told), *(min(v, most) for v in others if math.isfinite(v))]))


def _leakage_chart(
    report: StreamReport, track: EventTrack, scale: Scale, tracks: Sequence[EventTrack]
) -> Chart:
    """Draw one occurrence; its legend says how far those of all ``tracks`` go off the chart."""
    steps = day_around(report, track)
    silent = [cell is None for cell in report.released]
    guarded = track.guarded

    def line(label: str, style: str, values: Sequence[float], largest: float) -> Line:
        if largest > scale.high:
            label += ", without limit" if math.isinf(largest) else f", up to {largest:.3g}"
        return Line(label, style, over_steps(values, steps, scale, silent))

    lines = []
    if track.uncalibrated is not None:
        lines.append(
            line(
                "uncalibrated",
                "uncalibrated",
                track.uncalibrated.leakage,
                max(each.uncalibrated.max for each in tracks if each.uncalibrated is not None),
            )
        )
    if track.any_prior and guarded.any_prior:
        lines.append(
            line(
                "any prior, same model",
                "any_prior",
                guarded.any_prior,
                max(each.guarded.max_any_prior for each in tracks),
            )
        )
    lines.append(
        line("with priste", "released", guarded.leakage, max(each.guarded.max for each in tracks))
    )
    guaranteed = math.isfinite(track.epsilon)
    return Chart(
        title=f"Leakage about “{track.label}”",
        words=f"Leakage about {track.label} over time: {odds(guarded.max)} at most with priste"
        + (
            f", {odds(track.uncalibrated.max)} uncalibrated"
            if track.uncalibrated is not None
            else ""
        )
        + (f"; guaranteed are {odds(track.epsilon)}." if guaranteed else "."),
        lines=tuple(lines),
        across=time_marks(report.times, steps),
        up=value_marks(scale),
        levels=(level(track.epsilon, f"guaranteed: ε = {track.epsilon:g}", scale),)
        if guaranteed
        else (),
        bands=bands_of(track.steps, steps),
    )


def _belief_chart(report: StreamReport, track: EventTrack) -> Chart:
    steps = day_around(report, track)
    silent = [False] * report.steps  # beliefs move on in silence, with the event
    guarded, scale = track.guarded, Scale(0.0, 1.0)
    lines = []
    if track.uncalibrated is not None:
        lines.append(
            Line(
                "uncalibrated",
                "uncalibrated",
                over_steps(track.uncalibrated.belief, steps, scale, silent),
            )
        )
    lines.append(Line("with priste", "released", over_steps(guarded.belief, steps, scale, silent)))
    levels = [level(guarded.prior_belief, "before any release", scale)]
    cap = track.guaranteed.belief_cap
    if cap is not None:
        highest = over_steps(guarded.highest_belief, steps, scale, silent)
        lines.append(Line("the surest, with priste", "any_prior", highest))
        levels.append(level(cap, f"guaranteed: at most {percent(cap)}", scale))
    return Chart(
        title=f"What an adversary believes about “{track.label}”",
        words=f"What an adversary believes about {track.label} over time: "
        f"{percent(guarded.prior_belief)} before any release, "
        f"{percent(max(guarded.belief, default=guarded.prior_belief))} at most with priste.",
        lines=tuple(lines),
        across=time_marks(report.times, steps),
        up=tuple(Mark(round(100 * (1 - p), 1), f"{p:.0%}") for p in (0.0, 0.5, 1.0)),
        levels=tuple(levels),
        bands=bands_of(track.steps, steps),
    )


def distance_chart(report: StreamReport) -> Chart | None:
    """Return the share of releases within a distance of the true fix, for each way of releasing."""
    worth = report.usefulness
    if worth is None or not worth.shares:
        return None
    styles = {UNCALIBRATED: "uncalibrated", PRISTE: "released"}
    drawn = {way: worth.shares[way] for way in styles if way in worth.shares}
    last = max(int(np.searchsorted(shares, ALMOST_ALL)) for shares in drawn.values())
    last = min(max(last, 1), len(CURVE_KM) - 1)
    across = Scale(0.0, float(CURVE_KM[last]))
    lines = [
        Line(
            way,
            styles[way],
            tuple(
                (across.at(float(km)), share)
                for km, share in zip(CURVE_KM[: last + 1], shares, strict=False)
            ),
        )
        for way, shares in drawn.items()
    ]
    return Chart(
        title="Share of releases within a distance of the true fix",
        words="Share of releases within a distance of the true fix: half of them within "
        f"{length(worth.median)} with priste.",
        lines=tuple(lines),
        across=tuple(
            Mark(round(100 * across.at(km), 2), length(1000 * km)) for km in across.ticks(4)
        ),
        up=tuple(Mark(round(100 * (1 - p), 1), f"{p:.0%}") for p in (0.0, 0.5, 1.0)),
    )


def budget_chart(report: StreamReport) -> Chart | None:
    """Return the budget of each release over the stream; None where all are the same."""
    finite = [b for b in report.budgets if math.isfinite(b)]
    if len(set(finite)) < 2:
        return None
    scale = Scale(0.0, 1.1 * max(finite))
    steps = range(report.steps)
    silent = [
        cell is None or not math.isfinite(budget)
        for cell, budget in zip(report.released, report.budgets, strict=True)
    ]
    levels: tuple[Mark, ...] = ()
    if math.isfinite(report.full_budget):
        levels = (level(report.full_budget, "uncalibrated", scale),)
    return Chart(
        title="Budget of each release, per km",
        words=f"Budget of each release, per km: {max(finite):g} at most.",
        lines=(Line("with priste", "released", over_steps(report.budgets, steps, scale, silent)),),
        across=time_marks(report.times, steps),
        up=value_marks(scale),
        levels=levels,
        bands=bands_of([s for event in report.events for s in event.steps], steps),
    )
