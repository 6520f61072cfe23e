"""Runs of many users: the whole command beside a plain loop, workers, a cluster, and memory.

Run with ``python -m benchmarks.batch``; ``--quick`` takes a tenth of the users, for a busy machine.
Writes ``benchmarks/results/batch.json``. CPU seconds are those of all processes; wall seconds mean
something on an idle machine only, so the load is told beside them. Compare within one run only.

The world is a 10 x 10 map of 1 km, Gaussian transitions (σ = 1 km), one PRESENCE event, ε = 0.8,
the default calibrator. For memory it is a 4 x 4 map and two steps a user, so that 20,000 users end
within minutes.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console

from priste.batch import protect_file
from priste.policy import Policy, load_policy
from priste.traces import read_traces

RESULTS = Path(__file__).parent / "results" / "batch.json"

USERS, STEPS = 120, 24
SMALL_STEPS = 2
MEMORY_USERS = (1_000, 20_000)
WORKERS = 2
START = datetime(2026, 3, 4, tzinfo=UTC)
ESTIMATED_USERS = 10_000_000

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
[release]
epsilon = 0.8
calibrator = "{calibrator}"
[regions.clinic]
cells = [5, 6]
[events.visit]
formula = "presence(clinic, {event})"
"""
LARGE = POLICY.format(north=46.0895, east=7.129, steps=STEPS, calibrator="optimal", event="8..10")
SMALL = POLICY.format(
    north=46.0355, east=7.0515, steps=SMALL_STEPS, calibrator="certified", event="1..1"
)


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


@contextmanager
def measured(costs: dict[str, Cost], name: str) -> Iterator[None]:
    """Measure what happens within; processes it started must have ended."""

    def now() -> tuple[float, float, float]:
        here = resource.getrusage(resource.RUSAGE_SELF)
        others = resource.getrusage(resource.RUSAGE_CHILDREN)
        return (
            here.ru_utime + here.ru_stime,
            others.ru_utime + others.ru_stime,
            time.perf_counter(),
        )

    before = now()
    yield
    costs[name] = Cost(*(b - a for a, b in zip(before, now(), strict=True)))


def write_people(path: Path, policy: Policy, users: int, steps: int) -> list[list[int]]:
    """Write sampled walks in the middle of each step, and return their cells."""
    walks = [policy.model.sample(steps, rng=user).tolist() for user in range(users)]
    cells = np.array(walks).ravel()
    lat, lon = policy.grid.latlon(cells)
    times = [START + timedelta(hours=step, minutes=30) for step in range(steps)] * users
    table = pa.table(
        {
            "user": np.repeat([f"user {k:08}" for k in range(users)], steps),
            "time": pa.array(times, pa.timestamp("us", "UTC")),
            "lat": lat,
            "lon": lon,
        }
    )
    pq.write_table(table, path)
    return walks


def plain_loop(policy: Policy, walks: list[list[int]]) -> None:
    """Release everybody with a Protector each, and nothing around it."""
    for user, walk in enumerate(walks):
        with policy.protector(rng=user) as protector:
            for cell in walk:
                protector.release(cell)


def engines(folder: Path, users: int) -> dict[str, Any]:
    """Measure the whole command against a plain loop, with workers, and on a cluster."""
    (folder / "policy.toml").write_text(LARGE)
    policy = load_policy(folder / "policy.toml")
    walks = write_people(folder / "people.parquet", policy, users, STEPS)
    plain_loop(policy, walks[:2])  # what is compiled and tabulated once
    costs: dict[str, Cost] = {}
    source = folder / "people.parquet"

    def run(name: str, **options: Any) -> None:
        protect_file(policy, read_traces(source), folder / name, seed=1, **options)

    with measured(costs, "plain loop"):
        plain_loop(policy, walks)
    with measured(costs, "one process"):
        run("one")
    with measured(costs, "pool"):
        run("pool", workers=WORKERS)
    costs["cluster"] = on_a_cluster(run)
    steps = users * STEPS
    one, pool, cluster = costs["one process"], costs["pool"], costs["cluster"]
    return {
        "users": users,
        "steps": steps,
        "costs": {name: {**vars(cost), "cpu": cost.cpu} for name, cost in costs.items()},
        "user_steps_per_cpu_second": steps / one.cpu,
        "users_per_cpu_second": users / one.cpu,
        "command_over_loop": one.cpu / costs["plain loop"].cpu,
        "pool_over_one_cpu": pool.cpu / one.cpu,
        "cluster_over_pool_cpu": cluster.cpu / pool.cpu,
        "pool_speedup_wall": one.wall / pool.wall,
        "cluster_over_pool_wall": cluster.wall / pool.wall,
        "driver_share_of_pool_cpu": pool.here / pool.cpu,
    }


