"""What releases are worth: the truth beside what was released, in the measures of the field."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from priste.arguments import check_int, is_int
from priste.errors import InvalidParameter
from priste.events import Event, near_events
from priste.forecast import measures
from priste.forecast.measures import Floats, Integers
from priste.maps import Grid, best_constant, kilometres
from priste.traces import CellOfEachStep, StepCells, Trace

PersonPath = CellOfEachStep | Integers | StepCells
People = PersonPath | Sequence[PersonPath] | Mapping[Any, PersonPath]

RADII_KM = (0.1, 0.5, 1.0, 5.0)
"""The radii, in km, within which released cells are counted unless told otherwise."""

NEAR_STEPS = 24
"""How many steps around an event count as near it unless told: 6 hours at 15 minutes."""

DEFAULT_COLUMNS = 20
"""Into how many cells the longer side of a map is cut that is made for traces."""


@dataclass(frozen=True)
class Distances:
    """Metres between truth and release over some steps; nan where there is none."""

    steps: int
    mean: float
    median: float
    p95: float

    @classmethod
    def of(cls, kilometres: Floats) -> Distances:
        """Return the figures of distances in km."""
        if not kilometres.size:
            return cls(0, math.nan, math.nan, math.nan)
        metres = 1000.0 * kilometres
        middle, high = np.quantile(metres, [0.5, 0.95])
        return cls(int(metres.size), float(metres.mean()), float(middle), float(high))


@dataclass(frozen=True)
class Worth:
    """One way of releasing, measured against the truth.

    ``near`` and ``far`` are about steps near to and far from the events, None without events.
    ``within`` maps radii in km to shares of steps. Divergences are in nats, from 0 (alike) to ln 2;
    see :mod:`priste.forecast.measures` for each definition and its source.
    """

    distance: Distances
    near: Distances | None
    far: Distances | None
    within: Mapping[float, float]
    exact: float
    density: float
    transition: float
    query: float
    hotspots: float
    trips: float
    lengths: float
    own_places: float


@dataclass(frozen=True)
class Evaluation:
    """What releases are worth, always beside releasing nothing but one constant cell.

    ``nothing`` is the constant cell that is best for this very truth: no public constant is better.
    ``alone`` is the uncalibrated mechanism, if its outputs were given. ``coverage`` is the share of
    the true steps that have a release; only these are compared.
    """

    people: int
    steps: int
    coverage: float
    released: Worth
    nothing: Worth
    alone: Worth | None

    def rows(self) -> dict[str, Worth]:
        """Return the ways of releasing by name, in the order in which they are shown."""
        alone = {} if self.alone is None else {"alone": self.alone}
        return {"released": self.released, **alone, "nothing": self.nothing}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; unknown numbers are None."""
        plain: dict[str, Any] = _plain(asdict(self))
        return plain


