"""The policies that a user tries: many texts, few models, each made once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from priste.errors import PolicyError
from priste.maps import Region
from priste.policy import Document, Ground, Policy, read_policy
from priste.policy.model_choice import ChosenModel, at_home_of, roaming_models
from priste.policy.sections import MobilitySection
from priste.studio.setting import checked_ground, mistakes

Kept = TypeVar("Kept")
Models = tuple[ChosenModel, ...]

KEPT = 6
"""How many policies, and how many models, are remembered."""


class Policies:
    """Reads policies whose files are in one folder; asks for a model only when it is a new one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: OrderedDict[str, Policy] = OrderedDict()
        self._roaming: OrderedDict[str, Models] = OrderedDict()
        self._models: OrderedDict[str, Models] = OrderedDict()
        self._turn = threading.Lock()

    def policy(self, text: str) -> Policy:
        """Return the policy of a text; Refused with every mistake if it has any."""

        def read() -> Policy:
            try:
                checked_ground(Document.from_toml(text))
                return read_policy(text, folder=self._folder, choose_models=self._chosen_models)
            except PolicyError as error:
                raise mistakes(error) from None

        with self._turn:  # two questions about one policy make its model once
            return _kept(self._read, text, read)

    def _chosen_models(
        self,
        section: MobilitySection,
        ground: Ground,
        regions: Mapping[str, Region],
        folder: Path,
    ) -> Models:
        """Return the models of a section; a home that is painted anew makes no others fitted."""
        key = repr((section, ground))
        roaming = _kept(self._roaming, key, lambda: roaming_models(section, ground, folder))
        home = regions.get(section.home or "", ())
        return _kept(
            self._models,
            f"{key} {tuple(home)}",
            lambda: at_home_of(section, roaming, regions, ground.timeline),
        )


def _kept(shelf: OrderedDict[str, Kept], key: str, make: Callable[[], Kept]) -> Kept:
    """Return what a shelf holds under a key, made if it is not there; it holds the newest."""
    if key not in shelf:
        shelf[key] = make()
        while len(shelf) > KEPT:
            shelf.popitem(last=False)
    shelf.move_to_end(key)
    return shelf[key]
