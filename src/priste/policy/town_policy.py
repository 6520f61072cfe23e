"""The policy of the town that does not exist: what its demonstrations begin with."""

from __future__ import annotations

from importlib.resources import files

RESIDENTS = 40
"""How many other people of the town its model is fitted on."""


def town_policy() -> str:
    """Return the text of the policy of Ada's two weeks; it names a file ``residents.csv``."""
    return files("priste.policy").joinpath("town.toml").read_text(encoding="utf-8")
