"""Databases of DuckDB that priste opens for itself: bounded, and without output."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def open_database(spill: Path | str, *, memory: str, threads: int, file: str = ":memory:") -> Any:
    """Open a database that spills to a folder, fetches nothing and draws no progress bar.

    In a notebook without ipywidgets the bar is off, and DuckDB refuses to set it at all.
    """
    import duckdb

    connection = duckdb.connect(
        file,
        config={
            "memory_limit": memory,
            "temp_directory": str(spill),
            "threads": str(threads),
            "autoinstall_known_extensions": "false",
        },
    )
    drawn = connection.execute("SELECT current_setting('enable_progress_bar')").fetchall()
    if drawn == [(True,)]:
        connection.execute("SET enable_progress_bar = false")  # it prints to standard output
    return connection
