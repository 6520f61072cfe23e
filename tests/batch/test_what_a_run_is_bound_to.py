"""A run is bound to its policy, people and rows, and what was released is never drawn twice."""

import hashlib
import os
import re
import shutil
import stat
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.cli.small_world import PATHS, QUICK, START, STEPS, policy_of, trace_of

from priste import OutputError, OutputExists, StateError, TraceError
from priste.batch import BatchReport, ledger_of, protect_file, workspace_of
from priste.batch.parts import journals_in
from priste.batch.workspace import MANIFEST
from priste.register import KeptStream
from priste.register import register as register_module
from priste.register.keyed_digests import FIX_BYTES, MOST_FIXES, RELEASED, Recognition
from priste.register.register import Person
from priste.traces import Fix, Trace, read_traces, write_traces


def write_paths(folder: Path, paths: dict[str, list[int]], name: str = "trips.geojson") -> Path:
    """Write trips, as no table unless told: those are opened several times, at a cost each."""
    write_traces(
        [trace_of(user, path) for user, path in paths.items()], folder / name, overwrite=True
    )
    return folder / name


def run(
    folder: Path,
    paths: dict[str, list[int]] = PATHS,
    name: str = "out.csv",
    policy: str = QUICK,
    trips: str = "trips.geojson",
    **options: object,
) -> BatchReport:
    source = write_paths(folder, paths, trips)
    options = {"overwrite": True, **options}
    return protect_file(policy_of(policy), read_traces(source), folder / name, **options)  # type: ignore[arg-type]


def cells_of(report: BatchReport) -> dict[str | None, tuple[int | None, ...]]:
    return report.cells


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    """Return a folder with a finished run of ada and ben."""
    run(tmp_path, {user: PATHS[user] for user in ("ada", "ben")})
    return tmp_path


TWO = {user: PATHS[user] for user in ("ada", "ben")}
OTHER_POLICY = QUICK.replace("epsilon = 0.8", "epsilon = 0.9")


def journals(folder: Path, name: str = "out.csv") -> list[Path]:
    return sorted(workspace_of(folder / name).glob("part-*"))


def refused(folder: Path, match: str, paths: dict[str, list[int]] = TWO, **options: object) -> None:
    before = {path: path.read_bytes() for path in journals(folder)}
    with pytest.raises(StateError, match=match):
        run(folder, paths, **options)  # type: ignore[arg-type]
    assert {path: path.read_bytes() for path in journals(folder)} == before


def test_another_policy_is_refused(begun: Path) -> None:
    """The same destination under a larger ε: nothing is drawn."""
    refused(begun, "another policy", policy=OTHER_POLICY)


def test_swapped_journals_are_refused(begun: Path) -> None:
    """Journals of two users under each other's names are not taken for theirs."""
    one, two = journals(begun)
    kept = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(kept)
    refused(begun, "changed, swapped or damaged")


def test_streams_swapped_together_with_their_lines_are_refused(begun: Path) -> None:
    """Also where the manifest was changed to match: every stream says whose it is."""
    one, two = journals(begun)
    manifest = workspace_of(begun / "out.csv") / MANIFEST
    text, kept = manifest.read_text(), one.read_bytes()
    digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (one, two)]
    one.write_bytes(two.read_bytes())
    two.write_bytes(kept)
    swapped = dict(zip(digests, reversed(digests), strict=True))
    manifest.write_text(re.sub("|".join(digests), lambda found: swapped[found[0]], text))
    refused(begun, "who are no longer in the input")


def test_a_stream_of_somebody_else_is_refused(begun: Path) -> None:
    """A journal under another name within its part, with part and manifest changed to match."""
    one, two = journals(begun)
    tables = [pq.read_table(path) for path in (one, two)]
    column = tables[0].schema.get_field_index("journal")
    forged = tables[0].set_column(column, "journal", tables[1]["journal"])
    before = hashlib.sha256(one.read_bytes()).hexdigest()
    pq.write_table(forged, one)
    manifest = workspace_of(begun / "out.csv") / MANIFEST
    after = hashlib.sha256(one.read_bytes()).hexdigest()
    manifest.write_text(manifest.read_text().replace(before, after))
    refused(begun, "is that of another person")


def test_a_missing_journal_is_refused(begun: Path) -> None:
    """A deleted journal does not mean a second draw."""
    journals(begun)[0].unlink()
    refused(begun, "missing")


