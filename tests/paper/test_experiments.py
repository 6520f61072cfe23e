"""Every experiment in a tiny version: it runs, it is repeatable, and it shows what it says."""

import csv
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
from paper.catalogue import CATALOGUE, chosen
from paper.experiments import clock_sweep
from paper.experiments.budget_per_step import EARLY, panels
from paper.experiments.experiment import Settings, settings_for
from paper.experiments.release_runs import CALIBRATORS, NORMALISED, PACE, Case, Window
from paper.kept import keep
from paper.reproduction import csv_text, reproduce
from paper.running.jobs import Job, loads, perform, perform_load, seed_of
from paper.running.store import STORE, Store
from paper.worlds.world import world_of
from tests.paper.small_experiments import FEW, FIRST, make_results

from priste.errors import InvalidParameter
from priste.release import Paper

TINY = settings_for("tiny")
SHORT = settings_for("tiny", steps=12)
"""The early event at 3 to 7, and some steps behind it."""
LEAN = settings_for("tiny", runs_with={NORMALISED: 1}, truth_runs=0, steps=9)
LEAKAGE_TOLERANCE = 1e-8
LATE = "fig-budget-presence-late"
WHOLE = (FIRST, "fig-utility-geolife-delta-presence")
"""Experiments made with every calibrator and the adversary behind them, on the plane and in cities;
the others are made of the paper's loop."""
QUICKEST = "table-true-leakage"
EVERYTHING = "PRISTE_ALL_EXPERIMENTS" in os.environ
"""Every experiment as those, and the twins as well: minutes."""
TWINS = {
    "fig-utility-sigma-presence": "fig-utility-sigma-pattern",
    "fig-utility-geolife-alpha-pattern": "fig-utility-geolife-alpha-presence",
    "fig-utility-geolife-delta-pattern": "fig-utility-geolife-delta-presence",
}
"""Experiments that differ from others in the event alone."""
MADE = [name for name in CATALOGUE if name not in TWINS or EVERYTHING]
WRITTEN = [name for name in MADE if name == QUICKEST or EVERYTHING]
"""Of these all files are written, of the first one by the command's test; the others are drawn."""


def test_twins_differ_in_their_event_alone() -> None:
    """What is left out above is made of the same jobs as what is made, but for the event."""

    def but_for_the_event(name: str) -> list[dict[str, object]]:
        jobs = (job.parameters for job in CATALOGUE[name].jobs(TINY))
        return [{key: job[key] for key in job if key != "events"} for job in jobs]

    for left_out, made in TWINS.items():
        one, other = but_for_the_event(left_out), but_for_the_event(made)
        assert all(job in other for job in one)


