"""``priste init``: a policy to edit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from priste.cli.console import progress
from priste.cli.sources import Reading
from priste.errors import PolicyError

if TYPE_CHECKING:
    from priste.policy import Policy


def draft(source: Path | None, output: Path, reading: Reading, *, overwrite: bool) -> Policy:
    """Write a drafted policy and return it as it reads; it is private to its owner (mode 0600)."""
    from priste.policy import draft_policy, read_policy

    if output.exists() and not overwrite:
        raise PolicyError(
            f"There is already a file {str(output)!r}. Choose another name, or --overwrite."
        )
    zone = reading.zone or "UTC"
    with progress("Reading the traces"):
        text = draft_policy(None if source is None else reading.open(source), zone=zone)
        policy = read_policy(text, folder=output.parent)
    flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if overwrite else os.O_EXCL)
    with os.fdopen(os.open(output, flags, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    return policy