def test_a_foreign_journal_is_refused(begun: Path, tmp_path: Path) -> None:
    """One more part than the run wrote is not ignored, wherever it would have its place."""
    for name in ("part-x", "part-00099-0.parquet", "part-00000-0.parquet"):
        surplus = workspace_of(begun / "out.csv") / name
        if not surplus.exists():
            shutil.copy(journals(begun)[0], surplus)
            refused(begun, "not a part that it wrote")
            surplus.unlink()


def test_journals_of_another_policy_are_refused(begun: Path, tmp_path: Path) -> None:
    """A journal of the same user under another policy is recognised as foreign."""
    (tmp_path / "other").mkdir()
    run(tmp_path / "other", TWO, policy=OTHER_POLICY, seed=1)
    for mine, theirs in zip(journals(begun), journals(tmp_path / "other"), strict=True):
        assert mine.name == theirs.name
        mine.write_bytes(theirs.read_bytes())
    refused(begun, "changed, swapped or damaged")


def test_without_its_manifest_a_run_is_refused(begun: Path) -> None:
    """A manifest that is gone, empty or nonsense is an error with words, not a fresh start."""
    manifest = workspace_of(begun / "out.csv") / MANIFEST
    manifest.unlink()
    refused(begun, "manifest is missing")
    for content in ("", "[]", "{}", "{", "null\n", '{"format": 3}', "[" * 9999):
        manifest.write_text(content)
        refused(begun, "manifest is missing|not of a run")


def test_a_manifest_that_was_cut_short_goes_on(begun: Path) -> None:
    """A crash in the middle of a line lost nothing that was drawn after it."""
    manifest = workspace_of(begun / "out.csv") / MANIFEST
    with manifest.open("a") as file:
        file.write('{"part": 3, "genera')
    assert run(begun, TWO).to_dict()["drawn_now"] == 0
    assert run(begun, TWO).to_dict()["drawn_now"] == 0


