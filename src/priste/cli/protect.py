"""``priste protect``: a file of true locations in, a released file and its ledger out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from priste.cli.console import indented, list_files, progress, warn, warn_of_seed
from priste.cli.options import (
    AS_IT_TELLS,
    BesideEarlier,
    Overwrite,
    PolicyFile,
    Reading,
    ShowTruth,
    User,
)
from priste.cli.place_options import Place, Places, columns_of_regions, policy_of_everybody
from priste.cli.report import private_page
from priste.errors import InvalidParameter

if TYPE_CHECKING:
    from priste.batch import BatchReport
    from priste.policy import Policy
    from priste.release import Ledger
    from priste.report import StreamReport
    from priste.results import AnyPriorLeakage, Verdict


MANY_FIXES = 2
"""With more fixes than this many for each release, it is said that a step has one release."""

COMPARED_SECONDS = 20.0
"""How long it is computed, after a run, what adversaries with any prior learn."""


@dataclass(frozen=True)
class Protection:
    """What a run made."""

    batch: BatchReport
    against: str
    page: Path | None = None
    any_prior: AnyPriorLeakage | None = None
    unguarded: Sequence[str] = ()
    covered: Sequence[str] = ()
    uncovered: Sequence[str] = ()

    @property
    def verdict(self) -> Verdict:
        """Whether the guarantee was kept for every event of every user."""
        return self.batch.verdict

    @property
    def quarantined(self) -> int:
        """For how many users nothing could be released."""
        return self.batch.totals.problems

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; see docs/reference/cli.md."""
        return {
            **self.batch.to_dict(),
            "adversary": self.against,
            "reading": self.batch.reading.to_dict(),
            "writing": self.batch.writing.to_dict(),
            "report": None if self.page is None else str(self.page),
            "any_prior": None if self.any_prior is None else asdict(self.any_prior),
            "unguarded": list(self.unguarded),
            "combinations": {"covered": list(self.covered), "uncovered": list(self.uncovered)},
        }

    def show(self, out: Console) -> None:
        """Print what was written, what was left out and why, and the leakage of each event."""
        from priste.cli.tables import guarantee_table, metres_table, users_table
        from priste.policy.adversary_choice import ASSUMED

        batch = self.batch
        for line in batch.reading.lines():
            out.print(line, markup=False)
        made = batch.to_dict()
        sampled = f", a sample of {100 * batch.sampled:.3g} %" if batch.sampled < 1.0 else ""
        drawn = f"Steps drawn now: {made['drawn_now']:,}" if made["drawn_now"] else "Nothing drawn"
        silent = ", silent ones among them." if made["drawn_now"] > made["releases"] else "."
        out.print(
            f"{made['releases']:,} releases for {_people(made['users'])}{sampled}. {drawn}{silent}"
        )
        if batch.reading.fixes > MANY_FIXES * made["releases"] > 0:
            out.print(
                f"A step has one release, however many fixes it has: {batch.reading.fixes:,} fixes "
                "were read. Shorter steps in [clock] release more of them.",
                markup=False,
            )
        if batch.given_again:
            out.print(
                f"The locations of {_people(batch.given_again)} were released before under this "
                "policy: what was drawn then is given again."
            )
        if batch.continued:
            out.print(
                f"The streams of {_people(batch.continued)} continue from earlier releases, which "
                "count. Another person under the same name needs another one (--as-user)."
            )
        if self.quarantined:
            out.print(f"Nothing could be released for {_people(self.quarantined)}:")
            for user, reason in batch.problems.items():
                out.print(f"  {user or 'the user'}: {reason}", markup=False)
            if self.quarantined > len(batch.problems):
                out.print(f"  and {self.quarantined - len(batch.problems)} more.")
        for note in batch.notes:
            out.print(f"Note: {note}", markup=False)
        for gap in self.unguarded:
            out.print(f"Not guarded: {gap}", markup=False)
        for covered in self.covered:
            out.print(f"Guarded together: {covered}", markup=False)
        for open_still in self.uncovered:
            out.print(f"Not guarded together: {open_still}", markup=False)
        out.print(
            guarantee_table(
                batch.guarantees, batch.largest_leakage(), batch.largest_belief(), self.any_prior
            )
        )
        if self.any_prior is not None and batch.continued:
            out.print("The column any prior counts the releases of this run, not earlier ones.")
        if made["users"] > 1:
            out.print(users_table(made))
        out.print(metres_table(made))
        out.print("These means are made from true locations: keep them to yourself.")
        if batch.errors.off_map.sentence():
            out.print(batch.errors.off_map.sentence())
        if self.verdict == "not guaranteed":
            out.print("Nothing was guaranteed: this calibrator keeps no guarantee.\n")
        else:
            for name, event in batch.guarded.items():
                indented(out, f"{name}: {event.guaranteed},")
            indented(out, f"against {self.against}. {self.verdict.sentence}")
            indented(out, ASSUMED)
            out.print()
        page = {} if self.page is None else {self.page: "the report, only for you"}
        list_files(
            out,
            {
                batch.destination: "what may be handed out",
                batch.ledger: "every release and its leakage",
                **page,
            },
        )


