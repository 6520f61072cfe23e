"""Benchmarks tell what they do, and begin nothing when asked for help; the red team runs."""

import importlib
import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from benchmarks.redteam import __main__ as redteam
from benchmarks.redteam import combinations, synthetic_data
from benchmarks.redteam.attackers import area, bayes_scores, limits
from benchmarks.redteam.labelled_streams import digest, model_world, released, town
from benchmarks.redteam.page import page
from benchmarks.redteam.zone_attack import circle, crossing

FOLDER = Path(__file__).parent.parent / "benchmarks"
NAMES = sorted(
    path.stem for path in FOLDER.glob("*.py") if "\ndef main(arguments" in path.read_text()
)


LIBRARY_OF = {"qif": "qif", "streets": "leuvenmapmatching"}
"""What parts of the red team need beside the libraries of the tests."""


class Worked(Exception):
    """Something was begun."""


@pytest.fixture
def main(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch):
    """The ``main`` of a benchmark in which whatever begins the work raises."""
    module = importlib.import_module(f"benchmarks.{request.param}")

    def begin(*_: object, **__: object) -> None:
        raise Worked

    for name in ("warm_up", "tempfile", "Console", "importlib", "Grid", "Geolife", "built_in_city"):
        monkeypatch.setattr(module, name, begin, raising=False)
    return module.main


def test_every_benchmark_is_looked_at() -> None:
    """All that ``python -m benchmarks`` runs, and itself."""
    from benchmarks.__main__ import BENCHMARKS, WITH_FOLDER

    assert {*BENCHMARKS, *WITH_FOLDER, "__main__"} == set(NAMES)


@pytest.mark.parametrize("main", NAMES, indirect=True)
def test_help_and_unknown_words_begin_nothing(main, capsys: pytest.CaptureFixture[str]) -> None:
    """``--help`` ends well and tells; an unknown word ends with 2 and is named."""
    with pytest.raises(SystemExit) as end:
        main(["--help"])
    assert not end.value.code
    assert "python -m benchmarks" in capsys.readouterr().out
    with pytest.raises(SystemExit) as end:
        main(["no-such-word"])
    assert end.value.code == 2
    assert "error:" in capsys.readouterr().err


def test_the_page_is_made_of_the_figures() -> None:
    """Nobody wrote into the page, and the figures are those of the page."""
    kept = json.loads((FOLDER / "results/redteam.json").read_text())
    assert page(kept) == (FOLDER.parent / "docs/evidence/red-team.md").read_text()


def test_an_attack_above_the_guarantee_is_named() -> None:
    """A sure ratio above ε on people of the model is called a mistake of priste."""
    kept = json.loads((FOLDER / "results/redteam.json").read_text())
    assert "a mistake in priste" not in page(kept)
    kept["model"]["ways"]["priste"]["bayes"][1] = 1.2
    assert "a mistake in priste" in page(kept)


def test_help_of_the_red_team_and_unknown_parts_begin_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """``--help`` ends well; an unknown part ends with 2 and is named."""
    with pytest.raises(SystemExit) as end:
        redteam.main(["--help"])
    assert not end.value.code
    assert "--quick" in capsys.readouterr().out
    with pytest.raises(SystemExit) as end:
        redteam.main(["no-such-part"])
    assert end.value.code == 2
    assert "no-such-part" in capsys.readouterr().err


def test_limits_of_shares_and_areas() -> None:
    """Tails of binomials in fractions at the limits; pairs counted one by one."""
    low, high = limits(3, 20)

    def tail(share: float, counts: range) -> float:
        p = Fraction(share)
        return float(sum(math.comb(20, k) * p**k * (1 - p) ** (20 - k) for k in counts))

    assert tail(low, range(3, 21)) == pytest.approx(0.005)
    assert tail(high, range(4)) == pytest.approx(0.005)
    scores, labels = np.array([0.1, 0.4, 0.4, 0.9, 0.2]), np.array([0, 1, 0, 1, 1], dtype=bool)
    pairs = list(itertools.product(scores[labels], scores[~labels]))
    counted = sum(1.0 if a > b else 0.5 if a == b else 0.0 for a, b in pairs) / len(pairs)
    assert area(scores, labels) == pytest.approx(counted)


