"""Other people's mechanisms, read from files and audited."""

import numpy as np
import pytest

from priste import (
    AnyPrior,
    EmissionTable,
    Grid,
    InvalidParameter,
    MarkovModel,
    Protector,
    Quantifier,
    at,
    presence,
)
from priste.audit import audit_stream, columns_of, read_emission_table, true_leakage

GRID = Grid(rows=1, columns=3, cell_size=1.0)
TABLE = np.array([[0.5, 0.25, 0.25, 0.0], [0.25, 0.5, 0.0, 0.25], [0.0, 0.25, 0.25, 0.5]])


def written(tmp_path, text):
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8")
    return path


def wide():
    return "".join(",".join(map(str, row)) + "\n" for row in TABLE.tolist())


def long():
    lines = [f"{c},{o},{TABLE[c, o]}" for c in range(3) for o in range(4) if TABLE[c, o]]
    return "Cell, output,probability\n" + "\n".join(lines) + "\n"


@pytest.mark.parametrize("text", [wide(), long(), "\ufeff" + wide().replace("\n", "\r\n")])
def test_both_forms_give_the_same_table(tmp_path, text) -> None:
    """Long and wide files, with or without a byte-order mark, hold the same mechanism."""
    found = read_emission_table(written(tmp_path, text), GRID)
    assert found.emission().tolist() == TABLE.tolist()
    assert found.output_cells() is None


def test_a_given_mechanism_and_trace_are_audited(tmp_path) -> None:
    """The leakage of a released trace, and of the mechanism itself, come from the file's table."""
    model = MarkovModel.gaussian(GRID, sigma=1.0)
    event = presence([0], steps=[1])
    mech = read_emission_table(written(tmp_path, wide()), GRID)
    trace = [1, None, 2]
    found = audit_stream(model, {"e": event}, columns_of(mech, trace))["e"]
    quantifier = Quantifier(model, event)
    for output in trace:
        quantifier.observe(None if output is None else TABLE[:, output])
    assert found.leakage[-1] == quantifier.leakage().value
    whole = true_leakage(
        Protector(model, event, mech, 1.0, calibrator="uncalibrated", adversary=AnyPrior()), 1
    )["event"]
    assert whole.value == pytest.approx(Quantifier(model, event).leakage_if(TABLE).max())


def test_a_table_with_zeros_can_prove_an_event(tmp_path) -> None:
    """An output that only some cells can give makes the leakage infinite, and it is said so."""
    mech = read_emission_table(written(tmp_path, long()), GRID)
    p = Protector(
        MarkovModel(GRID, np.eye(3)),
        at([0], 0),
        mech,
        1.0,
        calibrator="uncalibrated",
        adversary=AnyPrior(),
    )
    assert true_leakage(p, 1)["event"].value == np.inf
    assert isinstance(mech, EmissionTable)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must not be empty"),
        ("0.5,0.5\n0.5,x\n0.5,0.5\n", "line 2"),
        ("0.5,0.5\n0.5\n0.5,0.5\n", "line 2"),
        ("0.5,0.5\n0.5,0.5\n", "one line for each of the 3"),
        ("0.5,0.6\n0.5,0.5\n0.5,0.5\n", "must sum to 1"),
        ("cell,output,probability\n0,0,1\n0,0,1\n", "line 3"),
        ("cell,output,probability\n7,0,1\n", "line 2"),
        ("cell,output,probability\n0,-1,1\n", "line 2"),
        ("cell,output,probability\n0,0\n", "line 2"),
        ("cell,output,probability\n0,0,nan\n1,0,1\n2,0,1\n", "finite"),
        ("cell,output,probability\n0,99999999999,1\n", "line 2"),
    ],
)
def test_wrong_files_are_refused(tmp_path, text, message) -> None:
    """Every mistake in a file is refused with its line or rule."""
    with pytest.raises(InvalidParameter, match=message):
        read_emission_table(written(tmp_path, text), GRID)


def test_missing_and_foreign_files(tmp_path) -> None:
    """A file that is not there, or not text, is refused."""
    with pytest.raises(InvalidParameter, match="a table that can be read"):
        read_emission_table(tmp_path / "nothing.csv", GRID)
    (tmp_path / "noise.csv").write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(InvalidParameter, match="a table that can be read"):
        read_emission_table(tmp_path / "noise.csv", GRID)
