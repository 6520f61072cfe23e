"""The mobility section of a policy: a Gaussian, a model fitted on traces, or a saved one."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.mobility import GaussianPrior, MarkovModel
from priste.policy.sections import MobilitySection
from priste.traces import Timeline, read_traces


def model_of(
    section: MobilitySection,
    grid: Grid,
    timeline: Timeline,
    rule: Literal["nearest", "majority", "interpolated"],
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
    return fitted_model(
        folder / (section.traces or ""),
        grid,
        timeline,
        rule=rule,
        format=section.format,
        cycle=section.cycle,
        sigma=section.sigma,
    )


def fitted_model(
    source: Path,
    grid: Grid,
    timeline: Timeline,
    *,
    rule: Literal["nearest", "majority", "interpolated"] = "nearest",
    format: str | None = None,
    cycle: Literal["day", "week"] | None = None,
    sigma: float | None = None,
) -> MarkovModel:
    """Return the model fitted on every trace of a file or folder, with the timeline's steps.

    Fixes outside the map are gaps. Unseen moves are smoothed with a Gaussian of ``sigma`` km,
    taken from the data unless given. ``cycle`` fits one matrix per step of the day or week.
    """
    sequences = []
    for trace in read_traces(source, format):
        # Each person's own days, counted from the same hour as the timeline's.
        own = Timeline(_same_phase(trace.start, timeline, cycle), timeline.step, timeline.zone)
        sequences.append(own.cells(trace, grid, rule, outside="gap").cells)
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


def _same_phase(
    moment: datetime, timeline: Timeline, cycle: Literal["day", "week"] | None
) -> datetime:
    """Return the last instant up to ``moment`` at which a cycle of the timeline begins."""
    length = timedelta(days=7 if cycle == "week" else 1)
    return moment - (moment - timeline.start) % length
