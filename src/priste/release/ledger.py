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
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TextIO, overload

import numpy as np
from numpy.typing import NDArray

from priste.atomic_files import atomic_output, write_file
from priste.errors import InvalidParameter, LedgerError, PristeError
from priste.float_text import floats_from_text, number_to_json
from priste.quantify import Guarantee, guarantee_from_dict
from priste.showable import Plottable, Showable, Tabular

_FIXED = ("user", "step", "cell", "budget", "attempts", "undecided")
_LEAKAGE = "leakage:"
_BELIEF = "belief:"
_GUARANTEE = "guarantee:"
_AGAINST = "against"
_LIKELIHOOD = "likelihood"
_CERTAIN = 1.0 + 2.0**-30
"""The largest probability that may be stored. A merged output has a sum of probabilities, which
may be rounded above 1; only the ratios of a likelihood count."""

_LONGEST_FIELD = 2**26
"""The longest text in a ledger: the likelihood of a release on a map of six million cells."""


@dataclass(frozen=True, slots=True)
class Release(Showable):
    """One step of the stream, as it may be published.

    ``cell`` is the released output (a cell of the map for mechanisms whose outputs are cells), or
    None when the step was silent. ``budget`` is that of the mechanism: at 0.0 the output
    says nothing about the location. ``leakage`` has one entry per event, in
    order: the natural logarithm of the largest likelihood ratio, over all priors of the adversary
    and the directions that the event's guarantee bounds, that the stream has reached with this
    step. ``attempts`` counts the draws (0 for silence), ``undecided`` the checks that ran into a
    time limit and counted as failed. ``belief`` has one entry per event: the largest
    belief of a prior of the adversary that it happens, rounded up; empty where it was not measured.
    ``against`` names that adversary in words; it is empty where it is not known.
    """

    step: int
    cell: int | None
    budget: float
    leakage: tuple[float, ...]
    attempts: int
    undecided: int = 0
    belief: tuple[float, ...] = ()
    against: str = field(default="", compare=False, repr=False)

    @property
    def silent(self) -> bool:
        """Whether nothing was released at this step."""
        return self.cell is None


