"""``priste protect``: a file of true locations in, a released file and its ledger out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from priste.cli.console import progress
from priste.cli.sources import Reading
from priste.errors import InvalidParameter

if TYPE_CHECKING:
    from priste.batch import BatchReport
    from priste.policy import Policy
    from priste.traces import Traces


@dataclass(frozen=True)
class Protection:
    """What a run made, and what it was made from."""

    policy: Policy
    traces: Traces
    batch: BatchReport
    page: Path | None = None

    @property
    def kept(self) -> bool:
        """Whether every event of every user stayed within its ε."""
        leakage = self.batch.largest_leakage()
        return all(leakage[name] <= epsilon for name, epsilon in self.batch.epsilons.items())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; see docs/cli.md."""
        return {
            **self.batch.to_dict(),
            "kept": self.kept,
            "reading": self.batch.reading.to_dict(),
            "writing": self.batch.writing.to_dict(),
            "report": None if self.page is None else str(self.page),
        }


def beside(source: Path) -> Path:
    """Return where a source is released to when nothing is said: beside it.

    >>> beside(Path("week/trips.parquet")).name, beside(Path("Data")).name
    ('trips.released.parquet', 'Data.released')
    """
    return source.with_name(f"{source.stem}.released{source.suffix}")


def protect(
    policy_path: Path,
    source: Path,
    destination: Path,
    *,
    reading: Reading | None = None,
    workers: int = 1,
    seed: int | None = None,
    keep: Sequence[str] = (),
    overwrite: bool = False,
) -> Protection:
    """Protect a file of fixes under a policy file; shows its progress on a terminal."""
    from priste.batch import protect_file
    from priste.policy import load_policy

    with progress("Reading the policy"):
        policy = load_policy(policy_path)
    traces = (reading or Reading()).open(source)
    with progress("Releasing") as tell:
        batch = protect_file(
            policy,
            traces,
            destination,
            workers=workers,
            seed=seed,
            keep=keep,
            overwrite=overwrite,
            on_progress=tell,
        )
    return Protection(policy, traces, batch)


def protect_and_report(
    policy_path: Path,
    source: Path,
    destination: Path,
    *,
    reading: Reading,
    workers: int,
    seed: int | None,
    keep: Sequence[str],
    overwrite: bool,
    page: Path | None,
    show_truth: bool,
) -> Protection:
    """Protect, and write the private report of the run if a page is asked for."""
    from priste.cli.reporting import check_page, choose, make_reports
    from priste.report import write_html

    if page is not None:
        check_page(page, overwrite=overwrite)
    elif show_truth:
        raise InvalidParameter("--show-truth is about the report: name one with --report.")
    done = protect(
        policy_path,
        source,
        destination,
        reading=reading,
        workers=workers,
        seed=seed,
        keep=keep,
        overwrite=overwrite,
    )
    if page is None:
        return done
    ledgers = choose({each.user: each.ledger for each in done.batch.streams}, ())
    reports = make_reports(
        done.policy, ledgers, traces=done.traces, seed=seed, show_truth=show_truth
    )
    with progress("Drawing the report"):
        write_html(reports, page)
    return replace(done, page=page)


def show(done: Protection, out: Console) -> None:
    """Print what was written, what was left out and why, and the leakage of each event."""
    from priste.cli.tables import leakage_table

    batch = done.batch
    for line in batch.reading.lines():
        out.print(line, markup=False)
    made = batch.to_dict()
    users = f"{made['users']} user{'s' if made['users'] != 1 else ''}"
    out.print(
        f"{made['releases']} releases for {users}, {made['drawn_now']} steps of them drawn now."
    )
    for count, reason in (
        (batch.writing.unreadable, "they could not be read"),
        (batch.writing.untimed, "they have no readable time or user"),
        (batch.writing.unreleased, "nothing was released for their step (outside the clock?)"),
    ):
        if count:
            out.print(f"{count} records are left out: {reason}.")
    out.print(leakage_table(batch.epsilons, batch.largest_leakage()))
    out.print(f"  {batch.destination}    what may be handed out", markup=False)
    out.print(f"  {batch.ledger}    every release and its leakage", markup=False)
    if done.page is not None:
        out.print(f"  {done.page}    the report, for you alone", markup=False)
