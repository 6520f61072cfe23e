"""Policies and events made from their grammar, so that most of them can be read."""

from __future__ import annotations

import json
import random
from typing import Any

from tests.fuzzing.mutation import ODD_TEXTS

GUARANTEES = ("epsilon", "odds_up", "odds_down", "belief_at_most")
REGIONS = ("clinic", "home", "work")
MECHANISMS = ("planar-laplace", "planar-isotropic", "identity", "uniform")


def event(rng: random.Random, steps: int, depth: int = 3, *, clock: bool = False) -> str:
    """A formula of the event language; with ``clock`` in times of the day alone."""
    kind = rng.random()
    if depth and kind < 0.35:
        operator = rng.choice((" and ", " or ", " or "))
        parts = [event(rng, steps, depth - 1, clock=clock) for _ in range(rng.randint(2, 3))]
        return "(" + operator.join(parts) + ")"
    if depth and kind < 0.45:
        return "not " + event(rng, steps, depth - 1, clock=clock)
    kind = rng.random()
    if not clock and depth and kind < 0.02:  # alone they say nothing, and are refused
        return rng.choice(("true", "false"))
    place, first = _region(rng), rng.randrange(steps)
    last = rng.randrange(first, steps)
    if clock:
        when, span = f'"{first:02d}:00"', f'"{first:02d}:00-{last + 1:02d}:00"'
    else:
        when, span = str(first), rng.choice((f"{first}..{last}", str(first)))
    if kind < 0.25 and not clock:  # a time of the day is a step of every day
        return f"at({place}, {when})"
    if kind < 0.6:
        return f"presence({place}, {span})"
    if kind < 0.75 and not clock:
        return f"pattern({place}@{when})"
    return f"at_least({rng.randint(1, last - first + 1)}, {place}, {span})"


def _region(rng: random.Random) -> str:
    if rng.random() < 0.8:
        return rng.choice(REGIONS)
    return "{" + ", ".join(str(rng.randrange(4)) for _ in range(rng.randint(1, 3))) + "}"


def spoilt(text: str, rng: random.Random) -> str:
    """A formula with a sign or word exchanged, or nested deeply."""
    if rng.random() < 0.1:
        count = rng.choice((5, 500, 50_000))
        return rng.choice(("(" * count + text + ")" * count, "not " * count + text, text + ")"))
    place = rng.randrange(len(text))
    return text[:place] + rng.choice([*ODD_TEXTS, *"(),@{}"]) + text[place + rng.randint(0, 3) :]


def policy(rng: random.Random) -> dict[str, dict[str, Any]]:
    """The tables of a policy on a small map; nearly all of them mean something."""
    several = rng.random() < 0.2
    release = _release(rng)
    tables: dict[str, dict[str, Any]] = {
        "map": {
            "south": 46.0, "west": 7.0, "north": 46.0355, "east": 7.0515,
            "cell_size": rng.choice((1.0, 1.0, 2.0)),
        },
        "clock": _clock(rng),
        "mobility": _mobility(rng, several=several),
        "mechanism": _mechanism(rng),
        "guarantee": {key: release.pop(key) for key in GUARANTEES if key in release},
        "release": release,
    }  # fmt: skip
    if rng.random() < 0.1:
        release["outside"] = "off-map"
        tables["mobility"]["away_hours"] = 2
    belief = "belief_at_most" in tables["guarantee"]
    if rng.random() < 0.5 or belief:
        tables["adversary"] = _adversary(rng, near=not several, belief=belief)
    for name in REGIONS:
        tables[f"regions.{name}"] = _place(rng)
    for number in range(rng.randint(1, 2)):
        clock = rng.random() < 0.4
        formula: dict[str, Any] = {"formula": event(rng, 8, rng.choice((0, 0, 0, 1)), clock=clock)}
        if clock and rng.random() < 0.4:
            formula["every"] = rng.choice(("day", "day", "week"))
        if rng.random() < 0.2:
            formula["epsilon"] = 1.2
        tables[f"events.e{number}"] = formula
    return tables