def evaluate(
    truth: People | Trace | Sequence[Trace],
    released: People | Trace | Sequence[Trace],
    *,
    grid: Grid | None = None,
    alone: People | None = None,
    events: Event | Iterable[Event] = (),
    near_steps: int = NEAR_STEPS,
    radii: Sequence[float] = RADII_KM,
) -> Evaluation:
    """Measure what releases are worth to those who get them.

    ``truth`` and ``released`` are cells of ``grid`` step by step, None where there is none: of one
    person, of several in the same order, or in a mapping from people to cells. ``alone``, of the
    same form, is what the mechanism alone would have released. They may also be Traces (one, or
    several with the same users): then every released fix is compared with the true fix
    nearest to it in time, on ``grid`` or on a map that covers the truth.

    Steps within ``near_steps`` of a step that one of ``events`` speaks of are near, others far.
    The truth is compared with itself nowhere: ``nothing`` is the best constant cell.

    >>> grid = Grid(rows=1, columns=4, cell_size=1.0)
    >>> found = evaluate([0, 0, 3, None], [0, 1, 3, 3], grid=grid)
    >>> found.released.distance.mean, found.nothing.distance.mean, found.coverage
    (333.3333333333333, 1000.0, 1.0)
    """
    if _are_traces(truth) or _are_traces(released):
        grid, truth, released = _cells_of_traces(truth, released, grid)
    if not isinstance(grid, Grid):
        raise InvalidParameter(
            "evaluate() needs the 'grid' that its cells are of. Got "
            f"{type(grid).__name__}. Only traces carry positions of their own."
        )
    reach = check_int(near_steps, "near_steps", "evaluate")
    true_paths = _people(truth, grid, "truth")
    told = _people(released, grid, "released")
    uncalibrated = None if alone is None else _people(alone, grid, "alone")
    for name, others in (("released", told), ("alone", uncalibrated)):
        if others is not None:
            _check_alike(true_paths, others, name)
    pairs = [_both(*both) for both in zip(true_paths, told, strict=True)]
    compared = sum(int(kept.sum()) for kept in pairs)
    wanted = sum(int((path >= 0).sum()) for path in true_paths)
    if not compared:
        raise InvalidParameter(
            "evaluate() found no step with both a true and a released cell: there is nothing to "
            "compare. Check that both are of the same clock and map."
        )
    formulas = (events,) if isinstance(events, Event) else tuple(events)
    near = [near_events(len(path), formulas, reach) for path in true_paths]
    there = [path[kept] for path, kept in zip(true_paths, pairs, strict=True)]
    constant = best_constant(grid, measures.visits(grid, there))
    nothing = [np.full(len(path), constant, dtype=np.int64) for path in true_paths]

    def worth(paths: Sequence[Integers], kept: Sequence[Integers]) -> Worth:
        return _worth(grid, true_paths, paths, kept, near if formulas else None, radii)

    return Evaluation(
        people=len(true_paths),
        steps=compared,
        coverage=compared / wanted,
        released=worth(told, pairs),
        nothing=worth(nothing, pairs),
        alone=None
        if uncalibrated is None
        else worth(
            uncalibrated, [_both(*both) for both in zip(true_paths, uncalibrated, strict=True)]
        ),
    )


def _worth(
    grid: Grid,
    truth: Sequence[Integers],
    released: Sequence[Integers],
    kept: Sequence[Any],
    near: Sequence[Any] | None,
    radii: Sequence[float],
) -> Worth:
    people = [(t[k], r[k]) for t, r, k in zip(truth, released, kept, strict=True) if k.any()]
    apart = np.concatenate([kilometres(grid, *both) for both in people])
    trips = [trip for both in zip(truth, released, kept, strict=True) for trip in _runs(*both)]
    true_trips, told_trips = [t for t, _ in trips], [r for _, r in trips]
    close: Distances | None = None
    far: Distances | None = None
    if near is not None:
        is_near = np.concatenate([n[k] for n, k in zip(near, kept, strict=True) if k.any()])
        close, far = Distances.of(apart[is_near]), Distances.of(apart[~is_near])
    steps = np.array([len(t) for t, _ in people], dtype=np.float64)
    agreeing = np.array([measures.own_place_agreement(grid, *both) for both in people])
    return Worth(
        distance=Distances.of(apart),
        near=close,
        far=far,
        within={float(radius): float(np.mean(apart <= radius)) for radius in radii},
        exact=float(np.mean(apart == 0.0)),
        density=measures.density_divergence(grid, true_trips, told_trips),
        transition=measures.transition_divergence(grid, true_trips, told_trips),
        query=measures.query_error(grid, true_trips, told_trips),
        hotspots=measures.hotspot_ndcg(grid, true_trips, told_trips),
        trips=measures.trip_divergence(grid, true_trips, told_trips),
        lengths=measures.length_divergence(grid, true_trips, told_trips),
        own_places=float(agreeing @ steps / steps.sum()),
    )


