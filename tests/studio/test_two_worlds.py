"""Exports of the studio in worlds that differ in guarded hours only."""

from __future__ import annotations

from pathlib import Path

from tests.cli.guarded_worlds import WORLDS, listed, person
from tests.studio.running_studio import SMALL_SETTING, Tab

from priste.traces import write_traces

SETTING = {
    **SMALL_SETTING,
    "calibrator": "certified",
    "events": [{"name": "visit", "formula": 'presence(clinic, "06:00-07:00")', "every": None}],
}
EXPORTS = {
    "policy.toml": "policy.toml",
    "released": "released",
    "ledger.csv": "ledger.csv",
    "report to share": "report.html?shared=1",
}


def test_what_may_be_handed_out_is_the_same_in_every_world(tab: Tab, tmp_path: Path) -> None:
    """The policy, the released trace, the ledger and the report to share, byte for byte."""
    assert set(EXPORTS) == listed()["studio"][0]
    seen = []
    for world in WORLDS:
        path = tmp_path / "ada.csv"
        write_traces([person("ada", world)], path, overwrite=True)
        tab.upload(path.read_bytes(), "ada.csv")
        run, _ = tab.run(SETTING, seed=3)
        seen.append({name: tab.export(run, what) for name, what in EXPORTS.items()})
    for world, exports in zip(WORLDS, seen, strict=True):
        assert exports == seen[0], world
