"""One target for each reader of something that came from outside: what it is given, and how.

A target makes an input from a seed and reads it. Only errors of ours may come out, in little
time; anything else is a finding. ``python -m tests.fuzzing`` runs them for long, the suite shortly.
"""

from __future__ import annotations

import csv
import functools
import hashlib
import io
import json
import random
import shutil
import warnings
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from tests.cli.small_world import POLICY
from tests.fuzzing import grammar
from tests.fuzzing.mutation import as_json, harmed_bytes, harmed_json, harmed_text
from tests.release import kept_streams as streams
from tests.traces import phone_files as phones
from tests.traces import stay_files, trace_files

from priste import Grid, MarkovModel, Protector, Region, parse_event
from priste.audit.emission_table_files import read_emission_table
from priste.batch.parts import journals_in
from priste.batch.workspace import FORMAT, MANIFEST, VERSION, read_manifest
from priste.live.addresses import read_input, read_output
from priste.live.keeping import StateFolder, ground_of
from priste.live.protocol import Message
from priste.live.protocols import gpsd, nmea, osmand, overland, owntracks
from priste.live.settings import load_settings
from priste.policy import read_policy
from priste.register.register import Person, Register
from priste.release import read_ledgers, write_ledgers
from priste.release.stream_file import journal
from priste.release.stream_file.checkpoint import checkpoint_of
from priste.traces import FORMATS, read_traces

Target = Callable[[random.Random, Path], object]
"""Makes one input from a seed, in a folder of its own, and reads it."""

GRID = Grid(rows=2, columns=3, cell_size=1.0)
EARTH = Grid.covering(46.0, 7.0, 46.0355, 7.0515, 1.0)


# ------------------------------------------------------------------ traces

_TRACES: dict[str, tuple[tuple[str, Callable[[Path], Path]], ...]] = {
    "cabspotting": (("a.txt", trace_files.cabspotting),),
    "csv": (("a.csv", trace_files.csv), ("b.csv", stay_files.csv)),
    "fit": (("a.fit", phones.fit),),
    "geojson": (("a.geojson", trace_files.geojson), ("b.geojson", stay_files.geojson)),
    "geolife": (("a.plt", trace_files.plt),),
    "google": tuple(
        (f"{make.__name__}.json", make)
        for make in (
            phones.android,
            phones.iphone,
            phones.takeout,
            phones.month,
            stay_files.android,
            stay_files.iphone,
            stay_files.semantic_month,
        )
    ),
    "gpx": (("a.gpx", trace_files.gpx),),
    "kml": (("a.kml", phones.kml), ("a.kmz", phones.kmz), ("b.kml", stay_files.kml)),
    "nmea": (("a.nmea", trace_files.nmea),),
    "owntracks": (("a.rec", trace_files.owntracks), ("a.json", phones.owntracks)),
    "parquet": (("a.parquet", trace_files.parquet),),
    "tcx": (("a.tcx", phones.tcx),),
    "tdrive": (("a.txt", trace_files.tdrive),),
}
_SIGNS = {"gpx": '<>"', "kml": "<>, ", "tcx": '<>"', "nmea": ",*\n$"}


def traces(rng: random.Random, folder: Path, kind: str) -> object:
    """A file of a format with some harm done to it, read to its end."""
    name, make = rng.choice(_TRACES[kind])
    path = make(folder / name)
    if kind == "parquet" and rng.random() < 0.5:
        _harm_parquet(path, rng)
    else:
        data = path.read_bytes()
        text = kind not in ("fit", "parquet") and path.suffix != ".kmz"
        if text and path.suffix in (".json", ".geojson") and rng.random() < 0.7:
            data = as_json(harmed_json(json.loads(data), rng), rng).encode("utf-8", "replace")
        elif text and rng.random() < 0.7:
            signs = _SIGNS.get(kind, ",\n\t ")
            data = harmed_text(data.decode(), rng, signs).encode("utf-8", "replace")
        else:
            data = harmed_bytes(data, rng)
        path.write_bytes(data)
    columns = trace_files.CSV_COLUMNS if kind == "csv" and rng.random() < 0.7 else None
    format = str(kind) if rng.random() < 0.7 else None
    zone = "UTC" if rng.random() < 0.8 else None
    return list(read_traces(path, format, columns=columns, zone=zone))


