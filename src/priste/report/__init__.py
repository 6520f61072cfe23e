"""What a person looks at: the HTML report and its figures."""

from priste.report.assembly import bare_releases, stream_report
from priste.report.audits import audit_cells, audit_releases
from priste.report.figures import figures_of, save_figures
from priste.report.page import render, write_html
from priste.report.stream_report import EventTrack, StreamReport, odds, percent

__all__ = [
    "EventTrack",
    "StreamReport",
    "audit_cells",
    "audit_releases",
    "bare_releases",
    "figures_of",
    "odds",
    "percent",
    "render",
    "save_figures",
    "stream_report",
    "write_html",
]
