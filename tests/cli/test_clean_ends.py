"""Whatever is given, a command ends with words and the right exit code, never with a traceback."""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.cli.command_line import complaint_of, priste
from tests.cli.small_world import GRID, PATHS, POLICY, trace_of, write_policy, write_trips

from priste import MarkovModel, StateError
from priste.batch import ledger_of, workspace_of
from priste.traces import write_traces


@pytest.mark.parametrize(
    "arguments",
    [
        ("protect", ".", "-p", "policy.toml"),
        ("protect", "", "-p", "policy.toml"),
        ("protect", "/", "-p", "policy.toml"),
        ("protect", "trips.csv", "-p", "policy.toml", "-o", "."),
        ("protect", "trips.csv", "-p", "policy.toml", "-o", ""),
        ("protect", "trips.csv", "-p", "policy.toml", "-o", "x" * 250),
        ("protect", "trips.csv", "-p", "."),
        ("explain", "."),
        ("explain", ""),
        ("report", ".", "-p", "policy.toml"),
        ("audit", ".", "-p", "policy.toml"),
        ("init", "trips.csv", "-o", "."),
        ("fit", "trips.csv", "-p", "policy.toml", "-o", ""),
    ],
    ids=lambda arguments: " ".join(arguments)[:40],
)
def test_places_that_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    """Folders, empty names and names that are too long are told in one panel."""
    write_policy(tmp_path)
    write_trips(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert complaint_of(priste(*arguments, code=2))
    assert {path.name for path in tmp_path.iterdir()} == {"policy.toml", "trips.csv"}


@pytest.mark.parametrize(
    "arguments",
    [
        ("protect", "trips.csv", "-p", "policy.toml", "--report", "trips.csv"),
        ("protect", "trips.csv", "-p", "policy.toml", "--report", "policy.toml"),
        ("protect", "trips.csv", "-p", "policy.toml", "--report", "link.csv"),
        ("protect", "trips.csv", "-p", "policy.toml", "-o", "o.csv", "--report", "O.CSV"),
        (
            "protect",
            "trips.csv",
            "-p",
            "policy.toml",
            "-o",
            "o.csv",
            "--report",
            "o.csv.ledger.csv",
        ),
        ("protect", "trips.csv", "-p", "policy.toml", "-o", "policy.toml"),
        ("init", "trips.csv", "-o", "trips.csv"),
        ("init", "trips.csv", "-o", "hard.csv"),
        ("fit", "trips.csv", "-p", "policy.toml", "-o", "policy.toml"),
        ("report", "trips.csv", "-p", "policy.toml", "-o", "trips.csv"),
        ("report", "trips.csv", "-p", "policy.toml", "-o", "policy.toml"),
        ("report", "trips.csv", "-p", "policy.toml", "-o", "o.html", "--plots", "trips.csv"),
        ("report", "trips.csv", "-p", "policy.toml", "-o", "o.html", "--plots", "."),
        ("report", "trips.csv", "-p", "policy.toml", "-o", "o.html", "--plots", "o.html"),
    ],
    ids=lambda arguments: " ".join(arguments)[:60],
)
def test_no_result_harms_what_it_is_made_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    """Even with --overwrite no output may be an input or another output, by whatever name."""
    write_policy(tmp_path)
    source = write_trips(tmp_path)
    (tmp_path / "link.csv").symlink_to(source)
    os.link(source, tmp_path / "hard.csv")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.chdir(tmp_path)
    assert "belong apart" in complaint_of(priste(*arguments, "--overwrite", code=2))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("old", "new"),
    [('step = "1h"', 'step = "1000000000000h"'), ("epsilon = 0.8", "epsilon = 1e400")],
)
def test_numbers_without_measure(tmp_path: Path, old: str, new: str) -> None:
    """Steps of a hundred million years and an infinite ε are mistakes in the policy."""
    assert complaint_of(priste("explain", write_policy(tmp_path, POLICY.replace(old, new)), code=2))


def test_a_huge_epsilon_can_be_explained(tmp_path: Path) -> None:
    """ε = 800 guarantees nothing much, and says so without an overflow."""
    policy = write_policy(tmp_path, POLICY.replace("epsilon = 0.8", "epsilon = 800.0"))
    assert priste("explain", policy).stdout


@pytest.mark.parametrize("schema", [b"!", b"/////w=="])
def test_a_parquet_file_whose_arrow_schema_is_broken(tmp_path: Path, schema: bytes) -> None:
    """Its columns are read as Parquet has them, by every command."""
    policy = write_policy(tmp_path)
    write_traces([trace_of("ada", PATHS["ada"])], tmp_path / "sound.parquet")
    table = pq.read_table(tmp_path / "sound.parquet")
    table = table.replace_schema_metadata({b"ARROW:schema": schema})
    pq.write_table(table, tmp_path / "trips.parquet", store_schema=False)
    trips = tmp_path / "trips.parquet"
    priste("protect", trips, "-p", policy, "-o", tmp_path / "o.parquet", "--seed", 1)
    assert pq.read_table(tmp_path / "o.parquet").num_rows == len(table)
    priste("fit", trips, "-p", policy, "-o", tmp_path / "m.npz", "--public")


