"""What is asked to set up a service, and the policy and settings that are written from it."""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from pathlib import Path

import tomlkit

from priste.atomic_files import private_folder, write_file
from priste.errors import InvalidParameter, NoValue
from priste.live.addresses import Reach
from priste.policy import read_policy
from priste.policy.draft.facts import zone_at

CELLS_ACROSS = 17
"""Cells along a side of the map, 361 with those off the map; odd, so that home is in one cell."""

WEEKS = 2
"""How long the clock of the policy runs, for forecasts; the stream itself has no end."""

KM_PER_DEGREE = 111.8
"""A little above the true value, so that the map is not too wide for its cells."""

MODEL = {
    "kind": "stay-or-go",
    "stay": 0.86,
    "stay_at_night": 0.98,
    "decay": 2.0,
    "away_share": 0.05,
    "home": "home",
    "stay_home": 0.955,
    "back_home": 0.029,
    "stay_home_at_night": 0.998,
    "back_home_at_night": 0.029,
}
"""How people move in steps of 15 minutes, where no trace says it: numbers of the made-up town."""

STEP = "15min"


@dataclass(frozen=True)
class GuardedPlace:
    """A place that must stay deniable: a circle with a name."""

    name: str
    lat: float
    lon: float
    radius_km: float = 0.1


def read_place(text: str) -> tuple[float, float]:
    """Read a place written as LAT,LON.

    >>> read_place("46.0131, 7.0192")
    (46.0131, 7.0192)
    """
    try:
        lat, lon = map(float, text.split(","))
    except ValueError:
        lat = lon = math.nan
    if not (abs(lat) <= 85 and abs(lon) <= 180):  # false for nan
        raise InvalidParameter(
            "must be degrees, written as 46.0131,7.0192", parameter="place", value=NoValue.SECRET
        )
    return lat, lon


def read_guarded(text: str) -> GuardedPlace:
    """Read a guarded place written as NAME=LAT,LON or NAME=LAT,LON,RADIUS_KM.

    >>> read_guarded("clinic=46.0131,7.0192,0.2")
    GuardedPlace(name='clinic', lat=46.0131, lon=7.0192, radius_km=0.2)
    """
    name, _, rest = text.partition("=")
    parts = rest.split(",")
    try:
        lat, lon = read_place(",".join(parts[:2]))
        radius = float(parts[2]) if len(parts) == 3 else GuardedPlace.radius_km
    except ValueError:  # also of read_place
        lat = lon = radius = math.nan
    if not name.strip().isidentifier() or name.strip() == "home" or not 0 < radius <= 50:
        raise InvalidParameter(
            "must be written as clinic=46.0131,7.0192 or, with its radius in km, as "
            "clinic=46.0131,7.0192,0.2; not with the name home",
            parameter="guarded place",
            value=NoValue.SECRET,
        )
    return GuardedPlace(name.strip(), lat, lon, radius)


