"""``priste audit``: what a ledger, or a trace released by anybody, tells about each event."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer
from rich.console import Console
from rich.text import Text

from priste.cli.audit_procedure import audit_the_procedure
from priste.cli.console import Found, progress
from priste.cli.options import AS_IT_TELLS, Reading, RunPolicy, User, open_input
from priste.cli.place_options import Places, policy_of_everybody
from priste.errors import InvalidParameter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from priste.audit import EventAudit
    from priste.mechanisms import Mechanism
    from priste.policy import Policy, PolicyOf
    from priste.release import Ledger
    from priste.results import Verdict
    from priste.traces import Traces

Audits = Mapping[str, "EventAudit"]
Floats: TypeAlias = "NDArray[np.float64]"

BARS = " ▁▂▃▄▅▆▇█"
WIDTH = 64


@dataclass(frozen=True)
class Audit:
    """What was found, per user; ``ours`` when a ledger tells that the policy was at work."""

    policy: Policy
    emission: str
    users: Mapping[str | None, Audits]
    ours: bool
    otherwise: Mapping[str | None, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    own: Mapping[str | None, Policy] = field(default_factory=dict)
    """The policies of users who have one of their own."""
    snapped: float = 0.0
    """The share of positions that were not centres of cells."""

    @property
    def verdict(self) -> Verdict:
        """Whether every event of every user stayed within its ε, if that was guaranteed."""
        from priste.results import verdict, within

        return verdict(
            self.policy.calibrator if self.ours else None,
            (
                within(audit.max, self.policy.events[name].epsilon) and audit.kept
                for audits in self.users.values()
                for name, audit in audits.items()
            ),
        )

    def worst(self) -> dict[str, tuple[str | None, EventAudit]]:
        """Return for each event the user whose stream leaks most about it."""
        found = {}
        for name in self.policy.events:
            user = max(self.users, key=lambda each: self.users[each][name].max)
            found[name] = (user, self.users[user][name])
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; see docs/reference/cli.md."""
        found: dict[str, Any] = {
            "emission": self.emission,
            "snapped": self.snapped,
            "adversary": self.policy.chosen_adversary.words,
            "verdict": str(self.verdict),
            "events": {
                name: {
                    **self._event(name, audit),
                    "user": user,
                    "other_movement": self.otherwise[user][name],
                }
                for name, (user, audit) in self.worst().items()
            },
        }
        if len(self.users) > 1:
            found["users"] = [
                {
                    "user": user,
                    "events": {name: self._event(name, audit) for name, audit in audits.items()},
                }
                for user, audits in self.users.items()
            ]
        return found

    def _event(self, name: str, audit: EventAudit) -> dict[str, Any]:

        return {
            "epsilon": self.policy.events[name].epsilon,
            "guarantee": self.policy.events[name].guarantee.words(),
            "leakage": list(audit.leakage),
            "max": audit.max,
            "for_event": list(audit.for_event),
            "against_event": list(audit.against_event),
            "highest_belief": list(audit.highest_belief),
            "anybody": list(audit.anybody),
            "any_movement": list(audit.any_movement),
            "worst_prior": {str(cell): weight for cell, weight in audit.worst_prior.items()},
            "worst_given_prior": [
                {"model": model, "prior": number, "weight": weight}
                for (model, number), weight in audit.worst_given.items()
            ],
            "prior_belief": audit.prior_belief,
            "belief": list(audit.belief),
        }

    def show(self, out: Console) -> None:
        """Print the worst user's numbers for each event, with a line over time."""
        from priste.quantify import AnyPrior
        from priste.results import odds, percent, who_learns_most, within
        from priste.results.verdict import ASSUMED
        from priste.results.wording import any_prior_words, from_to, reached_words

        who = "one stream" if len(self.users) == 1 else f"{len(self.users)} streams"
        out.print(f"[bold]What {who} told[/bold], if released by {self.emission}, to")
        out.print(f"{self.policy.chosen_adversary.words}\n", markup=False)
        if self.snapped:
            out.print(
                f"{percent(self.snapped)} of the positions are not centres of the policy's cells. "
                "Each is taken for the cell that it lies in. What a position tells beyond its "
                "cell is not counted: the figures are about a mechanism that releases cells.\n"
            )
        line = self.policy.timeline
        for name, (user, found) in self.worst().items():
            guarantee = self.policy.events[name].guarantee
            good = within(found.max, self.policy.events[name].epsilon) and found.kept
            whose = f" (user {user})" if len(self.users) > 1 else ""
            word = Text("within" if good else "ABOVE", style="green" if good else "bold red")
            out.print(Text.assemble((name, "bold"), whose))
            out.print(
                Text.assemble(
                    f"  {reached_words(guarantee, found)}, ",
                    word,
                    f" the policy's bound: {guarantee.words()} (leakage {found.max:.3f})",
                )
            )
            out.print(f"  [cyan]{sparkline(found.leakage)}[/cyan]")
            if found.leakage and found.max > 0:
                step = max(range(len(found.leakage)), key=found.leakage.__getitem__)
                out.print(f"  most at step {step} ({line.time_of(step):%a %d %b %H:%M})")
            grid, regions = self.policy.grid, self.own.get(user, self.policy).regions
            said = who_learns_most(found, grid, regions)
            out.print(f"  {said}", markup=False)
            if found.adversary != AnyPrior():
                surest = percent(max(found.highest_belief, default=0.0))
                out.print(f"  That adversary can get {surest} sure that it happened.")
                out.print(f"  {any_prior_words(found)}")
            others = dict(self.otherwise[user][name])
            if found.any_movement:
                anyhow = "who thinks anything of how likely the possible moves are"
                others[anyhow] = found.max_any_movement
            if others:
                out.print("  Not guaranteed, with another model: odds moved by at most")
                for how, value in others.items():
                    out.print(f"    {odds(value)} to an adversary {how}", markup=False)
            after = found.belief[-1] if found.belief else found.prior_belief
            beliefs = from_to(found.prior_belief, after)
            out.print(f"  an adversary to whom every start is alike believes {beliefs}\n")
        out.print(f"{self.verdict.sentence} {ASSUMED}" if self.ours else ASSUMED)


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
        typer.Option(help="What made a trace: the policy's mechanism, or nothing (true places)."),
    ] = None,
    adversary: Annotated[
        str | None,
        typer.Option(
            help="To whom: anything, population, near:FACTOR, stale:HOURS or starts:REGION. "
            "[default: the policy's]",
            show_default=False,
        ),
    ] = None,
    input: Annotated[
        Path | None,
        typer.Option(
            help="What was protected, if it is not where it was: guarded models may be of the "
            "person's own days."
        ),
    ] = None,
    places: Places = None,
    procedure: Annotated[
        bool,
        typer.Option(
            "--procedure", help="Audit the way of releasing itself, against those who know it."
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
    """Tell what releases say about each event, step by step, to the adversary of the policy."""
    from priste.batch import files_of_run
    from priste.policy import load_policy
    from priste.report import choose_ledgers

    if procedure != (released is None):
        raise InvalidParameter(
            "Give audit either a released file, or --procedure to audit the way of releasing."
        )
    if procedure and places is not None:
        raise InvalidParameter(
            "--procedure audits the policy's own regions, of nobody in particular: leave out "
            "--places."
        )
    if released is None:
        if policy is None:
            raise InvalidParameter("--procedure audits a policy: give it with -p.")
        with progress("Reading the policy"):
            loaded = load_policy(policy)
        if adversary is not None:
            loaded = _guarding(loaded, adversary)
        return audit_the_procedure(loaded, steps=steps, runs=runs, seed=seed)
    run = files_of_run(released)
    with progress("Reading the policy"):
        loaded = load_policy(run.policy(policy))
    if run.ledgers:
        if alpha is not None or mechanism is not None:
            raise InvalidParameter(
                f"{released.name} was released by protect, and its ledger states the table of each "
                "release. As plain noise it would be judged by another one: leave out --alpha and "
                "--mechanism."
            )
        if adversary is not None:
            raise InvalidParameter(
                "A ledger holds leakages against the adversary of its policy: leave out "
                "--adversary. What any prior could have learnt stands beside them."
            )
        table = places or run.sources.places
        whose = policy_of_everybody(loaded, table)
        ledgers = choose_ledgers(run.read_ledgers(), user or (), most=None)
        there = input or run.sources.input
        of_person = loaded.depends_on_person and there is not None and there.exists()
        traces = open_input(run, input, reading) if of_person else None
        return _of_ledger(loaded, ledgers, whose, traces)
    if adversary is not None:
        loaded = _guarding(loaded, adversary)
    assumed = replace(loaded, mechanism=_assumed(loaded, mechanism, alpha))
    sure = mechanism is not None or alpha is not None
    whose = policy_of_everybody(assumed, places)
    return _of_trace(assumed, released, reading, user or (), whose, sure=sure)


def _guarding(policy: Policy, adversary: str) -> Policy:
    """Return the policy with another adversary, whom releases are then judged against."""
    from priste.policy.adversary_choice import AdversaryChoice, adversary_section

    choice = AdversaryChoice.read(
        adversary_section(adversary), policy.grid, policy.regions, policy.timeline.step, Path()
    )
    return replace(policy, adversary_choice=choice)


def _assumed(policy: Policy, chosen: str | None, alpha: float | None) -> Mechanism:
    """Return the mechanism that a trace of positions is taken to come from."""
    from priste.audit import at_level
    from priste.mechanisms import Identity

    if chosen == "identity":
        if alpha is not None:
            raise InvalidParameter("--mechanism identity adds no noise: leave out --alpha.")
        return Identity(policy.grid)
    return policy.mechanism if alpha is None else at_level(policy.mechanism, alpha)


def _refuse_calibrated(policy: Policy, name: str) -> None:
    """Refuse to judge by plain noise what a calibrator of this policy may have released."""
    raise InvalidParameter(
        f"All positions of {name} are centres of the policy's cells, as protect releases them, and "
        f"the calibrator of the policy is {policy.calibrator.describe()['kind']!r}. Judged as "
        "plain noise they would seem to tell far more, or less, than they do. Audit the ledger "
        "that protect wrote beside them. If they do come from the mechanism without a "
        "calibrator, say --mechanism policy."
    )


def _of_ledger(
    policy: Policy,
    ledgers: Mapping[str | None, Ledger],
    whose: PolicyOf | None,
    traces: Traces | None,
) -> Audit:
    from priste.results import audit_releases, columns_of_releases, policy_of_ledger

    found: dict[str | None, Audits] = {}
    own: dict[str | None, Policy] = {
        user: policy if whose is None else whose(user) for user in ledgers
    }
    for trace in traces or ():
        if trace.user in own:
            own[trace.user] = own[trace.user].for_user(trace)
    with progress("Auditing") as tell:
        for number, (user, ledger) in enumerate(ledgers.items(), start=1):
            own[user] = policy_of_ledger(own[user], ledger)
            found[user] = audit_releases(own[user], ledger)
            tell(number, len(ledgers))
    made = f"{policy.mechanism!r} at the budgets of the ledger"
    return _with_other_models(
        Audit(policy, made, found, ours=True, own=own),
        lambda user: (own[user], columns_of_releases(own[user], ledgers[user])),
    )


def _with_other_models(
    audit: Audit, stream: Callable[[str | None], tuple[Policy, Sequence[Floats | None]]]
) -> Audit:
    """Add what the worst users' streams tell if people move otherwise than the model says."""
    from priste.results import other_adversaries

    with progress("Comparing models"):
        worst = {user for user, _ in audit.worst().values()}
        otherwise = {user: other_adversaries(*stream(user)) for user in worst}
    return replace(audit, otherwise=otherwise)


def _of_trace(
    policy: Policy,
    path: Path,
    reading: Reading,
    users: Sequence[str],
    whose: PolicyOf | None,
    *,
    sure: bool,
) -> Audit:
    """Audit positions, taken to come from the policy's mechanism at full budget.

    Positions between centres are snapped to cells. Unless that is ``sure``, positions that a
    calibrator may have released are refused.
    """
    from priste.audit import share_off_centre
    from priste.results import audit_cells, columns_of_cells

    found: dict[str | None, Audits] = {}
    own: dict[str | None, Policy] = {}
    released: dict[str | None, tuple[int | None, ...]] = {}
    wanted = {user or None for user in users}
    off_centre, fixes = 0.0, 0
    with progress("Auditing") as tell:
        for number, trace in enumerate(reading.open(path), start=1):
            if wanted and trace.user not in wanted:
                continue
            off = share_off_centre(policy.grid, trace.lat, trace.lon)
            if not sure and not off and policy.calibrator.guaranteed:
                _refuse_calibrated(policy, path.name)
            off_centre, fixes = off_centre + off * len(trace), fixes + len(trace)
            own[trace.user] = whose(trace.user) if whose else policy
            released[trace.user] = own[trace.user].for_user(trace).cells(trace).cells
            found[trace.user] = audit_cells(own[trace.user], released[trace.user])
            tell(number, number)
    if not found:
        raise InvalidParameter(f"{path.name} holds no fixes of {', '.join(users)}.")
    return _with_other_models(
        Audit(
            policy,
            f"{policy.mechanism!r} at every step",
            found,
            ours=False,
            own=own,
            snapped=off_centre / fixes,
        ),
        lambda user: (own[user], columns_of_cells(own[user], released[user])),
    )


def sparkline(values: Sequence[float], width: int = WIDTH) -> str:
    """Return a line of bars, the largest value of each stretch; ∞ where it is unbounded.

    A value below 0 (releases have spoken in the free direction only) is shown as nothing.

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
