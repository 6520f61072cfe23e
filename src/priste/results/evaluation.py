"""How useful releases are: the truth next to what was released, in the measures of the field."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from priste.arguments import check_int, is_int
from priste.errors import InvalidParameter, NoValue
from priste.events import Event, Guarded, Secret, near_events, near_reach
from priste.maps import Grid, best_constant, kilometres
from priste.randomness import BitSource, bit_source
from priste.release import Uncalibrated
from priste.results import measures
from priste.results.audits import cells_of_outputs
from priste.results.measures import Floats, Integers
from priste.results.true_steps import NONE, numbered, off_map_cells, positions, true_steps
from priste.results.usefulness import neighbours
from priste.results.wording import length, percent
from priste.showable import Showable, Tabular
from priste.traces import CellOfEachStep, Columns, StepCells, Trace
from priste.traces.frames import is_frame, traces_of
from priste.traces.zones import Zone

if TYPE_CHECKING:
    from priste.policy import Policy

PersonPath = CellOfEachStep | Integers | StepCells
People = PersonPath | Sequence[PersonPath] | Mapping[Any, PersonPath]

RADII_KM = (0.1, 0.5, 1.0, 5.0)
"""The radii, in km, within which released cells are counted by default."""

NEAR_STEPS = 24
"""How many steps around an event count as near it by default: 6 hours at 15 minutes."""

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
class Measures:
    """One way of releasing, measured against the truth.

    ``near`` and ``far`` are about steps near to and far from the events, None without events.
    ``within`` maps radii in km to shares of steps; ``between_cells`` is the mean distance in metres
    between the centres of the true and the released cells. Divergences are in nats, from 0 (alike)
    to ln 2; see :mod:`priste.results.measures` for each definition and its source.
    """

    distance: Distances
    near: Distances | None
    far: Distances | None
    within: Mapping[float, float]
    exact: float
    between_cells: float
    density: float
    transition: float
    query: float
    hotspots: float
    trips: float
    lengths: float
    own_places: float

    def lines(self) -> dict[str, str]:
        """Return the measures in words, by what they are called."""
        lines = {
            "mean error": length(self.distance.mean),
            "median error": length(self.distance.median),
            "95 % within": length(self.distance.p95),
        }
        if self.far is not None and self.near is not None:
            lines["mean, far from events"] = length(self.far.mean)
            lines["mean, near them"] = length(self.near.mean)
        lines["mean, between cells"] = length(self.between_cells)
        lines["in the true cell"] = percent(self.exact)
        lines |= {f"within {length(1000 * r)}": percent(share) for r, share in self.within.items()}
        figures = {
            "density divergence": self.density,
            "transition divergence": self.transition,
            "range-query error": self.query,
            "hotspot NDCG@10": self.hotspots,
            "trip divergence": self.trips,
            "trip-length divergence": self.lengths,
        }
        lines |= {name: f"{value:.3f}" for name, value in figures.items()}
        return {**lines, "nearest own place right": percent(self.own_places)}


@dataclass(frozen=True)
class Evaluation(Showable, Tabular):
    """How useful releases are, always next to releasing one constant point.

    ``constant`` is the centre of the cell that is best for this very truth. ``uncalibrated`` is
    what the mechanism without a calibrator put out, if that was given. ``coverage`` is the share of
    the true steps that have a release; only these are compared.
    """

    people: int
    steps: int
    coverage: float
    released: Measures
    constant: Measures
    uncalibrated: Measures | None

    def __repr__(self) -> str:
        errors = ", ".join(f"{k} {length(way.distance.mean)}" for k, way in self.rows().items())
        return f"<Evaluation of {self.people} people, {self.steps} steps; mean error: {errors}>"

    def rows(self) -> dict[str, Measures]:
        """Return the ways of releasing by name, in the order in which they are shown."""
        noise = {} if self.uncalibrated is None else {"uncalibrated": self.uncalibrated}
        return {"released": self.released, **noise, "constant": self.constant}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; unknown numbers are None."""
        plain: dict[str, Any] = _plain(asdict(self))
        return plain


@dataclass(frozen=True)
class Path:
    """One person's steps: cells (T,), -1 where there is none, and positions (T, 2) in km."""

    cells: Integers
    places: Floats

    @classmethod
    def at_centres(cls, cells: Integers, grid: Grid) -> Path:
        """Return steps whose positions are the centres of their cells."""
        places = np.full((len(cells), 2), np.nan)
        places[cells >= 0] = grid.centers[cells[cells >= 0]]
        return cls(cells, places)


