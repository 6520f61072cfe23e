"""Model files and fingerprints: round trips to the bit, and hostile files."""

from __future__ import annotations

import io
import json
import os
import pickle
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from priste.errors import InvalidParameter, StateError
from priste.maps import Grid
from priste.mobility import AddNearby, BlendedTransition, MarkovModel, ModelOrigin
from priste.mobility.storage import FORMAT, VERSION, write_model
from priste.mobility.transitions import Schedule, SparseTransition

GRID = Grid(3, 4, 0.5)
WALK = [0, 1, 2, 6, 7, None, 3, 2, 2, 1, 0, 4, 5]
BIG = Grid(25, 20, 1.0)


def models() -> dict[str, MarkovModel]:
    return {
        "dense": MarkovModel.gaussian(GRID, 1.0),
        "separable": MarkovModel.gaussian(GRID, 1.0, form="separable"),
        "truncated": MarkovModel.gaussian(GRID, 1.0, reach=0.8),
        "sequence": MarkovModel(
            GRID, [np.eye(12), sparse.eye_array(12), np.full((12, 12), 1 / 12)]
        ),
        "cycle": MarkovModel.fit(GRID, [WALK], AddNearby(), cycle=3, offsets=[2]),
        "blended": MarkovModel.fit(BIG, [[0, 1, 2, 3]]),
        "second order": MarkovModel.fit(GRID, [WALK], AddNearby(), order=2),
        "earth": MarkovModel.gaussian(Grid.covering(53.0, -9.0, 53.02, -8.97, 0.5), 0.7),
    }


@pytest.mark.parametrize("name", sorted(models()))
def test_a_model_comes_back_to_the_bit(name: str, tmp_path: Path) -> None:
    """Grid, distribution, horizon, pairs and cut mass survive; so do samples with the same seed."""
    model = models()[name]
    path = tmp_path / "model.priste"
    model.save(path)
    again = MarkovModel.load(path)
    assert again.fingerprint() == model.fingerprint()
    assert again.grid == model.grid
    assert again.horizon == model.horizon
    assert again.period == model.period
    assert again.order == model.order
    assert again.truncated_mass == model.truncated_mass
    assert again.row_sum_error == model.row_sum_error
    for step in range(3):
        before, after = model.transition(step), again.transition(step)
        assert type(before) is type(after)
        assert np.array_equal(before.toarray(), after.toarray())
        assert np.array_equal(model.cell_of_state(step), again.cell_of_state(step))
    assert np.array_equal(model.sample(4, rng=9), again.sample(4, rng=9))
    assert os.listdir(tmp_path) == ["model.priste"]


def test_fingerprints_tell_models_apart() -> None:
    """Each kind has its own; the last bit of one entry, the map and the cycle change it."""
    prints = [model.fingerprint() for model in models().values()]
    assert len(set(prints)) == len(prints)
    assert all(len(p) == 64 and int(p, 16) >= 0 for p in prints)
    matrix = np.full((12, 12), 1 / 12)
    nudged = matrix.copy()
    nudged[3, 4] = np.nextafter(nudged[3, 4], 1)
    variants = [
        MarkovModel(GRID, matrix),
        MarkovModel(GRID, nudged),
        MarkovModel(Grid(4, 3, 0.5), matrix),
        MarkovModel(Grid(3, 4, 0.25), matrix),
        MarkovModel(GRID, [matrix, nudged]),
        MarkovModel(GRID, [nudged, matrix]),
        MarkovModel(GRID, [matrix, nudged], cycle=True),
    ]
    assert len({model.fingerprint() for model in variants}) == len(variants)


def test_equal_content_has_equal_fingerprints() -> None:
    """Copies, index types and the order of sparse entries do not matter."""
    matrix = np.array(np.eye(12)) * 0.5 + 0.5 / 12
    thin = sparse.csr_array(matrix)
    wide = thin.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    shuffled = sparse.coo_array(matrix)
    order = np.random.default_rng(1).permutation(shuffled.nnz)
    shuffled = sparse.coo_array(
        (shuffled.data[order], (shuffled.row[order], shuffled.col[order])), shape=(12, 12)
    )
    prints = {MarkovModel(GRID, form).fingerprint() for form in (thin, wide, shuffled)}
    assert len(prints) == 1
    a, b = np.eye(12), np.eye(12)
    assert MarkovModel(GRID, [a, a]).fingerprint() == MarkovModel(GRID, [a, b]).fingerprint()


