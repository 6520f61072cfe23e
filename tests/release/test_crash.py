"""kill -9 at any moment: the stream continues, and no step is ever returned in two versions."""

import json
import os
import subprocess
import sys
from pathlib import Path

LIVES = 100


def test_a_stream_survives_a_hundred_kills(tmp_path: Path) -> None:
    """A hundred lives of one stream, most cut short; everything returned stays, nothing changes."""
    script = Path(__file__).parent / "crash_rehearsal.py"
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path), str(LIVES), "1"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    tally = json.loads(done.stdout)
    assert tally["lives"] == LIVES
    # The rehearsal must have rehearsed: kills, torn lines, and records that nobody had seen.
    assert tally["killed"] > LIVES // 3
    assert tally["torn"] > 1
    assert tally["unreported"] > 3
    assert tally["steps"] > LIVES
