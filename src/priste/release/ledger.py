"""What was released: one small value per step, the ledger of them all, and its CSV file.

Nothing in this module ever holds a true location. The file of a run holds the ledgers of all its
users; numbers in it round-trip exactly.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO, overload

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter, LedgerError
from priste.float_text import floats_from_text, number_to_json
from priste.whole_files import whole, write_whole

_FIXED = ("user", "step", "cell", "budget", "attempts", "undecided")
_LEAKAGE = "leakage:"
_LIKELIHOOD = "likelihood"
_LONGEST_FIELD = 2**26
"""The longest text in a ledger: the likelihood of a release on a map of six million cells."""


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
        _write_csv(text, self._names, {None: self}, with_users=False)
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

        Raises InvalidParameter for another suffix, OutputExists if the file exists.
        """
        path = Path(path)
        writers = {".csv": self.csv, ".jsonl": self.json_lines}
        if path.suffix not in writers:
            raise InvalidParameter(
                f"A ledger is exported to .csv or .jsonl. Got the suffix {path.suffix!r}."
            )
        write_whole(path, writers[path.suffix](), private=False)


Ledgers = Mapping[str | None, Ledger]
"""The ledgers of all users of a run, by name; None for one who has none."""


def is_ledger(path: Path) -> bool:
    """Tell whether a file begins like a ledger."""
    try:
        with path.open("rb") as file:
            return file.readline(200).startswith(",".join(_FIXED).encode())
    except OSError:
        return False


def write_ledgers(path: Path, events: Sequence[str], ledgers: Ledgers) -> None:
    """Write all users' ledgers into one CSV file, whole or not at all.

    Numbers round-trip exactly; a silent step has an empty cell, a nameless user an empty name.
    Where releases come from laws of their own (see :class:`Ledger`), a last
    column holds their likelihoods.
    """
    with (
        whole(path, overwrite=True, private=False) as draft,
        draft.open("w", encoding="utf-8", newline="") as file,
    ):
        _write_csv(file, events, ledgers, with_users=True)


def _write_csv(file: TextIO, events: Sequence[str], ledgers: Ledgers, *, with_users: bool) -> None:
    known = any(any(ledger.likelihoods) for ledger in ledgers.values())
    out = csv.writer(file, lineterminator="\n")
    titles = [*_FIXED, *(f"{_LEAKAGE}{name}" for name in events), *([_LIKELIHOOD] * known)]
    out.writerow(titles if with_users else titles[1:])
    for user, ledger in ledgers.items():
        for r, likelihood in zip(ledger, ledger.likelihoods, strict=True):
            cell = "" if r.cell is None else r.cell
            row = [user or "", r.step, cell, r.budget, r.attempts, r.undecided, *r.leakage]
            row += [likelihood or ""] * known
            out.writerow(row if with_users else row[1:])


def read_ledgers(path: str | Path) -> dict[str | None, Ledger]:
    """Read what :func:`write_ledgers` wrote, one ledger per user in the order of the file.

    Raises LedgerError naming the line that cannot be read.
    """
    path = Path(path)
    found: dict[str | None, list[tuple[Release, str | None]]] = {}
    usual = csv.field_size_limit(_LONGEST_FIELD)
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.reader(file)
            head = next(rows, [])
            known = head[-1:] == [_LIKELIHOOD]
            titles = head[len(_FIXED) : len(head) - known]
            names = [title.removeprefix(_LEAKAGE) for title in titles]
            if tuple(head[: len(_FIXED)]) != _FIXED or not all(
                title.startswith(_LEAKAGE) for title in titles
            ):
                raise LedgerError(f"{path.name} is not a ledger of priste: its first line differs.")
            for row in rows:
                try:
                    if len(row) != len(head):
                        raise ValueError("another number of columns")
                    release = _release(row, len(names))
                except ValueError:
                    raise LedgerError(
                        f"Line {rows.line_num} of the ledger {path.name} cannot be read."
                    ) from None
                likelihood = (row[-1] or None) if known else None
                found.setdefault(row[0] or None, []).append((release, likelihood))
    except FileNotFoundError:
        raise LedgerError(
            f"There is no ledger {str(path)!r}. `priste protect` writes it beside what it releases."
        ) from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise LedgerError(f"The ledger {path.name} cannot be read: {error}.") from None
    finally:
        csv.field_size_limit(usual)
    return {
        user: Ledger(names, [release for release, _ in lines], [text for _, text in lines])
        for user, lines in found.items()
    }


def _release(row: Sequence[str], events: int) -> Release:
    return Release(
        step=int(row[1]),
        cell=int(row[2]) if row[2] else None,
        budget=float(row[3]),
        attempts=int(row[4]),
        undecided=int(row[5]),
        leakage=tuple(float(text) for text in row[len(_FIXED) : len(_FIXED) + events]),
    )
