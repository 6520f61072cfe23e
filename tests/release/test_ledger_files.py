"""The ledger file: exact both ways, and plain about what it cannot read."""

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn_examples import examples

from priste import InvalidParameter, Release
from priste.batch import is_ledger, read_ledgers, write_ledgers
from priste.errors import LedgerError
from priste.float_text import floats_to_text
from priste.release import Ledger

NUMBERS = st.floats(0, allow_nan=False) | st.just(math.inf)
RELEASES = st.lists(
    st.builds(
        Release,
        step=st.integers(0, 10**6),
        cell=st.none() | st.integers(0, 10**6),
        budget=NUMBERS,
        leakage=st.tuples(NUMBERS, NUMBERS),
        attempts=st.integers(0, 99),
        undecided=st.integers(0, 99),
    ),
    min_size=1,
    max_size=4,
)
NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=8)
EVENTS = ("visit, week of 2026-03-02", 'say "no"')


@examples(60)
@given(st.dictionaries(NAMES | st.none(), RELEASES, min_size=1, max_size=3))
def test_a_ledger_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, streams: dict[str | None, list[Release]]
) -> None:
    """Every number and name survives, also infinity, commas and quotes."""
    path = tmp_path_factory.mktemp("ledger") / "x.ledger.csv"
    ledgers = {user: Ledger(EVENTS, releases) for user, releases in streams.items()}
    write_ledgers(path, EVENTS, ledgers)
    assert is_ledger(path)
    found = read_ledgers(path)
    assert {user: list(ledger) for user, ledger in found.items()} == streams
    assert all(ledger.event_names == EVENTS for ledger in found.values())


def test_laws_of_releases_come_back_to_the_bit(tmp_path: Path) -> None:
    """A likelihood survives, also that of a map whose text is longer than csv readers take."""
    column = np.random.default_rng(1).random(40_000)
    releases = [Release(0, 3, 1.0, (0.5, 0.1), 1), Release(1, 4, 1.0, (0.5, 0.1), 1)]
    ledger = Ledger(EVENTS, releases, [None, floats_to_text(column)])
    plain = Ledger(EVENTS, releases)
    write_ledgers(tmp_path / "x.csv", EVENTS, {"ada": ledger, "ben": plain})
    found = read_ledgers(tmp_path / "x.csv")
    assert (list(found["ada"]), list(found["ben"].likelihoods)) == (releases, [None, None])
    assert found["ada"].likelihood(0) is None
    assert np.asarray(found["ada"].likelihood(1)).tolist() == column.tolist()
    assert csv.field_size_limit() == 131_072  # what other readers in this process rely on
    assert "likelihood" not in plain.json_lines()
    assert json.loads(ledger.json_lines().splitlines()[1])["likelihood"] == ledger.likelihoods[1]
    with pytest.raises(InvalidParameter, match="one entry per release"):
        Ledger(EVENTS, releases, [None])


HEAD = (
    "user,step,cell,budget,attempts,undecided,"
    "leakage:visit,belief:visit,guarantee:visit,against,likelihood\n"
)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("lat,lon\n1,2\n", "not a ledger"),
        ("", "not a ledger"),
        (HEAD.replace("leakage:", "") + "a,0,1,1.0,1,0,0.5,,,,\n", "not a ledger"),
        (HEAD + "a,0,1,1.0,1,0,0.5,,,,\na,one,1,1.0,1,0,0.5,,,,\n", "Line 3"),
        (HEAD + "a,0,1,1.0,1,0\n", "Line 2"),
        (HEAD + "a,0,1,1.0,1,0,0.5\n", "Line 2"),
    ],
)
def test_what_is_no_ledger_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    """The message names the file or the line, and no traceback is needed to find it."""
    path = tmp_path / "x.csv"
    path.write_text(text)
    with pytest.raises(LedgerError, match=complaint):
        read_ledgers(path)


def test_a_missing_or_binary_ledger_is_refused(tmp_path: Path) -> None:
    """Neither is taken for an empty one."""
    with pytest.raises(LedgerError, match="no ledger"):
        read_ledgers(tmp_path / "x.csv")
    (tmp_path / "x.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(LedgerError, match="cannot be read"):
        read_ledgers(tmp_path / "x.csv")
    assert not is_ledger(tmp_path)


@pytest.mark.parametrize(("largest", "is_read"), [(1.0 + 2.0**-51, True), (1.001, False)])
def test_a_certain_release_may_be_rounded_above_one(largest: float, is_read: bool) -> None:
    """Outputs that became one have a sum of probabilities, which may end a bit above 1."""
    column = floats_to_text(np.array([1.0 - 2.0**-52, largest]))
    ledger = Ledger(EVENTS, [Release(0, 1, 1.0, (0.5, 0.1), 1)], [column])
    if is_read:
        assert np.asarray(ledger.likelihood(0)).max() == largest
    else:
        with pytest.raises(InvalidParameter, match="must be vectors of probabilities"):
            ledger.likelihood(0)