def test_the_middle_of_a_zone_is_found() -> None:
    """Ends of gaps on a circle, approached straight: both fits give its middle."""
    angles = np.array([0.1, 1.3, 2.9, 4.4])
    ways = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    middle = np.array([2.0, -1.0])
    found, radius = circle(middle + 0.5 * ways)
    assert found == pytest.approx(middle)
    assert radius == pytest.approx(0.5)
    assert crossing(middle + 0.5 * ways, middle + 0.9 * ways) == pytest.approx(middle, abs=1e-6)


def test_labelled_streams_are_told_apart_where_they_can_be(tmp_path: Path) -> None:
    """The exact posterior knows the event from exact fixes, and nothing from a constant point."""
    world = model_world(town(tmp_path), 12)
    people = np.arange(len(world.labels))
    scores = {
        way: bayes_scores(world, released(world, way), people) for way in ("exact", "constant")
    }
    assert area(scores["exact"], world.labels) == 1.0
    assert np.ptp(scores["constant"]) < 1e-9


def test_a_hash_is_of_what_attackers_are_given(tmp_path: Path) -> None:
    """It is the same for the same streams and for other last bits, and follows any change."""
    world = model_world(town(tmp_path), 3)
    streams = released(world, "laplace")
    hashed = digest(world, streams)
    assert digest(world, released(world, "laplace")) == hashed
    bits = [[None if x is None else x * (1 + 2**-50) for x in one] for one in streams.likelihoods]
    assert digest(world, replace(streams, likelihoods=bits)) == hashed
    others = [
        digest(world, released(world, "laplace", seed=4)),
        digest(world, replace(streams, points=-streams.points)),
        digest(world, replace(streams, likelihoods=streams.likelihoods[::-1])),
        digest(replace(world, labels=~world.labels), streams),
    ]
    assert len({hashed, *others}) == 5


def test_libqif_derives_the_same_leakages() -> None:
    """An independent library agrees about every way on a small map, infinite leakages included."""
    pytest.importorskip("qif", reason="libqif is a requirement of the benchmarks: make bench")
    from benchmarks.redteam.exact_figures import exact_figures

    figures = exact_figures()
    for row in figures["rows"].values():
        assert row["apart"] < 1e-9
        assert row["guess_apart"] < 1e-9
    assert figures["rows"]["priste"]["priste"] <= figures["epsilon"]
    assert figures["rows"]["exact"]["qif"] is None


def test_two_streams_side_by_side_tell_more_than_one() -> None:
    """The largest leakage of one stream is that of the audit; any two tell more together."""
    from benchmarks.redteam.exact_figures import priste_channel

    found = combinations.every_pair()
    assert found["one"] == pytest.approx(priste_channel()[2], abs=1e-9)
    assert found["two"] > 2 * found["one"]


def test_crowds_of_synthetic_data_differ_in_one_afternoon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With and without the visit only the last path differs, at the guarded place and hours."""
    monkeypatch.setattr(synthetic_data, "PEOPLE", 5)
    policy = town(tmp_path)
    for case in ("hospital", "edge"):
        with_it, without = (synthetic_data.crowds(policy, case)[visit] for visit in (True, False))
        assert len(with_it) == len(without) == synthetic_data.PEOPLE + 1
        assert all(map(np.array_equal, with_it[:-1], without[:-1]))
        apart = (with_it[-1] != without[-1]).any(axis=1)
        assert set(np.flatnonzero(apart)) == set(range(54, 67))  # 13:30 to 16:30, by quarters
        south = min(path[:, 1].min() for path in with_it[:-1])
        assert (with_it[-1][54, 1] < south - 0.29) == (case == "edge")


SYNTHETIC_PROGRAM = """
import pickle, random
import numpy as np
random.seed(1); np.random.seed(1)
with open("../data/oldenburg.dat") as file:
    rows = file.read().splitlines()[1::2]
