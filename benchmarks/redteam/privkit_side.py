"""Privkit's attacks, run by a Python that has it: ``python privkit_side.py GIVEN.json FOUND.json``.

This file imports nothing of priste. It reads true and released places per way, and writes, per way
and attack, the estimated places and Privkit's own figures.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from importlib import import_module
from importlib.metadata import version
from typing import Any

PEBA_MOST = 120
"""PEBA inverts a matrix of all releases at each of them: only so many are attacked."""


def location_data(given: dict[str, Any], rows: list[list[float]]) -> Any:
    """Return Privkit's data: training places first, then releases of people."""
    pandas: Any = import_module("pandas")
    privkit: Any = import_module("privkit")
    train = [[-1, lat, lon, lat, lon] for lat, lon in given["train"]]
    frame = pandas.DataFrame(train + rows, columns=["uid", "lat", "lon", "obf_lat", "obf_lon"])
    frame["uid"] = frame["uid"].astype(int)
    frame["tid"] = 1
    data = privkit.LocationData()
    data.load_data(frame)
    data.create_grid(*given["bounds"], spacing=given["spacing"])
    data.train_indexes = data.data.index[: len(train)]
    data.test_indexes = data.data.index[len(train) :]
    data.test_user_indexes = sorted({(int(row[0]), 1) for row in rows})
    return data


def attacked(given: dict[str, Any], way: str) -> dict[str, Any]:
    """Return what each attack of Privkit finds about one way of releasing."""
    attacks: Any = import_module("privkit.attacks")
    metrics: Any = import_module("privkit.metrics")
    found = {}
    for name in ("OptimalHW", "OmniHW", "PEBA"):
        rows = given["streams"][way]
        rows = rows[:PEBA_MOST] if name == "PEBA" else rows
        data = location_data(given, rows)
        getattr(attacks, name)(given["epsilon"]).execute(data)
        data.data = data.data.loc[data.test_indexes]
        metrics.AdversaryError().execute(data)
        found[name] = {
            "error_m": float(data.data["adv_error"].mean()),
            "places": data.data[["uid", "adv_lat", "adv_lon"]].to_numpy().tolist(),
        }
    data = location_data(given, given["long_streams"][way])
    data.data = data.data.loc[data.test_indexes]
    attacks.TopN(2, over_grid=True, over_ppm=True).execute(data)
    found["TopN"] = {"share": float(data.data.groupby("uid")["re_identified"].first().mean())}
    return found


def main() -> None:
    """Attack every way; Privkit's own prints go to the standard error."""
    with open(sys.argv[1]) as file:
        given = json.load(file)
    found: dict[str, Any] = {"ways": {}}
    with contextlib.redirect_stdout(sys.stderr):
        for way in given["streams"]:
            began = time.process_time()
            found["ways"][way] = attacked(given, way)
            print(f"DONE {way}: {time.process_time() - began:.1f} CPU s", flush=True)
    found["versions"] = {
        name: version(name) for name in ("privkit", "open3d", "numpy", "pandas", "scikit-learn")
    }
    with open(sys.argv[2], "w") as file:
        json.dump(found, file)


if __name__ == "__main__":
    main()
