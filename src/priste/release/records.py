"""What was released: one small value per step, and the ledger of them all.

Nothing in this module ever holds a true location.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import overload

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter
from priste.release.float_text import floats_from_text


@dataclass(frozen=True, slots=True)
class Release:
    """One step of the stream, as it may be shown to anybody.

    ``cell`` is the released output (a cell of the map for mechanisms whose outputs are cells), or
    None when the step was silent. ``budget`` is the dial at which the mechanism ran: 0.0
    means that the output says nothing about the location. ``leakage`` has one entry per event, in
    order: the natural logarithm of the largest likelihood ratio, over all priors and in both
    directions, that the stream has reached with this step. ``attempts`` counts the draws (0 for
    silence), ``undecided`` the checks that ran into a time limit and counted as failed.
    """

    step: int
    cell: int | None
    budget: float
    leakage: tuple[float, ...]
    attempts: int
    undecided: int = 0

    @property
    def silent(self) -> bool:
        """Whether nothing was released at this step."""
        return self.cell is None


class Ledger(Sequence[Release]):
    """All releases of a stream in order, to read and to export.

    ``likelihoods`` has one entry per release: the probability of that release at every cell, as
    text (see :meth:`column`), where the mechanism at the budget of the release does not
    determine it, as for remaps; else None. Exports have a column for it when there is any.

    >>> ledger = Ledger(("clinic",), [Release(0, 7, 0.5, (0.25,), 1)])
    >>> len(ledger), ledger[0].cell
    (1, 7)
    >>> print(ledger.csv(), end="")
    step,cell,budget,attempts,undecided,leakage:clinic
    0,7,0.5,1,0,0.25
    """

    def __init__(
        self,
        event_names: Sequence[str],
        releases: Sequence[Release],
        likelihoods: Sequence[str | None] | None = None,
    ) -> None:
        self._names = tuple(event_names)
        self._releases = tuple(releases)
        self._likelihoods = (None,) * len(releases) if likelihoods is None else tuple(likelihoods)
        if len(self._likelihoods) != len(self._releases):
            raise InvalidParameter(
                "The 'likelihoods' of a Ledger must have one entry per release, "
                f"{len(self._releases)}. Got {len(self._likelihoods)}."
            )

    @property
    def event_names(self) -> tuple[str, ...]:
        """The names of the events, in the order of ``Release.leakage``."""
        return self._names

    @property
    def likelihoods(self) -> tuple[str | None, ...]:
        """The columns of releases that came from laws of their own, as text, None for others."""
        return self._likelihoods

    def column(self, index: int) -> NDArray[np.float64] | None:
        """Return (m,) the probability of a release at every cell, None if it is not stored.

        Raises InvalidParameter if what is stored is not a vector of probabilities.
        """
        text = self._likelihoods[index]
        if text is None:
            return None
        try:
            column = floats_from_text(text)
        except ValueError:
            column = np.array([math.nan])
        if not ((column >= 0.0) & (column <= 1.0)).all() or not column.any():
            raise InvalidParameter(
                f"The likelihood of release {index} of this ledger is not a vector of "
                "probabilities. The ledger was changed."
            )
        return column

    @overload
    def __getitem__(self, index: int) -> Release: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Release, ...]: ...
    def __getitem__(self, index: int | slice) -> Release | tuple[Release, ...]:
        return self._releases[index]

    def __len__(self) -> int:
        return len(self._releases)

    def __iter__(self) -> Iterator[Release]:
        return iter(self._releases)

    def csv(self) -> str:
        """Return the ledger as CSV; a silent step has an empty cell, numbers round-trip exactly."""
        text = io.StringIO()
        out = csv.writer(text, lineterminator="\n")
        known = any(self._likelihoods)
        out.writerow(
            ["step", "cell", "budget", "attempts", "undecided"]
            + [f"leakage:{name}" for name in self._names]
            + (["likelihood"] if known else [])
        )
        for r, likelihood in zip(self._releases, self._likelihoods, strict=True):
            cell = "" if r.cell is None else r.cell
            column = [likelihood or ""] if known else []
            out.writerow([r.step, cell, r.budget, r.attempts, r.undecided, *r.leakage, *column])
        return text.getvalue()

    def json_lines(self) -> str:
        """Return the ledger as one JSON object a line; an infinite number is the text "inf"."""
        return "".join(
            json.dumps(
                {
                    "step": r.step,
                    "cell": r.cell,
                    "budget": number_to_json(r.budget),
                    "attempts": r.attempts,
                    "undecided": r.undecided,
                    "leakage": {
                        name: number_to_json(value)
                        for name, value in zip(self._names, r.leakage, strict=True)
                    },
                }
                | ({} if likelihood is None else {"likelihood": likelihood})
            )
            + "\n"
            for r, likelihood in zip(self._releases, self._likelihoods, strict=True)
        )

    def export(self, path: str | Path) -> None:
        """Write the ledger to a new file, as its suffix says: ``.csv`` or ``.jsonl``.

        Raises InvalidParameter for another suffix or if the file exists.
        """
        path = Path(path)
        writers = {".csv": self.csv, ".jsonl": self.json_lines}
        if path.suffix not in writers:
            raise InvalidParameter(
                f"A ledger is exported to .csv or .jsonl. Got the suffix {path.suffix!r}."
            )
        text = writers[path.suffix]()
        try:
            with path.open("x", encoding="utf-8", newline="") as file:
                file.write(text)
        except FileExistsError:
            raise InvalidParameter(
                f"There is already a file at {str(path)!r}. Choose another path."
            ) from None


def number_to_json(value: float) -> float | str:
    """Return a number as JSON can hold it: infinity becomes the text "inf"."""
    return "inf" if math.isinf(value) else value


def number_from_json(value: float | str) -> float:
    """Undo :func:`number_to_json`."""
    return float(value)