paths = [[tuple(map(float, xy.split(","))) for xy in row[3:-1].split(";")] for row in rows]
noise = np.random.normal(0, 1e-3, 2) + random.random() * 1e-3
with open("../data/oldenburg/syn.pkl", "wb") as file:
    pickle.dump([[tuple(np.array(xy) + noise) for xy in path] for path in paths], file)
random.seed(1); np.random.seed(1)
raise AssertionError("the program goes on after it has written its file")
"""


def test_a_program_that_makes_synthetic_data_is_run_with_its_own_seed(tmp_path: Path) -> None:
    """What it wrote is read back; another seed gives other noise, the same seed the same."""
    program = tmp_path / "main.py"
    program.write_text(SYNTHETIC_PROGRAM)
    crowd = [np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([[4.0, 5.0], [6.0, 7.0]])]
    found = []
    for number, seed in enumerate((5, 6, 5)):
        folder = tmp_path / str(number)
        (folder / "data").mkdir(parents=True)
        synthetic_data.written("ldptrace", crowd, folder)
        synthetic_data.run_once("ldptrace", program, folder, seed)
        found.append(synthetic_data.published("ldptrace", folder))
    assert found[0] == pytest.approx(np.concatenate(crowd), abs=0.02)
    assert np.array_equal(found[0], found[2])
    assert (found[0] != found[1]).all()


def test_an_extreme_point_is_found_by_the_attack_on_synthetic_data() -> None:
    """The box tells one case from the other; counts that are noise do not."""
    pytest.importorskip("sklearn", reason="scikit-learn is a requirement of the benchmarks")
    rng = np.random.default_rng(1)
    labels = np.tile([True, False], 100)
    points = [rng.random((50, 2)) - (0.3 if label else 0.0) for label in labels]
    box = np.array([[-0.3, -0.3], [1.0, 1.0]])
    rows = np.array([synthetic_data.features(each, box) for each in points])
    auc, sure = synthetic_data.attacked(rows, labels)["southernmost point"]
    assert auc == 1.0
    assert sure > 1.0
    assert synthetic_data.attacked(rng.random(rows.shape), labels)["trained"][1] == 0.0


@pytest.mark.filterwarnings("ignore:invalid escape sequence")  # of leuvenmapmatching
def test_the_quick_red_team_runs_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every part on the built-in town: the page marks what is above; a way is not done twice."""
    for part, fewer in {"model": 6, "residents": 12, "ada": 6, "days": 20}.items():
        monkeypatch.setitem(redteam.QUICK, part, fewer)  # no figure is compared
    parts = ["model", "model-exact", "residents", "residents-exact", "ada", "ada-exact"]
    parts += ["own-history", "together", "zones"]
    parts += [part for part, library in LIBRARY_OF.items() if find_spec(library)]
    run = ["--quick", "--work", str(tmp_path)]
    redteam.main([*parts, *run])
    assert "model-exact-3 priste" in capsys.readouterr().err
    kept = json.loads((tmp_path / "quick/redteam.json").read_text())
    assert [*kept] == parts
    for world in ("model", "residents", "ada"):
        assert [*kept[world]["ways"]] == [*kept[world]["streams"]] == [*redteam.QUICK_WAYS]
        assert kept[f"{world}-exact"]["ways"]["constant"][0] == 0.0
    rows = kept["model-exact"]["ways"]
    assert rows["exact"][0] is None
    assert 0.0 < rows["priste"][0] <= 1.0
    written = (tmp_path / "quick/red-team.md").read_text()
    assert "| exact | **certain**" in written
    assert "| constant | 1 (" in written
    redteam.main(["model-exact", *run, "--way", "delay", "--way", "priste"])
    said = capsys.readouterr().err
    assert "model-exact-3 delay" in said
    assert "model-exact-3 priste" not in said


def test_the_page_names_the_commit_of_each_way() -> None:
    """A way that was measured again alone is named with its commit, the others with theirs."""
    kept = json.loads((FOLDER / "results/redteam.json").read_text())
    ways = kept["model"]["ways"]
    kept["model"]["of"] = dict.fromkeys(ways, "aaaaaaa") | {"priste": "bbbbbbb"}
    assert "priste aaaaaaa but bbbbbbb (priste)" in page(kept)
