"""Reading requests and answering them: bounded bodies, and errors in words."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from priste.errors import PristeError
from priste.studio.job_queue import Job, Jobs
from priste.studio.wire import Problem, Refused, read_numbers

LARGEST_BODY = 4_000_000
"""Bytes of a request that is not an upload: a setting with every cell painted fits."""

Handler = Callable[[Request], Awaitable[Response]]


async def nowhere(request: Request, _: Exception) -> Response:
    """Answer a request to an address that does not exist."""
    return Refused(404, "There is nothing at this address.").response()


def answering(handler: Handler) -> Handler:
    """Turn errors of a handler into words: no traceback, and no text of unexpected errors."""

    async def answered(request: Request) -> Response:
        try:
            return await handler(request)
        except Refused as refusal:
            return refusal.response()
        except PristeError as error:
            named = [Problem(error.parameter, str(error))] if error.parameter else []
            return Refused(422, str(error), problems=named).response()
        except ClientDisconnect:
            return Response(status_code=400)
        except MemoryError:
            words = "There is not enough memory for this."
            return Refused(422, words, "Choose larger cells, or a smaller file.").response()
        except Exception as problem:
            # Its text could hold a true location.
            words = f"This went wrong in an unexpected way ({type(problem).__name__})."
            return Refused(500, words, "The rest of the page works on.").response()

    return answered


async def body_of(request: Request) -> dict[str, Any]:
    """Return the JSON object that was sent; Refused for anything else."""
    received = bytearray()
    async for chunk in request.stream():
        received += chunk
        if len(received) > LARGEST_BODY:
            raise Refused(413, "The request is too large.")
    try:
        found = json.loads(received.decode("utf-8"))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Refused(422, "The request must be a JSON object.")
    return found


def setting_of(body: dict[str, Any]) -> dict[str, Any]:
    found = body.get("setting")
    if not isinstance(found, dict):
        raise Refused(422, "The request must hold a 'setting'.")
    return found


def prior_of(given: Any) -> str | dict[int, float]:
    if isinstance(given, str):
        return given
    if not isinstance(given, dict):
        raise Refused(422, "A prior is 'uniform', 'population', 'worst', or painted cells.")
    cells = read_numbers(given.get("cells"), "cells of a prior")
    weights = given.get("weights", [1.0] * len(cells))
    if (
        not isinstance(weights, list)
        or len(weights) != len(cells)
        or not all(isinstance(weight, int | float) for weight in weights)
    ):
        raise Refused(422, "A painted prior has one weight per cell.")
    return {cell: float(weight) for cell, weight in zip(cells, weights, strict=True)}


async def outcome(job: Job, jobs: Jobs) -> dict[str, Any]:
    """Wait for a job and return its result; Refused if it failed."""
    try:
        await job.finished()
    finally:
        jobs.cancel(job)  # of use only when the asking page has gone
    event, text = job.messages[-1]
    found: dict[str, Any] = json.loads(text)
    if event == "done":
        return found
    raise Refused(422, found.get("message", "This was cancelled."), found.get("hint", ""))
