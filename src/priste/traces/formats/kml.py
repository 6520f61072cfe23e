"""KML and KMZ: gx:Track, and placemarks of a point with a time. Lines have no times.

What is written is one gx:Track with released points and times, and nothing else; a KMZ is
written as a KMZ.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from priste.errors import TraceError
from priste.traces.cleaning import RawFix
from priste.traces.fixes import Trace, utc_datetime
from priste.traces.formats.contract import Head, TraceFormat, per_file
from priste.traces.formats.format import Format
from priste.traces.formats.rewriting import Row, rewritten, rows_of
from priste.traces.formats.utc_times import utc_time
from priste.traces.formats.xml_records import Element, elements, number_of, tag, write_lines
from priste.traces.points import DECIMALS
from priste.traces.reading_options import ReadingOptions
from priste.traces.record_problems import Problem, Tally
from priste.traces.sources import SourceFile

LARGEST_KMZ = 2**31
"""Bytes that the document in a KMZ may unpack to."""

_ZIP = b"PK\x03\x04"


def records(
    file: SourceFile, options: ReadingOptions, tally: Tally
) -> Iterator[tuple[str | None, RawFix]]:
    """Yield the fixes of tracks and timed points in their order; counts other placemarks."""
    with _document(file) as opened:
        for placemark in elements(opened, file.name, frozenset({"Placemark"})):
            found = list(_fixes(placemark))
            if not found:
                tally.refuse(Problem.OTHER_RECORD)
            for fix in found:
                yield file.user, fix


def _fixes(placemark: Element) -> Iterator[RawFix]:
    tracks = [each for each in placemark.iter() if tag(each) == "Track"]
    for track in tracks:
        whens = [utc_time(each.text) for each in track if tag(each) == "when"]
        places = [_place(each.text, None) for each in track if tag(each) == "coord"]
        for number in range(max(len(whens), len(places))):
            time = whens[number] if number < len(whens) else None
            yield time, *(places[number] if number < len(places) else (None, None))
    if tracks:
        return
    point = next((each for each in placemark.iter() if tag(each) == "Point"), None)
    when = next((each.text for each in placemark.iter() if tag(each) in ("when", "begin")), None)
    if point is not None and when is not None:
        text = next((each.text for each in point if tag(each) == "coordinates"), None)
        yield utc_time(when), *_place(text, ",")


def _place(text: str | None, mark: str | None) -> tuple[float | None, float | None]:
    """Return latitude and longitude of ``lon lat alt`` or ``lon,lat,alt``."""
    parts = [number_of(part) for part in (text or "").strip().split(mark)]
    return (parts[1], parts[0]) if len(parts) >= 2 else (None, None)


@contextmanager
def _document(file: SourceFile) -> Iterator[IO[bytes]]:
    try:
        if not zipfile.is_zipfile(file.path):
            with file.path.open("rb") as opened:
                yield opened
            return
        with zipfile.ZipFile(file.path) as archive:
            inside = [each for each in archive.infolist() if each.filename.lower().endswith(".kml")]
            if not inside or inside[0].file_size > LARGEST_KMZ:
                raise TraceError(f"{file.name} is an archive without a usable KML document.")
            with archive.open(inside[0]) as opened:
                yield opened
    except OSError as error:
        raise TraceError(f"{file.name} cannot be read: {error.strerror}.") from None
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, UnicodeDecodeError):
        raise TraceError(f"{file.name} is a broken or encrypted archive.") from None


def write_rows(rows: Iterable[Row], target: Path, like: Path | None = None) -> int:
    """Write times and places as one track; zipped if ``like`` is, or the name says .kmz."""
    written = 0

    def lines() -> Iterator[str]:
        nonlocal written
        yield '<kml xmlns="http://www.opengis.net/kml/2.2"'
        yield ' xmlns:gx="http://www.google.com/kml/ext/2.2"><Document><Placemark><gx:Track>'
        for time, lat, lon in rows:
            when = utc_datetime(time).isoformat().replace("+00:00", "Z")
            yield f"<when>{when}</when>"
            yield f"<gx:coord>{lon:.{DECIMALS}f} {lat:.{DECIMALS}f} 0</gx:coord>"
            written += 1
        yield "</gx:Track></Placemark></Document></kml>"

    if like is None or not zipfile.is_zipfile(like):
        write_lines(target, lines())
        return written
    plain = target.with_name(f"{target.name}.kml")
    try:
        write_lines(plain, lines())
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            # A fixed date: the archive must not tell when it was made.
            entry = zipfile.ZipInfo("doc.kml", date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, plain.read_bytes())
    finally:
        plain.unlink(missing_ok=True)
    return written


def write(traces: Iterable[Trace], target: Path, options: ReadingOptions) -> None:
    """Write one trace as KML."""
    write_rows((row for trace in traces for row in rows_of(trace)), target)


def _recognises(head: Head) -> bool:
    return (head.is_xml and b"<kml" in head.data) or (
        head.data.startswith(_ZIP) and b".kml" in head.data
    )


KML = TraceFormat(
    name=Format.KML,
    told_by="XML with a kml element, or a zip archive of one",
    recognises=_recognises,
    suffixes=(".kml", ".kmz"),
    users=per_file(records),
    rewrite=rewritten(records, write_rows),
    write=write,
)
