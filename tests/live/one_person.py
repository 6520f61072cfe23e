"""The settings of a service for one person."""

from __future__ import annotations

from pathlib import Path

from tests.live.small_town import (
    write_policy,
)

from priste.live.addresses import read_output
from priste.live.person_stream import StreamOptions
from priste.live.settings import PersonSettings, Settings

SEED = 5


def one_person(folder: Path, *outputs: str, token: str | None = None) -> Settings:
    person = PersonSettings(
        "ada",
        write_policy(folder),
        token=token,
        outputs=tuple(map(read_output, outputs)),
        options=StreamOptions(seed=SEED),
        clock="fixes",
    )
    return Settings(folder / "state", (person,), listen=("127.0.0.1", 0))
