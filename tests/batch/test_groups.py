"""One pure function for the fixes of some users: repeatable, order-free, and fair to the others."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.batch.small_tables import table_of
from tests.cli.small_world import GRID, PATHS, POLICY, STEPS

from priste import InvalidParameter, Protector, StateError
from priste.batch import protect_group
from priste.batch.draws import bits_of
from priste.batch.groups import Group
from priste.batch.parts import part_bytes
from priste.policy import Policy, read_policy, with_regions
from priste.register.keyed_digests import Recognition

KEY = bytes(range(32))


@pytest.fixture(scope="module")
def policy() -> Policy:
    return read_policy(POLICY)


@pytest.fixture(scope="module")
def group(policy: Policy) -> Group:
    return protect_group(table_of("ada", "ben"), policy, KEY)


def test_a_repetition_gives_the_same_bytes(policy: Policy, group: Group) -> None:
    """Rows in another order, users in other groups: each outcome is the same to the byte."""
    table = table_of("ben", "ada")
    mixed = table.take(pa.array(np.random.default_rng(1).permutation(table.num_rows)))
    again = protect_group(mixed, policy, KEY)
    assert part_bytes(again.outcomes) == part_bytes(group.outcomes)
    assert again.rows.equals(group.rows)
    alone = protect_group(table_of("ben"), policy, KEY)
    assert alone.outcomes[0].journal == group.outcomes[1].journal


def test_draws_are_those_of_a_protector_with_the_bits_of_each_step(
    policy: Policy, group: Group
) -> None:
    """A plain loop over a Protector is the oracle."""
    bits = bits_of(KEY, policy.fingerprint(), "ada")
    protector = policy.protector(rng=bits)
    released = []
    for step, cell in enumerate(PATHS["ada"]):
        bits.begin(step)
        released.append(protector.release(cell))
    assert list(group.ledgers["ada"]) == released


def test_another_key_another_policy_another_user_draw_otherwise(
    policy: Policy, group: Group
) -> None:
    """Twins at the same places get draws of their own, and so does everybody under another key."""
    other = protect_group(table_of("ada"), policy, KEY[::-1])
    assert other.outcomes[0].stream.cells != group.outcomes[0].stream.cells
    twin = table_of("ada").set_column(0, "user", pa.array(["eve"] * STEPS))
    assert protect_group(twin, policy, KEY).outcomes[0].stream.cells != (
        group.outcomes[0].stream.cells
    )


def test_rows_hold_the_released_points(policy: Policy, group: Group) -> None:
    """One row per step, in its middle, at the released cell; nothing of the truth."""
    assert group.rows.column_names == ["user", "step", "time", "lat", "lon"]
    cells = [
        GRID.cell_at(row["lat"], row["lon"])
        for row in group.rows.to_pylist()
        if row["user"] == "ben"
    ]
    assert tuple(cells) == group.outcomes[1].stream.cells


def test_earlier_steps_stay_and_later_ones_are_drawn(policy: Policy, group: Group) -> None:
    """A stream that was begun with another key goes on from its journal."""
    known = Recognition(bytes(32))
    half, table = table_of("ada").slice(0, 4), table_of("ada")
    begun = protect_group(half, policy, KEY[::-1], recognition=known).outcomes[0]
    assert len(begun.stream.cells) == 4
    given = {"ada": begun.journal}
    grown = protect_group(table, policy, KEY, earlier=given, recognition=known).outcomes[0]
    assert (grown.stream.cells[:4], grown.stream.drawn) == (begun.stream.cells, STEPS - 4)
    given = {"ada": grown.journal}
    again = protect_group(table, policy, KEY[::-1], earlier=given, recognition=known).outcomes[0]
    assert (again.stream.drawn, again.journal) == (0, grown.journal)


def test_foreign_journals_are_refused(policy: Policy, group: Group) -> None:
    """Of somebody else, of another map, of other rows: the error says which."""
    ada, ben = (outcome.journal for outcome in group.outcomes)
    with pytest.raises(StateError, match="another person"):
        protect_group(table_of("ada"), policy, KEY, earlier={"ada": ben})
    finer = read_policy(POLICY.replace("cell_size = 1.0", "cell_size = 0.9"))
    with pytest.raises(StateError, match="another map"):
        protect_group(table_of("ada"), finer, KEY, earlier={"ada": ada})
    moved = table_of("ada").set_column(2, "lat", table_of("ben")["lat"])
    with pytest.raises(StateError, match="rows of ada have changed"):
        protect_group(moved, policy, KEY, earlier={"ada": ada})
    with pytest.raises(StateError, match="now ends after 4"):
        protect_group(table_of("ada").slice(0, 4), policy, KEY, earlier={"ada": ada})
    with pytest.raises(StateError, match="places of ada have changed"):
        protect_group(
            table_of("ada"), policy, KEY, earlier={"ada": ada}, places={"ada": home_at(5)}
        )


def home_at(cell: int) -> dict[str, list[tuple[float, float, float]]]:
    lat, lon = GRID.latlon(cell)
    return {"home": [(float(lat), float(lon), 0.01)]}


def test_a_broken_user_is_told_and_the_others_go_on(policy: Policy, group: Group) -> None:
    """Off the map, without a usable fix, with a place nowhere: a reason each, no location in it."""
    away = table_of("cleo").set_column(2, "lat", pa.array([46.5] * STEPS))
    nothing = pa.table(
        {"user": ["dora"], "time": table_of("ada")["time"][:1], "lat": [None], "lon": [7.0]},
        schema=away.schema,
    )
    table = pa.concat_tables([away, table_of("ada", "ben"), nothing])
    found = protect_group(table, policy, KEY, places={"ben": {"home": [(10.0, 10.0, 1.0)]}})
    assert set(found.problems) == {"ben", "cleo", "dora"}
    assert found.outcomes[0].journal == group.outcomes[0].journal
    assert not any(text in reason for reason in found.problems.values() for text in ("46.", "7.0"))
    assert set(found.ledgers) == {"ada"}
    assert set(found.rows["user"].to_pylist()) == {"ada"}


def test_an_unforeseen_error_is_a_users_problem(
    policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bug met by one user does not stop the others, and its message, which may tell, stays in."""
    release = Protector.release

    def stumble(self: Protector, cell: int | None, step: int | None = None) -> object:
        if cell == 15:
            raise ZeroDivisionError("at 46.03, 7.05")
        return release(self, cell, step)

    monkeypatch.setattr(Protector, "release", stumble)
    found = protect_group(table_of("ada", "ben"), policy, KEY)
    assert list(found.problems) == ["ben"]
    assert "ZeroDivisionError" in found.problems["ben"]
    assert "46.03" not in found.problems["ben"]


