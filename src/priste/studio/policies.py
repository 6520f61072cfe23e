"""Policies as they are tried out: many texts, few models, each made once."""

from __future__ import annotations

import re
import threading
import tomllib
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from priste.errors import PolicyError
from priste.maps import Region
from priste.policy import Ground, Policy, read_policy
from priste.policy.model_choice import ChosenModel, at_home_of, roaming_models
from priste.policy.policy_reader import PolicyReader
from priste.policy.sections import MobilitySection
from priste.studio.size_limits import check_size
from priste.studio.wire import Problem, Refused

Kept = TypeVar("Kept")
Models = tuple[ChosenModel, ...]

KEPT = 6
"""How many policies, and how many models, are remembered."""

_PLACE = re.compile(r"(?:line \d+: )?([^:\s]+): (.*)", re.DOTALL)


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
            read_ground(text)
            try:
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


def read_ground(text: str) -> Ground:
    """Return the map and the clock of a policy's text alone; Refused with their mistakes.

    A map of too many cells is one: everything else takes memory for each of them.
    """
    tables = tomllib.loads(text)
    # Whether the map is too large for this adversary is said in the studio's own words.
    apart = {**tables, "adversary": {"knows": "population"}}
    try:
        found = PolicyReader(text, apart, Path("."), "The setting").ground()
    except PolicyError as error:
        raise mistakes(error) from None
    check_size(found.grid, tables.get("adversary", {}).get("knows"))
    return found


def mistakes(error: PolicyError) -> Refused:
    """Return the mistakes of a policy as an answer, without the lines of a file nobody sees."""
    problems = []
    for each in error.problems or (str(error),):
        found = _PLACE.fullmatch(each)
        path, message = (found[1], found[2]) if found else ("", each)
        problems.append(Problem(path, message))
    return Refused(
        422, "\n".join(map(_sentence, problems)), "Change what is named, then try again.", problems
    )


def _sentence(problem: Problem) -> str:
    """Return a mistake in words; one that is no sentence of its own says where it is."""
    if not problem.path or problem.message[:1].isupper():
        return problem.message
    return f"{problem.path}: {problem.message}"
