"""The studio's addresses: what each answers. See docs/how-to/studio.md for the list."""

from __future__ import annotations

import asyncio
import base64
import secrets
import shutil
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import available_timezones

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from priste import __version__
from priste.errors import PristeError
from priste.forecast import REFINED_RUNS
from priste.policy import Policy, explain_policy
from priste.policy.adversary_choice import ASSUMED
from priste.policy.explanation import (
    Explanation,
    hours_as_written,
    hours_read_when_drafted,
)
from priste.release import CALIBRATORS
from priste.studio import exporting
from priste.studio.basemap import Basemap
from priste.studio.event_reading import chances, read_events
from priste.studio.following import RunOrder
from priste.studio.job_queue import Jobs
from priste.studio.jobs_at_work import ExportOrder, ForecastOrder, PriorOrder
from priste.studio.live_watch import Watch
from priste.studio.opened_world import opened, redrafted, regrounded
from priste.studio.opening import (
    Source,
    another_person,
    drafted_again,
    open_file,
    open_town,
    with_policy,
)
from priste.studio.policies import Policies
from priste.studio.requests_answered import (
    Handler,
    answering,
    body_of,
    nowhere,
    outcome,
    prior_of,
    setting_of,
)
from priste.studio.sessions import Session, Sessions
from priste.studio.uploads import LARGEST_UPLOAD, receive
from priste.studio.wire import Refused, answer
from priste.traces import FORMATS

MOST_FORECAST_RUNS = 20

PAGE = Path(__file__).parent / "page"


def leaflet_folder() -> Path:
    """Return where the installed package keeps Leaflet's files."""
    from xstatic.pkg import leaflet

    return Path(leaflet.BASE_DIR)


SHARED = ("report.html", "report to share")
"""The report that may be shared: it shows the releases only."""


