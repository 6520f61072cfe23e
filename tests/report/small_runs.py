"""The summary of a run of many users, made up."""

import numpy as np

from priste.results import RunSummary, UserSummary, Worth


def a_run(users: int = 1000, *, private: bool = True) -> RunSummary:
    """Return a run with made-up figures, one user with markup in the name."""
    random = np.random.default_rng(1)
    people = tuple(
        UserSummary(
            f"user {k}" if k else "<script>alert(1)</script>",
            steps=6,
            releases=6,
            leakage=(float(random.random() * 0.5), float(random.random() * 0.8)),
            kept=True,
            worth=Worth(*(float(m) for m in random.gamma(3, 200, 3)), 0.5, 0.25)
            if private
            else None,
        )
        for k in range(users)
    )
    ways = (
        {}
        if not private
        else dict.fromkeys(
            ("with priste", "uncalibrated", "constant point"), Worth(300.0, 900.0, 100.0, 0.9, 0.8)
        )
    )
    return RunSummary(people, {"visit": 0.5, "stay": 0.8}, ways, 0.5, against="anybody")