def _runs(truth: Integers, released: Integers, kept: Any) -> list[tuple[Integers, Integers]]:
    """Return the stretches without a gap: the trips of a person."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], kept, [False]]).astype(np.int8)))
    return [
        (truth[begin:end], released[begin:end])
        for begin, end in zip(edges[::2], edges[1::2], strict=True)
    ]


def _both(truth: Integers, released: Integers) -> Any:
    return (truth >= 0) & (released >= 0)


def _people(given: Any, grid: Grid, name: str) -> list[Integers]:
    """Return one array of cells per person, -1 where there is none."""
    if isinstance(given, Mapping):
        people: list[Any] = [given[key] for key in sorted(given, key=repr)]
    elif isinstance(given, StepCells) or _is_path(given):
        people = [given]
    else:
        people = list(given)
    if not people:
        raise InvalidParameter(f"The '{name}' of evaluate holds nobody. Give at least one person.")
    return [
        _path(each.cells if isinstance(each, StepCells) else each, grid, name) for each in people
    ]


def _is_path(given: Any) -> bool:
    """Tell one person's cells from several people: cells cannot be iterated over."""
    return len(given) > 0 and not isinstance(given[0], Sequence | np.ndarray | StepCells)


def _path(cells: Any, grid: Grid, name: str) -> Integers:
    path = [-1 if cell is None else cell for cell in cells]
    missing = [cell is None for cell in cells]
    if not all(is_int(cell) for cell in path) or any(
        not gap and not 0 <= cell < grid.size for cell, gap in zip(path, missing, strict=True)
    ):
        # The value stays out of the message: it may be where somebody was.
        raise InvalidParameter(
            f"The '{name}' of evaluate must hold cells 0 to {grid.size - 1} of the grid, or None "
            "where there is none. Got something else; cell_at() of the grid finds cells."
        )
    return np.array(path, dtype=np.int64)


def _check_alike(truth: Sequence[Integers], others: Sequence[Integers], name: str) -> None:
    mine, theirs = [len(path) for path in truth], [len(path) for path in others]
    if mine != theirs:
        raise InvalidParameter(
            f"The 'truth' and the '{name}' of evaluate must be of the same people and steps. Got "
            f"{len(mine)} and {len(theirs)} people with {sum(mine)} and {sum(theirs)} steps."
        )


def _are_traces(given: Any) -> bool:
    if isinstance(given, Trace):
        return True
    listed = isinstance(given, Sequence) and not isinstance(given, str)
    return listed and bool(given) and all(isinstance(each, Trace) for each in given)


def _cells_of_traces(truth: Any, released: Any, grid: Grid | None) -> tuple[Grid, Any, Any]:
    for name, given in (("truth", truth), ("released", released)):
        if not _are_traces(given):
            raise InvalidParameter(
                "evaluate() compares traces with traces and cells with cells. The "
                f"'{name}' is {type(given).__name__}."
            )
    true, told = (
        {trace.user: trace for trace in ([given] if isinstance(given, Trace) else given)}
        for given in (truth, released)
    )
    if set(true) != set(told):
        raise InvalidParameter(
            "The 'truth' and the 'released' of evaluate must be of the same users. Got "
            f"{len(true)} and {len(told)} users, {len(set(true) & set(told))} of them in both."
        )
    plane = _covering(list(true.values())) if grid is None else grid
    users = sorted(true, key=repr)
    return (
        plane,
        [_nearest_cells(true[user], told[user], plane) for user in users],
        [plane.cell_at(told[user].lat, told[user].lon, "nearest") for user in users],
    )


def _covering(traces: Sequence[Trace]) -> Grid:
    lat = np.concatenate([trace.lat for trace in traces])
    lon = np.concatenate([trace.lon for trace in traces])
    south, north = float(lat.min()), float(lat.max())
    west, east = float(lon.min()), float(lon.max())
    tall = (north - south) * 111.2
    wide = (east - west) * 111.2 * math.cos(math.radians((south + north) / 2))
    side = max(tall, wide, 1.0) / DEFAULT_COLUMNS
    margin = side / 111.2
    return Grid.covering(south - margin, west - margin, north + margin, east + margin, side)


def _nearest_cells(truth: Trace, released: Trace, grid: Grid) -> Integers:
    after = np.clip(np.searchsorted(truth.times, released.times), 1, max(1, len(truth) - 1))
    before = after - 1
    after = np.minimum(after, len(truth) - 1)
    early = released.times - truth.times[before] <= truth.times[after] - released.times
    chosen = np.where(early, before, after)
    cells: Integers = grid.cell_at(truth.lat[chosen], truth.lon[chosen], "nearest")
    return cells


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