def bomb(path: Path, *, compressed: bool) -> None:
    """Write a small model file whose one array would take gigabytes."""
    header = {"format": "priste mobility model", "version": 2, "kinds": ["dense"], "opening": [],
              "repeating": [0], "cyclic": False, "grid": GRID.to_dict(), "origin": None,
              "fingerprint": "x"}  # fmt: skip
    first, claim = io.BytesIO(), io.BytesIO()
    np.save(first, np.frombuffer(json.dumps(header).encode(), dtype=np.uint8))
    shape = (2_000, 2_000) if compressed else (40_000, 40_000)
    np.lib.format.write_array_header_1_0(
        claim, {"descr": "<f8", "fortran_order": False, "shape": shape}
    )
    body = b"\0" * (8 * 2_000**2) if compressed else b"\0" * 800
    kind = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with zipfile.ZipFile(path, "w", kind) as archive:
        archive.writestr("header.npy", first.getvalue())
        archive.writestr("0.matrix.npy", claim.getvalue() + body)


@pytest.mark.parametrize("compressed", [True, False])
def test_a_small_file_cannot_ask_for_much_memory(tmp_path: Path, compressed: bool) -> None:
    """Arrays that are longer than the file are refused before they are made."""
    path = tmp_path / "model.npz"
    bomb(path, compressed=compressed)
    assert path.stat().st_size < 100_000
    with pytest.raises(StateError, match=r"compressed|as long as it says"):
        MarkovModel.load(path)


def test_models_still_load(tmp_path: Path) -> None:
    """What save writes passes the check."""
    model = MarkovModel.gaussian(GRID, sigma=1.0)
    model.save(tmp_path / "m.npz")
    assert MarkovModel.load(tmp_path / "m.npz").fingerprint() == model.fingerprint()


STATUS = json.dumps({"written": "2026-03-04T00:00:00+00:00", "process": 1, "people": {}})


MANY_ENDS = """
import gc, json, os, runpy, sys
from typer.testing import CliRunner
from priste.cli.application import app

CliRunner().invoke(app, ["explain", "policy.toml"])  # what all of them import, once
gc.freeze()  # and what none of them needs to look through when it ends

def end_of(words, to):
    if to == "a reader that left":
        reading, out = os.pipe()
        os.close(reading)
    else:
        out = os.open(to, os.O_WRONLY)
    told = os.open("told", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    process = os.fork()
    if process == 0:  # from here on as ``python -m priste`` does, to the end of the interpreter
        os.dup2(out, 1)
        os.dup2(told, 2)
        sys.argv = ["priste", *words.split()]
        runpy.run_module("priste", run_name="__main__", alter_sys=True)
        sys.exit(0)
    os.close(out)
    _, status = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(status), os.pread(told, 10**6, 0).decode()

ends = [end_of(*case) for case in json.loads(sys.argv[1])]
print(json.dumps(ends))
"""
READER_LEFT, FULL = "a reader that left", "/dev/full"
ENDS = [
    ("explain policy.toml", READER_LEFT, 0),
    ("explain policy.toml", FULL, 2),
    ("init trips.csv -o new.toml --no-forecast", FULL, 2),
    ("protect trips.csv -p policy.toml --seed 1", FULL, 2),
    ("protect trips.csv -p policy.toml --seed 1 -o again.csv --json", READER_LEFT, 0),
    ("live status --state state", FULL, 2),
    ("live status --state state", READER_LEFT, 5),
]


