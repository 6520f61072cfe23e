"""What the events of a setting say: text, tree, sentence, steps, and how likely they are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from priste.errors import EventSyntaxError, PristeError
from priste.events import Guarded
from priste.maps import Region
from priste.policy import Ground, Policy, PolicyEvent
from priste.policy.calendar import StepReader, periods
from priste.policy.guarded_rules import occurrences, rule_of
from priste.policy.policy import OFF_MAP, event_label
from priste.policy.sections import EventSection
from priste.quantify import KnownPrior, Quantifier
from priste.results import percent
from priste.studio.event_picture import Structure, formula_of, structure_of
from priste.studio.event_sentence import sentence
from priste.studio.setting import ground_of_setting
from priste.studio.wire import Refused, read_numbers, whole_numbers

_PLACED = re.compile(r"The event cannot be read at character \d+\. ")


def read_events(setting: Mapping[str, Any], files: Sequence[str]) -> list[dict[str, Any]]:
    """Return how each event of a setting reads; a mistake in one leaves the others readable.

    Only the map, the clock, the regions and the events matter: no model is asked.
    """
    ground = ground_of_setting(setting, files)
    steps = setting["clock"].get("steps")
    if type(steps) is not int or steps < 1:
        raise Refused(422, "The clock of a setting needs 'steps', a whole number >= 1.")
    regions: dict[str, Region | tuple[int, ...]] = {}
    for region in setting.get("regions", []):
        cells = read_numbers(region.get("cells"), "cells of a region")
        # A region that nothing is painted of yet is one mistake, not one more per event.
        regions[str(region.get("name"))] = Region(ground.grid, cells) if cells else (0,)
    if ground.outside == OFF_MAP:
        regions[OFF_MAP] = Region(ground.grid, ground.grid.border)
    events = setting.get("events")
    if not isinstance(events, list):
        raise Refused(422, "The events must be a list.")
    return [_read(event, regions, ground, steps) for event in events]


def _read(event: Any, regions: Mapping[str, Any], ground: Ground, steps: int) -> dict[str, Any]:
    if not isinstance(event, dict):
        raise Refused(422, "An event must be an object.")
    name, formula = str(event.get("name", "")), event.get("formula")
    try:
        if event.get("structure") is not None:
            formula = formula_of(event["structure"])
        section = EventSection.model_validate({"formula": formula, "every": event.get("every")})
        rule = rule_of(name, section)
        found, missed = occurrences(rule, regions, ground.timeline, steps)
    except Refused as refusal:
        return _unread(name, formula, refusal.message, None)
    except ValidationError:
        return _unread(name, formula, "An event needs a 'formula', and 'every' day or week.", None)
    except EventSyntaxError as error:
        return _unread(name, formula, _first_line(str(error)), error.position)
    except (PristeError, ValueError) as error:
        return _unread(name, formula, str(error), None)
    tree = _structure(section, regions, ground, steps)
    every = {step for each in found for step in steps_of(each.guarded)}
    return {
        "name": name,
        "ok": True,
        "formula": section.formula,
        "structure": tree,
        "sentence": sentence(tree, section.every, ground.timeline),
        "steps": whole_numbers(sorted(every)),
        "occurrences": [
            {
                "name": event_label(name, each.period),
                "steps": whole_numbers(steps_of(each.guarded)),
                "partly": each.partly,
            }
            for each in found
        ],
        "unguarded": [{"period": gap.period, "reason": gap.reason} for gap in missed],
    }


def _unread(name: str, formula: object, message: str, position: int | None) -> dict[str, Any]:
    problem = {"message": message, "position": position}
    return {"name": name, "ok": False, "formula": formula, "problem": problem}


def _first_line(message: str) -> str:
    """Return the words of a syntax error; the page itself shows the place."""
    return _PLACED.sub("", message.partition("\n")[0])


def steps_of(event: Guarded) -> list[int]:
    """Return the steps that an event speaks of."""
    return [layer.step for layer in event.automaton().layers]


def _structure(
    section: EventSection, regions: Mapping[str, Any], ground: Ground, steps: int
) -> Structure | None:
    """Return the tree of a formula that reads; of a recurring one in the first period that does."""
    if section.every is None:
        return structure_of(section.formula, regions, StepReader(ground.timeline, steps))
    for period in periods(ground.timeline, steps, section.every):
        reader = StepReader(ground.timeline, steps, period)
        try:
            return structure_of(section.formula, regions, reader)
        except EventSyntaxError:
            continue
    return None


def chance_before(
    policy: Policy, event: PolicyEvent, known: Quantifier | None = None
) -> dict[str, float]:
    """Return how likely an event is before any release.

    ``lowest`` and ``highest`` bound it over the priors of the policy's adversary, from outside;
    ``population`` is what somebody thinks who knows where people are, and all models alike:
    ``known`` is the quantifier of such a one, where there is one already.
    """
    adversary = policy.chosen_adversary.adversary
    lowest, highest = Quantifier(policy.models, event.event, adversary).prior_range()
    known = known or Quantifier(policy.models, event.event, KnownPrior(policy.population))
    population = known.posterior()
    return {"lowest": lowest, "highest": highest, "population": population}


def chances(policy: Policy) -> list[dict[str, Any]]:
    """Return how likely each event of a policy is before any release, in numbers and words."""
    found = []
    for name, event in policy.events.items():
        chance = chance_before(policy, event)
        low, high = percent(chance["lowest"]), percent(chance["highest"])
        words = (
            f"{low} before any release"
            if low == high
            else (f"between {low} and {high} before any release, as the adversary's beliefs go")
        )
        found.append({"name": name, "event": event.name, **chance, "words": words})
    return found