@dataclass(frozen=True)
class Answers:
    """The answers to all questions. ``draft`` is the text of a policy that was drafted from
    ``history``.

    ``url`` is where phones reach the service; ``listen`` where it listens.
    """

    person: str
    home: tuple[float, float]
    guarded: tuple[GuardedPlace, ...]
    hours: tuple[str, ...]
    reach_km: float = 5.0
    epsilon: float = 1.0
    listen: str = "127.0.0.1:8787"
    url: str = "http://127.0.0.1:8787"
    reach: Reach = Reach.HERE
    outputs: tuple[str, ...] = ()
    show_home: bool = False
    draft: str | None = None
    history: Path | None = None
    token: str = field(default_factory=lambda: secrets.token_urlsafe(18), repr=False)

    @property
    def device(self) -> str:
        """The name of the phone in its messages."""
        return f"{self.person}/phone"

    def policy(self, today: date) -> str:
        """Return the text of the policy, checked; PolicyError for places off the map and the like.

        The clock begins on the Monday of this week, so that weekly events are guarded whole.
        """
        document = tomlkit.parse(self.draft) if self.draft else self._without_trace()
        monday = today - timedelta(days=today.weekday())
        clock = document["clock"]
        clock["start"] = datetime.combine(monday, time.min)
        step = str(clock["step"])
        clock["steps"] = WEEKS * 7 * 86400 // int(_length(step).total_seconds())
        clock["steps"].comment("two weeks, for forecasts; the stream has no end")
        document["guarantee"]["epsilon"] = self.epsilon
        regions = document["regions"]
        if "home" not in regions:
            regions["home"] = _circle(GuardedPlace("home", *self.home))
        events = tomlkit.table(is_super_table=True)
        for place in self.guarded:
            regions[place.name] = _circle(place)
            for number, when in enumerate(self.hours):
                event = tomlkit.table()
                event["formula"] = tomlkit.string(f'presence({place.name}, "{when}")', literal=True)
                event["every"] = "week" if when[:1].isalpha() else "day"
                events[f"{place.name}{number or ''}"] = event
        document["events"] = events
        text = tomlkit.dumps(document)
        read_policy(text)
        return text

    def _without_trace(self) -> tomlkit.TOMLDocument:
        lat, lon = self.home
        high = self.reach_km / KM_PER_DEGREE
        wide = high / math.cos(math.radians(lat))
        document = tomlkit.document()
        document.add(tomlkit.comment("Every key is explained in docs/reference/policy.md."))
        document["map"] = {
            "south": round(lat - high, 4),
            "west": round(lon - wide, 4),
            "north": round(lat + high, 4),
            "east": round(lon + wide, 4),
            "cell_size": round(2 * self.reach_km / CELLS_ACROSS, 3),
        }
        document["clock"] = {"start": "", "zone": zone_at(lat, lon), "step": STEP, "steps": 0}
        document["mobility"] = MODEL
        document["mechanism"] = {"kind": "planar-laplace", "alpha": 4.0}
        document["adversary"] = {"knows": "population", "also": ["home"]}
        document["guarantee"] = {"epsilon": self.epsilon}
        document["release"] = {"calibrator": "optimal", "outside": "off-map"}
        document["regions"] = tomlkit.table(is_super_table=True)
        return document

    def settings(self) -> str:
        """Return the text of the settings."""
        document = tomlkit.document()
        document.add(tomlkit.comment("Start it with: priste live --config live.toml"))
        document["state"] = "state"
        document["listen"] = self.listen
        if self.reach is Reach.PLAIN:
            document["plain_lan"] = True
        person = tomlkit.table()
        person["policy"] = "policy.toml"
        person["devices"] = [self.device]
        person["token_file"] = "phone.token"
        person["hold"] = "2h"
        if self.history is not None:
            person["history"] = str(self.history.resolve())
        if self.outputs:
            person["out"] = list(self.outputs)
        if self.show_home:
            points = tomlkit.aot()
            lat, lon = self.home
            points.append(tomlkit.item({"name": "home", "lat": lat, "lon": lon}))
            person["points"] = points
        people = tomlkit.table(is_super_table=True)
        people[self.person] = person
        document["people"] = people
        return tomlkit.dumps(document)

    def write(self, folder: Path, today: date) -> None:
        """Write policy, settings and token into a private folder; OutputExists if one is there."""
        files = {
            "policy.toml": self.policy(today),
            "live.toml": self.settings(),
            "phone.token": self.token + "\n",
        }
        private_folder(folder)
        for name, text in files.items():
            write_file(folder / name, text)


def _circle(place: GuardedPlace) -> tomlkit.items.Table:
    circle = tomlkit.inline_table()
    circle.update({"lat": place.lat, "lon": place.lon, "radius_km": place.radius_km})
    table = tomlkit.table()
    table["circle"] = circle
    return table


def _length(step: str) -> timedelta:
    from priste.live.settings import read_span

    return read_span(step)