def test_places_of_ones_own(policy: Policy, group: Group) -> None:
    """Who has a home of their own is guarded there; all others as the policy says."""
    found = protect_group(table_of("ada", "ben"), policy, KEY, places={"ben": home_at(15)})
    assert found.outcomes[0].journal == group.outcomes[0].journal
    assert found.outcomes[1].journal != group.outcomes[1].journal
    own = with_regions(policy, {"home": policy.regions["home"].__class__(policy.grid, [15])})
    protector = own.protector(rng=(bits := bits_of(KEY, policy.fingerprint(), "ben")))
    for step, cell in enumerate(PATHS["ben"]):
        bits.begin(step)
        protector.release(cell, step=step)
    assert list(protector.ledger) == list(found.ledgers["ben"])
    assert own.models is not None
    assert own.mechanism is policy.mechanism
    for ours, theirs in zip(own.chosen_models, policy.chosen_models, strict=True):
        assert ours is theirs  # it does not know where one lives


def test_what_is_no_table_of_fixes_is_refused(policy: Policy) -> None:
    """Columns that lack, and times without a zone."""
    with pytest.raises(InvalidParameter, match="lacks lat"):
        protect_group(table_of("ada").drop_columns(["lat"]), policy, KEY)
    naive = table_of("ada")
    naive = naive.set_column(1, "time", naive["time"].cast(pa.timestamp("us")))
    with pytest.raises(InvalidParameter, match="carry its zone"):
        protect_group(naive, policy, KEY)
    with pytest.raises(InvalidParameter, match="16 bytes"):
        protect_group(table_of("ada"), policy, b"short")


def test_no_location_is_shown(policy: Policy, group: Group, tmp_path: Path) -> None:
    """What may end up in a log holds no coordinates, and no secret."""
    shown = repr(group) + repr(group.outcomes[0].errors)
    assert "46.0" not in shown
    assert KEY.hex() not in shown
