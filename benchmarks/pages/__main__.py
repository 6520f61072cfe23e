"""Write the pages of docs/evidence that show figures: ``python -m benchmarks.pages [PAGE ...]``.

A page is made of its template in this folder (Jinja) and of the files in ``benchmarks/results``. A
template sees each file under its name, so ``waiting.demo.now`` is a figure of ``waiting.json``.
Words are written in templates, figures are not. ``tests/docs/test_evidence.py`` fails if a page
is not what this command makes.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

from benchmarks.arguments import asked_for

TEMPLATES = Path(__file__).parent
RESULTS = TEMPLATES.parent / "results"
EVIDENCE = TEMPLATES.parents[1] / "docs" / "evidence"
PAGES = tuple(sorted(path.stem for path in TEMPLATES.glob("*.md")))

HEADER = "<!-- Made by `python -m benchmarks.pages` from benchmarks/pages/{page}.md. -->\n"

UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def digits(value: float, most: int = 2) -> str:
    """Return a number with at most so many significant digits, without an exponent.

    >>> digits(0.02157), digits(23839.8), digits(412.0, 3), digits(9.96)
    ('0.022', '24,000', '412', '10')
    """
    rounded = float(f"{value:.{most - 1}e}")
    if not rounded:
        return "0"
    places = most - 1 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:,.{max(places, 0)}f}"


def seconds(value: float, most: int = 2) -> str:
    """Return a time with its unit: seconds, milliseconds or microseconds.

    >>> seconds(9.11), seconds(0.0288), seconds(9.26e-5), seconds(107.2, 3)
    ('9.1 s', '29 ms', '93 µs', '107 s')
    """
    rounded = float(f"{value:.{most - 1}e}")
    size, unit = next((each for each in UNITS if rounded >= each[0]), UNITS[-1])
    return f"{digits(value / size, most)} {unit}"


def fixed(value: float | None, places: int = 2) -> str:
    """Return a number with so many decimals, and ∞ for none.

    >>> fixed(0.5), fixed(1234.5, 0), fixed(None)
    ('0.50', '1,234', '∞')
    """
    return "∞" if value is None else f"{value:,.{places}f}"


def days(kept: Any) -> str:
    """Return the days on which the figures of a file were measured, as ``2026-11-17``.

    >>> days({"a": {"day": "2026-11-18"}, "b": [{"day": "2026-11-17"}]})
    '2026-11-17 to 2026-11-18'
    """
    found = sorted(set(_values(kept, "day")))
    return found[0] if len(found) == 1 else f"{found[0]} to {found[-1]}"


def jobs(kept: Any) -> str:
    """Return how many jobs waited for the processor while the figures were measured.

    >>> jobs({"a": {"jobs_waiting": 8.6}, "b": {"jobs_waiting": 21.6}})
    '9 to 22'
    """
    found = sorted(round(each) for each in _values(kept, "jobs_waiting"))
    return str(found[0]) if found[0] == found[-1] else f"{found[0]} to {found[-1]}"


def _values(kept: Any, name: str) -> list[Any]:
    if isinstance(kept, Mapping):
        here = [kept[name]] if name in kept else []
        return here + [each for value in kept.values() for each in _values(value, name)]
    if isinstance(kept, list):
        return [each for value in kept for each in _values(value, name)]
    return []


def results() -> dict[str, Any]:
    """Return the figures of every file, by its name."""
    return {
        path.stem: json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(RESULTS.glob("*.json"))
    }


def made(page: str, figures: Mapping[str, Any]) -> str:
    """Return a page of these figures; a figure that is not there is an error."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters |= {
        "digits": digits, "seconds": seconds, "fixed": fixed, "days": days, "jobs": jobs,
    }  # fmt: skip
    text = environment.get_template(f"{page}.md").render(figures)
    return HEADER.format(page=page) + text


def main(arguments: Sequence[str] = ()) -> None:
    """Write the pages named, or all."""
    options = asked_for(arguments, __doc__, PAGES)
    figures = results()
    for page in options.parts or PAGES:
        (EVIDENCE / f"{page}.md").write_text(made(page, figures), encoding="utf-8")
        print(f"docs/evidence/{page}.md")


if __name__ == "__main__":
    main(sys.argv[1:])
