"""What a run produced: verdicts, usefulness and audits, per user and event."""

from priste.results.audits import (
    AnyPriorLeakage,
    any_prior_leakage,
    any_prior_work,
    audit_cells,
    audit_releases,
    columns_of_cells,
    columns_of_releases,
    keeps_its_guarantees,
    policy_of_ledger,
    released_cells,
)
from priste.results.evaluation import Evaluation, evaluate
from priste.results.other_adversaries import other_adversaries
from priste.results.policy_audits import (
    PolicyAudit,
    assumed_mechanism,
    audit_ledgers,
    audit_traces,
    judged_against,
    policies_of_ledgers,
)
from priste.results.run_summary import RunSummary, RunTotals, UserSummary, summarise_run
from priste.results.true_steps import TrueSteps, true_steps
from priste.results.usefulness import (
    CONSTANT,
    PRISTE,
    UNCALIBRATED,
    OffMap,
    PersonErrors,
    RunErrors,
    Usefulness,
    Worth,
    fine_steps,
    person_errors,
    usefulness,
)
from priste.results.verdict import Verdict, together, verdict, within
from priste.results.wording import length, moved, odds, percent, who_learns_most

__all__ = [
    "CONSTANT",
    "PRISTE",
    "UNCALIBRATED",
    "AnyPriorLeakage",
    "Evaluation",
    "OffMap",
    "PersonErrors",
    "PolicyAudit",
    "RunErrors",
    "RunSummary",
    "RunTotals",
    "TrueSteps",
    "Usefulness",
    "UserSummary",
    "Verdict",
    "Worth",
    "any_prior_leakage",
    "any_prior_work",
    "assumed_mechanism",
    "audit_cells",
    "audit_ledgers",
    "audit_releases",
    "audit_traces",
    "columns_of_cells",
    "columns_of_releases",
    "evaluate",
    "fine_steps",
    "judged_against",
    "keeps_its_guarantees",
    "length",
    "moved",
    "odds",
    "other_adversaries",
    "percent",
    "person_errors",
    "policies_of_ledgers",
    "policy_of_ledger",
    "released_cells",
    "summarise_run",
    "together",
    "true_steps",
    "usefulness",
    "verdict",
    "who_learns_most",
    "within",
]
