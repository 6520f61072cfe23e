"""The recipe for Spark in docs/how-to/many-users.md, run as it stands, in Spark's local mode."""

import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.batch.small_tables import table_of
from tests.cli.small_world import STEPS, write_policy, write_trips

from priste.batch import protect_group
from priste.policy import load_policy

PAGE = Path(__file__).parent.parent.parent / "docs" / "how-to" / "many-users.md"
RECIPE = re.compile(r"<!-- the recipe for Spark -->\n```py\n(.*?)```", re.DOTALL)

QUICK_TO_BEGIN = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Java compiles as for a long life otherwise, which takes longer than all that Spark does here."""


def need(is_there: object, what: str) -> None:
    """Fail in CI, where everything is installed, and skip elsewhere."""
    if not is_there:
        reason = f"{what} is not installed (.ci/run installs it)"
        if "CI" in os.environ:
            pytest.fail(reason)
        pytest.skip(reason)


@pytest.fixture
def spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return a session of two threads on this machine, without a page of its own."""
    need(importlib.util.find_spec("pyspark"), "pyspark (tests/spark-requirements.lock)")
    need(shutil.which("java"), "Java (Debian package openjdk-17-jre-headless)")
    from pyspark.sql import SparkSession

    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("JDK_JAVA_OPTIONS", QUICK_TO_BEGIN)
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(tmp_path / "warehouse"))
        .config("spark.local.dir", str(tmp_path / "local"))
        .getOrCreate()
    )
    yield session
    session.stop()


@pytest.mark.filterwarnings("ignore")
def test_spark_gives_what_one_process_gives(tmp_path: Path, spark: Any) -> None:
    """Every user's rows are those of protect_group, wherever Spark ran it."""
    write_policy(tmp_path)
    write_trips(tmp_path, ("ada", "ben"), "trips.csv")
    (recipe,) = RECIPE.findall(PAGE.read_text(encoding="utf-8"))
    key = bytes(range(32))
    names: dict[str, Any] = {"spark": spark, "key": key, "folder": tmp_path}
    exec(recipe, names)
    found = sorted(
        (row["user"], row["step"], row["lat"], row["lon"], row["problem"])
        for row in names["released"].collect()
    )
    expected = protect_group(table_of("ada", "ben"), load_policy(tmp_path / "policy.toml"), key)
    assert len(found) == 2 * STEPS
    assert found == sorted(
        (row["user"], row["step"], row["lat"], row["lon"], None)
        for row in expected.rows.to_pylist()
    )