def archives(rng: random.Random, folder: Path) -> object:
    """A zip archive of traces with odd names, now and then the same file often, or harmed."""
    path = folder / rng.choice(("a.zip", "a.kmz"))
    with zipfile.ZipFile(path, "w", rng.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED))) as out:
        for _ in range(rng.randint(1, 3)):
            name, make = rng.choice(_TRACES[rng.choice(sorted(_TRACES))])
            data = make(folder / name).read_bytes()
            data = harmed_bytes(data, rng) if rng.random() < 0.3 else data
            where = rng.choice(("", "Takeout/", "../../", "/etc/", "a\\", "__MACOSX/", "2024/"))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a name that is there twice
                out.writestr(where + rng.choice((name, Path(name).stem, "x/" + name)), data)
    if rng.random() < 0.4:
        path.write_bytes(harmed_bytes(path.read_bytes(), rng))
    return list(read_traces(path, zone="UTC"))


def long_documents(rng: random.Random, folder: Path) -> object:
    """Numbers of thousands of digits, and the same placemark tens of thousands of times."""
    if rng.random() < 0.7:
        number = rng.choice(("", "-", "1.", "1e")) + "7" * rng.choice((18, 19, 400, 4301, 70_000))
        key, form = rng.choice((("locations", "google"), ("data", "owntracks")))
        record = (
            f'{{"_type": "location", "latitudeE7": 1, "timestampMs": {number}, "tst": {number}}}'
        )
        (folder / "a.json").write_text(f'{{"{key}": [{record}]}}')
        return list(read_traces(folder / "a.json", form))
    mark = (
        "<Placemark><TimeStamp><when>2024-05-01T08:00:00Z</when></TimeStamp>"
        "<Point><coordinates>7.02,46.01</coordinates></Point></Placemark>"
    )
    with zipfile.ZipFile(folder / "a.kmz", "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("doc.kml", f"<kml>{mark * rng.choice((1, 20_000))}</kml>")
    return list(read_traces(folder / "a.kmz"))


def _harm_parquet(path: Path, rng: random.Random) -> None:
    """Other types and values in a sound file, or a schema of Arrow's that lies about them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    odd = {
        "lat": [pa.array([rng.choice((46.0, None, float("nan"), 1e308))] * len(table)),
                pa.array(["46.0"] * len(table)), pa.array([b"\xff"] * len(table)),
                pa.array([[46.0]] * len(table)), pa.array([{"a": 1}] * len(table)),
                pa.nulls(len(table)), pa.array([True] * len(table)),
                pa.array([46] * len(table), pa.int64()).dictionary_encode()],
        "time": [pa.array([2**62] * len(table), pa.timestamp("us")),
                 pa.array([-1] * len(table), pa.timestamp("s", "UTC")),
                 pa.array([0] * len(table), pa.timestamp("ns", "Mars/Phobos")),
                 pa.array([0] * len(table), pa.date32()), pa.array([1.5e300] * len(table)),
                 pa.array(["now"] * len(table))],
    }  # fmt: skip
    for part, choices in odd.items():
        names = [name for name in table.column_names if part in name.lower()]
        if names and rng.random() < 0.5:
            place = table.column_names.index(names[0])
            table = table.set_column(place, names[0], rng.choice(choices))
    metadata = dict(table.schema.metadata or {})
    if rng.random() < 0.6:
        true = pa.schema(table.schema).serialize().to_pybytes()
        other = pa.schema([("x", pa.int8())]).serialize().to_pybytes()
        import base64

        said = rng.choice((b"", b"!", true, other, harmed_bytes(true, rng)))
        metadata[b"ARROW:schema"] = base64.b64encode(said) if rng.random() < 0.8 else said
    if rng.random() < 0.3:
        metadata[rng.choice((b"pandas", b"geo"))] = as_json({"columns": []}, rng)[:1000].encode()
    table = table.replace_schema_metadata(metadata)
    # Without its own schema, pyarrow lets the metadata stand as they are.
    pq.write_table(table, path, store_schema=rng.random() < 0.3)


# ------------------------------------------------------------------ models, maps, tables


@functools.cache
def _model_files() -> tuple[bytes, ...]:
    import tempfile

    found = []
    with tempfile.TemporaryDirectory() as folder:
        for model in (streams.MODEL, streams.PAIRS, MarkovModel(GRID, np.eye(6))):
            model.save(Path(folder) / "m.npz")
            found.append((Path(folder) / "m.npz").read_bytes())
    return tuple(found)


def models(rng: random.Random, folder: Path) -> object:
    """A model file with other bytes, other numbers, another header or other claims of size."""
    data = rng.choice(_model_files())
    path = folder / "m.npz"
    if rng.random() < 0.3:
        path.write_bytes(harmed_bytes(data, rng))
    else:
        with zipfile.ZipFile(io.BytesIO(data)) as old:
            members = {name: old.read(name) for name in old.namelist()}
        name = rng.choice(list(members))
        members[name] = _harmed_member(name, members[name], rng)
        if rng.random() < 0.1:
            members.pop(rng.choice(list(members)))
        kind = zipfile.ZIP_DEFLATED if rng.random() < 0.1 else zipfile.ZIP_STORED
        with zipfile.ZipFile(path, "w", kind) as new:
            for member, content in members.items():
                new.writestr(member, content)
    return MarkovModel.load(path)


def _harmed_member(name: str, content: bytes, rng: random.Random) -> bytes:
    if rng.random() < 0.3:
        return harmed_bytes(content, rng)
    out = io.BytesIO()
    array = np.load(io.BytesIO(content))
    if name.startswith("header"):
        told = harmed_json(json.loads(array.tobytes()), rng)
        array = np.frombuffer(as_json(told, rng).encode("utf-8", "replace"), dtype=np.uint8)
        np.save(out, array)
    elif rng.random() < 0.4:  # a claim of twelve gigabytes, or of nothing
        shape = rng.choice(((40_000, 40_000), (2**40,), (0,), (2**62, 2**62), (-1,), array.shape))
        kind = rng.choice((array.dtype.str, "<f8", "<i8", "|O", "<U9", "<M8[s]", "|V8"))
        np.lib.format.write_array_header_1_0(
            out, {"descr": kind, "fortran_order": rng.random() < 0.5, "shape": shape}
        )
        out.write(array.tobytes())
    else:
        flat = np.array(array).reshape(-1)
        if flat.size and flat.dtype.kind in "fiu":
            place = rng.randrange(flat.size)
            with np.errstate(all="ignore"):
                flat[place] = np.array(rng.choice((0, 1, 3, 77, 2**31))).astype(flat.dtype)
                if flat.dtype.kind == "f":
                    flat[place] = rng.choice((np.nan, np.inf, -1.0, 1e-300, 2.0))
        np.save(out, flat.reshape(array.shape))
    return out.getvalue()


_SHAPES: dict[str, Any] = {
    "type": "FeatureCollection",
    "features": [
        {
            "type": "Feature",
            "properties": {"name": "clinic"},
            "geometry": {
                "type": "Polygon",
                "coordinates": [[[7.0, 46.0], [7.02, 46.0], [7.02, 46.02], [7.0, 46.0]]],
            },
        },
        {"type": "Feature", "properties": None,
         "geometry": {"type": "MultiPoint", "coordinates": [[7.01, 46.01], [7.03, 46.02]]}},
        {"type": "Feature", "properties": {}, "geometry": {"type": "GeometryCollection",
         "geometries": [{"type": "Point", "coordinates": [7.01, 46.01]}]}},
    ],
}  # fmt: skip


def regions(rng: random.Random, folder: Path) -> object:
    """A GeoJSON file of shapes, laid over a map."""
    path = folder / "r.geojson"
    if rng.random() < 0.1:
        path.write_bytes(harmed_bytes(json.dumps(_SHAPES).encode(), rng))
    else:
        document = harmed_json(_SHAPES, rng)
        path.write_text(as_json(document, rng), encoding="utf-8", errors="replace")
    return Region.geojson(EARTH, path)


def emission_tables(rng: random.Random, folder: Path) -> object:
    """A CSV file of probabilities, long or wide."""
    table = np.full((6, 6), 1 / 6)
    out = io.StringIO()
    writer = csv.writer(out)
    if rng.random() < 0.5:
        writer.writerow(["cell", "output", "probability"])
        writer.writerows(
            [cell, o, repr(float(table[cell, o]))] for cell in range(6) for o in range(6)
        )
    else:
        writer.writerows([[repr(float(x)) for x in row] for row in table])
    text = out.getvalue()
    data = harmed_text(text, rng, ",\n").encode("utf-8", "replace")
    path = folder / "t.csv"
    path.write_bytes(data if rng.random() < 0.8 else harmed_bytes(text.encode(), rng))
    return read_emission_table(path, GRID)


# ------------------------------------------------------------------ policies and events


def policies(rng: random.Random, folder: Path) -> object:
    """Tables from the grammar of policies; a fifth of them with values exchanged."""
    tables: Any = grammar.policy(rng)
    if rng.random() < 0.2:
        tables = harmed_json(tables, rng)
    text = grammar.as_toml(tables)
    if rng.random() < 0.05:
        text = harmed_text(POLICY, rng, "=\n ")
    return read_policy(text, folder=folder)


def events(rng: random.Random, folder: Path) -> object:
    """Formulas from the grammar of events; a third of them spoilt."""
    text = grammar.event(rng, 8)
    if rng.random() < 0.33:
        text = grammar.spoilt(text, rng)
    places = {"clinic": [1, 2], "home": [0], "work": [5]}
    return parse_event(text, places).automaton()


# ------------------------------------------------------------------ streams


@functools.cache
def _streams() -> tuple[tuple[bytes, bytes], ...]:
    """Journals with their checkpoints, of several kinds of streams."""
    return tuple(
        (path.read_bytes(), checkpoint_of(path).read_bytes())
        for path in sorted(streams.GOLDEN.glob("*.journal"))
    )


def _goes_on(path: Path) -> object:
    protector = Protector.load(path, rng=1)
    return protector.release(1), protector.release(None), protector.belief


def journals(rng: random.Random, folder: Path) -> object:
    """A journal with harmed bytes, or with harmed JSON and a chain that fits it."""
    data, _ = rng.choice(_streams())
    path = folder / "j"
    if rng.random() < 0.2:
        path.write_bytes(harmed_bytes(data, rng))
        return _goes_on(path)
    told = journal.decode(data, path)
    header: Any = dict(told.header)
    records: list[Any] = [dict(record) for record in told.records]
    if rng.random() < 0.4:
        model = header["models"]
        header = harmed_json({**header, "models": "kept"}, rng)
        if isinstance(header, dict) and header.get("models") == "kept":
            header["models"] = model if rng.random() < 0.9 else harmed_json(model, rng)
    else:
        place = rng.randrange(len(records))
        records[place] = harmed_json(records[place], rng)
    path.write_bytes(_framed(header, records, rng))
    return _goes_on(path)


def _framed(header: Any, records: list[Any], rng: random.Random) -> bytes:
    """A file whose every digest fits, whatever it holds."""
    out = b"priste-stream 1\n"
    chain = hashlib.sha256(out).hexdigest()[:32]
    for kind, content in ((b"H", header), *((b"R", record) for record in records)):
        payload = as_json(content, rng).encode("utf-8", "replace").replace(b"\n", b" ")
        chain = hashlib.sha256(chain.encode() + kind + payload).hexdigest()[:32]
        out += b"%s %08x %s %s\n" % (kind, len(payload), chain.encode(), payload)
    return out


def checkpoints(rng: random.Random, folder: Path) -> object:
    """A sound journal with a checkpoint that is not, its digest mostly right."""
    data, beside = rng.choice(_streams())
    path = folder / "j"
    path.write_bytes(data)
    if rng.random() < 0.2:
        beside = harmed_bytes(beside, rng)
    else:
        _, head, numbers = beside.split(b"\n", 2)
        if rng.random() < 0.7:
            told = as_json(harmed_json(json.loads(head), rng), rng)
            head = told.encode("utf-8", "replace").replace(b"\n", b" ")
        else:
            numbers = harmed_bytes(numbers, rng)
        beside = streams.forged(head, numbers)
    checkpoint_of(path).write_bytes(beside)
    return _goes_on(path)


# ------------------------------------------------------------------ what runs leave


@functools.cache
def _ledger() -> str:
    """The ledger of two users, one of whom had distributions of their own."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        found = {
            user: Protector.load(shutil.copy(streams.GOLDEN / f"{name}.journal", folder)).ledger
            for user, name in {"ada": "certified", "ben": "optimal"}.items()
        }
        write_ledgers(Path(folder) / "l.csv", tuple(streams.EVENTS), found)
        return (Path(folder) / "l.csv").read_text()