def make_here(folder: Path, jobs: Iterable[Job]) -> None:
    """Do jobs in this process, which has loaded everything already."""
    with Store(folder) as store:
        for load in loads({job.digest: job for job in jobs}.values()):
            for job, result in zip(load, perform_load(load), strict=True):
                store.add(job, result, 0.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the results of all experiments, and the files of some."""
    place = tmp_path_factory.mktemp("reproduction")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock_sweep, "STEPS", LEAN.steps)  # the only one with steps of its own
        make_here(place, (job for name in MADE for job in CATALOGUE[name].jobs(settings_of(name))))
        reproduce(WRITTEN, place, TINY, workers=1, command="test")
        yield place


def settings_of(name: str) -> Settings:
    if name in WHOLE:
        return SHORT
    return TINY if name in (*WRITTEN, LATE) else LEAN


@pytest.mark.parametrize("name", WRITTEN)
def test_an_experiment_writes_tables_pictures_and_settings(folder: Path, name: str) -> None:
    """CSV, PNG and PDF of every picture, and the settings that made them are there and whole."""
    place = folder / name
    outcome = json.loads((place / "outcome.json").read_text())
    for picture, caption in outcome["pictures"]:
        assert caption
        assert (place / f"{picture}.png").read_bytes().startswith(b"\x89PNG")
        assert (place / f"{picture}.pdf").read_bytes().startswith(b"%PDF")
        assert "<svg" in (place / f"{picture}.svg").read_text()
    for table in outcome["tables"]:
        head, *rows = csv.reader((place / f"{table}.csv").read_text().splitlines())
        assert rows
        assert all(len(row) == len(head) for row in rows)
    settings = json.loads((place / "settings.json").read_text())
    assert settings["settings"]["seed"] == TINY.seed
    assert settings["command"] == "test"


@pytest.mark.parametrize("name", MADE)
def test_each_experiment_has_tables_pictures_and_findings(folder: Path, name: str) -> None:
    """Whatever an experiment makes of its results is whole, and its pictures can be drawn."""
    with Store(folder) as store:
        outcome = CATALOGUE[name].outcome(settings_of(name), store.results)
    assert outcome.pictures
    assert outcome.findings
    for table in outcome.tables:
        head, *rows = csv.reader(csv_text(table).splitlines())
        assert rows
        assert all(len(row) == len(head) for row in rows)
    for finding in outcome.findings:
        assert finding.verdict in ("reproduced", "not reproduced", "not decidable")
        assert finding.numbers
    for picture in outcome.pictures:
        figure = picture.draw()
        assert figure.axes
        assert any(axes.lines or axes.collections or axes.containers for axes in figure.axes)
    assert all(outcome.remarks)


def test_the_page_shows_every_experiment(folder: Path) -> None:
    """The index holds all titles, what the paper says, and asks nothing of the network."""
    page = (folder / "index.html").read_text()
    for name in WRITTEN:
        assert f'id="{name}"' in page
    assert "Content-Security-Policy" in page
    assert "src=" not in page
    assert page.count("<svg") >= len(WRITTEN)


def test_nothing_is_done_twice(folder: Path) -> None:
    """Making an experiment again does no job and gives the same files, settings' date aside."""
    before = {path.name: path.read_bytes() for path in (folder / QUICKEST).glob("*.*")}
    size = (folder / STORE).stat().st_size
    counts: list[tuple[int, int]] = []
    reproduce(
        [QUICKEST], folder, TINY, command="test", on_progress=lambda _, d, t: counts.append((d, t))
    )
    assert counts == [(counts[0][1], counts[0][1])]
    assert (folder / STORE).stat().st_size == size
    after = {path.name: path.read_bytes() for path in (folder / QUICKEST).glob("*.*")}
    assert {n for n in before if before[n] != after[n]} <= {"settings.json"}


def test_what_is_kept_is_what_was_found(folder: Path, tmp_path: Path) -> None:
    """Verdicts, rows and settings are those of the files; other experiments stay as kept before."""
    kept = tmp_path / "kept.json"
    kept.write_text(json.dumps({"experiments": {LATE: "kept before"}}))
    shown = tmp_path / f"{QUICKEST}-true-leakage.png"
    shown.touch()
    figures = json.loads(keep(folder, kept, tmp_path).read_text())["experiments"]
    found, place = figures[QUICKEST], folder / QUICKEST
    outcome = json.loads((place / "outcome.json").read_text())
    with (place / "true-leakage.csv").open() as file:
        rows = list(csv.DictReader(file))
    leaks = [row["true_leakage"] for row in found["tables"]["true-leakage"]]
    assert leaks == pytest.approx([float(row["true_leakage"]) for row in rows], rel=1e-3)
    verdicts = [(each["claim"], each["verdict"]) for each in found["findings"]]
    assert verdicts == [(each["claim"], each["verdict"]) for each in outcome["findings"]]
    assert found["settings"] == json.loads((place / "settings.json").read_text())["settings"]
    assert list(figures) == [name for name in CATALOGUE if name in (LATE, *WRITTEN)]
    assert figures[LATE] == "kept before"
    assert shown.read_bytes() == (place / "true-leakage.png").read_bytes()


def stream_results(folder: Path) -> dict[str, object]:
    """What is stored, but for a line that was cut off."""
    whole, _, _ = (folder / STORE).read_text().rpartition("\n")
    records = [json.loads(line) for line in whole.splitlines()]
    return {record["job"]: record["result"] for record in records}


def test_the_seed_decides(folder: Path) -> None:
    """The same job gives the same result in this process; another seed another one."""
    (_, case), *_ = panels(SHORT, [EARLY], None)[0].cases
    job = case.jobs(SHORT)[0]
    again = perform(job)
    with Store(folder) as store:
        assert store.results[job] == again
    other = settings_for("tiny", steps=SHORT.steps, seed=7)
    assert perform(case.jobs(other)[0]) != again


def test_a_killed_run_goes_on_and_the_number_of_processes_does_not_matter(tmp_path: Path) -> None:
    """kill -9 in the middle of two processes, the rest in one: as without a stop, to the byte."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.paper.small_experiments", tmp_path / "out"],
        cwd=Path(__file__).parents[2],
    )
    store = tmp_path / "out" / STORE
    deadline = time.monotonic() + 600
    while (
        process.poll() is None
        and time.monotonic() < deadline
        and not (store.exists() and store.stat().st_size > 3000)
    ):
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    done = stream_results(tmp_path / "out")
    assert done
    make_results(tmp_path / "out", FEW, 1)
    make_here(tmp_path / "whole", CATALOGUE[FIRST].jobs(FEW))
    assert done.items() <= stream_results(tmp_path / "out").items()
    assert stream_results(tmp_path / "out") == stream_results(tmp_path / "whole")


def summary_of(folder: Path, name: str) -> list[dict[str, str]]:
    """The rows of an experiment's summary, as they are written."""
    with Store(folder) as store:
        summary = CATALOGUE[name].outcome(settings_of(name), store.results).tables[0]
    assert summary.name == "summary"
    return list(csv.DictReader(csv_text(summary).splitlines()))


def test_certified_keeps_its_guarantee_and_the_papers_loop_does_not(folder: Path) -> None:
    """In the column of true leakage, calibrators with a guarantee stay within ε."""
    excess = dict.fromkeys(SHORT.calibrators, -math.inf)
    for name in WHOLE:
        for row in summary_of(folder, name):
            if row["true_leakage_max"]:
                over = float(row["true_leakage_max"]) - float(row["epsilon"])
                excess[row["calibrator"]] = max(excess[row["calibrator"]], over)
    assert excess["paper"] > 0.05
    for name in set(excess) - {"paper", NORMALISED}:
        assert excess[name] <= LEAKAGE_TOLERANCE


def independent_truth(case: Case, settings: Settings) -> float:
    """The true leakage of run 0 from the whole distribution of the loop, step by step."""
    from priste import AnyPrior, PlanarLaplace, Quantifier
    from priste.randomness import bit_source
    from priste.release import StreamTree, make_terms

    world = world_of(json.loads(case.worlds[0]))
    event = case.events[0].event(world.region)
    noise = PlanarLaplace(world.grid, case.alpha)
    terms = make_terms(world.model, event, noise, case.epsilon, None, AnyPrior())
    node = StreamTree.of(terms, Paper()).root
    bits = bit_source(seed_of(settings.seed, "noise", 0))
    adversary, largest = Quantifier(world.model, event), 0.0
    for cell in world.walk(seed_of(settings.seed, "walk", 0), settings.steps):
        drawn, distribution = node.rule.draw(int(cell), bits), node.distribution
        adversary.observe(
            distribution.joint[distribution.budgets.index(drawn.budget), :, drawn.output]
        )
        largest = max(largest, float(adversary.leakage().value))
        node = node.after(drawn)
    return largest


def test_true_leakage_is_that_of_the_whole_distribution(folder: Path) -> None:
    """The column equals a computation that writes out the whole distribution of every step."""
    (_, case), *_ = panels(SHORT, [EARLY], None)[0].cases
    with Store(folder) as store:
        stated = store.results[case.jobs(SHORT)[0]]["true_leakage"]
    assert stated == [pytest.approx(independent_truth(case, SHORT), abs=LEAKAGE_TOLERANCE)]


def test_summaries_are_means_of_the_runs(folder: Path) -> None:
    """A row of the summary is the plain mean of what the runs released."""
    (label, case), *_ = panels(SHORT, [EARLY], None)[0].cases
    with Store(folder) as store:
        runs = store.results.of(case.jobs(SHORT))
    row = next(
        row
        for row in summary_of(folder, FIRST)
        if row["curve"] == label and row["calibrator"] == "paper"
    )
    assert float(row["mean_budget"]) == pytest.approx(np.mean([run["budgets"] for run in runs]))
    distances = np.mean([run["distances"] for run in runs])
    assert float(row["mean_distance_km"]) == pytest.approx(distances)


def test_releases_that_tell_nothing_stand_beside_the_distances(folder: Path) -> None:
    """Per step the mean distance of every cell, and of the cell that is best in the long run."""
    (_, case), *_ = panels(SHORT, [EARLY], None)[0].cases
    world = world_of(json.loads(case.worlds[0]))
    distances = world.grid.distances()
    walk = list(world.walk(seed_of(SHORT.seed, "walk", 0), SHORT.steps))
    share = world.model.stationary()
    costs = [sum(p * d for p, d in zip(share, line, strict=True)) for line in distances]
    with Store(folder) as store:
        run = store.results[case.jobs(SHORT)[0]]
    assert run["uniform"] == pytest.approx(distances[walk].mean(axis=1))
    assert run["constant"] == pytest.approx(distances[walk, int(np.argmin(costs))])
    assert all(float(row["constant_distance_km"]) > 0 for row in summary_of(folder, FIRST))


def test_the_loop_with_normalised_rows_is_the_loop_on_another_table() -> None:
    """The same case and seeds; only the table differs, and nobody follows it once more."""
    (_, case), *_ = panels(TINY, [EARLY], None)[0].cases
    usual, other = (
        case.but(calibrator=name).jobs(TINY)[0].parameters for name in ("paper", NORMALISED)
    )
    assert {key for key in usual if usual[key] != other[key]} == {"table", "truth"}


def test_settings_and_names_are_checked() -> None:
    """Unknown sizes, names and kinds of event, and too few runs, are refused by name."""
    with pytest.raises(InvalidParameter, match="'size' must be one of"):
        settings_for("huge")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="at least 2"):
        settings_for("tiny", runs=1)
    with pytest.raises(InvalidParameter, match="fig-7"):
        chosen(["fig-7"])
    with pytest.raises(InvalidParameter, match="None was named"):
        chosen([])
    with pytest.raises(InvalidParameter, match="presence or pattern"):
        Window("dance", 1, 2).event([0])
    assert [e.name for e in chosen(["all"])] == list(CATALOGUE)
    assert CALIBRATORS["certified"]["pace"] == PACE
