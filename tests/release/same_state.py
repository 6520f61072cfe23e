"""Whether two states are the same to the bit."""

import numpy as np

from priste.release import AccountantState


def assert_same_state(one: AccountantState, other: AccountantState) -> None:
    """Equal to the bit in everything that decides what comes next."""
    assert one.step == other.step
    assert one.leakage == other.leakage
    assert one.last_budget == other.last_budget
    assert one.hints == other.hints
    assert np.array_equal(one.predicted(), other.predicted())
    table = one.mechanism.emission()
    assert np.array_equal(table, other.mechanism.emission())
    for column in range(table.shape[1]):
        pairs = zip(
            one.joint_probabilities(table[:, column]),
            other.joint_probabilities(table[:, column]),
            strict=True,
        )
        for (mine, _), (theirs, _) in pairs:
            for name in ("event", "complement", "exponent", "prior_event", "prior_complement"):
                assert np.array_equal(getattr(mine, name), getattr(theirs, name))