@pytest.mark.skipif(not Path(FULL).exists(), reason="this system has no /dev/full")
def test_readers_that_leave_and_full_disks(tmp_path: Path) -> None:
    """As if it had read on, or 2 where results are lost; what was written stays; no traceback.

    All commands print by the same few lines (``console.printing``): some of each kind are tried.
    """
    write_policy(tmp_path)
    write_trips(tmp_path, ("ada",))
    (tmp_path / "state").mkdir(mode=0o700)
    (tmp_path / "state" / "status.json").write_text(STATUS)
    done = subprocess.run(
        [sys.executable, "-c", MANY_ENDS, json.dumps([case[:2] for case in ENDS])],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for (words, to, expected), (code, told) in zip(ENDS, json.loads(done.stdout), strict=True):
        assert code == expected, (words, to, told)
        assert "Traceback" not in told, (words, to, told)
        assert "Exception ignored" not in told, (words, to, told)
    assert (tmp_path / "new.toml").exists()
    assert (tmp_path / "again.csv").exists()


@pytest.mark.skipif(not Path(FULL).exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize(("command", "code"), [("--help > /dev/full", 2), ("--help | true", 0)])
def test_the_same_in_a_shell(tmp_path: Path, command: str, code: int) -> None:
    """The whole way, from a shell to its code."""
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {sys.executable} -m priste {command}"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


TERMINATED = """
import signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background ignores it
from priste.cli.console import command
def wait():
    print("ready", flush=True)
    time.sleep(60)
command(wait)(json=False)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_termination_ends_like_ctrl_c(number: signal.Signals) -> None:
    """All end with 130 and claim nothing that is not so: this command keeps nothing."""
    code = "import typer\ntry:\n" + "".join(f"    {line}\n" for line in TERMINATED.splitlines())
    code += "except typer.Exit as end:\n    raise SystemExit(end.exit_code)\n"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "nothing is kept" in told


def test_links_that_go_round_in_circles_are_told(tmp_path: Path) -> None:
    """As input, policy, output or folder of one: words and exit code 2."""
    policy, trips = write_policy(tmp_path), write_trips(tmp_path, ("ada",))
    for name in ("loop", "loop.csv", "loop.toml"):
        (tmp_path / name).symlink_to(name)
    for words in (
        ("protect", tmp_path / "loop.csv", "-p", policy, "-o", tmp_path / "o.csv"),
        ("protect", trips, "-p", tmp_path / "loop.toml", "-o", tmp_path / "o.csv"),
        ("protect", trips, "-p", policy, "-o", tmp_path / "loop.csv"),
        ("protect", trips, "-p", policy, "-o", tmp_path / "loop" / "o.csv"),
        ("init", tmp_path / "loop.csv", "-o", tmp_path / "x.toml"),
        ("explain", tmp_path / "loop.toml"),
        ("live", "-p", tmp_path / "loop.toml"),
        ("live", "-p", policy, "--state", tmp_path / "loop"),
        ("live", "status", "--state", tmp_path / "loop"),
    ):
        priste(*words, code=2)
    assert not (tmp_path / "o.csv").exists()


def test_a_terminated_run_leaves_no_drafts(tmp_path: Path) -> None:
    """SIGTERM to a real run with workers: 130, no result, no draft, no temporary file."""
    policy = write_policy(tmp_path)
    people = [trace_of(f"user{number}", PATHS["ada"]) for number in range(150)]
    write_traces(people, tmp_path / "trips.csv")
    place = workspace_of(tmp_path / "o.csv")
    command = ["protect", tmp_path / "trips.csv", "-p", policy, "-o", tmp_path / "o.csv"]
    with subprocess.Popen(
        [sys.executable, "-m", "priste", *map(str, command), "--workers", "2", "--seed", "1"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        while not place.exists() and process.poll() is None:
            time.sleep(0.05)
        process.terminate()
        _, told = process.communicate(timeout=120)
    # An interrupt that arrives while Python runs text (as dataclasses do) ends it by SIGINT, in
    # the way that shells expect and call 130 too.
    assert process.returncode in (130, -signal.SIGINT), told
    assert "run the same command to go on" in told
    assert not (tmp_path / "o.csv").exists()
    left = [path.name for path in tmp_path.rglob("*")]
    assert not [name for name in left if name.endswith(".part") or name == "temporary"], left


def test_damaged_ledgers_are_told(tmp_path: Path) -> None:
    """A ledger that is cut anywhere is read up to there or refused, and never crashes."""
    policy, trips = write_policy(tmp_path), write_trips(tmp_path, ("ada",))
    priste("protect", trips, "-p", policy, "-o", tmp_path / "o.csv", "--seed", 1)
    ledger = Path(shutil.copy(ledger_of(tmp_path / "o.csv"), tmp_path / "copy.ledger.csv"))
    content = ledger.read_bytes()
    for cut in range(0, len(content), 97):
        ledger.write_bytes(content[:cut] + b"\xff")
        assert complaint_of(
            priste("report", ledger, "-p", policy, "-o", tmp_path / "r.html", code=2)
        )


@pytest.mark.parametrize("command", ["audit", "report"])
def test_a_forged_cell_is_noticed_beside_its_run(tmp_path: Path, command: str) -> None:
    """Another cell with the same numbers is refused; the run writes the ledger as it was."""
    policy, trips = write_policy(tmp_path), write_trips(tmp_path, ("ada",))
    protect = ("protect", trips, "-p", policy, "-o", tmp_path / "o.csv", "--seed", 1)
    priste(*protect)
    ledger = ledger_of(tmp_path / "o.csv")
    true = ledger.read_bytes()
    page = ["-o", tmp_path / "r.html", "--overwrite"] if command == "report" else []
    ask = [command, ledger, "-p", policy, *page]
    priste(*ask)
    rows = [line.split(",") for line in true.decode().split("\n")]
    place = rows[0].index("cell")
    rows[1][place] = "0" if rows[1][place] != "0" else "1"
    ledger.write_text("\n".join(",".join(row) for row in rows))
    assert "changed after its run" in complaint_of(priste(*ask, code=2))
    priste(*protect, "--overwrite")
    assert ledger.read_bytes() == true