def _clock(rng: random.Random) -> dict[str, Any]:
    clock: dict[str, Any] = {
        "start": "2026-03-04T00:00:00",
        "step": rng.choice(("1h", "60 min")),
    }
    clock.update(rng.choice(({"steps": 48}, {"end": "2026-03-05T00:00:00"})))
    clock.update(rng.choice(({}, {"zone": "Europe/Zurich"}, {"rule": "any"})))
    return clock


def _mobility(rng: random.Random, *, several: bool) -> dict[str, Any]:
    mobility: dict[str, Any] = rng.choice(
        (
            {"kind": "gaussian", "sigma": rng.choice((0.5, 1.0, 3))},
            {"kind": "stay-or-go", "stay": 0.7},
            {"kind": "stay-or-go", "stay": 0, "stay_at_night": 0.9, "decay": 2.5},
        )
    )
    if several:
        mobility["family"] = rng.choice((["wide"], ["narrow"], ["narrow", "wide"]))
    return mobility


def _mechanism(rng: random.Random) -> dict[str, Any]:
    mechanism: dict[str, Any] = {"kind": rng.choice(MECHANISMS)}
    if "planar" in mechanism["kind"]:
        mechanism["alpha"] = rng.choice((0.1, 1.5))
    if mechanism["kind"] == "planar-isotropic" or rng.random() < 0.2:
        mechanism["delta"] = 0.1
    return mechanism


def _release(rng: random.Random) -> dict[str, Any]:
    release: dict[str, Any] = rng.choice(
        (
            {"epsilon": 0.8},
            {"epsilon": 0.5, "pace": 0.3},
            {"epsilon": 1, "calibrator": rng.choice(("certified", "optimal"))},
            {"odds_up": 1.0},
            {"odds_up": 1.0, "odds_down": 2},
            {"belief_at_most": 0.95},
            {
                "epsilon": 0.5,
                "calibrator": rng.choice(("uncalibrated", "paper")),
                "no_guarantee": True,
            },
        )
    )
    return {**release, **rng.choice(({}, {}, {"points": "random"}, {"outside": "nearest"}))}


def _adversary(rng: random.Random, *, near: bool, belief: bool) -> dict[str, Any]:
    """Whom the guarantee is against; for beliefs somebody whose belief before is one."""
    population: dict[str, Any] = rng.choice(
        ({"knows": "population"}, {"knows": "population", "also": ["home"]})
    )
    if belief:
        return population
    anything: dict[str, Any] = {"knows": "anything"}
    return rng.choice(
        (
            anything,
            population,
            {"knows": "stale", "hours": rng.choice((1, 2.5))},
            {"knows": "near", "factor": 2.0} if near else anything,
            {"knows": "starts", "also": ["home"]},
        )
    )


def _place(rng: random.Random) -> dict[str, Any]:
    place: dict[str, Any] = rng.choice(
        (
            {"cells": [rng.randrange(4)]},
            {"circle": {"lat": 46.01, "lon": 7.02, "radius_km": 0.7}},
            {"box": {"south": 46.0, "west": 7.0, "north": 46.01, "east": 7.02}},
            {"polygon": [[46.0, 7.0], [46.02, 7.0], [46.0, 7.02]]},
        )
    )
    return {**place, "cover": "touching"} if rng.random() < 0.1 else place


def as_toml(tables: Any) -> str:
    """The text of tables, also of such as TOML could not hold."""
    lines = []
    for name, table in tables.items() if isinstance(tables, dict) else ():
        lines.append(f"[{name}]")
        for key, value in table.items() if isinstance(table, dict) else ():
            lines.append(f"{key or 'x'} = {_value(key, value)}")
    return "\n".join(lines)


def _value(key: str, value: Any) -> str:
    if key in ("start", "end") and isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k or 'x'} = {_value(k, v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_value("", inner) for inner in value) + "]"
    if isinstance(value, str) and "\n" not in value and "'" not in value:
        return f"'{value}'"
    return json.dumps(value)