class Ledger(Plottable, Tabular, Sequence[Release]):
    """All releases of a stream in order, to read and to export.

    ``likelihoods`` has one entry per release: P(release | cell) as text (see :meth:`likelihood`),
    None for silence and where it is not known. ``guarantees`` are those of the events, in order,
    and ``against`` names their adversary in words; None and empty where that is not known.
    Exports name guarantees and adversary once, on their first line, and leave empty what is not
    known. ``past`` are the likelihoods of the steps that earlier runs released of the same stream:
    leakages count them. In a file of ledgers they are the lines of negative steps.

    >>> ledger = Ledger(("clinic",), [Release(0, 7, 0.5, (0.25,), 1)])
    >>> len(ledger), ledger[0].cell
    (1, 7)
    >>> print(ledger.csv(), end="")
    step,cell,budget,attempts,undecided,leakage:clinic,belief:clinic,guarantee:clinic,against,likelihood
    0,7,0.5,1,0,0.25,,,,
    """

    def __init__(
        self,
        event_names: Sequence[str],
        releases: Sequence[Release],
        likelihoods: Sequence[str | None] | None = None,
        *,
        guarantees: Sequence[Guarantee] | None = None,
        against: str = "",
        past: Sequence[str | None] = (),
    ) -> None:
        self._past = past
        self._names = tuple(event_names)
        self._releases = tuple(releases)
        self._likelihoods = (None,) * len(releases) if likelihoods is None else likelihoods
        if len(self._likelihoods) != len(self._releases):
            raise InvalidParameter(
                f"must have one entry per release, {len(self._releases)}",
                parameter="likelihoods",
                owner="a Ledger",
                value=len(self._likelihoods),
            )
        self._guarantees = None if guarantees is None else tuple(guarantees)
        if self._guarantees is not None and len(self._guarantees) != len(self._names):
            raise InvalidParameter(
                f"must have one entry per event, {len(self._names)}",
                parameter="guarantees",
                owner="a Ledger",
                value=len(self._guarantees),
            )
        self._against = against

    def __repr__(self) -> str:
        last = self._releases[-1].leakage if self._releases else ()
        reached = ", ".join(f"{n} {v:.3g}" for n, v in zip(self._names, last, strict=False))
        return f"<Ledger of {len(self)} steps{'; leakage ' if reached else ''}{reached}>"

    @property
    def event_names(self) -> tuple[str, ...]:
        """The names of the events, in the order of ``Release.leakage``."""
        return self._names

    @property
    def likelihoods(self) -> Sequence[str | None]:
        """The likelihood of each release as text, None for silence and where it is not known."""
        return self._likelihoods

    @property
    def guarantees(self) -> tuple[Guarantee, ...] | None:
        """What was guaranteed about each event, in order; None if that is not known."""
        return self._guarantees

    @property
    def against(self) -> str:
        """The adversary that the guarantee is against, in words; empty if that is not known."""
        return self._against

    @property
    def past(self) -> Sequence[str | None]:
        """The likelihoods of the steps before the first release, of earlier runs."""
        return self._past

    def likelihood(self, index: int) -> NDArray[np.float64] | None:
        """Return (m,) P(release | cell), None if it is not stored.

        Raises InvalidParameter if what is stored is not a vector of probabilities.
        """
        text = self._likelihoods[index]
        if text is None:
            return None
        try:
            column = floats_from_text(text)
        except ValueError:
            column = np.array([math.nan])
        if not ((column >= 0.0) & (column <= _CERTAIN)).all() or not column.any():
            raise InvalidParameter(
                f"must be vectors of probabilities; that of release {index} is not",
                parameter="likelihoods",
                owner="a Ledger",
                hint="The ledger was changed: take one that was not.",
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
                | ({"belief": dict(zip(self._names, r.belief, strict=True))} if r.belief else {})
                | ({} if likelihood is None else {"likelihood": likelihood})
                | ({} if number else self._first_line())
            )
            + "\n"
            for number, (r, likelihood) in enumerate(
                zip(self._releases, self._likelihoods, strict=True)
            )
        )

    def _first_line(self) -> dict[str, object]:
        """Return guarantees and adversary as the first line of JSON has them."""
        line: dict[str, object] = {"against": self._against} if self._against else {}
        if self._guarantees is not None:
            described = (guarantee.to_dict() for guarantee in self._guarantees)
            line["guarantee"] = dict(zip(self._names, described, strict=True))
        return line

    def export(self, path: str | Path) -> None:
        """Write the ledger to a new file, as its suffix says: ``.csv`` or ``.jsonl``.

        Raises InvalidParameter for another suffix, OutputExists if the file exists.
        """
        path = Path(path)
        writers = {".csv": self.csv, ".jsonl": self.json_lines}
        if path.suffix not in writers:
            raise InvalidParameter(
                "must end in .csv or .jsonl to export a ledger",
                parameter="path",
                owner="Ledger.export",
                got=f"the suffix {path.suffix!r}",
            )
        write_file(path, writers[path.suffix](), private=False)


Ledgers = Mapping[str | None, Ledger]
"""The ledgers of all users of a run, by name; None for one who has none."""


def is_ledger(path: Path) -> bool:
    """Return whether a file begins like a ledger."""
    try:
        with path.open("rb") as file:
            return file.readline(200).startswith(",".join(_FIXED).encode())
    except OSError:
        return False


def write_ledgers(path: Path, events: Sequence[str], ledgers: Ledgers) -> None:
    """Write all users' ledgers into one CSV file, whole or not at all.

    Numbers round-trip exactly; a silent step has an empty cell, a nameless user an empty name.
    """
    with (
        atomic_output(path, overwrite=True, private=False) as draft,
        draft.open("w", encoding="utf-8", newline="") as file,
    ):
        _write_csv(file, events, ledgers, with_users=True)


def _write_csv(file: TextIO, events: Sequence[str], ledgers: Ledgers, *, with_users: bool) -> None:
    out = csv.writer(file, lineterminator="\n")
    titles = _titles(events)
    out.writerow(titles if with_users else titles[1:])
    nothing = [0.0] * len(events) + [""] * (2 * len(events) + 1)
    for user, ledger in ledgers.items():
        for number, likelihood in enumerate(ledger.past if with_users else ()):
            step = number - len(ledger.past)
            out.writerow([user or "", step, "", 0.0, 0, 0, *nothing, likelihood or ""])
        for number in range(len(ledger)):
            row = [user or "", *_row(ledger, number)]
            out.writerow(row if with_users else row[1:])


