"""Commands run in this process, and what they said."""

import json
import re
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from priste.cli.application import app

NAMED_BY_THE_POLICY = {"visit", "homecoming", "clinic", "home", "treatment"}


ROOT = Path(__file__).parent.parent.parent


def priste(*arguments: object, code: int = 0) -> Result:
    """Run a command in this process at 80 columns and check its exit code."""
    result = CliRunner(env={"COLUMNS": "80", "TERM": "dumb"}).invoke(
        app, [str(a) for a in arguments]
    )
    assert result.exit_code == code, result.output
    return result


def complaint_of(result: Result) -> str:
    """Return what stderr says, without the frame and the line breaks of the panel."""
    return re.sub(r"[\s│╭╮╰╯─]+", " ", result.stderr)


def told(*arguments: object, code: int = 0) -> Any:
    """Run a command with --json and return the document: stdout holds nothing else."""
    found = json.loads(priste(*arguments, "--json", code=code).stdout)
    documented(found)
    return found


def documented(found: Any) -> None:
    """Check that docs/reference/json.md names every key of a document, apart from free names."""
    page = (ROOT / "docs" / "reference" / "json.md").read_text()
    if isinstance(found, dict):
        for key, inner in found.items():
            free = key.split(",")[0] in NAMED_BY_THE_POLICY or key.isdigit()
            assert free or f'"{key}"' in page or f"`{key}`" in page, key
            if key != "other_movement":  # its keys are words about adversaries
                documented(inner)
    elif isinstance(found, list):
        for inner in found[:2]:
            documented(inner)