def protect(
    source: Annotated[Path, typer.Argument(help="True locations, a file or a folder.")],
    policy: PolicyFile,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The released file.  [default: NAME.released.SUFFIX]"),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="The number of processes.")] = 1,
    cluster: Annotated[
        str | None,
        typer.Option(help="The scheduler of a Dask cluster of your own, as tcp://host:8786."),
    ] = None,
    places: Places = None,
    place: Place = None,
    sample: Annotated[
        str, typer.Option(help="Take this share of the users, as 1%, chosen by their names.")
    ] = "100%",
    user: User = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Repeatable draws, for experiments: NOT private.")
    ] = None,
    beside_earlier_releases: BesideEarlier = False,
    report: Annotated[
        Path | None, typer.Option(help="Write an HTML report with the costs: keep it private.")
    ] = None,
    show_truth: ShowTruth = False,
    compare: Annotated[
        float,
        typer.Option(
            "--compare",
            min=0.0,
            help="Seconds to find what adversaries with any prior learn; 0 leaves it out.",
        ),
    ] = COMPARED_SECONDS,
    reading: Reading = AS_IT_TELLS,
    overwrite: Overwrite = False,
) -> Protection:
    """Release a file of locations under a policy.

    The same command continues a run that was stopped.
    """
    from priste.workers import preload

    if cluster is None:
        preload("priste.batch.preloaded")  # first, beside what this process loads
    from priste.atomic_files import check_apart, check_writable
    from priste.batch import ledger_of, protect_file, remember_sources, workspace_of
    from priste.policy import (
        covered_combinations,
        gaps_in_the_guard,
        load_policy,
        uncovered_combinations,
        workload,
    )
    from priste.report import MOST_SHOWN, is_short
    from priste.results import adversary_of_all, policies_of_ledgers
    from priste.traces import released_suffix

    if output is None and not source.name:
        raise InvalidParameter(
            f"{str(source)!r} has no name of its own to release it beside",
            hint="Choose one with -o.",
        )
    traces = reading.open(source)
    destination = output or beside(source, released_suffix(traces))
    outputs = {
        "released file": destination,
        "ledger": ledger_of(destination),
        "workspace": workspace_of(destination),
    }
    if report is not None:
        check_writable(report, overwrite=overwrite)
        outputs["report"] = report
    elif show_truth:
        raise InvalidParameter(
            "is about the report, and none is named",
            parameter="show_truth",
            hint="Name one: --report.",
        )
    share = share_of(sample)
    columns = dict(columns_of_regions(place or ()))
    warn_of_seed(seed)
    with progress("Reading the policy"):
        loaded = load_policy(policy)
    inputs = {"input": source, "policy": policy, **loaded.files}
    check_apart(outputs, inputs if places is None else {**inputs, "table of places": places})
    expected = workload(loaded)
    if expected.is_large:
        warn(expected.words())
    if not loaded.calibrator.guaranteed:
        warn("the calibrator of this policy guarantees nothing. Use it to compare, not to protect.")
    with progress("Releasing", "users") as tell:
        batch = protect_file(
            loaded,
            traces,
            destination,
            workers=workers,
            apart=True,
            cluster=cluster,
            places=places,
            place_columns=columns,
            sample=share,
            users=user or (),
            seed=seed,
            overwrite=overwrite,
            beside_earlier=beside_earlier_releases,
            on_progress=tell,
        )
    shown = batch.ledgers.of(batch.parts.most_leaking(MOST_SHOWN))
    remember_sources(
        destination,
        source=source,
        policy=policy,
        reading=asdict(reading),
        places=places,
        place=place or (),
    )
    of_user = policy_of_everybody(loaded, places, place, traces)
    # The report of a single stream finds the same, unless it counts earlier releases too.
    twice = report is not None and len(batch.ledgers) == 1 and not batch.continued
    twice = twice and compare > 0 and is_short(loaded, shown)
    own = policies_of_ledgers(loaded, shown, of_user, traces if loaded.depends_on_person else ())
    any_prior = None if twice else _any_prior(own, shown, compare)
    if report is not None:
        made = private_page(
            loaded,
            batch.ledgers,
            report,
            traces=traces,
            of_user=of_user,
            seed=seed,
            show_truth=show_truth,
            any_prior=twice or (any_prior is not None and any_prior.complete),
            overwrite=overwrite,
        )
        if twice:
            any_prior = _any_prior_of(loaded, made.reports[0])
    return Protection(
        batch,
        adversary_of_all(loaded, own),
        report,
        any_prior,
        gaps_in_the_guard(loaded),
        covered_combinations(loaded),
        uncovered_combinations(loaded),
    )