def _titles(events: Sequence[str]) -> list[str]:
    """Return the first line of a ledger of these events."""
    per_event = [kind + name for kind in (_LEAKAGE, _BELIEF, _GUARANTEE) for name in events]
    return [*_FIXED, *per_event, _AGAINST, _LIKELIHOOD]


def _events_of(titles: Sequence[str]) -> tuple[str, ...] | None:
    """Return the events that a first line names; None if it is not that of a ledger."""
    names = tuple(t.removeprefix(_LEAKAGE) for t in titles if t.startswith(_LEAKAGE))
    return names if _titles(names) == list(titles) else None


def _row(ledger: Ledger, number: int) -> list[object]:
    """Return one line without its user; only the first names guarantees and adversary."""
    r, events = ledger[number], len(ledger.event_names)
    described = ledger.guarantees if number == 0 and ledger.guarantees is not None else ()
    return [
        r.step,
        "" if r.cell is None else r.cell,
        r.budget,
        r.attempts,
        r.undecided,
        *r.leakage,
        *(r.belief or [""] * events),
        *([json.dumps(each.to_dict()) for each in described] or [""] * events),
        ledger.against if number == 0 else "",
        ledger.likelihoods[number] or "",
    ]


@dataclass
class _Read:
    """What was read of one user's ledger so far."""

    releases: list[Release]
    likelihoods: list[str | None]
    guarantees: tuple[Guarantee, ...] | None
    against: str
    past: list[str | None] = field(default_factory=list)

    def ledger(self, names: Sequence[str]) -> Ledger:
        return Ledger(
            names,
            [replace(release, against=self.against) for release in self.releases],
            self.likelihoods,
            guarantees=self.guarantees,
            against=self.against,
            past=self.past,
        )


def read_ledgers(path: str | Path) -> dict[str | None, Ledger]:
    """Read what :func:`write_ledgers` wrote, one ledger per user in the order of the file.

    Raises LedgerError naming the line that cannot be read.
    """
    path = Path(path)
    found: dict[str | None, _Read] = {}
    usual = csv.field_size_limit(_LONGEST_FIELD)
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.reader(file)
            events = _events_of(next(rows, []))
            if events is None:
                raise LedgerError(
                    f"{path.name} is not a ledger of priste: its first line differs.",
                    hint="`priste protect` writes one beside what it releases.",
                )
            width = len(_titles(events))
            for row in rows:
                try:
                    if len(row) != width:
                        raise ValueError("another number of columns")
                    _read_row(row, events, found)
                except (ValueError, PristeError):
                    raise LedgerError(
                        f"Line {rows.line_num} of the ledger {path.name} cannot be read.",
                        hint="Restore the ledger from a copy.",
                    ) from None
    except FileNotFoundError:
        raise LedgerError(
            f"There is no ledger {str(path)!r}.",
            hint="`priste protect` writes it beside what it releases.",
        ) from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise LedgerError(
            f"The ledger {path.name} cannot be read: {error}.",
            hint="Restore the ledger from a copy.",
        ) from None
    finally:
        csv.field_size_limit(usual)
    return {user: read.ledger(events) for user, read in found.items()}


def _read_row(row: Sequence[str], events: tuple[str, ...], found: dict[str | None, _Read]) -> None:
    """Add one line to the ledger of its user; ValueError or PristeError if it cannot be read."""
    cells = iter(row)
    user, step, cell, budget, attempts, undecided = (next(cells) for _ in _FIXED)
    leakage, beliefs, guarantees = ([next(cells) for _ in events] for _ in range(3))
    against, likelihood = next(cells), next(cells)
    release = Release(
        step=int(step),
        cell=int(cell) if cell else None,
        budget=float(budget),
        attempts=int(attempts),
        undecided=int(undecided),
        leakage=tuple(map(float, leakage)),
        belief=tuple(float(text) for text in beliefs if any(beliefs)),
    )
    read = found.setdefault(user or None, _Read([], [], None, ""))
    if release.step < 0:
        read.past.append(likelihood or None)
        return
    if not read.releases:
        texts = guarantees if any(guarantees) else ()
        known = tuple(guarantee_from_dict(json.loads(text)) for text in texts)
        read.guarantees, read.against = known or None, against
    read.releases.append(release)
    read.likelihoods.append(likelihood or None)
