"""Work that ends the process at one user, for tests; also as a command: ``priste`` that does so."""

from __future__ import annotations

import os
import signal

from priste.batch.engines import Job, Work
from priste.batch.groups import OnUser, Outcome
from priste.workers import report


class Deadly(Work):
    """Work that ends the process at ben, as data may that a library cannot bear."""

    def outcomes(self, job: Job, on_user: OnUser | None = report) -> tuple[Outcome, ...]:
        """Die at ben."""
        if "ben" in job.table["user"].to_pylist():
            os.kill(os.getpid(), signal.SIGKILL)
        return super().outcomes(job, on_user)


if __name__ == "__main__":
    from tests.batch import deadly_work

    from priste.batch import protection
    from priste.cli import main

    protection.Work = deadly_work.Deadly  # type: ignore[misc]
    main()
