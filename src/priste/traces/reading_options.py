"""How a source is to be read: the names of its columns, the zone of its clock."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import tzinfo

from priste.errors import InvalidParameter, TraceError
from priste.traces.zones import check_unit

_UNIT = re.compile(r"[(\[][^()\[\]]*[)\]]")
"""Words in brackets, the innermost: read once also where brackets never end."""

# Compared without case, spaces, hyphens, underscores and dots.
_ALIASES = {
    "user": (
        "user userid uid username person personid vehicle vehicleid device deviceid taxi taxiid "
        "driver driverid traveller individual"
    ),
    "time": (
        "time timestamp datetime tst t utc timeutc utctime eventtime recordedat createdat date "
        "when gpstime epoch unixtime timestamputc utctimestamp trackedat"
    ),
    "lat": "lat latitude y ycoord gpslat latitudedeg positionlat latitudedegrees",
    "lon": "lon lng long longitude x xcoord gpslon longitudedeg positionlong longitudedegrees",
    "begin": "start starttime startedat begin begintime arrival arrivaltime",
    "until": "end endtime endedat finishedat until departure departuretime leavingdatetime",
}
_CLOCKS = {
    "date": ("time", "gpstime", "utctime", "timeutc"),
    "gpsdate": ("gpstime",),
    "utcdate": ("utctime", "timeutc"),
}
"""What the time of day is called next to a date of that name."""


@dataclass(frozen=True)
class Columns:
    """The names under which a table (or the properties of a GeoJSON file) holds its fixes.

    None means: find it by the usual names ("latitude", "lng", "timestamp", "user_id", …). A table
    without a header has the columns ``column0``, ``column1``, … . ``user`` is optional. ``date`` is
    the column of the date where ``time`` holds only the time of day. ``until`` is the end of a stay
    that begins at ``time``; it is looked for only where the time is called a start or an arrival.
    ``geometry`` is the column of points of a GeoParquet file, used where it has no ``lat``.
    ``time_unit`` is the unit of times given as numbers: "s", "ms" or "us" since 1970.
    ``time_format`` reads times given as text, in the letters of strptime, with the date before the
    time if they are two columns; without it they are ISO 8601.
    """

    user: str | None = None
    time: str | None = None
    lat: str | None = None
    lon: str | None = None
    date: str | None = None
    until: str | None = None
    geometry: str | None = None
    time_unit: str = "s"
    time_format: str | None = None

    def __post_init__(self) -> None:
        check_unit(self.time_unit)

    @classmethod
    def of(cls, columns: Columns | Mapping[str, str] | None) -> Columns:
        """Return columns given as a mapping such as ``{"lat": "y", "lon": "x"}``."""
        if isinstance(columns, Columns):
            return columns
        given = dict(columns or {})
        known = [field.name for field in fields(cls)]
        for name, value in given.items():
            if name not in known:
                raise InvalidParameter(
                    f"may name {', '.join(known)}", parameter="columns", value=name
                )
            if not isinstance(value, str):
                raise InvalidParameter(
                    f"must map {name!r} to a name", parameter="columns", value=type(value)
                )
        return cls(**given)

    def found_in(self, names: Sequence[str], what: str, points: Sequence[str] = ()) -> Columns:
        """Return columns with every name settled by the names that ``what`` really has.

        ``points`` are the columns that hold geometries; one of them may stand for the position.
        """
        wanted = self._with_pairs(names)
        optional = {"user", "date", "until"} | ({"lat", "lon"} if points else set())
        settled = {
            part: _settle(part, getattr(wanted, part), names, what, part in optional)
            for part in ("user", "time", "lat", "lon", "date", "until")
        }
        used = [name for name in settled.values() if name is not None]
        if len(set(used)) < len(used):
            raise TraceError(
                f"must be different for the parts of a fix in {what}",
                got=f"{', '.join((f'{part}={name}' for part, name in settled.items() if name))}",
                parameter="columns",
            )
        if settled["lat"] is None or settled["lon"] is None:
            chosen = self.geometry or points[0]
            settled |= {"lat": None, "lon": None, "geometry": chosen}
            if chosen not in points:
                raise TraceError(
                    f"must hold geometries: {chosen!r} of {what} does not", parameter="columns"
                )
        return Columns(**settled, time_unit=self.time_unit, time_format=self.time_format)

    def _with_pairs(self, names: Sequence[str]) -> Columns:
        """Return columns with a date and a time of day, or a beginning and an end, if so named."""
        if self.time is not None:
            return self
        called = {part: [name for name in names if alias_of(name) == part] for part in _ALIASES}
        times = {_plain(name): name for name in called["time"]}
        for name in names:
            clocks = [times[each] for each in _CLOCKS.get(_plain(name), ()) if each in times]
            if len(clocks) == 1 and set(called["time"]) <= {name, *clocks}:
                return replace(self, date=self.date or name, time=clocks[0])
        begins, ends = called["begin"], called["until"]
        if not times and len(begins) == 1:
            until = self.until or (ends[0] if len(ends) == 1 else None)
            return replace(self, time=begins[0], until=until)
        return self


@dataclass(frozen=True)
class ReadingOptions:
    """Everything a reader needs to know next to the file."""

    columns: Columns
    zone: tzinfo | None
    user: str | None


def alias_of(name: str) -> str | None:
    """Return which of user, time, lat, lon, begin, until a column name usually means.

    A unit in brackets does not matter, unless it is one that is not read.

    >>> alias_of("Latitude (deg)"), alias_of("user_id"), alias_of("id")
    ('lat', 'user', None)
    >>> alias_of("position_lat[semicircles]") is None
    True
    """
    if "semicircle" in name.lower():  # Garmin's raw unit
        return None
    plain = _plain(name)
    return next((part for part, known in _ALIASES.items() if plain in known.split()), None)


def _plain(name: str) -> str:
    plain = _UNIT.sub("", name).strip().lower()
    for mark in " _-.":
        plain = plain.replace(mark, "")
    return plain


def _settle(
    part: str, wanted: str | None, names: Sequence[str], what: str, optional: bool
) -> str | None:
    # A first line that is data would be taken for names: never show what could be a position.
    shown = [repr(name) if name[:1].isalpha() else "…" for name in names[:30]]
    has = f"It has {', '.join(shown)}."
    if wanted is not None:
        if list(names).count(wanted) != 1:
            times = "more than once" if wanted in names else "not"
            raise TraceError(
                f"The column {wanted!r} for '{part}' is {times} in {what}", hint=f"{has}"
            )
        return wanted
    likely = [name for name in names if alias_of(name) == part]
    if part in ("date", "until") or (optional and not likely):
        return None  # named, or found together with the time
    if len(likely) == 1:
        return likely[0]
    found = "No column" if not likely else f"More than one column ({', '.join(likely)})"
    raise TraceError(
        f"must name the {part!r}: {found.lower()} of {what} looks like it. {has}",
        parameter="columns",
    )
