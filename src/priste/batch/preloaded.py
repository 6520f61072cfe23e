"""What every worker needs: loaded when this module is, which the fork server of workers imports."""

from contextlib import suppress

from priste.batch.engines import load

with suppress(Exception):  # a job that meets it tells it
    load()