def evaluate(
    truth: Any,
    released: Any,
    *,
    grid: Grid | None = None,
    uncalibrated: People | None = None,
    events: Guarded | Iterable[Guarded] = (),
    near_steps: int = NEAR_STEPS,
    radii: Sequence[float] = RADII_KM,
    policy: Policy | None = None,
    seed: int = 1,
    columns: Columns | Mapping[str, str] | None = None,
    zone: Zone | None = None,
) -> Evaluation:
    """Measure how useful releases are to those who get them.

    ``truth`` and ``released`` are Traces (one, or several with the same users): every released fix
    is compared with the true fix nearest to it in time, and an error is the distance between the
    two; counts are on ``grid`` or on a map that covers the truth. Or they are cells of ``grid``
    step by step, None where there is none: of one person, of several in the same order, or in a
    mapping from people to cells; then an error is the distance between centres of cells.
    ``uncalibrated``, of that form, is what the mechanism put out without a
    calibrator.

    Steps within ``near_steps`` of a step that one of ``events`` speaks of are near, others far.

    Frames of true and released locations, as :func:`priste.protect` takes and returns them, are
    traces of those who are in both; ``columns`` and ``zone`` say how they are read. With a
    ``policy``, traces and frames are measured as ``priste evaluate`` does: on its map and clock,
    near its events, next to one draw of its mechanism without a calibrator (by ``seed``).

    >>> grid = Grid(rows=1, columns=4, cell_size=1.0)
    >>> found = evaluate([0, 0, 3, None], [0, 1, 3, 3], grid=grid)
    >>> found.released.distance.mean, found.constant.distance.mean, found.coverage
    (333.3333333333333, 1000.0, 1.0)
    """
    if is_frame(truth) and is_frame(released):
        truth, released = (traces_of(each, columns, zone) for each in (truth, released))
        both = {trace.user for trace in truth} & {trace.user for trace in released}
        truth, released = (
            [trace for trace in each if trace.user in both] for each in (truth, released)
        )
        if not both:
            raise InvalidParameter(
                "must have a user in common with 'truth'", parameter="released", owner="evaluate"
            )
    if policy is not None:
        if not (_are_traces(truth) and _are_traces(released)):
            raise InvalidParameter(
                "must be left out with cells: it measures traces and frames",
                parameter="policy",
                owner="evaluate",
            )
        by_user = [{trace.user: trace for trace in _listed(each)} for each in (truth, released)]
        return evaluate_traces(policy, by_user[0], by_user[1], bit_source(seed))
    if _are_traces(truth) or _are_traces(released):
        grid, true_paths, told = _paths_of_traces(truth, released, grid)
    else:
        if not isinstance(grid, Grid):
            raise InvalidParameter(
                "must be the map that the cells are of: only traces carry positions of their own",
                parameter="grid",
                owner="evaluate",
                value=type(grid),
            )
        true_paths, told = _people(truth, grid, "truth"), _people(released, grid, "released")
    noise = None if uncalibrated is None else _people(uncalibrated, grid, "uncalibrated")
    formulas = (events,) if isinstance(events, Event | Secret) else tuple(events)
    reach = check_int(near_steps, "near_steps", "evaluate")
    return evaluate_paths(grid, true_paths, told, noise, formulas, reach, radii)


