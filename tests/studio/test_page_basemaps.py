"""Streets under the cells in a real browser, files that are dropped, and who of a file is shown."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image
from pmtiles.tile import Compression, TileType
from tests.cli.small_world import write_trips
from tests.studio.small_archives import archive, tile
from tests.studio.studio_in_browser import Tab, own_studio, tab

from priste.studio.basemap import open_basemap

if TYPE_CHECKING:
    from playwright.sync_api import Browser

COLOUR = (200, 60, 160)
TILES = ((531, 364), (532, 364))
"""The week of these tests lies across two tiles."""

DROP = """
([name, content]) => {
  const given = new DataTransfer();
  const bytes = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
  given.items.add(new File([bytes], name));
  for (const type of ["dragenter", "dragover", "drop"])
    document.querySelector("h1").dispatchEvent(
      new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer: given }));
}
"""


def drop(at: Tab, path: Path) -> None:
    """Let go of a file somewhere over the page, and wait until its map is there."""
    content = base64.b64encode(path.read_bytes()).decode()
    at.page.evaluate(DROP, [path.name, content])
    at.page.wait_for_selector("#bench:not([hidden]) canvas.cells")


def picture() -> bytes:
    """Return a tile of one colour."""
    out = io.BytesIO()
    Image.new("RGB", (256, 256), COLOUR).save(out, "PNG")
    return out.getvalue()


def colours(at: Tab) -> set[Any]:
    """Return the colours that the map shows."""
    shown = Image.open(io.BytesIO(at.page.locator("#map .map").screenshot())).convert("RGB")
    found = shown.getcolors(maxcolors=shown.width * shown.height)
    assert found is not None
    return {colour for _, colour in found}


def test_images_of_an_archive_lie_under_the_cells(
    chromium: Browser, week: Path, tmp_path: Path
) -> None:
    """Dropped anywhere, a file opens; the tiles come with the token, and can be switched off."""
    path = archive(tmp_path / "t.pmtiles", TileType.PNG, picture(), Compression.NONE, TILES)
    with own_studio(basemap=open_basemap(path)) as address, tab(chromium, address) as at:
        drop(at, week)
        at.until("[...document.querySelectorAll('#map .leaflet-tile')].some(i => i.naturalWidth)")
        at.page.get_by_label("where the model expects you").uncheck()
        at.page.wait_for_timeout(400)  # tiles fade in
        assert COLOUR in colours(at)
        at.page.get_by_label("streets").uncheck()
        at.until("document.querySelectorAll('#map .leaflet-tile').length === 0")
        assert COLOUR not in colours(at)


def test_vector_tiles_are_drawn_in_the_colours_of_the_page(
    chromium: Browser, week: Path, tmp_path: Path
) -> None:
    """Shapes of a vector tile are drawn on canvases under the cells."""
    road = tile(2, [[(0, 40 * k), (4096, 40 * k)] for k in range(1, 100)])
    path = archive(tmp_path / "t.pmtiles", TileType.MVT, road, Compression.NONE, TILES)
    with own_studio(basemap=open_basemap(path)) as address, tab(chromium, address) as at:
        drop(at, week)
        # Each look reads a copy: Chromium complains of a canvas that is read several times.
        drawn = """[...document.querySelectorAll('#map canvas.leaflet-tile')].some(c => {
            const copy = new OffscreenCanvas(c.width, c.height).getContext("2d");
            copy.drawImage(c, 0, 0);
            return copy.getImageData(0, 0, c.width, c.height).data.some(v => v);
        })"""
        at.until(drawn)


def test_a_tile_server_is_asked_only_when_switched_on(chromium: Browser, week: Path) -> None:
    """Until then no request leaves; then only that host is asked, and not told from where."""
    with (
        own_studio(tiles="https://tiles.example/{z}/{x}/{y}.png") as address,
        tab(chromium, address) as at,
    ):
        asked: list[dict[str, str]] = []

        def give(route: Any) -> None:
            asked.append(route.request.headers)
            route.fulfill(body=picture(), content_type="image/png")

        at.context.route("https://tiles.example/**", give)
        drop(at, week)
        at.page.wait_for_timeout(300)
        assert not asked
        at.expected.append("https://tiles.example/")
        at.page.get_by_label("streets from tiles.example").check()
        at.until("[...document.querySelectorAll('#map .leaflet-tile')].some(i => i.naturalWidth)")
        assert asked
        assert not any("referer" in headers for headers in asked)


def test_one_of_several_people_is_chosen(chromium: Browser, tmp_path: Path) -> None:
    """The list of people of a file; choosing one shows their week and their name."""
    with own_studio() as address, tab(chromium, address) as at:
        drop(at, write_trips(tmp_path, ("ada", "ben")))
        assert at.page.locator("#source").inner_text() == "trips.csv, ada"
        at.page.get_by_label("Whose week").select_option("ben")
        at.until("document.querySelector('#source').textContent === 'trips.csv, ben'")
        assert at.page.get_by_label("Whose week").input_value() == "ben"
