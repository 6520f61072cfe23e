"""The made-up town, in a folder: traces and policy of the demonstrations."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from priste.traces import write_traces
from priste.traces.town import ada, residents

RESIDENTS = 40
"""How many other people of the town its model is fitted on."""


def town_policy() -> str:
    """Return the text of the policy of Ada's two weeks; it names a file ``residents.csv``."""
    return files("priste.policy").joinpath("town.toml").read_text(encoding="utf-8")


def build_town(folder: Path, *, weeks_before: int = 0) -> None:
    """Write ``residents.csv``, ``ada.csv`` and ``policy.toml``.

    ``weeks_before`` the clock are what a service may hold of her: a model to guard, too.
    """
    write_traces(residents(RESIDENTS), folder / "residents.csv")
    write_traces([ada(weeks_before=weeks_before)], folder / "ada.csv")
    (folder / "policy.toml").write_text(town_policy(), encoding="utf-8")