def ledgers(rng: random.Random, folder: Path) -> object:
    """A ledger of two users with fields, titles or bytes exchanged."""
    path = folder / "x.ledger.csv"
    if rng.random() < 0.8:
        path.write_text(harmed_text(_ledger(), rng, ",\n"), encoding="utf-8", errors="replace")
    else:
        path.write_bytes(harmed_bytes(_ledger().encode(), rng))
    return read_ledgers(path)


_RUN: list[Any] = [
    {"format": FORMAT, "version": VERSION, "policy": "p", "key": "k", "chunks": 4},
    {"part": 1, "generation": 1, "sha256": "00ff", "fixes": "x", "users": 2},
    {"ledger": "ab"},
]


def _lines(documents: Any, rng: random.Random) -> bytes:
    rows = documents if isinstance(documents, list) else [documents]
    text = "\n".join(as_json(row, rng) for row in rows)
    data = text.encode("utf-8", "replace") + rng.choice((b"", b"\n", b"\xff", b'{"jour'))
    return data if rng.random() < 0.9 else harmed_bytes(data, rng)


def manifests(rng: random.Random, folder: Path) -> object:
    """The manifest of a run with lines of other JSON."""
    path = folder / MANIFEST
    path.write_bytes(_lines(harmed_json(_RUN, rng), rng))
    return read_manifest(path)


