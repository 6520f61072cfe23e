"""Settings for all tests: property tests must not fail because a machine is busy."""

import os

from hypothesis import HealthCheck, settings

# CI repeats the same examples, so that red means that something changed; elsewhere they vary.
settings.register_profile(
    "priste",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
)
settings.load_profile("priste")
