"""The front door: fixed names, fixed meanings, all of them documented."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import priste
from priste import AnyPrior

ROOT = Path(__file__).parent.parent

# What people write against; removing or renaming one of these is a breaking change.
FIXED_NAMES = {
    "EmissionTable", "Grid", "LocationSet", "MarkovModel", "PlanarIsotropic", "PlanarLaplace",
    "PristeError", "Protector", "Quantifier", "at", "at_least", "parse_event", "pattern",
    "presence",
}  # fmt: skip

FIXED_MEMBERS = {
    "Grid": {"covering", "size", "centers", "cell_at", "latlon"},
    "MarkovModel": {"gaussian", "fit", "sample"},
    "Mechanism": {"emission"},
    "Quantifier": {
        "prior_by_start", "observe", "leakage", "posterior", "leakage_if", "passes",
    },
    "Protector": {"release", "save", "load"},
}  # fmt: skip

FIXED_FIELDS = {
    "Leakage": ["value", "for_event", "against_event", "worst_prior"],
    "Release": ["step", "cell", "budget", "leakage", "attempts"],
}


def test_all_is_sorted_and_whole() -> None:
    """``__all__`` is sorted, resolvable, and holds every fixed name."""
    assert priste.__all__ == sorted(priste.__all__)
    assert set(priste.__all__) >= FIXED_NAMES
    for name in priste.__all__:
        assert getattr(priste, name) is not None
        assert name in dir(priste)


def test_unknown_names_are_attribute_errors() -> None:
    """A misspelt name is an ordinary AttributeError."""
    with pytest.raises(AttributeError, match="no attribute 'Gird'"):
        _ = priste.Gird


@pytest.mark.parametrize("name", sorted(FIXED_MEMBERS))
def test_fixed_members_exist(name: str) -> None:
    """The fixed methods are there under their fixed names."""
    missing = {m for m in FIXED_MEMBERS[name] if not hasattr(getattr(priste, name), m)}
    assert not missing


@pytest.mark.parametrize("name", sorted(FIXED_FIELDS))
def test_fixed_fields_exist(name: str) -> None:
    """The small results have their fixed fields."""
    fields = inspect.signature(getattr(priste, name)).parameters
    assert [f for f in fields if f in FIXED_FIELDS[name]] == FIXED_FIELDS[name]


@pytest.mark.parametrize("name", priste.__all__)
def test_every_public_name_is_documented(name: str) -> None:
    """The page of the API names everything in ``__all__``, and each name has a docstring."""
    assert f"`{name}`" in (ROOT / "docs" / "reference" / "api.md").read_text()
    assert inspect.getdoc(getattr(priste, name))


def test_api_page_names_nothing_that_is_gone() -> None:
    """Every name in the first column of docs/reference/api.md is public."""
    lines = (ROOT / "docs" / "reference" / "api.md").read_text().splitlines()
    rows = [line.split("|")[1] for line in lines if line.startswith("| `")]
    assert sorted(re.findall(r"`(\w+)`", " ".join(rows))) == priste.__all__


def test_the_front_door_as_written_in_the_design() -> None:
    """The calls that people write, in one go, with their stated shapes and meanings."""
    grid = priste.Grid(rows=4, columns=4, cell_size=1.0)
    assert grid.size == 16
    assert grid.centers.shape == (16, 2)
    earth = priste.Grid.covering(53.0, -9.0, 53.02, -8.97, cell_size=0.5)
    assert earth.cell_at(*earth.latlon(3)) == 3

    model = priste.MarkovModel.gaussian(grid, sigma=1.0)
    walk = model.sample(6, rng=1)
    assert len(walk) == 6
    assert priste.MarkovModel.fit(grid, [walk]).grid == grid
    assert priste.MarkovModel(grid, np.eye(16)).grid == grid
    assert priste.MarkovModel(grid, [np.eye(16)] * 3).grid == grid

    e1 = priste.at([1, 2], 3)
    e2 = priste.presence([0, 1], [1, 2])
    e3 = priste.pattern([[0], [1]], [1, 2])
    event = (e1 & ~e2) | e3 | priste.at_least(2, [5, 6], range(3))
    assert event.holds([7, 7, 7, 1]) is True
    assert event.holds([7, 7, 7, 7]) is False
    spoken = priste.parse_event(
        "presence(hospital, 3..7) and not at(home, 9)", {"hospital": [0, 1], "home": [15]}
    )
    assert spoken.holds([9] * 5 + [0] + [9] * 4) is True

    mech = priste.PlanarLaplace(grid, alpha=0.8)
    table = mech.emission()
    assert table.shape == (16, 16)
    assert np.allclose(table.sum(axis=1), 1, atol=1e-12, rtol=0)

    q = priste.Quantifier(model, e2)
    assert q.leakage().value == 0
    assert q.prior_by_start().shape == (16,)
    uniform = np.full(16, 1 / 16)
    before = q.posterior(prior=uniform)
    assert before == pytest.approx(float(uniform @ q.prior_by_start()), rel=1e-12)
    candidates = q.leakage_if(table)
    assert candidates.shape == (16,)
    assert q.leakage().value == 0  # asking "what if" changed nothing
    q.observe(table[:, 5])
    found = q.leakage()
    assert found.value == pytest.approx(candidates[5], rel=1e-8)
    assert found.value == max(found.for_event, found.against_event)
    assert 1 <= len(found.worst_prior) <= 2
    assert 0 < q.leakage(prior=uniform).value <= found.value
    q.observe(None)
    verdicts = q.passes(table, 0.5)
    assert verdicts.shape == (16,)
    assert verdicts.dtype == bool


def test_a_protector_through_the_front_door(tmp_path: Path) -> None:
    """Releases stay within ε, and the stream survives being saved and loaded."""
    grid = priste.Grid(rows=4, columns=4, cell_size=1.0)
    model = priste.MarkovModel.gaussian(grid, sigma=1.0)
    event = priste.presence([0, 1], [1, 2])
    mech = priste.PlanarLaplace(grid, alpha=1.0)
    p = priste.Protector(model, event, mech, 0.4, rng=3, adversary=AnyPrior())
    for cell in [5, 1, 1]:
        r = p.release(cell)
        assert 0 <= r.cell < 16
        assert 0 <= r.budget <= 1.0
        assert r.attempts >= 1
        assert len(r.leakage) == 1
        assert r.leakage[0] <= 0.4
    p.save(tmp_path / "stream.priste")
    again = priste.Protector.load(tmp_path / "stream.priste")
    assert again.release(6).step == 3


def test_dir_shows_public_names_only() -> None:
    """Who asks what priste offers sees no module, helper or future import."""
    assert set(dir(priste)) == {*priste.__all__, "__version__"}


def test_ten_lines_release_more_than_a_point_but_not_against_any_prior() -> None:
    """README's example releases many cells, and one point against any prior, as README says."""
    readme = (ROOT / "README.md").read_text("utf-8")
    example = re.findall(r"```python\n(import priste\n.*?)```", readme, re.DOTALL)[0]
    known = "priste.KnownPrior(model.stationary())"
    assert known in example
    released = []
    for adversary in (known, "priste.AnyPrior()"):
        names: dict[str, priste.Protector] = {}
        exec(example.replace(known, adversary), names)
        released.append({release.cell for release in names["protector"].ledger})
    assert len(released[0]) > 5
    assert len(released[1]) == 1