def parts(rng: random.Random, folder: Path) -> object:
    """A part of a run with harmed bytes, as a forged checksum would let it through."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = {"user": ["ada", None], "journal": [b"x", b""]}
    if rng.random() < 0.2:
        names.pop(rng.choice(list(names)))
    out = io.BytesIO()
    pq.write_table(pa.table(names), out, compression="zstd")
    return journals_in(harmed_bytes(out.getvalue(), rng))


def registers(rng: random.Random, folder: Path) -> object:
    """The register of what was released, with harmed bytes."""
    folder.chmod(0o700)
    person = Person("ada", "x", b"a" * 8 + b"b" * 8)
    with Register(folder).transaction() as register:
        register.add("p", "/x", [person])
    path = folder / "register.sqlite"
    path.write_bytes(harmed_bytes(path.read_bytes(), rng))
    with Register(folder).transaction() as register:
        return register.earlier(person)


# ------------------------------------------------------------------ the live service

_SETTINGS: dict[str, dict[str, Any]] = {
    "people.ada": {
        "policy": "policy.toml",
        "in": ["gpsd://127.0.0.1:2947"],
        "out": ["nmea+tcp://127.0.0.1"],
        "hold": "10m",
        "accuracy": 50,
    },
    "people.ben": {"policy": "policy.toml", "devices": ["phone"], "missing": "silence"},
}


def live_settings(rng: random.Random, folder: Path) -> object:
    """Settings of several people in TOML."""
    (folder / "policy.toml").write_text(POLICY)
    path = folder / "live.toml"
    path.write_text(
        grammar.as_toml(harmed_json(_SETTINGS, rng)), encoding="utf-8", errors="replace"
    )
    return load_settings(path)


def live_addresses(rng: random.Random, folder: Path) -> object:
    """Addresses of sources and outlets."""
    text = rng.choice(
        (
            "gpsd://127.0.0.1:2947",
            "owntracks+mqtt://u:p@127.0.0.1/owntracks/+/+",
            "nmea+tcp://[::1]:1",
            "overland+https://127.0.0.1/api?source=a&device=b",
        )
    )
    text = harmed_text(text, rng, ":/@.+[]?&=#")
    return (read_input if rng.random() < 0.5 else read_output)(text, folder=folder)


def live_state(rng: random.Random, folder: Path) -> object:
    """The small files of a stream's folder."""
    policy = read_policy(POLICY)
    stream = {
        "version": 2,
        "person": "ada",
        "stream": "5f",
        "origin": 3,
        "ground": ground_of(policy),
        "journal": False,
    }
    latest = {
        "person": "ada",
        "step": 3,
        "time": "2026-03-04T00:00:00+00:00",
        "lat": 46.0,
        "lon": 7.0,
        "accuracy": 300.0,
    }
    for name, content in (("stream.json", stream), ("latest.json", latest)):
        text = as_json(harmed_json(content, rng), rng)
        (folder / name).write_text(text, encoding="utf-8", errors="replace")
    folder.chmod(0o700)
    found = StateFolder(folder, "ada")
    return (lambda: found.origin(policy), found.latest, lambda: found.binding)[rng.randrange(3)]()