def test_the_fingerprint_of_a_given_model_never_changes() -> None:
    """A stored stream compares fingerprints across versions, so this very value must stay."""
    model = MarkovModel(Grid(1, 2, 1.0), [[0.5, 0.5], [0.25, 0.75]])
    assert model.fingerprint() == PINNED


PINNED = "abd7855aff7a84f81d2d03c1cf6a17a0e3c727e601bf916949959cff845cffbb"


def test_saving_again_replaces_a_model_and_nothing_else(tmp_path: Path) -> None:
    """A model file is replaced; any other file is left as it was, with a StateError."""
    path = tmp_path / "model"
    MarkovModel.gaussian(GRID, 1.0).save(path)
    second = MarkovModel.gaussian(GRID, 2.0)
    second.save(path)
    assert MarkovModel.load(path).fingerprint() == second.fingerprint()
    foreign = {
        "text": b"my diary",
        "empty": b"",
        "json": b"{}",
        "pickle": pickle.dumps({"header": 1}),
    }
    for name, content in foreign.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(StateError, match="will not overwrite"):
            second.save(tmp_path / name)
        assert (tmp_path / name).read_bytes() == content
    np.savez(tmp_path / "arrays.npz", header=np.arange(3))
    with pytest.raises(StateError, match="will not overwrite"):
        second.save(tmp_path / "arrays.npz")
    with pytest.raises(StateError, match="will not overwrite"):
        second.save(tmp_path)  # a folder


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the disk fails half way, the old model is whole and no rubbish stays behind."""
    path = tmp_path / "model"
    old = MarkovModel.gaussian(GRID, 1.0)
    old.save(path)

    def broken(file: object, **arrays: object) -> None:
        file.write(b"half")
        raise OSError("no space left")

    monkeypatch.setattr("priste.mobility.storage.np.savez", broken)
    with pytest.raises(StateError, match="no space left"):
        MarkovModel.gaussian(GRID, 2.0).save(path)
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["model"]
    assert MarkovModel.load(path).fingerprint() == old.fingerprint()


def test_unwritable_and_missing_paths_are_state_errors(tmp_path: Path) -> None:
    """A folder that does not exist, a missing file and a folder instead of a file."""
    with pytest.raises(StateError, match=r"cannot write a model"):
        MarkovModel.gaussian(GRID, 1.0).save(tmp_path / "missing" / "model")
    for path in (tmp_path / "missing", tmp_path):
        with pytest.raises(StateError, match=r"cannot read a model"):
            MarkovModel.load(path)


@pytest.mark.parametrize("name", ["dense", "blended", "second order"])
def test_any_damage_is_noticed(name: str, tmp_path: Path) -> None:
    """A file cut anywhere, or with any byte of its content changed, is refused or unharmed."""
    path = tmp_path / "model"
    model = models()[name]
    model.save(path)
    whole = path.read_bytes()
    random = np.random.default_rng(5)
    for length in [0, 1, 3, 4, 30, *random.integers(0, len(whole), 15).tolist(), len(whole) - 1]:
        path.write_bytes(whole[:length])
        with pytest.raises(StateError):
            MarkovModel.load(path)
    for place in random.integers(0, len(whole), 60).tolist():
        damaged = bytearray(whole)
        damaged[place] ^= 0x55
        path.write_bytes(bytes(damaged))
        try:
            survivor = MarkovModel.load(path)
        except StateError:
            continue
        # Some bytes of a zip archive mean nothing (dates, attributes).
        assert survivor.fingerprint() == model.fingerprint()


def rewritten(path: Path, **changes: object) -> None:
    """Change fields of the header, or arrays, of a saved model."""
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    header = json.loads(bytes(arrays["header"]))
    for name, value in changes.items():
        if isinstance(value, np.ndarray):
            arrays[name] = value
        elif value is None:
            header.pop(name, None)
            arrays.pop(name, None)
        else:
            header[name] = value
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with path.open("wb") as file:
        np.savez(file, **arrays)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "something else"}, "written by something else"),
        ({"version": VERSION + 1}, f"has version {VERSION + 1}"),
        ({"origin": {"start": "yesterday"}}, "cannot read"),
        ({"fingerprint": "0" * 64}, "does not match its fingerprint"),
        ({"cyclic": False}, "does not match its fingerprint"),
        ({"kinds": ["wooden"]}, "unknown kind"),
        ({"kinds": []}, "cannot read"),
        ({"repeating": []}, "holds no transition"),
        ({"repeating": [3]}, "cannot read"),
        ({"repeating": "x"}, "cannot read"),
        ({"grid": {}}, "cannot read"),
        ({"grid": Grid(2, 2, 1.0).to_dict()}, "do not fit its map"),
        ({"opening": [0]}, "do not fit its map"),
        ({"format": None}, "cannot read"),
        ({"truncated_mass": "much"}, "cannot read"),
        ({"0.matrix": np.full((12, 12), 0.1)}, "rows that sum to 1"),
        ({"0.matrix": np.eye(12)}, "does not match its fingerprint"),
        ({"0.matrix": np.full((12, 12), np.nan)}, "finite"),
        ({"0.matrix": None}, "cannot read"),
        ({"pairs": np.zeros((2, 2), dtype=np.int64)}, "pairs of cells"),
        ({"pairs": np.zeros(3)}, "cannot read"),
    ],
)
def test_doctored_files_are_refused(
    changes: dict[str, object], message: str, tmp_path: Path
) -> None:
    """Fields of another meaning, version, shape or table make a StateError that says which."""
    path = tmp_path / "model"
    MarkovModel.gaussian(GRID, 1.0).save(path)
    rewritten(path, **changes)
    with pytest.raises(StateError, match=message):
        MarkovModel.load(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"0.indices": "wild"},
        {"1.indices": "wild"},
        {"pairs": "swapped"},
        {"pairs": "negative"},
        {"pairs": "other cells"},
    ],
)
def test_doctored_pairs_are_refused(changes: dict[str, str], tmp_path: Path) -> None:
    """Indices beyond the arrays and pairs that do not follow each other are refused."""
    path = tmp_path / "model"
    MarkovModel.fit(GRID, [WALK], AddNearby(), order=2).save(path)
    with np.load(path) as archive:
        ((name, kind),) = changes.items()
        array = archive[name].copy()
    if kind == "wild":
        array[0] = 10**9
    elif kind == "swapped":
        array = array[::-1].copy()
    elif kind == "negative":
        array[0] = -1
    else:
        array[:, 0] = array[:, 1]
    rewritten(path, **{name: array})
    with pytest.raises(StateError):
        MarkovModel.load(path)


def test_pairs_must_follow_each_other_even_under_a_right_fingerprint(tmp_path: Path) -> None:
    """A consistent file in which a pair leads to one that does not continue it is refused."""
    model = MarkovModel.second_order(Grid(1, 2, 1.0), np.full((2, 2), 0.5), np.full((2, 2, 2), 0.5))
    anywhere = SparseTransition(sparse.csr_array(np.full((4, 4), 0.25)))
    for opening, repeating, message in [
        (model.transition(0), anywhere, "do not follow each other"),
        (
            SparseTransition(sparse.csr_array(np.full((2, 4), 0.25))),
            model.transition(1),
            "do not fit",
        ),
    ]:
        schedule = Schedule((opening,), (repeating,), cyclic=True, pairs=model.pairs)
        write_model(tmp_path / "model", model.grid, schedule, None)
        with pytest.raises(StateError, match=message):
            MarkovModel.load(tmp_path / "model")


def test_pickles_inside_are_never_opened(tmp_path: Path) -> None:
    """An archive with an object array is refused without running what it holds."""
    marker = tmp_path / "ran"

    class Trap:
        def __reduce__(self) -> tuple[object, tuple[str, ...]]:
            return os.mkdir, (str(marker),)

    path = tmp_path / "model"
    MarkovModel.gaussian(GRID, 1.0).save(path)
    buffer = io.BytesIO()
    np.save(buffer, np.array([Trap()], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(path) as source:
        members = {name: source.read(name) for name in source.namelist()}
    for name in ("header.npy", "0.matrix.npy"):
        with zipfile.ZipFile(path, "w") as target:
            for member, content in members.items():
                target.writestr(member, buffer.getvalue() if member == name else content)
        with pytest.raises(StateError):
            MarkovModel.load(path)
    assert not marker.exists()


def test_large_models_are_small_files(tmp_path: Path) -> None:
    """The default fit of 40,000 cells is stored by its parts: megabytes, not gigabytes."""
    grid = Grid(200, 200, 1.0)
    model = MarkovModel.fit(grid, [[0, 1, 2, 202, 402]])
    assert isinstance(model.transition(0), BlendedTransition)
    model.save(tmp_path / "model")
    assert (tmp_path / "model").stat().st_size < 40 * grid.size
    assert MarkovModel.load(tmp_path / "model").fingerprint() == model.fingerprint()


def test_the_format_is_named_in_the_file(tmp_path: Path) -> None:
    """The header is JSON with the format, its version and the fingerprint."""
    model = MarkovModel.gaussian(GRID, 1.0)
    model.save(tmp_path / "model")
    with np.load(tmp_path / "model") as archive:
        header = json.loads(bytes(archive["header"]))
    assert header["format"] == FORMAT
    assert header["version"] == VERSION
    assert header["fingerprint"] == model.fingerprint()


def test_where_a_model_comes_from_is_saved(tmp_path: Path) -> None:
    """Clock and sources survive; the distribution and its fingerprint do not depend on them."""
    plain = MarkovModel.gaussian(Grid(2, 2, 1.0), 1.0)
    start = datetime(2026, 3, 4, tzinfo=UTC)
    origin = ModelOrigin(start, timedelta(minutes=30), "Europe/Zurich", frozenset({"ab", "cd"}))
    noted = plain.with_origin(origin)
    assert noted.fingerprint() == plain.fingerprint()
    noted.save(tmp_path / "model")
    assert MarkovModel.load(tmp_path / "model").origin == origin
    assert origin.knows(["x", "ab"])
    assert not origin.knows(["x"])
    assert plain.origin is None
    with pytest.raises(InvalidParameter, match="zone"):
        ModelOrigin(start.replace(tzinfo=None), timedelta(hours=1), "UTC")


def test_a_later_start_has_a_later_origin() -> None:
    """A model of a cycle that starts elsewhere notes when."""
    grid = Grid(1, 2, 1.0)
    start = datetime(2026, 3, 4, tzinfo=UTC)
    model = MarkovModel(grid, [np.eye(2), np.full((2, 2), 0.5)], cycle=True)
    noted = model.with_origin(ModelOrigin(start, timedelta(hours=12), "UTC"))
    assert noted.starting_at(1).origin.start == start + timedelta(hours=12)


def harmed(path: Path, part: str, change: Callable[[np.ndarray], np.ndarray]) -> None:
    """Write a model file again with one of its arrays exchanged."""
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    arrays[part] = change(arrays[part])
    np.savez(path, **arrays)


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("0.shape", lambda shape: np.array([shape[0], 2**31])),
        ("0.shape", lambda shape: np.array([2**31, 2**31])),
        ("0.indptr", lambda rows: np.append(rows[:-1], 0)),
        ("0.indptr", lambda rows: rows[::-1].copy()),
        ("0.indices", lambda indices: indices + 10**6),
    ],
)
def test_a_sparse_matrix_that_is_none_is_refused(
    tmp_path: Path, part: str, change: Callable[[np.ndarray], np.ndarray]
) -> None:
    """A shape beyond the file, rows that overlap, or cells that are none: compiled code would
    write where nothing is, or ask for gigabytes."""
    path = tmp_path / "m.npz"
    matrix = sparse.csr_array(np.array([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.5, 0.5]]))
    MarkovModel(Grid(rows=1, columns=3, cell_size=1.0), matrix).save(path)
    harmed(path, part, change)
    with pytest.raises(StateError, match="cannot read"):
        MarkovModel.load(path)
