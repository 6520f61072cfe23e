"""Files that earlier versions wrote still load, with the same releases and the same terms.

The files in ``golden/`` were written once and are never made anew. They stand for streams that
people began before an update: if one of them cannot be continued, those people lose their
guarantee or their stream. ``ledgers.json`` holds what each file's stream had released.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from priste import (
    AnyStart,
    EmissionTable,
    Grid,
    LocationSet,
    MarkovModel,
    Odds,
    PlanarLaplace,
    Priors,
    Protector,
    ReleaseRefused,
    presence,
)
from priste.events import at_least
from priste.release import Bare, Calibrator, Certified, Optimal, Paper
from priste.release.stream_file import journal as files

GOLDEN = Path(__file__).parent / "golden"

LINE = Grid(rows=1, columns=4, cell_size=1.0)
# All tables are exact in binary, so every processor computes the same bits from them.
MODEL = MarkovModel(
    LINE, [[0.5, 0.5, 0, 0], [0.25, 0.5, 0.25, 0], [0, 0.25, 0.5, 0.25], [0, 0, 0.5, 0.5]]
)
OTHER = MarkovModel(
    LINE, [[0.75, 0.25, 0, 0], [0.25, 0.5, 0.25, 0], [0, 0.5, 0.25, 0.25], [0, 0, 0.25, 0.75]]
)
TABLE = EmissionTable(
    LINE,
    [
        [0.5, 0.25, 0.125, 0.125],
        [0.25, 0.5, 0.125, 0.125],
        [0.125, 0.125, 0.5, 0.25],
        [0.125, 0.125, 0.25, 0.5],
    ],
)
EVENTS = {"visit": presence([0], [1, 2]), "often": at_least(2, [2, 3], range(4))}
EPSILON = {"visit": 0.5, "often": 1.0}
PRIOR = np.array([0.5, 0.25, 0.125, 0.125])
PATH = [1, 0, None, 1, 2]

CALIBRATORS: dict[str, Calibrator] = {
    "certified": Certified(pace=0.5, guess=False),
    "remap": Optimal(pace=0.5),  # retired; its streams go on with its successor
    "optimal": Optimal(pace=0.5),
    "paper": Paper(),
    "bare": Bare(),
}
LEDGERS: dict[str, list[dict[str, Any]]] = json.loads((GOLDEN / "ledgers.json").read_text())
FILES = sorted(LEDGERS)


def copied(name: str, folder: Path) -> Path:
    return Path(shutil.copy(GOLDEN / name, folder / name))


def lines(protector: Protector) -> list[dict[str, Any]]:
    """The ledger, as far as ledgers went when the files were written."""
    whole = [json.loads(line) for line in protector.ledger.json_lines().splitlines()]
    later = {"belief", "promise", "against"}
    return [{name: line[name] for name in line if name not in later} for line in whole]


def test_every_file_has_its_ledger() -> None:
    """No golden file is forgotten by the tests below."""
    assert sorted(path.name for path in GOLDEN.iterdir() if path.suffix != ".json") == FILES


@pytest.mark.parametrize("name", FILES)
def test_an_old_file_loads_with_its_releases(tmp_path: Path, name: str) -> None:
    """The ledger is the one of its time, number for number."""
    protector = Protector.load(copied(name, tmp_path))
    assert lines(protector) == LEDGERS[name]
    assert protector.leakage == tuple(LEDGERS[name][-1]["leakage"].values())
    for release in protector.ledger:  # what older files do not hold is measured
        assert len(release.belief) == len(release.leakage)
        assert all(0.0 < sure <= 1.0 for sure in release.belief)


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".journal")])
def test_an_old_journal_keeps_its_terms_and_goes_on(tmp_path: Path, name: str) -> None:
    """Terms are what they were; the next release extends the file, which loads again."""
    path = copied(name, tmp_path)
    with Protector.resume(path, rng=1) as protector:
        terms = protector.public_state().terms
        (model,) = terms.models
        assert model.fingerprint() == MODEL.fingerprint()
        assert dict(zip(terms.event_names, terms.events, strict=True)) == EVENTS
        assert protector.promises == tuple(Odds(each, each) for each in EPSILON.values())
        assert protector.observer == AnyStart()
        assert terms.mechanism.describe() == TABLE.describe()
        described = CALIBRATORS[name.removesuffix(".journal")].describe()
        assert terms.calibrator.describe() == described
        step = protector.next_step
        first = protector.release(0, step=0)  # asking again draws nothing
        assert first.cell == LEDGERS[name][0]["cell"]
        protector.release(1)
    again = Protector.load(path)
    assert again.next_step == step + 1
    assert lines(again)[:step] == LEDGERS[name]


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".state")])
def test_an_old_state_is_saved_over_itself(tmp_path: Path, name: str) -> None:
    """A state of its time may be replaced by the same stream as it is written today."""
    path = copied(name, tmp_path)
    Protector.load(path).save(path)
    assert lines(Protector.load(path)) == LEDGERS[name]


@pytest.mark.parametrize("name", ["certified.journal", "remap.journal", "optimal.journal"])
def test_an_old_stream_stays_within_its_bounds(tmp_path: Path, name: str) -> None:
    """Continued under today's code, no release exceeds the ε of its header."""
    with Protector.resume(copied(name, tmp_path), rng=2) as protector:
        for cell in (0, 1, 0, 3):
            release = protector.release(cell)
            assert all(
                value <= bound
                for value, bound in zip(release.leakage, EPSILON.values(), strict=True)
            )


