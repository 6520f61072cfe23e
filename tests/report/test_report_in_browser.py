"""The report in a real browser: it draws, complains of nothing, and asks nobody for anything."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.cli.small_world import PATHS, QUICK
from tests.report.small_reports import a_report
from tests.report.small_runs import a_run

from priste.forecast import forecast
from priste.forecast.picture import save_forecast
from priste.policy import read_policy
from priste.report import stream_report, uncalibrated_releases, write_html
from priste.results import TrueSteps

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

LEAST_LETTERS = 11.0
"""No label of a chart or a map has smaller letters than that, in pixels, on any width."""


@pytest.fixture(scope="module")
def page(chromium: "Browser") -> "Iterator[Page]":
    """Open a page of the machine's Chromium."""
    opened = chromium.new_page(viewport={"width": 1000, "height": 900})
    opened.set_default_timeout(90_000)  # however busy the machine is
    yield opened
    opened.close()


def test_the_page_draws_and_asks_for_nothing(page: "Page", tmp_path: Path) -> None:
    """No console message, no request beside the file itself, every figure and the table drawn."""
    policy = read_policy(QUICK)
    protector = policy.protector(rng=1)
    for cell in PATHS["ada"]:
        protector.release(cell)
    truth = PATHS["ada"]
    report = stream_report(
        policy,
        protector.ledger,
        title="Ada's <day>",
        truth=TrueSteps.of_cells(policy.grid, truth),
        uncalibrated=uncalibrated_releases(policy, truth, 1),
        show_truth=True,
    )
    path = write_html(report, tmp_path / "report.html")
    complaints: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri(), wait_until="networkidle")
    assert complaints == []
    assert requests == [path.as_uri()]
    assert page.locator("h1").inner_text() == "Ada's <day>"
    # Two maps side by side, and for each of two events leakage, belief and who learns most.
    assert page.locator(".map .panel").count() == 2 + len(policy.events)
    assert page.locator(".chart").count() >= 2 * len(policy.events) + 1
    for box in (each.bounding_box() for each in page.locator(".map .panel, .chart").all()):
        assert box is not None
        assert box["width"] > 200
        assert box["height"] > 90
    page.locator("summary").last.click()
    assert page.locator("details tbody tr").last.is_visible()
    assert page.locator("details tbody tr").count() == len(truth)
    # The strip has one row a day, and every row is filled from its first to its last step.
    assert page.locator(".strip .day").count() == len(report.strip)
    assert page.locator(".strip .day i").first.bounding_box() is not None
    # Nothing sticks out to the right, on a desk or on a phone.
    for width in (1000, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_thousand_users_can_be_sorted_and_nothing_else_runs(page: "Page", tmp_path: Path) -> None:
    """Clicking a head sorts by its numbers, both ways; what stands in a name never runs."""
    run = a_run(1000)
    path = write_html([a_report()], tmp_path / "crowd.html", summary=run)
    complaints: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("dialog", lambda dialog: complaints.append(dialog.message))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri(), wait_until="networkidle")
    assert (complaints, requests) == ([], [path.as_uri()])
    column = (
        "[...document.querySelectorAll('.sortable tbody tr')].map(r => r.cells[%d].dataset.key)"
    )
    metres = [round(u.worth.everywhere, 4) for u in run.users if u.worth is not None]
    page.get_by_role("button", name="mean error").click()
    assert [float(key) for key in page.evaluate(column % 5)] == sorted(metres, reverse=True)
    page.get_by_role("button", name="mean error").click()
    assert [float(key) for key in page.evaluate(column % 5)] == sorted(metres)
    assert page.locator("th[aria-sort=ascending]").count() == 1
    page.get_by_role("button", name="user", exact=True).click()
    assert page.evaluate(column % 0)[0] == "user 999"
    # A script that is not ours is stopped by the page's own policy.
    page.evaluate(
        "document.body.append(Object.assign(document.createElement('script'), "
        "{textContent: 'document.title = \"broken in\"'}))"
    )
    assert page.title() == "1,000 protected users"
    assert any("Content Security Policy" in text for text in complaints)


def test_pages_are_accessible_on_a_desk_and_on_a_phone(page: "Page", tmp_path: Path) -> None:
    """axe-core finds nothing to mend: contrast, names, roles, the order of headings.

    The report of a stream with gaps, against an adversary of few, a forecast with neighbours, and a
    crowd, which is small because axe looks at every cell of its table.
    """
    from axe_playwright_python.sync_playwright import Axe

    policy = read_policy(QUICK + '\n[adversary]\nknows = "population"\n')
    truth: list[int | None] = [None if step in (3, 6) else c for step, c in enumerate(PATHS["ada"])]
    protector = policy.protector(rng=1)
    for cell in truth:
        protector.release(cell)
    report = stream_report(
        policy,
        protector.ledger,
        title="A day",
        truth=TrueSteps.of_cells(policy.grid, truth),
        uncalibrated=uncalibrated_releases(policy, truth, 1),
        show_truth=True,
    )
    rows = forecast(policy, runs=2, steps=2).rows
    pages = [
        write_html(report, tmp_path / "report.html"),
        save_forecast(rows, tmp_path / "forecast.html"),
        write_html([a_report()], tmp_path / "crowd.html", summary=a_run(12)),
    ]
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    for path in pages:
        for width, scheme in ((1000, "light"), (390, "dark")):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            page.goto(path.as_uri(), wait_until="networkidle")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            small = "[...document.querySelectorAll('.chart span, .map span, .cost span')]"
            sizes = page.evaluate(
                f"{small}.map(each => parseFloat(getComputedStyle(each).fontSize))"
            )
            assert min(sizes, default=99.0) >= LEAST_LETTERS
            found = Axe().run(page)
            assert found.violations_count == 0, found.generate_report()
    assert set(requests) == {path.as_uri() for path in pages}
