"""``priste audit``: what a ledger, or a trace of any origin, reveals about each event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console
from rich.text import Text

from priste.cli.audit_procedure import audit_the_procedure
from priste.cli.console import Found, indented, progress
from priste.cli.options import AS_IT_TELLS, Reading, RunPolicy, User, open_input
from priste.cli.place_options import Places, policy_of_everybody
from priste.errors import InvalidParameter

if TYPE_CHECKING:
    from priste.results import PolicyAudit, Verdict

BARS = " ▁▂▃▄▅▆▇█"
WIDTH = 64


@dataclass(frozen=True)
class Audited:
    """What ``priste audit`` found."""

    audit: PolicyAudit

    @property
    def verdict(self) -> Verdict:
        """Whether every event of every user stayed within its ε, if that was guaranteed."""
        return self.audit.verdict

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; see the reference of the command line."""
        return self.audit.to_dict()

    def show(self, out: Console) -> None:
        """Print the worst user's numbers for each event, with a line over time."""
        from priste.policy.adversary_choice import ASSUMED
        from priste.quantify import AnyPrior
        from priste.results import moved, percent, who_learns_most, within
        from priste.results.wording import (
            any_prior_words,
            believed_words,
            from_to,
            reached_words,
            recurrence_words,
        )

        of = self.audit
        who = "one stream" if len(of.users) == 1 else f"{len(of.users)} streams"
        whom = f", if released by {of.emission}, to {of.against}\n"
        out.print(Text.assemble((f"What {who} revealed", "bold"), whom))
        if of.snapped:
            out.print(
                f"{percent(of.snapped)} of the positions are not centres of the policy's cells. "
                "Each is taken for the cell that it lies in. What a position reveals within its "
                "cell is not counted: the figures are about a mechanism that releases cells.\n"
            )
        line = of.policy.timeline
        for name, (user, found) in of.worst().items():
            event = of.policy.events[name]
            answers = len(event.stated.answers)
            good = within(found.max, event.epsilon) and found.kept
            whose = f" (user {user})" if len(of.users) > 1 else ""
            word = Text("within" if good else "ABOVE", style="green" if good else "bold red")
            out.print(Text.assemble((name, "bold"), whose))
            indented(
                out,
                Text.assemble(
                    f"{reached_words(event.guarantee, found)}, ",
                    word,
                    f" the policy's bound: {event.guaranteed} (leakage {found.max:.3f})",
                ),
            )
            out.print(f"  [cyan]{sparkline(found.leakage)}[/cyan]")
            if found.leakage and found.max > 0:
                step = max(range(len(found.leakage)), key=found.leakage.__getitem__)
                indented(out, f"most at step {step} ({line.time_of(step):%a %d %b %H:%M})")
            grid, regions = of.policy.grid, of.own.get(user, of.policy).regions
            indented(out, who_learns_most(found, grid, regions))
            if found.adversary != AnyPrior():
                surest = percent(max(found.highest_belief, default=0.0))
                of_what = "that it happened" if answers == 2 else "of one of its answers"
                indented(out, f"That adversary can get {surest} sure {of_what}.")
                indented(out, any_prior_words(found))
            others = dict(of.otherwise[user][name])
            if found.any_movement:
                anyhow = "with any probabilities for the possible moves"
                others[anyhow] = found.max_any_movement
            if others:
                indented(out, "Not guaranteed, with another model: odds moved")
                for how, value in others.items():
                    indented(out, f"{moved(value)} to an adversary {how}", by=4)
            after = found.belief[-1] if found.belief else found.prior_belief
            beliefs = from_to(found.prior_belief, after)
            said = believed_words(event.event.answers)
            indented(out, f"an adversary with a uniform prior believes {said}: {beliefs}\n")
        for name, recurring in of.recurrences().items():
            out.print(f"Not guaranteed: {recurrence_words(name, recurring)}", markup=False)
        out.print(f"{of.verdict.sentence} {ASSUMED}" if of.ours else ASSUMED)


