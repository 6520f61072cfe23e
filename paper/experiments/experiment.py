"""What an experiment is: the jobs it needs, and what it makes of their results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from paper.running.jobs import Job, Results
from priste.errors import InvalidParameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Size = Literal["tiny", "quick", "full"]
Verdict = Literal["reproduced", "not reproduced", "not decidable"]


@dataclass(frozen=True)
class Settings:
    """How large the experiments are made, and on what; see :func:`settings_for`.

    ``runs`` counts the runs of the paper's own loop; ``runs_with`` those of the other
    calibrators, which are not in the paper and may cost more; a calibrator that is not there is
    left out. ``truth_runs`` is how many runs of each curve are followed by the adversary who knows
    the algorithm. ``people`` is over how many people of a data set the runs are spread, each with a
    model of their own. ``side`` is the number of cells along the map. ``geolife`` is the folder of
    the data set as text, or None for the made-up city.
    """

    size: Size
    seed: int
    runs: int
    runs_with: Mapping[str, int]
    truth_runs: int
    people: int
    steps: int
    side: int
    runtime_events: int
    solver_runs: int
    geolife: str | None = None

    def runs_of(self, calibrator: str) -> int:
        """Return how many runs each curve of a calibrator has."""
        return self.runs if calibrator == "paper" else self.runs_with[calibrator]

    @property
    def calibrators(self) -> tuple[str, ...]:
        """The calibrators whose curves are drawn, the paper's first."""
        return ("paper", *self.runs_with)


_SIZES: dict[Size, dict[str, Any]] = {
    "full": {
        "runs": 100,
        "runs_with": {"paper-normalised": 100, "certified": 20, "optimal": 20},
        "truth_runs": 2,
        "people": 5,
        "steps": 50,
        "side": 20,
        "runtime_events": 100,
        "solver_runs": 10,
    },
    "quick": {
        "runs": 8,
        "runs_with": {"paper-normalised": 8, "certified": 2, "optimal": 1},
        "truth_runs": 1,
        "people": 5,
        "steps": 24,
        "side": 8,
        "runtime_events": 5,
        "solver_runs": 2,
    },
    "tiny": {
        "runs": 2,
        "runs_with": {"paper-normalised": 1, "certified": 1, "optimal": 1},
        "truth_runs": 1,
        "people": 2,
        "steps": 22,
        "side": 5,
        "runtime_events": 1,
        "solver_runs": 1,
    },
}


def settings_for(
    size: Size, *, seed: int = 2019, geolife: str | Path | None = None, **changes: Any
) -> Settings:
    """Return the settings of a size: "full" is the paper's, "quick" takes minutes, "tiny" seconds.

    ``changes`` replaces single fields.
    """
    if size not in _SIZES:
        raise InvalidParameter(f"The 'size' must be one of {sorted(_SIZES)}. Got {size!r}.")
    known: dict[str, Any] = {"seed": seed, "geolife": None if geolife is None else str(geolife)}
    settings = Settings(size=size, **{**_SIZES[size], **known, **changes})
    if settings.runs < 2:
        raise InvalidParameter(
            f"The 'runs' must be at least 2, or there is no deviation. Got {settings.runs}."
        )
    return settings


@dataclass(frozen=True)
class Table:
    """Named columns of plain values; written as CSV."""

    name: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Picture:
    """A figure that is drawn when asked for; ``name`` becomes its file name."""

    name: str
    caption: str
    draw: Callable[[], Figure]


@dataclass(frozen=True)
class Finding:
    """One thing the paper says, held against the numbers.

    ``numbers`` tells the measured values with their intervals, in words. ``given`` is a setting
    that the paper does not state and that was chosen so that the claim can hold.
    """

    claim: str
    verdict: Verdict
    numbers: str
    given: str = ""

    @property
    def said(self) -> str:
        """The verdict in words: what was chosen to fit is said.

        >>> Finding("x", "reproduced", "", given="σ = 10 km").said
        'reproducible with σ = 10 km'
        """
        if self.given and self.verdict == "reproduced":
            return f"reproducible with {self.given}"
        return self.verdict


@dataclass(frozen=True)
class Outcome:
    """What an experiment shows: tables, pictures, findings, and remarks on how it was done."""

    tables: tuple[Table, ...]
    pictures: tuple[Picture, ...]
    findings: tuple[Finding, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Experiment:
    """A figure or table of the paper.

    ``jobs(settings)`` lists the work; ``outcome(settings, results)`` is called when all of it is
    done and is a pure function of both. ``paper_says`` is our own wording of the paper's text.
    """

    name: str
    title: str
    in_paper: str
    paper_says: str
    jobs: Callable[[Settings], list[Job]] = field(repr=False)
    outcome: Callable[[Settings, Results], Outcome] = field(repr=False)