def evaluate_paths(
    grid: Grid,
    truth: Sequence[Path],
    released: Sequence[Path],
    uncalibrated: Sequence[Path] | None,
    events: Sequence[Guarded] = (),
    near_steps: int = NEAR_STEPS,
    radii: Sequence[float] = RADII_KM,
) -> Evaluation:
    """Return :func:`evaluate` of paths of the same people, in the same order."""
    for name, others in (("released", released), ("uncalibrated", uncalibrated)):
        if others is not None:
            _check_alike(truth, others, name)
    pairs = [_both(*both) for both in zip(truth, released, strict=True)]
    compared = sum(int(kept.sum()) for kept in pairs)
    wanted = sum(int((path.cells >= 0).sum()) for path in truth)
    if not compared:
        raise InvalidParameter(
            "evaluate() found no step with both a true and a released cell: there is "
            "nothing to compare",
            hint="Check that both are of the same clock and map.",
        )
    near = [near_events(len(path.cells), events, near_steps) for path in truth]
    there = [path.cells[kept] for path, kept in zip(truth, pairs, strict=True)]
    true_places = np.concatenate([p.places[kept] for p, kept in zip(truth, pairs, strict=True)])
    around = neighbours(grid, best_constant(grid, measures.visits(grid, there)))
    apart = true_places[:, None, :] - grid.centers[around][None, :, :]
    best = int(around[np.hypot(apart[..., 0], apart[..., 1]).sum(axis=0).argmin()])
    constant = [
        Path.at_centres(np.full(len(path.cells), best, dtype=np.int64), grid) for path in truth
    ]

    def measured(paths: Sequence[Path], kept: Sequence[Any]) -> Measures:
        return _measured(grid, truth, paths, kept, near if events else None, radii)

    return Evaluation(
        people=len(truth),
        steps=compared,
        coverage=compared / wanted,
        released=measured(released, pairs),
        constant=measured(constant, pairs),
        uncalibrated=None
        if uncalibrated is None
        else measured(
            uncalibrated, [_both(*both) for both in zip(truth, uncalibrated, strict=True)]
        ),
    )


def evaluate_traces(
    policy: Policy,
    truth: Mapping[str | None, Trace],
    released: Mapping[str | None, Trace],
    bits: BitSource,
) -> Evaluation:
    """Evaluate released traces of a policy's clock and map against the true ones, by user.

    Only users in both count, and of them the steps with a true fix on the map. The uncalibrated
    mechanism is drawn once with ``bits``.
    """
    ring = off_map_cells(policy)
    true_paths, told, noise = [], [], []
    for user in [user for user in truth if user in released]:
        steps = true_steps(policy, truth[user])
        known = steps.known & (steps.cells != NONE)
        cells = np.where(known, steps.cells, NONE)
        true_paths.append(Path(cells, np.where(known[:, None], steps.places, np.nan)))
        places = positions(policy.timeline, policy.grid, released[user], policy.steps)
        there = ~np.isnan(places[:, 0])
        shown = np.full(len(places), NONE, dtype=np.int64)
        shown[there] = policy.grid.cell_at_xy(places[there, 0], places[there, 1], outside="nearest")
        told.append(Path(np.where((shown != NONE) & ring[shown], NONE, shown), places))
        drawn = _drawn(policy, [None if cell == NONE else int(cell) for cell in cells], bits)
        noise.append(Path.at_centres(numbered(drawn), policy.grid))
    return evaluate_paths(
        policy.grid,
        true_paths,
        told,
        noise,
        [event.event for event in policy.events.values()],
        near_reach(policy.timeline.step.total_seconds()),
    )


def _drawn(policy: Policy, truth: CellOfEachStep, bits: BitSource) -> CellOfEachStep:
    """Return one draw of the mechanism without a calibrator for each true cell."""
    mechanism = policy.mechanism
    if mechanism.uses_belief:  # its table depends on what was released before
        protector = policy.protector(rng=bits, calibrator=Uncalibrated())
        outputs = [protector.release(cell).cell for cell in truth]
    else:
        outputs = [None if cell is None else mechanism.sample(cell, bits) for cell in truth]
    return cells_of_outputs(policy, outputs)


