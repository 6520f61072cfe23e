"""What a person looks at: the HTML report and its figures."""

from priste.report.figures import figures_of, save_figures
from priste.report.page import render, write_html
from priste.report.stream_report import EventTrack, StreamReport, odds, percent

__all__ = [
    "EventTrack",
    "StreamReport",
    "figures_of",
    "odds",
    "percent",
    "render",
    "save_figures",
    "write_html",
]
