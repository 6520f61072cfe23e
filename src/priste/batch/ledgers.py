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
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("w", encoding="utf-8", newline="") as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow([*_FIXED, *(f"{_LEAKAGE}{name}" for name in events)])
            for user, ledger in ledgers.items():
                for r in ledger:
                    cell = "" if r.cell is None else r.cell
                    fixed = [user or "", r.step, cell, r.budget, r.attempts, r.undecided]
                    out.writerow([*fixed, *r.leakage])
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
    found: dict[str | None, list[Release]] = {}
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.reader(file)
            head = next(rows, [])
            names = [name.removeprefix(_LEAKAGE) for name in head[len(_FIXED) :]]
            if tuple(head[: len(_FIXED)]) != _FIXED or not all(
                name.startswith(_LEAKAGE) for name in head[len(_FIXED) :]
            ):
                raise TraceError(f"{path.name} is not a ledger of priste: its first line differs.")
            for row in rows:
                try:
                    release = _release(row, len(names))
                except ValueError:
                    raise TraceError(
                        f"Line {rows.line_num} of the ledger {path.name} cannot be read."
                    ) from None
                found.setdefault(row[0] or None, []).append(release)
    except FileNotFoundError:
        raise TraceError(
            f"There is no ledger {str(path)!r}. `priste protect` writes it beside what it releases."
        ) from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise TraceError(f"The ledger {path.name} cannot be read: {error}.") from None
    return {user: Ledger(names, releases) for user, releases in found.items()}


def _release(row: Sequence[str], events: int) -> Release:
    if len(row) != len(_FIXED) + events:
        raise ValueError("another number of columns")
    return Release(
        step=int(row[1]),
        cell=int(row[2]) if row[2] else None,
        budget=float(row[3]),
        attempts=int(row[4]),
        undecided=int(row[5]),
        leakage=tuple(float(text) for text in row[len(_FIXED) :]),
    )
