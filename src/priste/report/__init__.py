"""What a person looks at: the HTML report and its figures."""

from priste.report.assembly import stream_report, uncalibrated_cells, uncalibrated_releases
from priste.report.audits import (
    anybody_learns,
    audit_cells,
    audit_releases,
    columns_of_cells,
    columns_of_releases,
    keeps_its_guarantees,
    policy_of_ledger,
)
from priste.report.figures import figures_of, save_figures
from priste.report.other_movement import if_people_move_otherwise
from priste.report.outline import read_outline
from priste.report.page import render, write_html
from priste.report.run_reports import MOST_SHOWN, choose_ledgers, run_reports
from priste.report.run_summary import RunSummary, RunTotals, UserSummary, summarise_run
from priste.report.stream_report import EventTrack, StreamReport
from priste.report.usefulness import Usefulness, Worth, constant_worth, usefulness
from priste.report.verdict import Verdict, together, verdict, within
from priste.report.wording import length, odds, percent, who_learns_most

__all__ = [
    "MOST_SHOWN",
    "EventTrack",
    "RunSummary",
    "RunTotals",
    "StreamReport",
    "Usefulness",
    "UserSummary",
    "Verdict",
    "Worth",
    "anybody_learns",
    "audit_cells",
    "audit_releases",
    "choose_ledgers",
    "columns_of_cells",
    "columns_of_releases",
    "constant_worth",
    "figures_of",
    "if_people_move_otherwise",
    "keeps_its_guarantees",
    "length",
    "odds",
    "percent",
    "policy_of_ledger",
    "read_outline",
    "render",
    "run_reports",
    "save_figures",
    "stream_report",
    "summarise_run",
    "together",
    "uncalibrated_cells",
    "uncalibrated_releases",
    "usefulness",
    "verdict",
    "who_learns_most",
    "within",
    "write_html",
]
