"""Settings for all tests: the same examples everywhere, and no failure because a machine is busy.

Property tests draw their examples from a fixed seed, so that a green run repeats and red means
that something changed. ``PRISTE_FREE_EXAMPLES=1 make test`` draws new ones every time.
"""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "priste",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=not os.environ.get("PRISTE_FREE_EXAMPLES"),
)
settings.load_profile("priste")