class Studio:
    """The addresses and what they share: jobs, sessions, the basemap, the file to begin with."""

    def __init__(
        self,
        *,
        file: Path | None = None,
        policy: Path | None = None,
        reading: dict[str, str | None] | None = None,
        basemap: Basemap | None = None,
        tiles: str | None = None,
        seed: int | None = None,
        register: exporting.Releases | None = None,
    ) -> None:
        self.jobs = Jobs()
        self.sessions = Sessions(self.jobs)
        self._file = file
        self._policy_file = policy
        self._reading = reading or {}
        self._basemap = basemap
        self._tiles = tiles
        self._seed = seed
        self._handed_out = exporting.HandedOut(register)
        self._building = threading.Lock()
        self._closed = False
        self._town_folder = self.sessions.folder / "town"
        self._town_policies = Policies(self._town_folder)

    def application(self) -> Starlette:
        """Return the application, without the guard around it."""
        session = "/api/sessions/{session}"
        listed: list[tuple[str, str, Handler]] = [
            ("GET", "/", self._index),
            ("GET", "/api/info", self._info),
            ("GET", "/api/basemap/geojson", self._features),
            ("GET", "/api/basemap/tiles/{zoom:int}/{column:int}/{row:int}", self._tile),
            ("POST", "/api/sessions", self._begin),
            ("GET", session, self._again),
            ("DELETE", session, self._end),
            ("POST", f"{session}/leave", self._leave),
            ("POST", f"{session}/work", self._work),
            ("POST", f"{session}/town", self._town),
            ("POST", f"{session}/file", self._open_file),
            ("POST", f"{session}/upload", self._upload),
            ("POST", f"{session}/person", self._person),
            ("POST", f"{session}/policy/open", self._open_policy),
            ("POST", f"{session}/ground", self._ground),
            ("POST", f"{session}/draft", self._draft),
            ("POST", f"{session}/events", self._events),
            ("POST", f"{session}/chances", self._chances),
            ("POST", f"{session}/explain", self._explain),
            ("POST", f"{session}/policy", self._policy),
            ("POST", f"{session}/forecasts", self._forecast),
            ("POST", f"{session}/runs", self._run),
            ("GET", f"{session}/jobs/{{job}}/events", self._job_events),
            ("POST", f"{session}/jobs/{{job}}/cancel", self._cancel),
            ("POST", f"{session}/runs/{{job}}/prior", self._prior),
            ("GET", f"{session}/runs/{{job}}/export/{{what}}", self._export),
            ("POST", f"{session}/live", self._watch),
            ("GET", f"{session}/live/{{watch}}/events", self._watched),
            ("DELETE", f"{session}/live/{{watch}}", self._unwatch),
        ]
        routes: list[Route | Mount] = [
            Route(path, answering(handler), methods=[method]) for method, path, handler in listed
        ]
        routes.append(Mount("/page", StaticFiles(directory=PAGE, check_dir=False)))
        routes.append(Mount("/leaflet", StaticFiles(directory=leaflet_folder())))
        handlers: dict[Any, Any] = {404: nowhere, 405: nowhere}
        return Starlette(routes=routes, exception_handlers=handlers)

    @property
    def tile_host(self) -> str | None:
        """The one host that images may come from, if the user named one."""
        if self._tiles is None:
            return None
        found = urlsplit(self._tiles)
        return f"{found.scheme}://{found.netloc}"

    def close(self) -> None:
        """End all work and remove all that was uploaded."""
        self._closed = True
        self.jobs.close()  # first: sessions have nothing to cancel then
        self.sessions.close()

    # ------------------------------------------------------------------ the page and its map

    async def _index(self, request: Request) -> Response:
        return FileResponse(PAGE / "index.html")

    async def _info(self, request: Request) -> Response:
        return answer(
            {
                "version": __version__,
                "file": None if self._file is None else self._file.name,
                "upload_bytes": LARGEST_UPLOAD,
                "basemap": None if self._basemap is None else self._basemap.describe(),
                "tiles": None
                if self._tiles is None
                else {"url": self._tiles, "host": urlsplit(self._tiles).hostname},
                "seed": self._seed,
                "formats": sorted(FORMATS),
                "zones": sorted(available_timezones()),
                "calibrators": [
                    {"name": name, "guarantee": each.guaranteed, "words": each.explained}
                    for name, each in CALIBRATORS.items()
                ],
            }
        )

    async def _features(self, request: Request) -> Response:
        content = None if self._basemap is None else self._basemap.features()
        if content is None:
            raise Refused(404, "There is no GeoJSON basemap.")
        return Response(content, media_type="application/geo+json")

    async def _tile(self, request: Request) -> Response:
        at = request.path_params
        zoom, column, row = at["zoom"], at["column"], at["row"]
        if self._basemap is None or zoom > 24 or max(column, row) >= 2**zoom:
            raise Refused(404, "There is no such tile.")
        found = await asyncio.to_thread(self._basemap.tile, zoom, column, row)
        if found is None:
            raise Refused(404, "There is no such tile.")
        return Response(found[0], media_type=found[1])

    # ------------------------------------------------------------------ sessions and sources

    async def _begin(self, request: Request) -> Response:
        self.jobs.warm()
        return answer({"session": self.sessions.begin().id})

    async def _again(self, request: Request) -> Response:
        """Answer a page that was loaded again: what is open, and what was made of it."""
        session = self._session(request)
        work = session.work
        shown = None
        if session.source is not None:
            shown = await asyncio.to_thread(opened, session.source, work.get("base"))
        return answer({"opened": shown, "work": work, "runs": list(session.runs)})

    async def _work(self, request: Request) -> Response:
        self._session(request).work = await body_of(request)
        return answer({})

    async def _leave(self, request: Request) -> Response:
        self.sessions.leave(request.path_params["session"])
        return answer({})

    async def _end(self, request: Request) -> Response:
        self.sessions.end(request.path_params["session"])
        return answer({})

    def _session(self, request: Request) -> Session:
        return self.sessions.session(request.path_params["session"])

    async def _town(self, request: Request) -> Response:
        return await self._take(self._session(request), self._open_town)

    def _open_town(self) -> Source:
        """Return the town, which is made up, built once and shared."""
        with self._building:
            return open_town(self._town_folder, self._town_policies)

    def prepare(self) -> None:
        """Build the town and its model before somebody asks for them, next to everything else."""

        def build() -> None:
            with suppress(OSError, PristeError, Refused):  # the studio may be ending already
                town = self._open_town()
                if not self._closed:
                    town.policies.policy(town.draft)

        # Not a daemon: one that is ended within compiled code takes the whole process down.
        threading.Thread(target=build).start()

    async def _open_file(self, request: Request) -> Response:
        session = self._session(request)
        if self._file is None:
            raise Refused(409, "No file was named on the command line.")
        session.reading = dict(self._reading)
        return await self._take(session, self._open_named)

    def _open_named(self) -> Source:
        """Return the file of the command line, under its policy if it names one."""
        if self._file is None:
            raise Refused(409, "No file was named on the command line.")
        found = open_file(self._file, "file", **self._reading)
        if self._policy_file is None:
            return found
        text = self._policy_file.read_text(encoding="utf-8")
        return with_policy(found, text, self._policy_file.parent)

    async def _upload(self, request: Request) -> Response:
        session = self._session(request)
        query = request.query_params
        batch = query.get("batch") or secrets.token_hex(4)
        if not (batch.isalnum() and batch.isascii() and len(batch) <= 20):
            raise Refused(422, "A batch of uploads is named by letters and digits.")
        folder = session.folder / f"upload-{batch}"
        folder.mkdir(mode=0o700, exist_ok=True)
        try:
            path = await receive(request, folder)
            if query.get("more") == "1":
                return answer({})
            others = [each for each in folder.rglob("*") if each.is_file() and each != path]
            whole = folder if others else path
            reading = {name: query.get(name) or None for name in ("format", "zone", "user")}
            taken = await self._take(session, partial(open_file, whole, "upload", **reading))
        except BaseException:  # also of one whose connection ends
            shutil.rmtree(folder, ignore_errors=True)
            raise
        session.reading = reading
        return taken

    async def _person(self, request: Request) -> Response:
        session, body = self._session(request), await body_of(request)
        return await self._take(
            session, partial(another_person, session.opened(), body.get("user"))
        )

    async def _open_policy(self, request: Request) -> Response:
        session, body = self._session(request), await body_of(request)
        text = body.get("policy")
        if not isinstance(text, str):
            raise Refused(422, "The request must hold the text of a 'policy'.")
        return await self._take(session, partial(with_policy, session.opened(), text))

    async def _take(self, session: Session, open_source: Callable[[], Source]) -> Response:
        source = await asyncio.to_thread(open_source)
        shown = await asyncio.to_thread(opened, source)
        session.take(source)
        return answer(shown)

    async def _ground(self, request: Request) -> Response:
        source, body = self._session(request).opened(), await body_of(request)
        setting = setting_of(body)
        changes: dict[str, Any] = {
            name: body[name] for name in ("map", "clock", "outside") if name in body
        }
        moved = await asyncio.to_thread(regrounded, source, setting, changes)
        return answer(await asyncio.to_thread(opened, source, moved))

    async def _draft(self, request: Request) -> Response:
        """Draft again without the hours that a setting guards, and keep what was painted."""
        session, body = self._session(request), await body_of(request)
        source, setting = session.opened(), setting_of(body)

        def draft() -> tuple[Source, dict[str, Any]]:
            written = hours_as_written(source.policy(setting)).values()
            again = drafted_again(source, list(dict.fromkeys(chain(*written))))
            return again, opened(again, redrafted(again, setting))

        found, shown = await asyncio.to_thread(draft)
        session.take(found)
        return answer(shown)

    # ------------------------------------------------------------------ what a setting means

    async def _events(self, request: Request) -> Response:
        source, body = self._session(request).opened(), await body_of(request)
        return answer(await asyncio.to_thread(read_events, setting_of(body), source.files))

    async def _chances(self, request: Request) -> Response:
        session, body = self._session(request), await body_of(request)
        source, setting = session.opened(), setting_of(body)
        found = await session.newest("chances", lambda: chances(source.policy(setting)))
        return answer({"events": found})

    async def _explain(self, request: Request) -> Response:
        session, body = self._session(request), await body_of(request)
        source, setting = session.opened(), setting_of(body)

        def explain() -> tuple[Policy, Explanation]:
            policy = source.policy(setting)
            return policy, explain_policy(policy)

        policy, explained = await session.newest("explanation", explain)
        return answer(
            {
                "summary": explained.summary,
                "against": explained.against,
                "guaranteed": explained.guaranteed,
                "not_guaranteed": (*explained.not_guaranteed, ASSUMED),
                "unguarded": explained.unguarded,
                "read_when_drafted": hours_read_when_drafted(policy),
                "policy": policy.source,
            }
        )

    async def _policy(self, request: Request) -> Response:
        source, body = self._session(request).opened(), await body_of(request)
        policy = await asyncio.to_thread(source.policy, setting_of(body))
        return exporting.download(policy.source.encode("utf-8"), "policy.toml", "text/plain")

    # ------------------------------------------------------------------ forecasts and runs

    async def _forecast(self, request: Request) -> Response:
        session, body = self._session(request), await body_of(request)
        source = session.opened()
        text = source.text(setting_of(body))
        runs = body.get("runs", REFINED_RUNS)
        if type(runs) is not int or not 2 <= runs <= MOST_FORECAST_RUNS:
            raise Refused(
                422, f"A forecast takes 2 to {MOST_FORECAST_RUNS} runs. Got {runs!r:.40}."
            )
        if session.forecast is not None:
            self.jobs.cancel(session.forecast)
        session.forecast = self.jobs.start(
            "forecast", ForecastOrder(source.folder, text, runs, source.trace)
        )
        return answer({"job": session.forecast.id})

    async def _run(self, request: Request) -> Response:
        session, body = self._session(request), await body_of(request)
        source = session.opened()
        text = source.text(setting_of(body))
        seed = body.get("seed", self._seed)
        if seed is not None and (type(seed) is not int or not 0 <= seed < 2**63):
            raise Refused(422, "A seed is a whole number >= 0, or null for real randomness.")
        past = None
        if seed is None and source.kind != "town":
            read = partial(source.policies.policy, text)
            with suppress(PristeError, Refused):  # of a policy that cannot be run, the run says why
                past = await asyncio.to_thread(self._handed_out.past, source.trace, read)
        order = RunOrder(source.folder, text, source.trace, seed, past)
        job = self.jobs.start("run", order)
        session.add_run(job)
        return answer({"run": job.id, "job": job.id})

    async def _job_events(self, request: Request) -> Response:
        job = self._session(request).job(request.path_params["job"])
        last = request.headers.get("last-event-id", "")
        after = int(last) if last.isascii() and last.isdigit() and len(last) < 10 else -1
        return StreamingResponse(job.stream(after), media_type="text/event-stream")

    async def _cancel(self, request: Request) -> Response:
        self.jobs.cancel(self._session(request).job(request.path_params["job"]))
        return answer({})

    async def _prior(self, request: Request) -> Response:
        session, body = self._session(request), await body_of(request)
        made = session.made(request.path_params["job"])
        job = self.jobs.start("prior", PriorOrder(made, prior_of(body.get("prior"))))
        return answer(await outcome(job, self.jobs))

    async def _export(self, request: Request) -> Response:
        session = self._session(request)
        run, what = request.path_params["job"], request.path_params["what"]
        made = session.made(run)
        query = request.query_params
        report = "report with the truth" if query.get("truth") == "1" else "report"
        report = "report to share" if query.get("shared") == "1" else report
        source = session.opened()
        handed_out = what in ("released", "all.zip") or (what, report) == SHARED
        if handed_out and source.kind != "town":
            policy = await asyncio.to_thread(source.policies.policy, made.order.text)
            again = query.get("again") == "1"
            await asyncio.to_thread(self._handed_out.claim, run, made, policy, again=again)
        reading = session.reading if source.kind != "town" else {}

        async def fetch(kind: str) -> bytes:
            if (run, kind) not in session.exports:
                order = ExportOrder(made, kind, source.path, reading)
                found = await outcome(self.jobs.start("export", order), self.jobs)
                session.exports[run, kind] = base64.b64decode(found["data"])
            return session.exports[run, kind]

        return await exporting.exported(what, made, source, report, fetch)

    # ------------------------------------------------------------------ a running priste live

    async def _watch(self, request: Request) -> Response:
        session, body = self._session(request), await body_of(request)
        watch = Watch.asked(body)
        number = f"watch-{len(session.watches)}"
        session.watches[number] = watch
        return answer({"watch": number})

    async def _watched(self, request: Request) -> Response:
        watch = self._session(request).watches.get(request.path_params["watch"])
        if not isinstance(watch, Watch):
            raise Refused(404, "This service is not being watched.")
        return StreamingResponse(watch.messages(), media_type="text/event-stream")

    async def _unwatch(self, request: Request) -> Response:
        self._session(request).watches.pop(request.path_params["watch"], None)
        return answer({})
