"""A mechanism for Privkit: its users can run priste, and its attacks can be run on priste.

Privkit's mechanisms are classes with six attributes and ``execute(location_data)``, which writes
columns into ``location_data.data``, a frame of fixes. This one has that form and needs nothing
of Privkit: any object with such a frame will do.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from priste.batch.streams import protect_stream
from priste.errors import InvalidParameter
from priste.policy import Policy
from priste.release import Ledger
from priste.release.seeded_steps import seed_of_user
from priste.traces import Trace
from priste.traces.fixes import microseconds
from priste.traces.points import ReleasedPoints

EARTH_RADIUS_M = 6371009.0
"""The sphere on which Privkit measures its quality loss."""

NEEDED = ("lat", "lon", "datetime")

Data = TypeVar("Data")


class PristePPM:
    """Privacy-preserving mechanism that keeps the events of a policy deniable.

    All fixes of a ``uid``, over all of its trajectories, are one stream: what is guaranteed is
    about the person. Every fix gets the point that was released for its step of the policy's clock;
    where nothing was released (off the clock) it gets nan.

    ``seed`` repeats an experiment: with it the noise can be undone.
    """

    PPM_ID = "priste"
    PPM_NAME = "PriSTE"
    PPM_INFO = (
        "PriSTE releases locations that bound what the adversary of a policy learns about a "
        "spatiotemporal event of the user's own choosing: over all releases of a stream together, "
        "under the models of the policy, the odds that it happened move "
        "by at most a factor e^epsilon, or as the policy guarantees."
    )
    PPM_REF = (
        "Cao, Y., Xiao, Y., Xiong, L., Bai, L., & Yoshikawa, M. Protecting Spatiotemporal Event "
        "Privacy in Continuous Location-Based Services. IEEE Transactions on Knowledge and Data "
        "Engineering."
    )
    DATA_TYPE_ID = ("location_data",)
    METRIC_ID = ("quality_loss",)

    def __init__(self, policy: Policy, *, seed: int | None = None) -> None:
        self._policy = policy
        self._seed = seed
        self.ledgers: dict[str, Ledger] = {}
        """What the last ``execute`` released for each uid, and what each release revealed."""

    def execute(self, location_data: Data) -> Data:
        """Write ``obf_lat``, ``obf_lon`` and ``quality_loss`` (metres) into ``location_data.data``.

        The frame must have the columns ``lat``, ``lon`` and ``datetime``; without a ``uid`` all
        fixes are one person's. Times without a zone are in that of the policy. Returns
        what was given.
        """
        frame: Any = location_data.data  # type: ignore[attr-defined]
        missing = [name for name in NEEDED if name not in frame.columns]
        if missing:
            raise InvalidParameter(
                f"must have the columns {', '.join(NEEDED)}, and there is no "
                f"{' and no '.join(missing)}: an event is about when a person was where",
                parameter="data",
                owner="PristePPM",
            )
        lat, lon = (np.array(list(frame[name]), dtype=np.float64) for name in ("lat", "lon"))
        times = self._instants(frame["datetime"])
        uids = [str(uid) for uid in frame["uid"]] if "uid" in frame.columns else ["1"] * len(lat)
        rows: dict[str, list[int]] = {}
        for row, uid in enumerate(uids):
            rows.setdefault(uid, []).append(row)
        self.ledgers = {
            uid: self._released(uid, times[own], lat[own], lon[own]) for uid, own in rows.items()
        }
        points = ReleasedPoints(
            {uid: [release.cell for release in ledger] for uid, ledger in self.ledgers.items()},
            self._policy.timeline,
            self._policy.grid,
        ).for_rows(uids, times)
        frame["obf_lat"] = points[:, 0]
        frame["obf_lon"] = points[:, 1]
        frame["quality_loss"] = great_circle_metres(lat, lon, points[:, 0], points[:, 1])
        return location_data

    def _released(
        self,
        uid: str,
        times: NDArray[np.int64],
        lat: NDArray[np.float64],
        lon: NDArray[np.float64],
    ) -> Ledger:
        distinct, first = np.unique(times, return_index=True)
        trace = Trace(uid, distinct, lat[first], lon[first])
        own = self._policy.for_user(trace)  # nobody is guarded by a model that was fitted on them
        seed = None if self._seed is None else seed_of_user(self._seed, uid)
        return protect_stream(own, uid, own.stream_cells(trace), seed=seed).ledger

    def _instants(self, times: Iterable[Any]) -> NDArray[np.int64]:
        zone = self._policy.timeline.zone
        found = []
        for time in times:
            when = time
            if isinstance(time, np.datetime64):
                when = time.astype("datetime64[us]").item()
            if not isinstance(when, datetime):
                raise InvalidParameter(
                    "must hold times",
                    parameter="datetime",
                    owner="PristePPM",
                    value=type(time),
                    hint="Load the data with Privkit, or with to_datetime().",
                )
            if when.tzinfo is None:
                when = when.replace(tzinfo=zone)
            found.append(microseconds(when.astimezone(UTC)))
        return np.array(found, dtype=np.int64)


def great_circle_metres(
    lat: NDArray[np.float64],
    lon: NDArray[np.float64],
    other_lat: NDArray[np.float64],
    other_lon: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the distances on Privkit's sphere, by the haversine formula; nan stays nan.

    >>> north = np.array([1.0])
    >>> zero = np.array([0.0])
    >>> round(float(great_circle_metres(zero, zero, north, zero)[0]) / 6371009 * 180 / np.pi, 9)
    1.0
    """
    there, here = np.radians(other_lat), np.radians(lat)
    half_lat, half_lon = (there - here) / 2, np.radians(other_lon - lon) / 2
    chord = np.sin(half_lat) ** 2 + np.cos(here) * np.cos(there) * np.sin(half_lon) ** 2
    return np.asarray(2 * EARTH_RADIUS_M * np.arcsin(np.sqrt(np.minimum(1.0, chord))))