def audit(
    released: Annotated[
        Path | None, typer.Argument(help="What protect wrote, its ledger, or any released trace.")
    ] = None,
    policy: RunPolicy = None,
    alpha: Annotated[
        float | None,
        typer.Option(help="The budget of the mechanism that made a trace, if not the policy's."),
    ] = None,
    mechanism: Annotated[
        Literal["policy", "identity"] | None,
        typer.Option(help="What made a trace: the policy's mechanism, or identity (true places)."),
    ] = None,
    adversary: Annotated[
        str | None,
        typer.Option(
            help="The adversary: anything, population, near:FACTOR, stale:HOURS or starts:REGION. "
            "[default: the policy's]",
            show_default=False,
        ),
    ] = None,
    input: Annotated[
        Path | None,
        typer.Option(
            help="The protected file, if it was moved. Models of the person's own days are fitted "
            "on it again."
        ),
    ] = None,
    places: Places = None,
    procedure: Annotated[
        bool,
        typer.Option(
            "--procedure",
            help="Audit the release procedure, against an adversary who knows its code.",
        ),
    ] = False,
    steps: Annotated[
        int | None, typer.Option(min=1, help="With --procedure: how many steps to follow.")
    ] = None,
    runs: Annotated[
        int, typer.Option(min=1, help="With --procedure: streams to sample on large maps.")
    ] = 10,
    seed: Annotated[
        int | None, typer.Option(min=0, help="With --procedure: repeat the sampled streams.")
    ] = None,
    user: User = None,
    reading: Reading = AS_IT_TELLS,
) -> Found:
    """State what releases reveal about each event, step by step."""
    from priste.batch import files_of_run
    from priste.policy import load_policy
    from priste.report import choose_ledgers
    from priste.results import assumed_mechanism, audit_ledgers, audit_traces, judged_against

    if procedure != (released is None):
        raise InvalidParameter(
            "must be given, or --procedure to audit the way of releasing, and not both",
            parameter="released",
            owner="audit",
        )
    if procedure and places is not None:
        raise InvalidParameter(
            "must be left out with --procedure, which audits the policy's own regions",
            parameter="places",
        )
    if released is None:
        if policy is None:
            raise InvalidParameter("must be given with --procedure", parameter="policy")
        with progress("Reading the policy"):
            loaded = load_policy(policy)
        if adversary is not None:
            loaded = judged_against(loaded, adversary)
        return audit_the_procedure(loaded, steps=steps, runs=runs, seed=seed)
    run = files_of_run(released)
    with progress("Reading the policy"):
        loaded = load_policy(run.policy(policy))
    if run.ledgers:
        if alpha is not None or mechanism is not None:
            raise InvalidParameter(
                f"{released.name} was released by protect, and its ledger states the table of "
                "each release",
                hint="As plain noise it would be judged by another one: leave out --alpha and "
                "--mechanism.",
            )
        if adversary is not None:
            raise InvalidParameter(
                "must be left out with a ledger, which holds leakages against the adversary of "
                "its policy",
                parameter="adversary",
                hint="What any prior could have learnt stands beside them.",
            )
        table = places or run.sources.places
        ledgers = choose_ledgers(run.read_ledgers(), user or (), most=None)
        there = input or run.sources.input
        of_person = loaded.depends_on_person and there is not None and there.exists()
        traces = open_input(run, input, reading) if of_person else ()
        whose = policy_of_everybody(loaded, table)
        with progress("Auditing") as tell:
            return Audited(audit_ledgers(loaded, ledgers, whose, traces, tell))
    if adversary is not None:
        loaded = judged_against(loaded, adversary)
    assumed = replace(loaded, mechanism=assumed_mechanism(loaded, mechanism, alpha))
    sure = mechanism is not None or alpha is not None
    whose = policy_of_everybody(assumed, places)
    with progress("Auditing") as tell:
        return Audited(
            audit_traces(
                assumed,
                reading.open(released),
                released.name,
                users=user or (),
                whose=whose,
                sure=sure,
                on_audited=tell,
            )
        )


def sparkline(values: Sequence[float], width: int = WIDTH) -> str:
    """Return a line of bars, the largest value of each stretch; ∞ where it is unbounded.

    A value below 0 (the releases moved the odds in the unbounded direction only) is a blank.

    >>> sparkline([0.0, 0.5, 1.0]), sparkline([0.0, float("inf")]), sparkline([])
    (' ▄█', ' ∞', '')
    >>> sparkline([-2.0, 1.0])
    ' █'
    """
    count = min(width, len(values))
    cuts = [k * len(values) // count for k in range(count + 1)] if count else []
    groups = [max(0.0, *values[begin:end]) for begin, end in pairwise(cuts)]
    top = max((value for value in groups if value != float("inf")), default=0.0) or 1.0
    return "".join(
        "∞" if value == float("inf") else BARS[round(value / top * (len(BARS) - 1))]
        for value in groups
    )