def _measured(
    grid: Grid,
    truth: Sequence[Path],
    released: Sequence[Path],
    kept: Sequence[Any],
    near: Sequence[Any] | None,
    radii: Sequence[float],
) -> Measures:
    chosen = [(t, r, k) for t, r, k in zip(truth, released, kept, strict=True) if k.any()]
    apart = np.concatenate([np.hypot(*(t.places[k] - r.places[k]).T) for t, r, k in chosen])
    people = [(t.cells[k], r.cells[k]) for t, r, k in chosen]
    between = np.concatenate([kilometres(grid, *both) for both in people])
    trips = [trip for t, r, k in chosen for trip in _runs(t.cells, r.cells, k)]
    true_trips, told_trips = [t for t, _ in trips], [r for _, r in trips]
    close: Distances | None = None
    far: Distances | None = None
    if near is not None:
        is_near = np.concatenate([n[k] for n, k in zip(near, kept, strict=True) if k.any()])
        close, far = Distances.of(apart[is_near]), Distances.of(apart[~is_near])
    steps = np.array([len(t) for t, _ in people], dtype=np.float64)
    agreeing = np.array([measures.own_place_agreement(grid, *both) for both in people])
    return Measures(
        distance=Distances.of(apart),
        near=close,
        far=far,
        within={float(radius): float(np.mean(apart <= radius)) for radius in radii},
        exact=float(np.mean(between == 0.0)),
        between_cells=1000 * float(between.mean()),
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


def _both(truth: Path, released: Path) -> Any:
    return (truth.cells >= 0) & (released.cells >= 0)


def _people(given: Any, grid: Grid, name: str) -> list[Path]:
    """Return the steps of each person, at the centres of cells."""
    if isinstance(given, Mapping):
        people: list[Any] = [given[key] for key in sorted(given, key=repr)]
    elif isinstance(given, StepCells) or _is_path(given):
        people = [given]
    else:
        people = list(given)
    if not people:
        raise InvalidParameter("must hold at least one person", parameter=name, owner="evaluate")
    return [
        Path.at_centres(
            _cells(each.cells if isinstance(each, StepCells) else each, grid, name), grid
        )
        for each in people
    ]


def _is_path(given: Any) -> bool:
    """Return whether these are one person's cells, which cannot be iterated over."""
    return len(given) > 0 and not isinstance(given[0], Sequence | np.ndarray | StepCells)


def _cells(cells: Any, grid: Grid, name: str) -> Integers:
    path = [-1 if cell is None else cell for cell in cells]
    missing = [cell is None for cell in cells]
    if not all(is_int(cell) for cell in path) or any(
        not gap and not 0 <= cell < grid.size for cell, gap in zip(path, missing, strict=True)
    ):
        # The value stays out of the message: it may be where somebody was.
        raise InvalidParameter(
            f"must hold cells 0 to {grid.size - 1} of the grid, or None where there is none",
            parameter=name,
            owner="evaluate",
            value=NoValue.SECRET,
            hint="cell_at() of the grid finds cells.",
        )
    return np.array(path, dtype=np.int64)


def _check_alike(truth: Sequence[Path], others: Sequence[Path], name: str) -> None:
    mine, theirs = ([len(path.cells) for path in each] for each in (truth, others))
    if mine != theirs:
        raise InvalidParameter(
            "must be of the people and steps of 'truth'",
            parameter=name,
            owner="evaluate",
            got=f"{len(mine)} and {len(theirs)} people with {sum(mine)} and {sum(theirs)} steps",
        )


def _are_traces(given: Any) -> bool:
    if isinstance(given, Trace):
        return True
    listed = isinstance(given, Sequence) and not isinstance(given, str)
    return listed and bool(given) and all(isinstance(each, Trace) for each in given)


def _listed(given: Trace | Sequence[Trace]) -> Sequence[Trace]:
    return [given] if isinstance(given, Trace) else given


def _paths_of_traces(
    truth: Any, released: Any, grid: Grid | None
) -> tuple[Grid, list[Path], list[Path]]:
    for name, given in (("truth", truth), ("released", released)):
        if not _are_traces(given):
            raise InvalidParameter(
                "must be traces where the other is, or cells where it is",
                parameter=name,
                owner="evaluate",
                value=type(given),
            )
    true, told = ({trace.user: trace for trace in _listed(given)} for given in (truth, released))
    if set(true) != set(told):
        raise InvalidParameter(
            "must be of the users of 'truth'",
            parameter="released",
            owner="evaluate",
            got=(
                f"{len(true)} and {len(told)} users, {len(set(true) & set(told))} of them in both"
            ),
        )
    plane = _covering(list(true.values())) if grid is None else grid
    users = sorted(true, key=repr)
    return (
        plane,
        [_path_of(true[user], plane, _nearest(true[user], told[user])) for user in users],
        [_path_of(told[user], plane, np.arange(len(told[user]))) for user in users],
    )


def _path_of(trace: Trace, grid: Grid, chosen: Integers) -> Path:
    lat, lon = trace.lat[chosen], trace.lon[chosen]
    places = np.stack(grid.xy(lat, lon), axis=1)
    return Path(np.asarray(grid.cell_at(lat, lon, "nearest"), dtype=np.int64), places)


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


def _nearest(truth: Trace, released: Trace) -> Integers:
    """Return the true fix nearest in time to each released one, the earlier of two."""
    return truth.nearest(released.times)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
