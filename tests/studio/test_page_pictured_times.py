"""The picture of times against the calendar of policies: what is drawn is what is guarded."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from tests.studio.studio_in_browser import tab

from priste.policy.calendar import DAY_NAMES, read_when, steps_of_when
from priste.traces import Timeline

if TYPE_CHECKING:
    from playwright.sync_api import Browser

START = datetime(2026, 3, 2)  # a Monday
STEPS = 14 * 24 * 2
TIMELINE = Timeline(START, timedelta(minutes=30), "UTC")

REDRAWN = """
async ([kind, times, lists]) => {
  const { rowsOf } = await import("/page/modules/timeline.js");
  const { stretchesOf, textsOf } = await import("/page/modules/when.js");
  const rows = rowsOf(times, kind);
  return lists.map(texts => textsOf(stretchesOf(texts, rows), rows));
}
"""


def some_texts(rng: random.Random, *, dated: bool) -> list[str]:
    """Write one to three times as a person may: days, dates, hours, nights, whole days."""
    found = []
    for _ in range(rng.randint(1, 3)):
        days = rng.sample(DAY_NAMES, rng.randint(1, 4))
        parts = [rng.choice([",".join(days), "weekdays", "weekends", "daily"])]
        if dated and rng.random() < 0.6:
            first = START + timedelta(days=rng.randint(0, 12))
            last = first + timedelta(days=rng.randint(0, 5))
            parts.append(f"{first:%Y-%m-%d}" + (f"..{last:%Y-%m-%d}" if last > first else ""))
        if rng.random() < 0.85:
            begin, end = rng.sample(range(48), 2)
            clock = [f"{half // 2:02d}:{30 * (half % 2):02d}" for half in (begin, end)]
            parts.append("-".join(clock))
        rng.shuffle(parts)
        found.append(" ".join(parts))
    return found


def steps(texts: list[str]) -> set[int]:
    """Return the steps that a policy would guard."""
    return {
        step for text in texts for step in steps_of_when(read_when(text), TIMELINE, range(STEPS))
    }


def test_a_picture_names_the_same_steps_as_its_texts(address: str, chromium: Browser) -> None:
    """Texts drawn and written again guard exactly the same steps, by weekdays and by dates."""
    rng = random.Random(1)
    times = [(START + timedelta(minutes=30 * step)).isoformat() for step in range(STEPS)]
    with tab(chromium, address) as at:
        for kind in ("week", "dates"):
            lists = [some_texts(rng, dated=kind == "dates") for _ in range(60)]
            lists += [["sun 22:00-06:00"], ["daily"], ["mon 00:00-00:30", "mon 23:30-00:00"]]
            again = at.page.evaluate(REDRAWN, [kind, times, lists])
            for texts, written in zip(lists, again, strict=True):
                assert steps(written) == steps(texts), (kind, texts, written)