class Nobody:
    """The person at the other end: without a key, and asked for nothing else here."""

    key = None


def live_messages(rng: random.Random, folder: Path) -> object:
    """What phones and receivers send: OwnTracks, Overland, OsmAnd and Traccar, gpsd, NMEA."""
    location = {"_type": "location", "lat": 46.0, "lon": 7.0, "tst": 1772629200, "tid": "a"}
    traccar = {"device_id": "a", "location": {"timestamp": "2026-03-04T14:00:00.000Z",
               "coords": {"latitude": 46.0, "longitude": 7.0, "accuracy": 4}}}  # fmt: skip
    tpv = {"class": "TPV", "mode": 3, "time": "2026-03-04T14:00:00.000Z", "lat": 46.0, "lon": 7.0}
    query = {"id": "a", "lat": "46.0", "lon": "7.0", "timestamp": "1772629200"}
    feature = {"type": "Feature", "geometry": {"type": "Point", "coordinates": [7.0, 46.0]},
               "properties": {"timestamp": "2026-03-04T14:00:00Z", "device_id": "a"}}  # fmt: skip
    kind = rng.randrange(7)
    if kind == 5:
        batch = as_json(harmed_json({"locations": [feature, feature]}, rng), rng)
        asked = Message(
            batch.encode("utf-8", "replace"), {}, {}, "", datetime(2026, 3, 4, tzinfo=UTC)
        )
        return [reported.fix(Nobody()) for reported in overland.read_post(asked)]
    if kind == 6:
        told = harmed_json({"_type": "encrypted", "data": "A" * 80}, rng)
        return owntracks.read(as_json(told, rng), key=owntracks.secret_box_key("a key"))
    if kind == 0:
        return owntracks.read(as_json(harmed_json(location, rng), rng))
    if kind == 1:
        return osmand.read_json(as_json(harmed_json(traccar, rng), rng))
    if kind == 2:
        return gpsd.read(as_json(harmed_json(tpv, rng), rng))
    if kind == 3:
        told = harmed_json(query, rng)
        fields = (
            {str(key): str(value) for key, value in told.items()} if isinstance(told, dict) else {}
        )
        return osmand.read_query(fields, datetime(2026, 3, 4, tzinfo=UTC))
    line = "$GPRMC,140000.00,A,4600.0000,N,00700.0000,E,0.0,0.0,040326,,,A*6C"
    return nmea.Receiver().read(
        harmed_text(line, rng, ",*$").encode("utf-8", "replace"), datetime(2026, 3, 4, tzinfo=UTC)
    )


TARGETS: dict[str, Target] = {
    **{f"traces: {kind}": functools.partial(traces, kind=kind) for kind in FORMATS},
    "archives": archives,
    "long documents": long_documents,
    "models": models,
    "regions": regions,
    "emission tables": emission_tables,
    "policies": policies,
    "events": events,
    "journals": journals,
    "checkpoints": checkpoints,
    "ledgers": ledgers,
    "manifests": manifests,
    "parts": parts,
    "registers": registers,
    "live settings": live_settings,
    "live addresses": live_addresses,
    "live state": live_state,
    "live messages": live_messages,
}
