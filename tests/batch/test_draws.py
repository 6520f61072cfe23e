"""Every step of everybody has bits of its own, the same whenever they are asked for."""

from itertools import product

import pytest

from priste.batch.draws import bits_of

SECRETS: tuple[bytes | int, ...] = (bytes(32), bytes(31) + b"\1", 5, 6)
USERS = ("ada", "ad", None, "None", "a", "da")
POLICIES = ("p", "pa")
STEPS = (0, 1, 2, 10, 11)


def drawn(key: bytes | int, policy: str, user: str | None, step: int) -> int:
    bits = bits_of(key, policy, user)
    bits.begin(step)
    return bits.below(2**128)


@pytest.mark.parametrize("key", SECRETS, ids=str)
def test_bits_of_users_and_steps_are_their_own(key: bytes | int) -> None:
    """No two of them share a number, whatever was asked before; each is given again."""
    policies = POLICIES if isinstance(key, bytes) else POLICIES[:1]  # a seed is for one policy
    found = {who: drawn(key, *who) for who in product(policies, USERS, STEPS)}
    assert len(set(found.values())) == len(found)
    assert {who: drawn(key, *who) for who in reversed(found)} == found
    bits = bits_of(key, "p", "ada")
    for step in reversed(STEPS):
        bits.begin(step)
        assert bits.below(2**128) == found["p", "ada", step]
        assert bits.below(2**128) not in found.values()


def test_keys_share_nothing() -> None:
    """Another secret or seed gives other bits."""
    found = [drawn(key, "p", "ada", 0) for key in SECRETS]
    assert len(set(found)) == len(found)
