"""Runs of many users: the whole command next to a plain loop, workers, a cluster, and memory.

Run with ``python -m benchmarks.batch``, or with the names of some of its parts (speed, fixed,
loop, twice, one, pool, short, cluster, memory, homes, kept): the others keep their figures, and
each is written when it is done. ``--quick`` takes a tenth of the users; ``--least`` keeps the least
that a run took now or before, to be given several times on a machine that others use as well.
Writes ``benchmarks/results/batch.json``. CPU seconds are those of all processes; wall seconds mean
something on an idle machine only, so the load is printed with them. All of loop, twice, one, pool
and cluster release the same: each draws the same bits for everybody. "twice" is two plain loops at
once, which is what two cores of this machine are worth at best; "short" is one and pool with few
users. Set OPENBLAS_NUM_THREADS=1.

The world is a 10 x 10 map of 1 km (20 x 20 for some of the speeds), Gaussian transitions (σ = 1
km), one PRESENCE event, ε = 0.8, the default calibrator against somebody who knows the population,
24 steps. For memory, and for what the command takes besides releases (fixed), it is a 4 x 4 map and
two steps a user, so that 20,000 users end within minutes. For homes the model knows where somebody
lives: nobody, all of them in one cell, or each in a cell of their own. "kept" is a day and the day
after it, whose streams continue: bytes that are kept, and CPU seconds next to those of the second
day released by itself.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.arguments import asked_for
from benchmarks.command import tell_costs
from priste.batch import workspace_of
from priste.policy import Policy, load_policy, read_policy
from priste.release.seeded_steps import SeededSteps, seed_of_user
from priste.traces import read_traces

RESULTS = Path(__file__).parent / "results" / "batch.json"

USERS, STEPS = 120, 24
SPEED_USERS = {100: 60, 400: 20}
"""How many users each speed is measured with, by the number of cells."""

SHORT_USERS = (18, 52)
"""How many users are some 5 and 10 seconds of work for one worker, where ``USERS`` are 20."""

SMALL_STEPS = 2
FIXED_TURNS = 3
MEMORY_USERS = (1_000, 20_000)
WORKERS = 2
START = datetime(2026, 3, 4, tzinfo=UTC)
ESTIMATED_USERS = 10_000_000
SEED = 1

POLICY = """\
[map]
south = 46.0
west = 7.0
north = {north}
east = {east}
cell_size = 1.0
[clock]
start = 2026-03-04T00:00:00
step = "1h"
steps = {steps}
[mobility]
kind = "gaussian"
sigma = 1.0
[mechanism]
kind = "planar-laplace"
alpha = 1.5
[guarantee]
epsilon = 0.8

