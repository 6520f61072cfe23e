"""The events of a setting: text, tree, sentence, steps, and probability."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from pydantic import ValidationError

from priste.errors import EventSyntaxError, PristeError
from priste.events import Guarded, Secret
from priste.maps import Region
from priste.policy import Ground, Policy, PolicyEvent
from priste.policy.calendar import StepReader, periods
from priste.policy.guarded_rules import GuardedRule, occurrences, rule_of
from priste.policy.policy import OFF_MAP
from priste.policy.sections import EventSection, GuaranteeSection
from priste.quantify import KnownPrior, Quantifier
from priste.results import percent
from priste.studio.event_picture import Structure, formula_of, structure_of
from priste.studio.event_sentence import answers_sentence, sentence
from priste.studio.setting import event_table, ground_of_setting, secret_table
from priste.studio.wire import Refused, read_numbers, whole_numbers

_PLACED = re.compile(r"The event cannot be read at character \d+\. ")


def read_events(setting: Mapping[str, Any], files: Sequence[str]) -> dict[str, Any]:
    """Return every event and secret of a setting as read; a mistake does not affect the others.

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
    listed = {what: setting.get(what, []) for what in ("events", "secrets")}
    for what, given in listed.items():
        if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
            raise Refused(422, f"The {what} must be a list of objects.")

    def read(rule: GuardedRule) -> dict[str, Any]:
        found, missed = occurrences(rule, regions, ground.timeline, steps)
        every = {step for each in found for step in steps_of(each.guarded)}
        # A week that the clock cuts may have fewer answers than a whole one.
        answers: list[str] = max([list(answers_of(each.guarded)) for each in found], key=len)
        return {
            "name": rule.name,
            "ok": True,
            "steps": whole_numbers(sorted(every)),
            "answers": answers,
            "unguarded": [{"period": gap.period, "reason": gap.reason} for gap in missed],
        }

    events, formulas = [], {}
    for event in listed["events"]:
        answered = _answered(event, partial(_event, event, regions, ground, steps, read))
        events.append(answered)
        formulas[answered["name"]] = (answered["formula"], event.get("every"))
    secrets = [
        _answered(each, partial(_secret, each, formulas, read)) for each in listed["secrets"]
    ]
    return {"events": events, "secrets": secrets}


def _answered(given: Mapping[str, Any], read: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return what was read, or what is wrong with it."""
    message, position = "", None
    try:
        return read()
    except Refused as refusal:
        message = refusal.message
    except ValidationError:
        message = "An event needs a 'formula', and 'every' day or week."
    except EventSyntaxError as error:
        message, position = _first_line(str(error)), error.position
    except (PristeError, ValueError) as error:
        message = str(error)
    problem = {"message": message, "position": position}
    name, formula = str(given.get("name", "")), given.get("formula")
    return {"name": name, "ok": False, "formula": formula, "problem": problem}


def _event(
    event: Mapping[str, Any],
    regions: Mapping[str, Any],
    ground: Ground,
    steps: int,
    read: Callable[[GuardedRule], dict[str, Any]],
) -> dict[str, Any]:
    tree = event.get("structure")
    formula = event.get("formula") if tree is None else formula_of(tree)
    section = EventSection.model_validate(event_table({**event, "formula": formula}))
    found = read(rule_of(str(event.get("name", "")), section))
    tree = _structure(section, regions, ground, steps)
    said = sentence(tree, section.every, ground.timeline, section.span or 1)
    return {**found, "formula": section.formula, "structure": tree, "sentence": said}


def _secret(
    secret: Mapping[str, Any],
    formulas: Mapping[str, tuple[str, str | None]],
    read: Callable[[GuardedRule], dict[str, Any]],
) -> dict[str, Any]:
    """Read events that are guarded together, or a secret with a formula for each answer."""
    path, section = ("secrets", str(secret.get("name", ""))), GuaranteeSection()
    if secret.get("answers") is not None:
        own = secret_table(secret)["answers"]
        rule = GuardedRule(path, section, own, "answers", secret.get("every"))
    else:
        members = [formulas[each] for each in secret.get("together", []) if each in formulas]
        if len(members) < 2:
            raise Refused(422, "Choose at least two to guard together.")
        if len({every for _, every in members}) > 1:
            raise Refused(422, "What is guarded together happens equally often: choose it alike.")
        own = {each: formulas[each][0] for each in secret["together"]}
        rule = GuardedRule(path, section, own, "together", members[0][1])
    found = read(rule)
    return {**found, "sentence": answers_sentence(found["answers"], rule.every)}


def answers_of(guarded: Guarded) -> tuple[str, ...]:
    """Return the answers that no release may distinguish; none for a plain event."""
    return guarded.answers if isinstance(guarded, Secret) else ()


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
