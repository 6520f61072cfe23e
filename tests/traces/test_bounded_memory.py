"""A million rows are read, and written back, within a fixed amount of memory."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="peak memory is read from Linux's /proc"
)

ROWS = 1_000_000
USERS = 100
STEPS = 10_000
LIMIT_MB = 450
"""DuckDB may take 256 MB; Python with numpy, pyarrow and DuckDB loaded takes 150. The rows
alone, as Python objects, would take far more than half a gigabyte."""

# ru_maxrss would count the process that forked this one; VmHWM starts with the program.
PEAK = """
import re
from pathlib import Path
def peak_mb():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024
"""

READ = """
import json, sys
from priste.traces import read_traces
traces = read_traces(sys.argv[1])
fixes = sum(len(trace) for trace in traces)
peak = peak_mb()
report = traces.report.to_dict()
found = {"fixes": fixes, "users": report["users"], "problems": report["problems"], "peak": peak}
print(json.dumps(found))
"""

WRITE = """
import json, sys
from datetime import UTC, datetime, timedelta
from priste.maps import Grid
from priste.traces import Timeline, read_traces, write_released
grid = Grid.covering(46.0, 7.0, 46.05, 7.08, cell_size=0.5)
line = Timeline(datetime(2024, 1, 1, tzinfo=UTC), timedelta(hours=1))
released = {f"u{i:03d}": [7] * int(sys.argv[4]) for i in range(int(sys.argv[3]))}
report = write_released(read_traces(sys.argv[1]), sys.argv[2], released, line, grid)
peak = peak_mb()
print(json.dumps({"written": report.written, "peak": peak}))
"""


def run(code: str, *arguments: object) -> dict[str, object]:
    """Run a program of its own, so that its peak of memory is its own; return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", PEAK + code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, object] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """CSV and Parquet files by DuckDB with the rows of all users interleaved in time."""
    import duckdb

    folder = tmp_path_factory.mktemp("tables")
    connection = duckdb.connect(config={"memory_limit": "256MB"})
    connection.execute("SET enable_progress_bar = false")
    rows = (
        f"SELECT 'u' || lpad((i % {USERS})::VARCHAR, 3, '0') AS user, "
        f"strftime(TIMESTAMP '2024-01-01' + to_seconds((i // {USERS}) * 5), '%Y-%m-%dT%H:%M:%SZ') "
        "AS time, 46.0 + (hash(i * 7) % 50000) / 1e6 AS lat, "
        "7.0 + (hash(i * 13) % 80000) / 1e6 AS lon, 417.5 AS altitude "
        f"FROM range({ROWS}) t(i)"
    )
    connection.execute(f"COPY ({rows}) TO '{folder}/rows.parquet'")
    connection.execute(f"COPY (FROM '{folder}/rows.parquet') TO '{folder}/rows.csv'")
    return folder


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_reading_takes_bounded_memory(kind: str, tables: Path) -> None:
    """A million interleaved rows come out user by user, in order, without the rows in memory."""
    found = run(READ, tables / f"rows.{kind}")
    assert (found["fixes"], found["users"], found["problems"]) == (ROWS, USERS, {})
    assert float(str(found["peak"])) < LIMIT_MB


def test_writing_takes_bounded_memory(tables: Path, tmp_path: Path) -> None:
    """Releases of everybody are written step by step within the same memory."""
    found = run(WRITE, tables / "rows.parquet", tmp_path / "out.parquet", USERS, STEPS)
    assert found["written"] == USERS * STEPS
    assert float(str(found["peak"])) < LIMIT_MB
