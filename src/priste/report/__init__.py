"""The HTML report and its figures."""

from priste.report.assembly import stream_report, uncalibrated_releases
from priste.report.figures import save_figures
from priste.report.page import render, write_html
from priste.report.run_reports import MOST_SHOWN, choose_ledgers, is_short, run_reports
from priste.report.stream_report import EventTrack, StreamReport

__all__ = [
    "MOST_SHOWN",
    "EventTrack",
    "StreamReport",
    "choose_ledgers",
    "is_short",
    "render",
    "run_reports",
    "save_figures",
    "stream_report",
    "uncalibrated_releases",
    "write_html",
]
