"""A model as a file (npz, no pickle), and the fingerprint of its exact content."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from priste.atomic_files import atomic_output
from priste.errors import InvalidParameter, OutputError, StateError
from priste.maps import Grid
from priste.mobility.structured import FORMS
from priste.mobility.transitions import Arrays, Schedule, Transition
from priste.mobility.validation import frozen_ints


@dataclass(frozen=True)
class ModelOrigin:
    """What a model says about itself beyond its matrices.

    Step 0 of the model begins at ``start`` (aware) and steps are ``step`` long; days are read on
    the clocks of ``zone``. ``sources`` are fingerprints of the traces it was fitted on, one per
    person and day; empty for a model made otherwise.
    """

    start: datetime
    step: timedelta
    zone: str
    sources: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.start.tzinfo is None or self.step <= timedelta(0):
            raise InvalidParameter(
                "must have a zone, and its 'step' must be > 0",
                parameter="start",
                owner="a ModelOrigin",
                got=f"{self.start.isoformat()} and {self.step}",
            )

    def shifted(self, steps: int) -> ModelOrigin:
        """Return the origin of the model that starts ``steps`` later."""
        return replace(self, start=self.start + steps * self.step)

    def knows(self, fingerprints: Iterable[str]) -> bool:
        """Return whether one of these days of a person was fitted on."""
        return not self.sources.isdisjoint(fingerprints)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able values; :meth:`from_dict` gives back an equal origin."""
        return {
            "start": self.start.isoformat(),
            "step_microseconds": self.step // timedelta(microseconds=1),
            "zone": self.zone,
            "sources": sorted(self.sources),
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> ModelOrigin:
        """Return the origin that :meth:`to_dict` saved."""
        return cls(
            datetime.fromisoformat(saved["start"]),
            timedelta(microseconds=int(saved["step_microseconds"])),
            str(saved["zone"]),
            frozenset(map(str, saved["sources"])),
        )


FORMAT = "priste mobility model"
VERSION = 1
"""Of the file and of the fingerprint: a change of either raises it, and other files are refused."""

_UNREADABLE = (
    OSError,
    ValueError,
    TypeError,
    LookupError,
    EOFError,
    AttributeError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    SyntaxError,
    struct.error,
    tokenize.TokenError,
    UserWarning,
    zipfile.BadZipFile,
    zlib.error,
)
"""What numpy, zipfile and json raise on files that are not what they seem."""


def _transition_from(kind: str, arrays: Arrays, pairs: int) -> Transition:
    if kind not in FORMS:
        raise ValueError(f"unknown kind of transition {kind!r}")
    return FORMS[kind].from_arrays(arrays, pairs)


def _digest(transition: Transition) -> str:
    arrays = transition.to_arrays()
    digest = hashlib.sha256(transition.kind.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        digest.update(f"|{name}|{array.dtype.str}|{array.shape}|".encode())
        digest.update(array.data if array.size else b"")
    return digest.hexdigest()


def fingerprint(grid: Grid, schedule: Schedule) -> str:
    """Return the SHA-256 of everything that determines the model, as 64 hexadecimal digits."""
    distinct = dict.fromkeys(schedule.transitions())
    digests = {transition: _digest(transition) for transition in distinct}
    pairs = schedule.pairs
    content = {
        "format": FORMAT,
        "version": VERSION,
        "grid": grid.to_dict(),
        "opening": [digests[transition] for transition in schedule.opening],
        "repeating": [digests[transition] for transition in schedule.repeating],
        "cyclic": schedule.cyclic,
        "pairs": None if pairs is None else hashlib.sha256(pairs.astype("<i8").data).hexdigest(),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def write_model(
    path: str | os.PathLike[str], grid: Grid, schedule: Schedule, origin: ModelOrigin | None
) -> None:
    """Write the file whole or not at all. Replaces a model file, never any other file."""
    target = Path(path)
    if target.exists() and not _is_model(target):
        raise StateError(
            f"priste will not overwrite {str(target)!r}: it is not a mobility model.",
            owner="MarkovModel.save",
            hint="Choose another path, or remove the file yourself.",
        )
    try:
        with atomic_output(target, overwrite=True) as draft, draft.open("wb") as file:
            _save(file, grid, schedule, origin)
    except OutputError as error:
        raise StateError(
            f"priste cannot write a model to {str(target)!r}: {error.rule}",
            owner="MarkovModel.save",
            hint=error.hint,
        ) from error


def model_bytes(grid: Grid, schedule: Schedule, origin: ModelOrigin | None) -> bytes:
    """Return the content of a file of :func:`write_model`, without writing one."""
    file = io.BytesIO()
    _save(file, grid, schedule, origin)
    return file.getvalue()


def _save(file: IO[bytes], grid: Grid, schedule: Schedule, origin: ModelOrigin | None) -> None:
    places = {
        transition: place for place, transition in enumerate(dict.fromkeys(schedule.transitions()))
    }
    arrays: Arrays = {}
    for transition, place in places.items():
        parts = transition.to_arrays()
        arrays.update({f"{place}.{name}": array for name, array in parts.items()})
    if schedule.pairs is not None:
        arrays["pairs"] = schedule.pairs
    header = {
        "format": FORMAT,
        "version": VERSION,
        "grid": grid.to_dict(),
        "kinds": [transition.kind for transition in places],
        "opening": [places[transition] for transition in schedule.opening],
        "repeating": [places[transition] for transition in schedule.repeating],
        "cyclic": schedule.cyclic,
        "truncated_mass": schedule.truncated_mass,
        "fingerprint": fingerprint(grid, schedule),
        "origin": None if origin is None else origin.to_dict(),
    }
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(file, **arrays)  # type: ignore[arg-type]  # the stub mistakes a keyword


def _header(archive: Any) -> dict[str, Any]:
    header = json.loads(bytes(archive["header"]))
    if header["format"] != FORMAT:
        raise ValueError("it was written by something else")
    if header["version"] != VERSION:
        raise ValueError(f"it has version {header['version']!r}, and this is version {VERSION}")
    return dict(header)


def _check_sizes(archive: zipfile.ZipFile) -> None:
    """Refuse a file whose arrays would take more memory than its own bytes.

    What ``save`` writes is not compressed, and each array is as long as its header says.
    """
    for member in archive.infolist():
        if member.compress_type != zipfile.ZIP_STORED:
            raise ValueError(f"its part {member.filename[:40]!r} is compressed")
        with archive.open(member) as file:
            version = np.lib.format.read_magic(file)
            if version not in ((1, 0), (2, 0)):
                raise ValueError(f"its part {member.filename[:40]!r} is of another format")
            read = (
                np.lib.format.read_array_header_1_0
                if version == (1, 0)
                else np.lib.format.read_array_header_2_0
            )
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # headers of Python 2, which save never wrote
                shape, _, kind = read(file)
            if math.prod(shape) * kind.itemsize != member.file_size - file.tell():
                raise ValueError(f"its part {member.filename[:40]!r} is not as long as it says")


def _is_model(path: Path) -> bool:
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            return bool(json.loads(bytes(archive["header"]))["format"] == FORMAT)
    except _UNREADABLE:
        return False


def read_model(
    path: str | os.PathLike[str], content: bytes | None = None
) -> tuple[Grid, Schedule, ModelOrigin | None]:
    """Read a file of :func:`write_model`; validates all of it, and its fingerprint.

    With ``content``, read that in place of the file, whose name is for errors.
    """
    try:
        file = io.BytesIO(Path(path).read_bytes() if content is None else content)
        with np.load(file, allow_pickle=False) as archive:
            _check_sizes(archive.zip)
            header = _header(archive)
            grid = Grid.from_dict(header["grid"])
            schedule = _schedule_from(archive, header)
            saved = header["origin"]
            origin = None if saved is None else ModelOrigin.from_dict(saved)
        _check_fit(grid, schedule)
        if fingerprint(grid, schedule) != header["fingerprint"]:
            raise ValueError("its content does not match its fingerprint")
    except (StateError, *_UNREADABLE) as error:
        raise StateError(
            f"priste cannot read a model in {str(path)!r}: "
            f"{str(error).rstrip('.') or type(error).__name__}.",
            owner="MarkovModel.load",
            hint="It must be a saved mobility model.",
        ) from error
    return grid, schedule, origin


def _schedule_from(archive: Any, header: dict[str, Any]) -> Schedule:
    stored: list[Transition] = []
    pairs = None
    if "pairs" in archive.files:
        pairs = frozen_ints(archive["pairs"].astype(np.int64))
    for place, kind in enumerate(header["kinds"]):
        prefix = f"{place}."
        parts = {
            name.removeprefix(prefix): archive[name]
            for name in archive.files
            if name.startswith(prefix)
        }
        stored.append(_transition_from(kind, parts, 0 if pairs is None else len(pairs)))
    opening = tuple(stored[place] for place in header["opening"])
    repeating = tuple(stored[place] for place in header["repeating"])
    mass = float(header["truncated_mass"])
    return Schedule(opening, repeating, header["cyclic"] is True, pairs, mass)


def _check_fit(grid: Grid, schedule: Schedule) -> None:
    """Refuse a file whose parts are sound one by one and make no model together."""
    pairs, size = schedule.pairs, grid.size
    if not schedule.repeating:
        raise ValueError("it holds no transition")
    if pairs is None:
        shapes = {transition.shape for transition in schedule.transitions()}
        if schedule.opening or shapes != {(size, size)}:
            raise ValueError("its transitions do not fit its map")
        return
    count = len(pairs)
    fits = (
        pairs.shape == (count, 2)
        and bool(np.all((pairs >= 0) & (pairs < size)))
        and bool(np.all(np.diff(pairs @ np.array([size, 1])) > 0))
        and [transition.shape for transition in schedule.opening] == [(size, count)]
        and [transition.shape for transition in schedule.repeating] == [(count, count)]
        and schedule.cyclic
    )
    if not fits or not _pairs_follow(schedule.opening[0], np.arange(size), pairs):
        raise ValueError("its pairs of cells do not fit its transitions")
    if not _pairs_follow(schedule.repeating[0], pairs[:, 1], pairs):
        raise ValueError("its pairs of cells do not follow each other")


def _pairs_follow(
    transition: Transition, cells: npt.NDArray[np.int64], pairs: npt.NDArray[np.int64]
) -> bool:
    """Return whether every move leads to a pair whose previous cell is the current one."""
    if transition.stored_csr is None:
        return False
    moves = transition.stored_csr.tocoo()
    return bool(np.all(cells[moves.row] == pairs[moves.col, 0]))
