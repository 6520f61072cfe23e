"""What the studio's workers need: loaded when this module is, which their fork server imports."""

from contextlib import suppress

import priste.studio.jobs_at_work
import priste.studio.opening  # noqa: F401
from priste.quantify.warm_up import warm_up

with suppress(Exception):  # a job that meets it tells it
    warm_up()
