# ruff: noqa: E501 (lines of a page)
"""The page *Red team*, made of the figures that the attacks left; what hurts comes first."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

EPSILON = 1.0
"""The guarantee of every policy that labelled streams are released under."""

WORLDS = {
    "model": "people drawn from the policy's model: the guarantee is about them",
    "residents": "residents of the town who have no part in the model, and do not move as it says",
    "ada": "one person, in weeks with the event and in the same weeks without it",
    "cabs": "days of Cabspotting",
    "geolife": "days of Geolife, of people that no choice has seen",
}

HEAD = """\
# Red team

Attacks on priste and on what people use in its place, by software from other projects where there is some. `make redteam` writes this page
from `benchmarks/results/redteam.json`. Results that hurt come first. The guarantee is ε = 1: odds move by a factor of at most e^1 = 2.72, for an adversary who
holds the [models of the policy](../explanation/threat-model.md#assumptions). An attack that stays below proves nothing: a better one may exist.

## What got above e^ε, and why

"""

STREAMS = "combination: [assumption 3, one stream a person](../explanation/threat-model.md#assumptions); [not covered: other people](../explanation/threat-model.md#not-covered)"
COMPANION = "combination: [not covered: other people](../explanation/threat-model.md#not-covered)"
EVENTS = (
    "combination: [not covered: combinations of events](../explanation/threat-model.md#not-covered)"
)

OWN_HISTORY = "model: the adversary's is better than the policy's: [assumption 1, movement](../explanation/threat-model.md#assumptions); [known issue](../known-issues.md)"
OTHER_MODEL = (
    "model: nothing guaranteed: [assumption 1](../explanation/threat-model.md#assumptions)"
)
ABOVE, PERHAPS, NOT_SHOWN = ORDER = ("**above**", "perhaps", "not shown")

LARGEST_AUC = math.exp(EPSILON) / (1.0 + math.exp(EPSILON))
"""No attacker has a larger area under the curve if ratios of likelihoods are within e^±ε."""

SYNTHETIC = {"ldptrace": "LDPTrace", "retrasyn": "RetraSyn"}

NOT_RUN = """\
## Not run

- **Privkit's map matching** asks for the shortest way between any two states within 1.5 km, at each release; the same question is put by leuvenmapmatching.
- **PrivTrace** (b06cef7 2022-12-09), another maker of synthetic data, was run and gave no file to attack. With numpy 1.23.5 and cvxpy 1.4.4 it makes its model of the same crowd
  in half a second. It then draws paths and drops most, until it has one for each person: with ε = 1 a run was ended after 170 CPU seconds without a file. In 20 CPU seconds it kept
  138 of 22,054 drawn paths with ε = 1, and none of 21,632 with ε = 2. It takes the box of its map from the true paths too (`discretization/grid.py`).
"""

RUN_AGAIN = """
## Run it again

- `make redteam`: everything on the built-in town, in about 25 minutes of processor time; it goes on where it was stopped. `make redteam ARGS=--quick`: a small form, in two minutes of it.
- `make redteam ARGS="geolife geolife-exact cabs cabs-exact --geolife DIR --cabs DIR"`: days of real people. A third or a quarter of the people is in the model; others are attacked.
- `make redteam ARGS="privkit --privkit DIR"`, `"ldptrace --ldptrace DIR"`, `"retrasyn --retrasyn DIR"`: programs of others. PyTorch is used where it is installed.
- `make redteam ARGS="model residents ada --way priste"`: one way of releasing alone, after its tables changed. Rows that are not run again stay, with their commits.
"""

PRIVKIT_NOT_RUN = """\
- **Privkit's attacks** (OptimalHW, OmniHW, PEBA, TopN) are written and were not run for this page: `--privkit DIR`.
"""


def page(kept: dict[str, Any]) -> str:
    """Return the page in Markdown; a part that was not run is left out."""
    worlds = {name: kept[name] for name in WORLDS if name in kept}
    worlds = {name: each for name, each in worlds.items() if {"priste", "exact"} <= {*each["ways"]}}
    exact = {name: kept[f"{name}-exact"] for name in WORLDS if f"{name}-exact" in kept}
    text = HEAD + _above(kept, worlds) + _nearer(exact)
    if "together" in kept:
        text += _together(kept["together"])
    if "own-history" in kept:
        text += _own_history(kept["own-history"])
    if exact:
        text += _exact(exact)
    if worlds:
        text += _attackers(worlds)
    if "privkit" in kept:
        text += _privkit(kept["privkit"])
    if "streets" in kept:
        text += _streets(kept["streets"])
    if made := {name: kept[key] for key, name in SYNTHETIC.items() if key in kept}:
        text += _synthetic(made)
    if "zones" in kept:
        text += _zones(kept["zones"])
    if "qif" in kept:
        text += _qif(kept["qif"])
    not_run = NOT_RUN if "privkit" in kept else NOT_RUN + PRIVKIT_NOT_RUN
    return text + not_run + RUN_AGAIN + _versions(kept)


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n\n"


def _factor(leakage: float | None) -> str:
    if leakage is None:
        return "certain"
    return f"{math.exp(leakage):.3g}" if leakage < 13 else "more than 400,000"


def _ways(worlds: dict[str, Any]) -> list[str]:
    """Return the ways of releasing that were measured in every world."""
    first, *others = (world["ways"] for world in worlds.values())
    return [way for way in first if all(way in other for other in others)]


def _best(attackers: dict[str, list[float]], figure: int) -> tuple[float, str]:
    return max((figures[figure], name) for name, figures in attackers.items())


def _above(kept: dict[str, Any], worlds: dict[str, Any]) -> str:
    rows = [*_combined(kept), *_trained(worlds), *_other_software(kept)]
    rows.sort(key=lambda row: ORDER.index(row[2]))
    broken = []
    for name, world in worlds.items():
        others = [way for way in world["ways"] if way != "priste"]
        above = [way for way in others if _best(world["ways"][way], 1)[0] > EPSILON]
        broken.append(f"{len(above)} of {len(others)} in *{name}*")
    others = f"Of the alternatives, a trained attacker is sure of more than e^ε about {', '.join(broken)}: tables below.\n\n"
    return _table(["attack on priste", "result", "e^ε", "why, and which limitation"], rows) + others


def _nearer(exact: dict[str, Any]) -> str:
    """Name the alternatives that cost less than priste and happened to reveal no more than e^ε."""
    found = []
    for name, world in exact.items():
        ours = world["ways"].get("priste", [None, None])[1]
        for way, (leakage, error) in world["ways"].items():
            within = leakage is not None and leakage <= EPSILON
            if way != "priste" and within and None not in (ours, error) and error < ours:
                found.append(
                    f"`{way}` in *{name}* (odds × {_factor(leakage)}; {error} m, priste {ours} m)"
                )
    if not found:
        return ""
    return (
        "Nearer to the truth than priste, and within e^ε in the streams whose leakage is computed exactly below: "
        f"{', '.join(found)}. Nothing guarantees that for other streams.\n\n"
    )


def _odds(leakage: float | None) -> str:
    return "certain" if leakage is None else f"odds × {_factor(leakage)}"


def _row(words: str, result: str, leakage: float | None, reason: str) -> list[str]:
    above = leakage is None or leakage > EPSILON
    return [words, result, ABOVE if above else NOT_SHOWN, reason]


def _combined(kept: dict[str, Any]) -> Iterator[list[str]]:
    """Yield what several releases tell together, and what another model does."""
    if "together" in kept:
        together = kept["together"]
        side = list(together["side_by_side"].values())
        every_time = together["weeks"]["each week by itself"][1]
        weeks = f'"every time" of {together["of_weeks"]} weeks, each guarded by itself'
        for words, leakage, reason in (
            ("two streams about one person, or about two who travel together", side[1], STREAMS),
            ("a companion's exact stream beside the person's own", side[-1], COMPANION),
            (weeks, every_time, EVENTS),
        ):
            yield _row(words, _odds(leakage), leakage, reason)
    if "own-history" in kept:
        leakage = kept["own-history"]["rows"]["priste"]["own_history"]
        words = "own history: an adversary who holds the person's other hours"
        yield _row(words, _odds(leakage), leakage, OWN_HISTORY)


def _trained(worlds: dict[str, Any]) -> Iterator[list[str]]:
    for name, world in worlds.items():
        auc, who = _best(world["ways"]["priste"], 0)
        sure = _best(world["ways"]["priste"], 1)[0]
        most = _best(world["ways"]["exact"], 1)[0]
        proven = f"sure: × {_factor(sure)}" if sure else "nothing sure"
        reason = "within the guarantee" if name == "model" else OTHER_MODEL
        if most <= EPSILON:
            reason = "no claim: so few streams could not show e^ε even of exact fixes"
        elif sure > EPSILON and name == "model":
            reason = "a mistake in priste: the guarantee is about these people"
        result = f"{proven}; best AUC {auc:.2f} ({who})"
        row = _row(f"{name}: {WORLDS[name]}", result, sure, reason)
        if auc > LARGEST_AUC and row[2] == NOT_SHOWN:
            row[1] += f": more than the {LARGEST_AUC:.2f} that e^ε allows, in a small sample"
            row[2] = PERHAPS
        yield row


def _other_software(kept: dict[str, Any]) -> Iterator[list[str]]:
    """Yield what software with attacks of its own proves."""
    if "privkit" in kept:
        attacks = kept["privkit"]["rows"]["priste"]
        sure, who = max((each["sure"], name) for name, each in attacks.items() if "sure" in each)
        words = "Privkit's attacks, people of the policy's model"
        result = f"sure: × {_factor(sure)} ({who})" if sure else "nothing sure"
        yield _row(words, result, sure, "within the guarantee")
    if "streets" in kept:
        sure = kept["streets"]["rows"]["priste"]["sure"]
        result = f"sure: × {_factor(sure)}" if sure else "nothing sure"
        yield _row("map matching, walkers on a lattice of streets", result, sure, OTHER_MODEL)


def _together(part: dict[str, Any]) -> str:
    pairs = part["pairs"]
    text = (
        "## Several releases taken together\n\n"
        f"{part['people']} people drawn from the model of the built-in town, half of them with the event. The largest factor on the odds of the event, exact for each "
        "of them, if the adversary of the policy holds more than one stream about the same hours. The streams are independent given the path, which is the same: so two of them can "
        "tell far more than 2ε. `--beside-earlier-releases` gives up this. e^ε = 2.72.\n\n"
        + _table(
            ["what is held", "factor"],
            [[words, _factor(value)] for words, value in part["side_by_side"].items()],
        )
        + f"Over every pair of the {pairs['sequences']} sequences that priste can release on a map of 6 cells (ε = {pairs['epsilon']}, e^ε = {math.exp(pairs['epsilon']):.3g}): one stream tells at most "
        f"{math.exp(pairs['one']):.3f}, two tell {math.exp(pairs['two']):.3f}.\n\n"
    )
    rows = [[words, *map(_factor, values)] for words, values in part["weeks"].items()]
    return (
        text
        + f"Ada's treatments in {part['of_weeks']} weeks, {part['streams']} streams, ε = 1 for each week (or each two weeks): the largest factor on the odds of a combination.\n\n"
        + _table(["what is guarded", "at least once", "every time"], rows)
        + 'By construction six weeks within ε = 1 each can move "every time" by 259 (`tests/release/test_secrets.py`). [Secrets](../explanation/secrets.md) guard combinations.\n\n'
    )


def _own_history(part: dict[str, Any]) -> str:
    rows = [
        [name, _factor(row["own_history"]), _factor(row["model"])]
        for name, row in part["rows"].items()
    ]
    return (
        "## An adversary who holds your other hours\n\n"
        f"Ada of the built-in town, {part['streams']} streams, the largest factor on the odds of the event "
        "(`priste compare policy.toml ada.csv`). The figure is exact for each stream and grows with the number of streams tried: it is no upper bound.\n\n"
        + _table(["way", "own history", "the policy's adversary"], rows)
    )


def _exact(worlds: dict[str, Any]) -> str:
    people = ", ".join(
        f"*{name}* {of[0]} + {of[1]}" for name, of in ((n, w["people"]) for n, w in worlds.items())
    )
    rows = []
    for way in _ways(worlds):
        row = [way]
        for world in worlds.values():
            leakage, error = world["ways"][way]
            mark = "**" * (leakage is None or leakage > EPSILON)
            row.append(
                f"{mark}{_factor(leakage)}{mark}" + (f" ({error} m)" if error is not None else "")
            )
        rows.append(row)
    return (
        "## Exact leakages\n\n"
        "The largest factor by which any of these streams moved the odds of the event for the policy's adversary, and the mean error. "
        f"Streams with + without the event: {people}. The figure is exact for each stream; a rare stream may move the odds more, except with priste and `constant`.\n\n"
        + _table(["way", *worlds], rows)
        + "Bold is above e^ε.\n\n"
    )


def _attackers(worlds: dict[str, Any]) -> str:
    text = (
        "## Attackers that are trained with labels\n\n"
        "Gradient boosting (LightGBM), a recurrent network (PyTorch's GRU), the method of DP-Sniper (`dp-sniper`: logistic regression, on whole streams; on single releases `priste.audit.black_box_check` counts them one by one), and the exact posterior of the policy's model (`bayes`, "
        "not trained). Half of the people train, a fifth choose thresholds, the rest is tried. *Sure* is the factor TPR/FPR that is exceeded at 99 % confidence for each of the "
        "two limits (Clopper and Pearson), in the better direction, of the best attacker. Some 70 pairs of way and attacker were tried in each world without a correction for that many.\n\n"
        "**Small samples.** The row `exact` shows what a near perfect attacker can prove with so many streams. Where it is below 2.72, nothing can be said about ε; where it is little above, little. A factor of 1 means that nothing is sure, not that nothing leaks. "
        "An AUC of the row `constant`, which releases no position, that is above 0.5 is noise, or the hours in which there is a fix.\n\n"
    )
    sizes = [
        [name, str(world["people"]), str(world["happened"]), str(world["tried"])]
        for name, world in worlds.items()
    ]
    text += _table(["world", "streams", "with the event", "tried"], sizes)
    text += (
        "priste, AUC of each attacker. 0.5 is a guess. If all ratios of likelihoods are within "
        f"e^±ε, no attacker has more than e^ε / (1 + e^ε) = {LARGEST_AUC:.2f}; that is guaranteed for "
        "people who move by a model of the policy, the world *model*:\n\n"
    )
    attacked = [way for world in worlds.values() for way in world["ways"].values()]
    names = list(dict.fromkeys(each for way in attacked for each in way))
    text += _table(
        ["world", *names],
        [
            [name, *(_auc(world["ways"]["priste"], each) for each in names)]
            for name, world in worlds.items()
        ],
    )
    if "model" in worlds:
        text += "Every way and attacker in *model*: sure factor (AUC):\n\n"
        text += _table(["way", *names], [*_by_attacker(worlds["model"]["ways"], names)])
    text += "Every way, best attacker: sure factor (AUC):\n\n"
    rows = []
    for way in _ways(worlds):
        row = [way]
        for world in worlds.values():
            row.append(_proven(*(_best(world["ways"][way], figure)[0] for figure in (0, 1))))
        rows.append(row)
    return text + _table(["way", *worlds], rows) + "Bold is above e^ε.\n\n" + _hashes(worlds)


def _auc(attackers: dict[str, Any], name: str) -> str:
    """Return an attacker's AUC; some are not tried everywhere: PyTorch may be missing."""
    return f"{attackers[name][0]:.2f}" if name in attackers else "–"


def _by_attacker(ways: dict[str, Any], names: list[str]) -> Iterator[list[str]]:
    for way, attackers in ways.items():
        tried = (_proven(*attackers[name]) if name in attackers else "–" for name in names)
        yield [way, *tried]


def _proven(auc: float, sure: float) -> str:
    mark = "**" * (sure > EPSILON)
    return f"{mark}{_factor(sure)}{mark} ({auc:.2f})"


def _hashes(worlds: dict[str, Any]) -> str:
    rows = [
        [way, *(world.get("streams", {}).get(way, "–") for world in worlds.values())]
        for way in _ways(worlds)
    ]
    return (
        "A hash of all that attackers are given: the model, who is tried, labels, released points, and likelihoods. A row whose hash is the same after a change of priste "
        "stands as it is. The streams of *geolife* and *cabs* depend on the copies of the data too.\n\n"
        + _table(["way", *worlds], rows)
    )


def _zones(part: dict[str, Any]) -> str:
    rows = [
        [
            f"{row['radius_m']} m",
            f"{row['lines_m']} m ({row['lines']})",
            f"{row['circle_m']} m ({row['circles']})",
        ]
        for row in part["rows"]
    ]
    gaps = part["priste"]
    return (
        "## The middle of a privacy zone\n\n"
        f"A zone hides fixes near the hospital. {part['visitors']} visitors, two weeks each, a fix every ten minutes; each is attacked by their own fixes only. "
        "The median distance from the found middle to the hospital, and from how many people one was found:\n\n"
        + _table(["radius", "lines of approach", "circle through the ends of gaps"], rows)
        + f"priste left {gaps['gaps']} gaps in {gaps['releases']} releases around the event, so there is nothing to fit.\n\n"
    )


def _privkit(part: dict[str, Any]) -> str:
    rows = []
    for way, attacks in part["rows"].items():
        row = [way]
        for name in ("OptimalHW", "OmniHW", "PEBA"):
            each = attacks[name]
            row.append(
                f"{each['error_m']} m; {100 * each['with_event']:.0f} / {100 * each['without']:.0f} %; {_factor(each['sure'])}"
            )
        rows.append([*row, f"{100 * attacks['TopN']['share']:.0f} %"])
    used = ", ".join(f"{name} {number}" for name, number in part["versions"].items())
    return (
        "## Privkit's attacks\n\n"
        f"`--privkit DIR` makes an environment of its own from `benchmarks/redteam/privkit-requirements.txt` ({used}). Privkit guesses a place from each release in the guarded hours of {part['people']} people of "
        "the model, half of them with the event; PEBA from the first 120 releases. All three attacks take the noise for planar Laplace of the policy's budget, whatever released. "
        "*OptimalHW* knows where other people are in these hours, *OmniHW* where these people are. In a cell: Privkit's mean adversary error; how often a guess lies in the guarded cells with the event / without it; "
        "the factor that is sure, of which the row `exact` shows the most that so few people can prove. *TopN*: the share of people whose two most frequent released cells are their true ones and nobody else's: priste does not guarantee anything "
        "about that ([not covered: linkage](../explanation/threat-model.md#not-covered)). Privkit's map matching was not run: see below.\n\n"
        + _table(["way", "OptimalHW", "OmniHW", "PEBA", "TopN"], rows)
    )


def _streets(part: dict[str, Any]) -> str:
    rows = [
        [
            way,
            f"{100 * row['recall']:.0f} %",
            f"{100 * row['precision']:.0f} %",
            f"{100 * row['with_event']:.0f} / {100 * row['without']:.0f} %",
            _factor(row["sure"]),
        ]
        for way, row in part["rows"].items()
    ]
    return (
        "## Map matching\n\n"
        f"leuvenmapmatching on a lattice of 64 crossings, 500 m apart: {part['people']} walkers take a shortest way, half of them past the guarded crossing in the guarded steps. "
        "How much of the true path is found, how much of the found path is true, how often the found path passes the guarded crossing with the event / without it, and the factor that is sure. "
        "The matcher knows the streets, not the tables: it is weaker than the exact posterior. The path of a walker is no event: priste guarantees nothing about it.\n\n"
        + _table(["way", "path found", "found path true", "at the crossing", "sure"], rows)
    )


def _synthetic(made: dict[str, dict[str, Any]]) -> str:
    rows = [
        [
            f"{name} ({part['revision']})",
            {"hospital": "where others go too", "edge": "300 m beyond the others"}[case],
            str(part["runs"]),
            *(
                f"{'**' * (sure > EPSILON)}{_factor(sure)}{'**' * (sure > EPSILON)} ({auc:.2f})"
                for auc, sure in found.values()
            ),
        ]
        for name, part in made.items()
        for case, found in part["rows"].items()
    ]
    people = next(iter(made.values()))["people"]
    return (
        "## Synthetic data\n\n"
        f"LDPTrace and RetraSyn publish synthetic paths of a crowd under local differential privacy, here with ε = 1 (`--ldptrace DIR`, `--retrasyn DIR`). The crowd is one Wednesday of {people} people of the built-in town. "
        "In half of the published files Ada went to the guarded place, in the others she did not; all else is the same. The attacker sees one published file. Sure factor (AUC), at 99 % confidence.\n\n"
        + _table(
            [
                "program",
                "the guarded place",
                "files",
                "trained attacker",
                "southernmost point only",
            ],
            rows,
        )
        + "Bold is above e^ε. LDPTrace and RetraSyn take the box of their map from the true paths, before any noise. If the visit is the southernmost point of the data, the box reveals it, whatever ε is. "
        "They also fix the seed of their noise, so that everyone who has the program knows the noise; here each file has random numbers of its own. "
        "priste takes no map from guarded hours and snaps maps to a public lattice ([threat model](../explanation/threat-model.md)).\n\n"
    )


def _qif(part: dict[str, Any]) -> str:
    rows = [
        [name, *("∞" if row[who] is None else f"{row[who]:.6f}" for who in ("priste", "qif"))]
        for name, row in part["rows"].items()
    ]
    apart = max(max(row["apart"], row["guess_apart"]) for row in part["rows"].values())
    return (
        "## Exact leakages by libqif\n\n"
        f"On {part['cells']} cells and {part['steps']} steps, ε = {part['epsilon']}: the largest leakage by priste, and the smallest ε of the channel by libqif. "
        f"They and the probabilities of a right guess differ by at most {apart:.0e}.\n\n"
        + _table(["way", "priste", "libqif"], rows)
    )


def _versions(kept: dict[str, Any]) -> str:
    parts: dict[tuple[str, str], list[str]] = {}
    for name, part in kept.items():
        about = part["circumstances"]
        libraries = {
            key: value
            for key, value in about.items()
            if key not in ("day", "machine", "blas_threads", "jobs_waiting")
        }
        if "of" in part:
            libraries["priste"] = _commits(part["of"])
        words = ", ".join(f"{key} {value}" for key, value in libraries.items())
        parts.setdefault((about["day"], words), []).append(name)
    rows = [[", ".join(names), *made] for made, names in parts.items()]
    text = "\n## Versions\n\nBy commits of priste's code; where the ways of releasing are of several, each is named.\n\n"
    return text + _table(["parts", "day", "versions"], rows).rstrip("\n") + "\n"


def _commits(of: dict[str, str]) -> str:
    """Return the commit of every way, or one of each and whose it is."""
    ways: dict[str, list[str]] = {}
    for way, commit in of.items():
        ways.setdefault(commit, []).append(way)
    if len(ways) == 1:
        return next(iter(ways))
    most = max(ways, key=lambda commit: len(ways[commit]))
    few = [f"{commit} ({', '.join(names)})" for commit, names in ways.items() if commit != most]
    return f"{most} but {', '.join(few)}"