[release]
calibrator = "{calibrator}"
[adversary]
knows = "{knows}"
[regions.clinic]
cells = [5, 6]
[events.visit]
formula = "presence(clinic, {event})"
"""
AT_HOME = """\
home = "home"
stay_home = 0.9
back_home = 0.1
stay_home_at_night = 0.99
back_home_at_night = 0.3
"""
EDGES = {16: (46.0355, 7.0515), 100: (46.0895, 7.129), 400: (46.179, 7.258)}


def policy_text(
    cells: int = 100, calibrator: str = "optimal", knows: str = "population", steps: int = STEPS
) -> str:
    """Return the policy of a world."""
    north, east = EDGES[cells]
    return POLICY.format(
        north=north, east=east, steps=steps, calibrator=calibrator, knows=knows,
        event="8..10" if steps == STEPS else "1..1",
    )  # fmt: skip


@dataclass(frozen=True)
class Cost:
    """Seconds of one piece of work: CPU here, CPU of processes it started, and on the wall."""

    here: float
    others: float
    wall: float

    @property
    def cpu(self) -> float:
        """CPU seconds of all processes together."""
        return self.here + self.others


def started(*arguments: str | Path) -> subprocess.Popen[str]:
    """Start a module of the benchmarks in a process of its own."""
    command = [sys.executable, "-m", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def costs_of(*arguments: str | Path, at_once: int = 1) -> tuple[Cost, dict[str, float]]:
    """Run a module in a process of its own, or several; return the cost and what the last tells."""
    begin = time.perf_counter()
    running = [started(*arguments) for _ in range(at_once)]
    errors = [each.communicate()[1] for each in running]
    wall = time.perf_counter() - begin
    for each, said in zip(running, errors, strict=True):
        if each.returncode:
            raise SystemExit(said)
    told: list[dict[str, float]] = [json.loads(said.splitlines()[-1]) for said in errors]
    here, others = (sum(each[name] for each in told) for name in ("here", "others"))
    return Cost(here, others, wall), told[-1]


def command(
    place: Path, name: str, *options: str, seed: int | None = SEED
) -> tuple[Cost, dict[str, float]]:
    """Run the whole command on the people of a place; without a seed it asks the register."""
    source, policy = place / "people.parquet", place / "policy.toml"
    seeded = () if seed is None else ("--seed", str(seed))
    return costs_of(
        "benchmarks.command", "protect", source, "-p", policy, "-o", place / name,
        *seeded, "--json", *options,
    )  # fmt: skip


def user_name(number: int) -> str:
    """Return what a user is called."""
    return f"user {number:08}"


def write_people(
    path: Path, policy: Policy, users: int, steps: int, day: int = 0
) -> list[list[int]]:
    """Write sampled walks in the middle of each step, and return their cells."""
    seeds = ([user, day] if day else user for user in range(users))
    walks = [policy.model.sample(steps, rng=np.random.default_rng(seed)).tolist() for seed in seeds]
    cells = np.array(walks).ravel()
    lat, lon = policy.grid.latlon(cells)
    begin = START + timedelta(days=day, minutes=30)
    times = [begin + timedelta(hours=step) for step in range(steps)] * users
    table = pa.table(
        {
            "user": np.repeat([user_name(number) for number in range(users)], steps),
            "time": pa.array(times, pa.timestamp("us", "UTC")),
            "lat": lat,
            "lon": lon,
        }
    )
    pq.write_table(table, path)
    return walks


def plain_loop(policy: Policy, walks: Mapping[str, list[int]]) -> None:
    """Release everybody with a Protector each, and nothing around it; draws as the command does."""
    for user, walk in walks.items():
        bits = SeededSteps(seed_of_user(SEED, user))
        with policy.protector(rng=bits) as protector:
            for step, cell in enumerate(walk):
                bits.begin(step)
                protector.release(cell)


def prepared(folder: Path, users: int, cells: int = 100, steps: int = STEPS) -> Path:
    """Make a folder with a policy and its people."""
    place = folder / f"{cells}-cells-{users}-users"
    if not place.exists():
        place.mkdir()
        calibrator = "optimal" if steps == STEPS else "certified"
        (place / "policy.toml").write_text(policy_text(cells, calibrator, steps=steps))
        policy = load_policy(place / "policy.toml")
        write_people(place / "people.parquet", policy, users, steps)
    return place


# In a process of its own


def tell_loop(place: Path) -> None:
    """Do with a plain loop what the command does: everybody of a file, and nothing around it."""
    policy = load_policy(place / "policy.toml")
    walks = {
        str(trace.user): [cell for cell in policy.cells(trace).cells if cell is not None]
        for trace in read_traces(place / "people.parquet")
    }
    plain_loop(policy, walks)
    tell_costs()


# Parts


def homes(folder: Path, share: int) -> dict[str, Any]:
    """Measure user-steps per CPU second, and memory, where everybody lives at a home of their own.

    Beside it: all at one home, and nobody at any; the CPU seconds are those of the whole command.
    """
    found: dict[str, Any] = {}
    for name, count in (("nobody", USERS), ("one", USERS), ("own", USERS // 4), ("own", USERS)):
        users = max(4, count // share)
        place = prepared(folder, users)
        text = policy_text()
        if name != "nobody":
            text = text.replace("sigma = 1.0\n", f"sigma = 1.0\n{AT_HOME}")
            text += "[regions.home]\n" + ("own = true\n" if name == "own" else "cells = [55]\n")
        (place / "policy.toml").write_text(text)
        policy = load_policy(place / "policy.toml")
        lat, lon = policy.grid.latlon(np.arange(users) * 7 % policy.grid.size)
        lines = [
            f"{user_name(k)},home,{lat[k]},{lon[k]},0.1\n" for k in range(users) if name == "own"
        ]
        (place / "homes.csv").write_text("user,region,lat,lon,radius_km\n" + "".join(lines))
        options = ("--places", str(place / "homes.csv")) if name == "own" else ()
        cost, told = command(place, f"{name}-home", *options)
        found[f"{name}, {users} users"] = {
            "rate": users * STEPS / cost.cpu,
            "worker_mb": told["largest_other_mb"],
        }
    return found


def speed(folder: Path, share: int) -> dict[str, Any]:
    """Measure user-steps per CPU second of a plain loop, by cells, calibrator and adversary."""
    found = {}
    for knows in ("anything", "population"):
        for calibrator in ("certified", "optimal"):
            for cells, users in SPEED_USERS.items():
                policy = read_policy(policy_text(cells, calibrator, knows))
                count = max(4, users // share)
                walks = {
                    user_name(number): policy.model.sample(STEPS, rng=number).tolist()
                    for number in range(count)
                }
                policy.protector(rng=0).release(0)  # what is compiled and tabulated once
                begin = time.process_time()
                plain_loop(policy, walks)
                rate = count * STEPS / (time.process_time() - begin)
                found[f"{calibrator}, {cells} cells, {knows}"] = {"users": count, "rate": rate}
    return found


def loop(folder: Path, share: int) -> dict[str, Any]:
    """Measure a plain loop over Protector."""
    cost, _ = costs_of("benchmarks.batch", "--loop", prepared(folder, USERS // share))
    return {"users": USERS // share, **vars(cost)}


def twice(folder: Path, share: int) -> dict[str, Any]:
    """Measure two plain loops at the same time, each over everybody."""
    place = prepared(folder, USERS // share)
    cost, _ = costs_of("benchmarks.batch", "--loop", place, at_once=2)
    return {"users": 2 * (USERS // share), **vars(cost)}


def one(folder: Path, share: int) -> dict[str, Any]:
    """Measure the whole command as it is."""
    cost, _ = command(prepared(folder, USERS // share), "one")
    return {"users": USERS // share, **vars(cost)}


def pool(folder: Path, share: int) -> dict[str, Any]:
    """Measure the whole command with workers."""
    cost, _ = command(prepared(folder, USERS // share), "pool", "--workers", str(WORKERS))
    return {"users": USERS // share, **vars(cost)}


def short(folder: Path, share: int) -> dict[str, Any]:
    """Measure the whole command with one worker and with several in runs of few users, in turn."""
    found: dict[str, Any] = {}
    for users in (max(2, count // share) for count in SHORT_USERS):
        place = prepared(folder, users)
        for name, workers in (("one", 1), ("pool", WORKERS)):
            cost, _ = command(place, name, "--workers", str(workers))
            load = os.getloadavg()[0]
            found.setdefault(str(users), {})[name] = {"users": users, **vars(cost), "load": load}
    return {"by_users": found}


def cluster(folder: Path, share: int) -> dict[str, Any]:
    """Measure the whole command on a Dask cluster that is there, with as many workers."""
    from distributed import Client, LocalCluster

    place = prepared(folder, USERS // share)
    with (
        LocalCluster(
            n_workers=WORKERS,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
        ) as there,
        Client(there, set_as_default=False) as client,
    ):
        address = there.scheduler_address
        command(place, "first", "--cluster", address, "--sample", "10%")
        before = sum(client.run(time.process_time).values())
        driver, _ = command(place, "cluster", "--cluster", address)
        others = sum(client.run(time.process_time).values()) - before
    return {"users": USERS // share, **vars(Cost(driver.here, others, driver.wall))}


def memory(folder: Path, share: int) -> dict[str, Any]:
    """Measure the largest memory of driver and workers for few and for many users."""
    found = {}
    for users in (count // share for count in MEMORY_USERS):
        place = prepared(folder, users, cells=16, steps=SMALL_STEPS)
        cost, told = command(place, "out", "--workers", str(WORKERS))
        found[str(users)] = {**vars(cost), **told}
    (few, small), (many, large) = ((int(users), told) for users, told in found.items())
    per_user = (large["here"] - small["here"]) / (many - few)
    return {"by_users": found, "driver_seconds_per_user": per_user}


def kept(folder: Path, share: int) -> dict[str, Any]:
    """Measure what a day of many users keeps, and what the next day costs."""
    found: dict[str, Any] = {}
    for users, cells, steps in ((USERS, 100, STEPS), (10 * USERS, 16, SMALL_STEPS)):
        count = max(4, users // share)
        place = prepared(folder, count, cells, steps)
        text = (place / "policy.toml").read_text()
        later = place / "later"
        later.mkdir()
        text = text.replace("03-04T", "03-05T").replace("8..10", "20..22")
        (later / "policy.toml").write_text(text)
        policy = load_policy(later / "policy.toml")
        write_people(later / "people.parquet", policy, count, steps, day=1)
        os.environ["PRISTE_STATE"] = str(place / "state")
        first, _ = command(place, "kept", seed=None)
        register = place / "state" / "released" / "register.sqlite"
        registered = register.stat().st_size / count
        going_on, _ = command(later, "goes-on", seed=None)
        apart, _ = command(later, "apart")
        files = [each for each in workspace_of(place / "kept").rglob("*") if each.is_file()]
        found[f"{count} users of {steps} steps"] = {
            "register_bytes_per_user": registered,
            "kept_bytes_per_user_step": sum(f.stat().st_size for f in files) / (count * steps),
            "first_day": vars(first),
            "day_that_goes_on": vars(going_on),
            "same_day_by_itself": vars(apart),
        }
    return found


def fixed(folder: Path, share: int) -> dict[str, Any]:
    """Measure what the command takes besides releases: people who have hardly any.

    The least of some runs, in turns.
    """
    place = prepared(folder, USERS, cells=16, steps=SMALL_STEPS)
    taken: dict[str, list[float]] = {}
    for turn in range(FIXED_TURNS):
        for name, (cost, _) in (
            ("loop", costs_of("benchmarks.batch", "--loop", place)),
            ("one", command(place, f"one-{turn}")),
            ("pool", command(place, f"pool-{turn}", "--workers", str(WORKERS))),
        ):
            taken.setdefault(name, []).append(cost.cpu)
    return {"users": USERS, **{name: min(each) for name, each in taken.items()}}


RUNS = ("loop", "twice", "one", "pool", "cluster")
"""Parts of which each is one run, or two at once, of the same people."""

PARTS = {
    each.__name__: each
    for each in (speed, fixed, loop, twice, one, pool, short, cluster, memory, homes, kept)
}


def compared(found: dict[str, Any]) -> dict[str, float]:
    """Compare the runs that are there, and say what ten million users of a day would take.

    The projection is what two idle cores would give if the driver and its workers never worked at
    the same time, beyond the work itself: less than the truth.
    """
    cpu = {name: found[name]["here"] + found[name]["others"] for name in RUNS if name in found}
    wall = {name: found[name]["wall"] for name in RUNS if name in found}
    told = {}
    if "fixed" in found:
        told["cpu_seconds_beside_releases"] = found["fixed"]["one"] - found["fixed"]["loop"]
    if {"loop", "one"} <= set(cpu):
        told["command_over_loop"] = cpu["one"] / cpu["loop"]
    if {"loop", "twice"} <= set(cpu):
        told["two_loops_speedup_wall"] = 2 * wall["loop"] / wall["twice"]
    if {"one", "pool"} <= set(cpu):
        told["pool_over_one_cpu"] = cpu["pool"] / cpu["one"]
        told["pool_speedup_wall"] = wall["one"] / wall["pool"]
        projected = found["pool"]["here"] + found["pool"]["others"] / WORKERS
        told["pool_speedup_projected"] = cpu["one"] / projected
    for users, runs in found.get("short", {}).get("by_users", {}).items():
        told[f"pool_speedup_wall_{users}_users"] = runs["one"]["wall"] / runs["pool"]["wall"]
    if {"loop", "pool"} <= set(cpu):
        told["pool_over_loop_speedup_wall"] = wall["loop"] / wall["pool"]
    if {"pool", "cluster"} <= set(cpu):
        told["cluster_over_pool_cpu"] = cpu["cluster"] / cpu["pool"]
        told["cluster_over_pool_wall"] = wall["cluster"] / wall["pool"]
    if "one" in cpu and "memory" in found:
        told["user_steps_per_cpu_second"] = found["one"]["users"] * STEPS / cpu["one"]
        work = ESTIMATED_USERS * STEPS / told["user_steps_per_cpu_second"]
        driver = ESTIMATED_USERS * found["memory"]["driver_seconds_per_user"]
        told["estimated_core_hours"] = work / 3600
        told["estimated_driver_hours"] = driver / 3600
        told["cores_until_the_driver_is_the_limit"] = work / driver
    return told


def least(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """Return the CPU seconds of the cheaper of two equal runs, and the shorter time on the wall."""
    if before["users"] != now["users"]:
        return now
    cheaper = min(before, now, key=lambda each: float(each["here"] + each["others"]))
    shorter = min(before, now, key=lambda each: float(each["wall"]))
    return {**cheaper, "wall": shorter["wall"], "load": shorter["load"]}


def least_of_each(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """Return the same for all runs of few users."""
    merged = {
        users: {
            name: least(before["by_users"][users][name], cost)
            if users in before["by_users"]
            else cost
            for name, cost in runs.items()
        }
        for users, runs in now["by_users"].items()
    }
    return {**now, "by_users": merged}


def show(found: dict[str, Any]) -> None:
    """Print the figures that are there."""
    from rich.console import Console  # the loop does without

    out = Console(highlight=False, width=100)
    for name, told in found.get("speed", {}).items():
        if isinstance(told, dict):
            out.print(f"  {name:34} {told['rate']:8.1f} user-steps a CPU second")
    for name in RUNS:
        if name in found:
            told = found[name]
            out.print(
                f"  {name:8} {told['users']} users of {STEPS} steps: {told['here']:6.1f} CPU s, "
                f"others {told['others']:6.1f}, wall {told['wall']:6.1f} s at load "
                f"{told['load']:.0f}"
            )
    for users, runs in found.get("short", {}).get("by_users", {}).items():
        walls = ", ".join(f"{name} {cost['wall']:.1f} s" for name, cost in runs.items())
        out.print(f"  {users} users on the wall: {walls}")
    for name, told in found.get("homes", {}).items():
        if isinstance(told, dict):
            out.print(
                f"  home of {name:16} {told['rate']:8.1f} user-steps a CPU second, largest worker "
                f"{told['worker_mb']:.0f} MB"
            )
    for name, told in found.get("kept", {}).items():
        if isinstance(told, dict):
            on, apart = (
                told[each]["here"] + told[each]["others"]
                for each in ("day_that_goes_on", "same_day_by_itself")
            )
            out.print(
                f"  {name}: {told['kept_bytes_per_user_step']:.0f} bytes a step, register "
                f"{told['register_bytes_per_user']:.0f} a user; the next day {on:.1f} CPU s, by "
                f"itself {apart:.1f}"
            )
    for users, told in found.get("memory", {}).get("by_users", {}).items():
        out.print(
            f"  {int(users):7,} users: driver {told['here_mb']:.0f} MB, largest worker "
            f"{told['largest_other_mb']:.0f} MB"
        )
    for name, value in found["compared"].items():
        out.print(f"  {name.replace('_', ' ')}: {value:,.3g}")


def main(arguments: Sequence[str] = ()) -> None:
    """Measure some parts, or all; print, and write the results after each."""
    asked = asked_for(
        arguments,
        __doc__,
        PARTS,
        quick="take a tenth of the users",
        least="keep the least that a run took now or before",
    )
    names, quick, keep_least = asked.parts, asked.quick, asked.least
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PRISTE_STATE"] = str(Path(folder) / "state")
        for name in names or PARTS:
            before = os.getloadavg()[0]
            told = PARTS[name](Path(folder), 10 if quick else 1)
            found: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
            found["machine"] = platform.processor() or platform.machine()
            told = {**told, "load": max(before, os.getloadavg()[0]), "quick": quick}
            if keep_least and name in found and name in (*RUNS, "short"):
                told = (least_of_each if name == "short" else least)(found[name], told)
            found[name] = told
            found["compared"] = compared(found)
            RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    show(found)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--loop"]:
        tell_loop(Path(sys.argv[2]))
    else:
        main(sys.argv[1:])
