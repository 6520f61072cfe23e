"""The ledger of a run: one CSV file with every release of every user, and no true location."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from priste.errors import TraceError
from priste.release import Ledger, Release

_FIXED = ("user", "step", "cell", "budget", "attempts", "undecided")
_LEAKAGE = "leakage:"
_LIKELIHOOD = "likelihood"
_LONGEST_FIELD = 2**26
"""The longest text in a ledger: the likelihood of a release on a map of six million cells."""

Ledgers = Mapping[str | None, Ledger]


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
    Where releases come from laws of their own (see :class:`~priste.release.Ledger`), a last
    column holds their likelihoods.
    """
    known = any(any(ledger.likelihoods) for ledger in ledgers.values())
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("w", encoding="utf-8", newline="") as file:
            out = csv.writer(file, lineterminator="\n")
            last = [_LIKELIHOOD] if known else []
            out.writerow([*_FIXED, *(f"{_LEAKAGE}{name}" for name in events), *last])
            for user, ledger in ledgers.items():
                for r, likelihood in zip(ledger, ledger.likelihoods, strict=True):
                    cell = "" if r.cell is None else r.cell
                    fixed = [user or "", r.step, cell, r.budget, r.attempts, r.undecided]
                    out.writerow([*fixed, *r.leakage, *([likelihood or ""] if known else [])])
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def read_ledgers(path: str | Path) -> dict[str | None, Ledger]:
    """Read what :func:`write_ledgers` wrote, one ledger per user in the order of the file.

    Raises TraceError naming the line that cannot be read.
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
                raise TraceError(f"{path.name} is not a ledger of priste: its first line differs.")
            for row in rows:
                try:
                    if len(row) != len(head):
                        raise ValueError("another number of columns")
                    release = _release(row, len(names))
                except ValueError:
                    raise TraceError(
                        f"Line {rows.line_num} of the ledger {path.name} cannot be read."
                    ) from None
                likelihood = (row[-1] or None) if known else None
                found.setdefault(row[0] or None, []).append((release, likelihood))
    except FileNotFoundError:
        raise TraceError(
            f"There is no ledger {str(path)!r}. `priste protect` writes it beside what it releases."
        ) from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise TraceError(f"The ledger {path.name} cannot be read: {error}.") from None
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