def on_a_cluster(run: Callable[..., None]) -> Cost:
    """Run on a cluster that is there, with as many workers as the pool; it has run before."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=WORKERS,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        run("first", cluster=cluster.scheduler_address, sample=0.1)
        costs: dict[str, Cost] = {}
        before = sum(client.run(time.process_time).values())
        with measured(costs, "cluster"):
            run("cluster", cluster=cluster.scheduler_address)
        others = sum(client.run(time.process_time).values()) - before
    return Cost(costs["cluster"].here, others, costs["cluster"].wall)


def memory(folder: Path, users: int) -> dict[str, float]:
    """Run some users in a process of its own and two workers; return what it took at most."""
    place = folder / f"memory-{users}"
    place.mkdir()
    (place / "policy.toml").write_text(SMALL)
    policy = load_policy(place / "policy.toml")
    write_people(place / "people.parquet", policy, users, SMALL_STEPS)
    command = [sys.executable, "-m", "benchmarks.batch", "--memory", str(place)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def tell_memory(place: Path) -> None:
    """Protect the people of a folder and print the largest memory of this process and workers."""
    policy = load_policy(place / "policy.toml")
    costs: dict[str, Cost] = {}
    with measured(costs, "run"):
        protect_file(
            policy, read_traces(place / "people.parquet"), place / "out", seed=1, workers=WORKERS
        )
    here, others = (
        resource.getrusage(who).ru_maxrss / 1024
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    cost = costs["run"]
    print(
        json.dumps({"driver_mb": here, "largest_worker_mb": others, **vars(cost), "cpu": cost.cpu})
    )


def estimate(found: dict[str, Any]) -> dict[str, float]:
    """Say what ten million users of a day would take, from the figures of this run."""
    engines, sizes = found["engines"], found["memory"]
    (few, small), (many, large) = ((int(users), told) for users, told in sizes.items())
    per_user = (large["here"] - small["here"]) / (many - few)
    work = ESTIMATED_USERS * STEPS / engines["user_steps_per_cpu_second"]
    driver = ESTIMATED_USERS * per_user
    return {
        "core_hours": work / 3600,
        "driver_hours": driver / 3600,
        "cores_until_the_driver_is_the_limit": work / driver,
    }


def show(found: dict[str, Any]) -> None:
    """Print the figures."""
    out = Console(highlight=False, width=100)
    e = found["engines"]
    out.print(f"load of the machine: {found['load']:.1f} on {os.cpu_count()} cores")
    for name, cost in e["costs"].items():
        out.print(f"  {name:12} {cost['cpu']:8.1f} CPU s {cost['wall']:8.1f} s")
    out.print(
        f"{e['users']} users of {STEPS} steps: {e['user_steps_per_cpu_second']:.1f} user-steps a "
        f"CPU second; the whole command takes {e['command_over_loop']:.3f} times a plain loop\n"
        f"{WORKERS} workers: {e['pool_speedup_wall']:.2f} times as fast on the wall, "
        f"{e['pool_over_one_cpu']:.2f} times the CPU\n"
        f"cluster over pool: {e['cluster_over_pool_cpu']:.2f} times the CPU, "
        f"{e['cluster_over_pool_wall']:.2f} times the wall"
    )
    for users, told in found["memory"].items():
        out.print(
            f"  {int(users):7,} users: driver {told['driver_mb']:.0f} MB, largest worker "
            f"{told['largest_worker_mb']:.0f} MB; {1000 * told['here'] / int(users):.2f} CPU ms of "
            "the driver per user"
        )
    last = found["estimate"]
    out.print(
        f"{ESTIMATED_USERS:,} users of {STEPS} steps: {last['core_hours']:,.0f} core-hours, of the "
        f"driver {last['driver_hours']:.1f} hours; up to "
        f"{last['cores_until_the_driver_is_the_limit']:,.0f} cores help"
    )


def main(*, quick: bool = False) -> None:
    """Measure, print, and write the results."""
    share = 10 if quick else 1
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PRISTE_STATE"] = str(Path(folder) / "state")
        found: dict[str, Any] = {
            "machine": platform.processor() or platform.machine(),
            "load": os.getloadavg()[0],
            "quick": quick,
            "engines": engines(Path(folder), USERS // share),
            "memory": {
                str(users // share): memory(Path(folder), users // share) for users in MEMORY_USERS
            },
        }
    found["estimate"] = estimate(found)
    show(found)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    if "--memory" in sys.argv:
        tell_memory(Path(sys.argv[-1]))
    else:
        main(quick="--quick" in sys.argv)