def test_another_key_is_refused(
    begun: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the key of the run its rows cannot be compared: said, and refused."""
    monkeypatch.setenv("PRISTE_STATE", str(tmp_path / "elsewhere"))
    refused(begun, "recognition.key")


def test_people_who_are_gone_are_refused(begun: Path) -> None:
    """The input must still hold everybody."""
    refused(begun, "1 users who are no longer", {"ada": PATHS["ada"]})


def test_a_workspace_that_was_removed_is_not_begun_anew(begun: Path) -> None:
    """What was drawn is gone, so the same destination is refused, unless one asks for new draws."""
    shutil.rmtree(workspace_of(begun / "out.csv"))
    with pytest.raises(StateError, match="what it drew is gone"):
        run(begun, TWO)
    assert run(begun, TWO, beside_earlier=True).drawn_now == 2 * STEPS


def test_grown_input_goes_on(tmp_path: Path) -> None:
    """Old steps stay as drawn, new ones are drawn, new people begin; many times."""
    half = {"ada": PATHS["ada"][:4]}
    first = cells_of(run(tmp_path, half))
    assert len(first["ada"]) == 4
    again = run(tmp_path, {"ada": PATHS["ada"][:10], "ben": PATHS["ben"][:3]})
    assert again.to_dict()["drawn_now"] == 6 + 3
    second = cells_of(again)
    assert second["ada"][:4] == first["ada"]
    last = run(tmp_path, TWO)
    assert last.to_dict()["drawn_now"] == (STEPS - 10) + (STEPS - 3)
    assert cells_of(last)["ada"][:10] == second["ada"]
    assert len(list(read_traces(tmp_path / "out.csv", format="geojson"))) == 2


def test_changed_rows_are_refused(tmp_path: Path) -> None:
    """A row of an old step that moved, vanished or appeared is said; nothing is drawn."""
    run(tmp_path, {"ada": PATHS["ada"][:4]})
    moved = [*PATHS["ada"][:3], 15, *PATHS["ada"][4:9]]
    refused(tmp_path, "rows of ada have changed", {"ada": moved})
    refused(tmp_path, "now ends after 2", {"ada": PATHS["ada"][:2]})
    grown = run(tmp_path, {"ada": PATHS["ada"][:10]})
    assert grown.to_dict()["drawn_now"] == 6


def test_a_second_destination_gets_the_first_draws(tmp_path: Path) -> None:
    """The same locations under the same policy are not drawn twice, wherever they go."""
    first = cells_of(run(tmp_path, TWO))
    second = run(tmp_path, TWO, "second.csv")
    assert cells_of(second) == first
    assert (second.to_dict()["drawn_now"], second.given_again) == (0, 2)
    grown = run(tmp_path, PATHS, "third.csv")
    assert grown.given_again == 2
    assert {user: cells_of(grown)[user] for user in TWO} == first


def test_two_destinations_grow_together(tmp_path: Path) -> None:
    """What one of them drew for new steps, the other gets too."""
    short = {"ada": PATHS["ada"][:4]}
    run(tmp_path, short)
    run(tmp_path, short, "second.csv")
    longer = {"ada": PATHS["ada"][:10]}
    drawn = cells_of(run(tmp_path, longer, "second.csv"))
    first = run(tmp_path, longer)
    assert cells_of(first) == drawn
    assert first.to_dict()["drawn_now"] == 0


def test_another_policy_for_the_same_locations_draws_nothing(tmp_path: Path) -> None:
    """Released steps stay as they are and count; other draws have to be asked for by name."""
    first = cells_of(run(tmp_path, TWO))
    again = run(tmp_path, TWO, "second.csv", policy=OTHER_POLICY)
    assert (again.drawn_now, again.continued, cells_of(again)) == (0, 2, first)
    shorter = run(tmp_path, {"ada": PATHS["ada"][:4]}, "third.csv", policy=OTHER_POLICY + "\n")
    assert (shorter.drawn_now, cells_of(shorter)["ada"]) == (0, first["ada"][:4])
    made = run(tmp_path, TWO, "fourth.csv", policy=OTHER_POLICY, beside_earlier=True)
    assert made.to_dict()["drawn_now"] == 2 * STEPS


def test_without_the_first_journal_nothing_is_drawn_again(tmp_path: Path) -> None:
    """Removing the first release does not forget that it was made."""
    run(tmp_path, TWO)
    shutil.rmtree(workspace_of(tmp_path / "out.csv"))
    with pytest.raises(StateError, match="its journal is gone"):
        run(tmp_path, TWO, "second.csv")
    assert run(tmp_path, TWO, "second.csv", beside_earlier=True).to_dict()["drawn_now"] == 2 * STEPS


def test_another_name_for_the_same_fixes_is_refused(tmp_path: Path) -> None:
    """A person is recognised by the fixes: renamed, and with every third fix alone."""
    run(tmp_path, TWO)
    whole = Trace.of(replace(fix, user="zoe") for fix in trace_of("ada", PATHS["ada"]))
    for trace in (whole, Trace.of(list(whole)[::3])):
        write_traces([trace], tmp_path / "renamed.csv", overwrite=True)
        with pytest.raises(StateError, match="zoe were released before, under another name"):
            protect_file(
                policy_of(QUICK), read_traces(tmp_path / "renamed.csv"), tmp_path / "second.csv"
            )
        assert not workspace_of(tmp_path / "second.csv").exists()
    assert run(tmp_path, {"zoe": PATHS["cleo"]}, "second.csv").drawn_now == STEPS


LARGE = 30_000
"""Fixes of a trace that is remembered by a sample."""


@pytest.mark.parametrize("kept", [slice(0, 3_000), slice(0, None, 7), slice(0, LARGE)], ids=str)
def test_parts_of_large_traces_are_recognised_either_way(own_state: Path, kept: slice) -> None:
    """A part that is known whole and a trace that is known by a sample are compared alike."""
    rng = np.random.default_rng(3)
    times = int(START.timestamp() * 1e6) + np.arange(LARGE) * 20_000_000
    lat, lon = 46.0 + rng.random(LARGE), 7.0 + rng.random(LARGE)
    known = Recognition.of_this_user()
    people = [
        Person(name, name, known.fixes_of(Trace(name, times[part], lat[part], lon[part])))
        for name, part in (("ada", slice(None)), ("zoe", kept))
    ]
    stranger = Person("max", "max", known.fixes_of(Trace("max", times, lon + 39.0, lat - 39.0)))
    assert len(people[0].fixes) <= MOST_FIXES * FIX_BYTES
    for number, (first, second) in enumerate((people, people[::-1])):
        place = own_state / f"{RELEASED}{number}"
        with register_module.Register(place).transaction() as register:
            register.add("p", "/x", [first])
            (found,) = register.earlier(second)
            assert (found.same_name, found.same_fixes) == (False, True)
            assert register.earlier(stranger) == []


def test_another_format_of_the_same_fixes_is_recognised(tmp_path: Path) -> None:
    """GeoJSON in place of CSV gets the first draws again."""
    first = run(tmp_path, TWO, trips="trips.csv")
    write_traces([trace_of(user, path) for user, path in TWO.items()], tmp_path / "t.geojson")
    made = protect_file(
        policy_of(QUICK), read_traces(tmp_path / "t.geojson"), tmp_path / "b.geojson"
    )
    assert (made.given_again, made.drawn_now) == (2, 0)
    assert made.cells == first.cells


def test_looking_up_and_writing_down_are_one_transaction(
    tmp_path: Path, own_state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While one run decides, another waits; what it looks up then holds what the first wrote."""
    monkeypatch.setattr(register_module, "PATIENCE", 0.05)
    place = own_state / RELEASED
    person = Person("ada", "x", b"12345678" * 2)
    with register_module.Register(place).transaction() as first:
        assert first.earlier(person) == []
        first.add("p", "/x", [person])
        with (
            pytest.raises(StateError, match="another run at work"),
            register_module.Register(place).transaction(),
        ):
            pass
    with register_module.Register(place).transaction() as second:
        assert [each.place for each in second.earlier(person)] == ["/x"]

    def interrupted() -> None:
        with register_module.Register(place).transaction() as third:
            third.add("q", "/y", [person])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    with register_module.Register(place).transaction() as last:
        assert len(last.earlier(person)) == 1


def test_a_missing_key_beside_a_register_is_refused(tmp_path: Path, own_state: Path) -> None:
    """A new key would recognise nothing and draw again."""
    run(tmp_path, TWO)
    (own_state / "recognition.key").unlink()
    with pytest.raises(StateError, match="Restore the key"):
        run(tmp_path, TWO, "second.csv")
    assert not (own_state / "recognition.key").exists()


def test_seeded_runs_take_no_part(tmp_path: Path, own_state: Path) -> None:
    """Experiments neither write to the register nor look into it."""
    run(tmp_path, TWO, seed=1)
    assert not (own_state / "released").exists()
    assert run(tmp_path, TWO, "second.csv", seed=2).to_dict()["drawn_now"] == 2 * STEPS


def test_what_is_remembered_holds_no_location(tmp_path: Path, own_state: Path) -> None:
    """The state folder is private, and its digests change with the key."""
    run(tmp_path, TWO)
    assert stat.S_IMODE(own_state.stat().st_mode) == 0o700
    for file in own_state.rglob("*"):
        if file.is_file():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
            assert b"ada" not in file.read_bytes().replace(str(tmp_path).encode(), b"")
    trace = trace_of("ada", PATHS["ada"])
    one, other = Recognition(b"1" * 32), Recognition(b"2" * 32)
    found = [
        {digests[at : at + FIX_BYTES] for at in range(0, len(digests), FIX_BYTES)}
        for digests in (one.fixes_of(trace), other.fixes_of(trace))
    ]
    assert found[0].isdisjoint(found[1])
    assert len(found[0]) == len(trace)
    assert one.steps("ada", [1, 2]) != one.steps("ada", [1, 3])


def test_the_wrong_file_is_an_error(tmp_path: Path) -> None:
    """Fixes of another year: clock and file are told beside each other, and nothing is left."""
    late = Trace.of(
        Fix(fix.user, fix.time + timedelta(days=400), fix.lat, fix.lon)
        for fix in trace_of("ada", PATHS["ada"])
    )
    write_traces([late], tmp_path / "late.csv")
    with pytest.raises(TraceError, match=r"08 Apr 2027 .* 04 Mar 2026"):
        protect_file(policy_of(), read_traces(tmp_path / "late.csv"), tmp_path / "out.csv")
    assert {path.name for path in tmp_path.iterdir()} == {"late.csv"}


def test_twins_and_namesakes_are_noted(tmp_path: Path) -> None:
    """Identical streams, and names that differ in case and spaces alone, are said."""
    people = {"Ada": "ada", "ada": "ada", "  ada ": "cleo", "ben": "ben"}
    notes = run(tmp_path, {name: PATHS[path] for name, path in people.items()}).notes
    assert any("'Ada' and 'ada' have the same locations" in note for note in notes)
    (namesakes,) = (note for note in notes if "count as different people" in note)
    assert all(repr(name) in namesakes for name in ("Ada", "ada", "  ada "))
    assert "ben" not in namesakes
    (tmp_path / "x").mkdir()
    assert run(tmp_path / "x", PATHS, beside_earlier=True).notes == ()


def test_rows_of_steps_tell_no_time_of_the_input(tmp_path: Path) -> None:
    """There is one record in the middle of each step, however many there were."""
    source = write_paths(tmp_path, {"ada": PATHS["ada"]}, "trips.csv")
    (trace,) = read_traces(source)
    doubled = list(trace) + [
        Fix(fix.user, fix.time + timedelta(minutes=7), fix.lat, fix.lon) for fix in trace
    ]
    write_traces([Trace.of(sorted(doubled, key=lambda fix: fix.time))], source, overwrite=True)
    protect_file(policy_of(), read_traces(source), tmp_path / "a.csv")
    (found,) = read_traces(tmp_path / "a.csv")
    assert [fix.time for fix in found] == [
        START + timedelta(hours=step, minutes=30) for step in range(STEPS)
    ]


@pytest.mark.parametrize("kind", ["open to all", "link"])
def test_a_workspace_that_others_can_reach_is_refused(tmp_path: Path, kind: str) -> None:
    """A folder of mode 777, or a link in its place, is not used."""
    place = workspace_of(tmp_path / "out.csv")
    if kind == "link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        place.symlink_to(tmp_path / "elsewhere")
    else:
        place.mkdir()
        place.chmod(0o777)
    with pytest.raises(OutputError, match=r"chmod 700|not a link"):
        run(tmp_path, TWO)
    assert not list(tmp_path.rglob("part-*"))


def test_a_ledger_is_not_replaced_unasked(tmp_path: Path) -> None:
    """Somebody's file under the ledger's name stays; the ledger of a stopped run is its own."""
    ledger = ledger_of(tmp_path / "out.csv")
    ledger.write_text("mine")
    with pytest.raises(OutputExists):
        run(tmp_path, TWO, overwrite=False)
    assert ledger.read_text() == "mine"
    assert not workspace_of(tmp_path / "out.csv").exists()
    ledger.unlink()
    run(tmp_path, TWO, overwrite=False)
    (tmp_path / "out.csv").unlink()  # as if the run had been stopped before it wrote this
    run(tmp_path, TWO, overwrite=False)
    assert (tmp_path / "out.csv").exists()


def test_temporary_files_are_private_and_swept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a run needs for a while lies in its workspace, and leftovers of a kill go."""
    outside = tmp_path / "tmp"
    outside.mkdir()
    monkeypatch.setenv("TMPDIR", str(outside))
    monkeypatch.setattr("tempfile.tempdir", None)
    run(tmp_path, TWO)
    place = workspace_of(tmp_path / "out.csv")
    left = place / "temporary"
    left.mkdir()
    (left / "copy of true data").write_text("x")
    (place / ".x.0123456789abcdef.part").write_text("x")
    run(tmp_path, TWO)
    assert not left.exists()
    assert {path.suffix for path in place.iterdir()} == {".parquet", ".jsonl"}
    assert not list(outside.iterdir())
    assert os.environ["TMPDIR"] == str(outside)


def test_one_run_at_a_time(begun: Path) -> None:
    """A second process is told to wait."""
    from priste.batch.workspace import Workspace

    place = workspace_of(begun / "out.csv")
    with Workspace(place, policy_of().fingerprint(), Recognition.of_this_user()):
        refused(begun, "Another process")


def test_every_released_step_is_in_the_journal(begun: Path) -> None:
    """What the ledger tells is what the parts hold."""
    drawn = {
        KeptStream.read(journal, path).cells
        for path in journals(begun)
        for journal in journals_in(path.read_bytes()).values()
    }
    assert drawn == set(cells_of(run(begun, TWO)).values())


def test_a_warning_has_the_numbers_when_most_of_the_input_takes_no_part(tmp_path: Path) -> None:
    """Fixes outside the clock, and records that are none, are told with their numbers."""
    source = write_paths(tmp_path, {"ada": PATHS["ada"]}, "trips.csv")
    (trace,) = read_traces(source)
    later = [
        Fix(fix.user, fix.time + timedelta(days=day), fix.lat, fix.lon)
        for day in (0, 30, 60)
        for fix in trace
    ]
    write_traces([Trace.of(later)], source, overwrite=True)
    with source.open("a") as out:
        out.write("ada,no time,46.0,7.0\n" * 4 * len(later))
    report = protect_file(policy_of(), read_traces(source), tmp_path / "a.csv")
    told = " ".join(report.notes)
    assert f"{2 * len(trace)} of {3 * len(trace)} lie outside the clock" in told
    assert f"{4 * len(later)} of {5 * len(later)} were set aside" in told
    assert "unreadable time" in told
    few = protect_file(
        policy_of(),
        read_traces(write_paths(tmp_path, {"bob": PATHS["ben"]}, "b.csv")),
        tmp_path / "c.csv",
    )
    assert not few.notes
