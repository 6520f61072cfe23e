"""The paper's evaluation, made again: every figure and table, one command.

:func:`reproduce` runs experiments of the catalogue, on all cores and resumably, and writes
tables, figures, the settings that made them, and one page that shows it all.
"""

from __future__ import annotations

from priste.reproduce.catalogue import CATALOGUE
from priste.reproduce.experiments.experiment import Experiment, Finding, Settings, settings_for
from priste.reproduce.reproduction import Reproduced, reproduce

__all__ = [
    "CATALOGUE",
    "Experiment",
    "Finding",
    "Reproduced",
    "Settings",
    "reproduce",
    "settings_for",
]