def _any_prior(
    own: Mapping[str | None, Policy],
    ledgers: Mapping[str | None, Ledger],
    seconds: float,
) -> AnyPriorLeakage | None:
    """Return what any prior learns from the streams with the largest leakage, in bounded time."""
    from priste.results import any_prior_leakage

    if not seconds:
        return None
    total = sum(len(own[user].events) * len(ledger) for user, ledger in ledgers.items())
    began = process_time()
    with progress("Comparing adversaries", "steps") as tell:
        return any_prior_leakage(
            ((own[user], ledger) for user, ledger in ledgers.items()),
            seconds=seconds,
            on_progress=lambda done: tell(
                done, steps_in_time(done, total, process_time() - began, seconds)
            ),
        )


def steps_in_time(done: int, total: int, spent: float, seconds: float) -> int:
    """Return of how many steps there is time for, as many were done in the time that was spent.

    >>> steps_in_time(100, 8_000, 5.0, 20.0), steps_in_time(100, 150, 5.0, 20.0)
    (400, 150)
    """
    return max(done, min(total, math.ceil(done * seconds / max(spent, 1e-3))))


def _any_prior_of(policy: Policy, report: StreamReport) -> AnyPriorLeakage | None:
    """Return what any prior learns from a stream, as its report found it.

    None where the guarantee is against any prior: then the leakages say it.
    """
    from priste.quantify import AnyPrior
    from priste.results import AnyPriorLeakage

    if policy.chosen_adversary.adversary == AnyPrior():
        return None
    found = [event.guarded.max_any_prior for event in report.events]
    return AnyPriorLeakage(dict(zip(policy.events, found, strict=True)))


def beside(source: Path, suffix: str) -> Path:
    """Return where a source is released to when nothing is said: next to it, with a suffix.

    >>> beside(Path("week/run.fit"), ".gpx").name, beside(Path("Data"), "").name
    ('run.released.gpx', 'Data.released')
    """
    return source.with_name(f"{source.stem}.released{suffix}")


def share_of(text: str) -> float:
    """Return a share in (0, 1] that is written as 1% or 0.01.

    >>> share_of("1%"), share_of("0.5")
    (0.01, 0.5)
    """
    percent = text.strip().endswith("%")
    try:
        share = float(text.strip().removesuffix("%")) / (100 if percent else 1)
    except ValueError:
        share = 0.0
    if not 0.0 < share <= 1.0:
        raise InvalidParameter(
            "must be a share of the users, as 1% or 0.01", parameter="sample", value=text
        )
    return share


def _people(count: int) -> str:
    return f"{count:,} user{'s' if count != 1 else ''}"