@pytest.mark.parametrize("name", FILES)
def test_an_old_file_can_be_saved_over(tmp_path: Path, name: str) -> None:
    """A stream that is loaded and goes on is saved over its old file, whose lines stay."""
    path = copied(name, tmp_path)
    earlier = files.read(path).records
    protector = Protector.load(path)
    protector.release(None)
    protector.save(path)
    later = files.read(path).records
    assert later[:-1] == earlier
    assert lines(Protector.load(path))[:-1] == LEDGERS[name]


def test_several_models_and_a_public_prior_come_back(tmp_path: Path) -> None:
    """The order of the models and every bit of the prior are kept."""
    terms = Protector.load(copied("two_models.state", tmp_path)).public_state().terms
    assert [m.fingerprint() for m in terms.models] == [MODEL.fingerprint(), OTHER.fingerprint()]
    assert terms.public_prior is not None
    assert terms.public_prior.tolist() == PRIOR.tolist()


def test_a_change_of_policy_still_refuses(tmp_path: Path) -> None:
    """A stream that was over its new limit when it was saved releases nothing but silence."""
    protector = Protector.load(copied("changed_policy.state", tmp_path))
    with pytest.raises(ReleaseRefused):
        protector.release(2)
    assert protector.release(None).cell is None


def test_an_old_prediction_goes_on_for_another_observer(tmp_path: Path) -> None:
    """Location sets follow the prediction that the stream began with; releases can be counted."""
    protector = Protector.load(copied("location_set.state", tmp_path))
    anybody = protector.leakage
    narrower = protector.with_policy(EVENTS, EPSILON, observer=Priors(PRIOR))
    assert [r.cell for r in narrower.ledger] == [r["cell"] for r in LEDGERS["location_set.state"]]
    assert all(value < wide for value, wide in zip(narrower.leakage, anybody, strict=True))
    assert narrower.release(2).step == len(PATH)


def test_mechanisms_come_back(tmp_path: Path) -> None:
    """A location set over planar Laplace, and planar Laplace itself, are restored as they were."""
    laplace = PlanarLaplace(LINE, alpha=2.0)
    for name, mechanism in {
        "location_set.state": LocationSet(laplace, delta=0.25),
        "laplace_remap.state": laplace,
    }.items():
        terms = Protector.load(copied(name, tmp_path)).public_state().terms
        assert terms.mechanism.describe() == mechanism.describe()
