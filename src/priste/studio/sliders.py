"""The positions of the page's sliders: real adversaries, guarantees and noises, each in words."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

from priste.errors import PristeError
from priste.policy import Policy
from priste.policy.adversary_choice import AdversaryChoice
from priste.policy.sections import AdversarySection, GuaranteeSection
from priste.results import length
from priste.studio.setting import alpha_of

ADVERSARIES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("Knows the population", "Knows the population and your home", {"knows": "population"}),
    *(
        (
            f"Near the population, within {factor}×",
            f"Near what your home makes likely, within {factor}×",
            {"knows": "near", "factor": float(factor)},
        )
        for factor in (2, 10)
    ),
    *(
        (title, title, {"knows": "stale", "hours": hours})
        for title, hours in (
            ("Saw you a day before", 24.0),
            ("Saw you 8 hours before", 8.0),
            ("Saw you 2 hours before", 2.0),
        )
    ),
    ("Any prior: whatever it knows", "Any prior: whatever it knows", {"knows": "anything"}),
)
"""From the adversary who knows least to any prior: without a home that is known, and with one."""

EPSILONS = (0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0)
BELIEFS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7)
METRES = (100.0, 250.0, 500.0, 1000.0, 2000.0)


def adversaries(policy: Policy) -> list[dict[str, Any]]:
    """Return the adversaries that this policy could be against, in order; some maps have fewer.

    Each is in words with the homes that the policy knows, and ``without_home`` as it is when the
    place of that name is taken away.
    """
    found: list[dict[str, Any]] = []
    step: timedelta = policy.timeline.step
    movers = [chosen.movers for chosen in policy.chosen_models]
    for plain, at_home, section in ADVERSARIES:
        if section.get("hours", math.inf) * 3600 < step.total_seconds():
            continue  # the same as any prior: it is where the user began
        choice = AdversaryChoice(AdversarySection.model_validate(section), None, {}, step)
        try:
            words = choice.adversary(policy.models, movers, policy.family).words
            without = choice.adversary(policy.models).words
        except PristeError:
            continue
        found.append(
            {
                "title": at_home if policy.homes else plain,
                "words": words,
                "without_home": {"title": plain, "words": without},
                "adversary": section,
            }
        )
    return found


def guarantees() -> dict[str, list[dict[str, Any]]]:
    """Return how far odds may move, how far they may rise, and how sure it may get.

    Each with its words, strongest first.
    """
    stops = {
        "guarantees": [{"epsilon": epsilon} for epsilon in EPSILONS],
        "upward": [{"odds_up": epsilon} for epsilon in EPSILONS],
        "beliefs": [{"belief_at_most": cap} for cap in BELIEFS],
    }
    return {name: [_guarantee(each) for each in listed] for name, listed in stops.items()}


def _guarantee(section: dict[str, float]) -> dict[str, Any]:
    found = GuaranteeSection.model_validate(section).guarantee()
    return {"words": "" if found is None else found.words(), "guarantee": section}


def protections(cell_km: float) -> list[dict[str, Any]]:
    """Return noises before calibration in metres, the one that suits the cells among them."""
    usual = round(1000 * cell_km)
    choices = sorted({*METRES, float(usual)})
    return [
        {
            "title": f"about {length(metres)}",
            "metres": metres,
            "alpha": alpha_of(metres),
            "words": f"Before calibration a released point lies {length(metres)} from the truth on "
            "average.",
        }
        for metres in choices
    ]
