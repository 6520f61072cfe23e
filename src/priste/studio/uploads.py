"""Uploads: bounded, and written to a private folder under safe names."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

from starlette.requests import Request

from priste.studio.wire import Refused

LARGEST_UPLOAD = 40_000_000
"""Bytes of all files together. The command line reads larger ones."""

MOST_DRAINED = 2_000_000_000
"""A browser reads an answer only when it has sent everything, so that much more is thrown away."""

LONGEST_NAME = 120
"""Bytes of a name that are kept: what is exported has a longer one, and no disk takes over 255."""

DEEPEST = 8
"""Folders around an uploaded file that are kept."""

_UNUSUAL = re.compile(r"[^\w.,+()-]+")


async def receive(request: Request, folder: Path) -> Path:
    """Write the body of a request to a file in ``folder`` and return its path.

    The name comes percent-encoded in the header ``X-Priste-Name``: that of a file, or of one in
    folders below. Raises Refused for a file that is empty, or too large with those that are in
    ``folder`` already; then nothing is left of it.
    """
    held = sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())
    target = folder / safe_path(unquote(request.headers.get("x-priste-name", "upload")))
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if target.exists():
        raise Refused(422, f"Two of the files have the same name, {target.name}.")
    size = 0
    with target.open("xb") as file:
        async for chunk in request.stream():
            size += len(chunk)
            if held + size <= LARGEST_UPLOAD:
                file.write(chunk)
            elif size > MOST_DRAINED:
                break
    if 0 < size <= LARGEST_UPLOAD - held:
        return target
    target.unlink()
    if not size:
        raise Refused(422, "The file is empty.")
    raise Refused(
        413,
        f"This is larger than the {LARGEST_UPLOAD / 1e6:.0f} MB that the studio takes.",
        "Cut it to the weeks that matter, or protect it with priste protect.",
    )


def safe_path(name: str) -> Path:
    """Return a name with the folders that it lies in, each of them only a name.

    >>> safe_path("Data/000/2.plt").as_posix(), safe_path("../../etc/passwd").as_posix()
    ('Data/000/2.plt', 'etc/passwd')
    """
    parts = [part for part in re.split(r"[/\\]", name) if part.strip(".")]
    return Path(*map(safe_name, parts[-DEEPEST:] or [""]))


def safe_name(name: str) -> str:
    """Return a name without a path, with the same suffix.

    >>> safe_name("../../etc/pass wd.gpx"), safe_name(".."), safe_name("Ä b.csv")
    ('pass_wd.gpx', 'upload', 'Ä_b.csv')
    """
    last = re.split(r"[/\\]", name)[-1]
    # The end tells the format, so it is the beginning that goes.
    kept = _UNUSUAL.sub("_", last).encode("utf-8", "ignore")[-LONGEST_NAME:]
    return kept.decode("utf-8", "ignore").strip(".") or "upload"
