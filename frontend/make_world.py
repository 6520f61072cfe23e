"""Make ``world.json``: coasts, borders, countries and cities to draw under the cells, offline.

The data are Natural Earth's, which are in the public domain. They come from two packages of public
registries: ``countries-50m.json`` of npm's ``world-atlas`` 2.0.2, and the cities that PyPI's
``geopandas`` 0.14.4 holds. The result is committed, so nobody needs to run this:

    npm pack world-atlas@2.0.2
    pip download geopandas==0.14.4 --no-deps
    python frontend/make_world.py world-atlas-2.0.2.tgz geopandas-0.14.4-py3-none-any.whl
"""

from __future__ import annotations

import io
import json
import struct
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parent.parent / "src" / "priste" / "studio" / "page" / "world.json"

DIGITS = 100
"""Parts of a degree that are kept: about a kilometre, as fine as a map of 1:50 million is."""

CITIES = "geopandas/datasets/naturalearth_cities/naturalearth_cities"


def lines_of(topology: Any) -> list[list[int]]:
    """Return coasts and borders, each once: a first point in parts of a degree, then steps."""
    (sx, sy), (x0, y0) = topology["transform"]["scale"], topology["transform"]["translate"]
    found = []
    for arc in topology["arcs"]:
        x = y = 0
        line: list[int] = []
        last = None
        for dx, dy in arc:
            x, y = x + dx, y + dy
            here = (round(DIGITS * (y0 + sy * y)), round(DIGITS * (x0 + sx * x)))
            if here != last:
                line += here if last is None else (here[0] - last[0], here[1] - last[1])
            last = here
        if len(line) > 2:
            found.append(line)
    return found


def cities_of(archive: zipfile.ZipFile) -> list[list[object]]:
    """Return the cities as [name, latitude, longitude]: points of a shapefile and their names."""
    shapes, table = archive.read(f"{CITIES}.shp"), archive.read(f"{CITIES}.dbf")
    count, start, size = struct.unpack_from("<IHH", table, 4)
    names = [
        table[start + size * number + 1 : start + size * (number + 1)].decode("latin-1").strip()
        for number in range(count)
    ]
    points = [struct.unpack_from("<dd", shapes, 100 + 28 * number + 12) for number in range(count)]
    return [
        [name, round(lat, 2), round(lon, 2)] for name, (lon, lat) in zip(names, points, strict=True)
    ]


def main(atlas: str, cities: str) -> None:
    """Read both packages and write the file."""
    with tarfile.open(atlas) as packed:
        member = packed.extractfile("package/countries-50m.json")
        if member is None:
            raise SystemExit(f"{atlas} holds no countries-50m.json.")
        topology = json.load(io.TextIOWrapper(member))
    with zipfile.ZipFile(cities) as archive:
        places = cities_of(archive)
    world = {"digits": DIGITS, "lines": lines_of(topology), "cities": places}
    TARGET.write_text(json.dumps(world, separators=(",", ":"), ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
