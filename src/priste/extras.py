"""The optional parts of an installation, and the error that names the one that is missing.

``pip install priste`` brings what the library itself needs. Everything else is an extra, loaded
where it is used. A function that needs one asks first, so that a missing part is named with the
command that installs it.
"""

from __future__ import annotations

from importlib.util import find_spec

from priste.errors import MissingExtra

EXTRAS = {
    "cli": ("typer", "rich", "jinja2", "tzfpy"),
    "traces": ("duckdb", "pyarrow", "narwhals", "pynmeagps", "ijson", "fitdecode"),
    "fast": ("numba",),
    "plots": ("matplotlib",),
    "live": ("aiomqtt", "httpx", "nacl", "segno", "starlette", "uvicorn"),
    "studio": (
        "httpx",
        "mapbox_vector_tile",
        "pmtiles",
        "starlette",
        "uvicorn",
        "xstatic.pkg.leaflet",
    ),
    "cluster": ("distributed",),
}
"""The modules that each extra brings."""


def install(extra: str) -> str:
    """Return the command that installs an extra.

    >>> install("plots")
    "pip install 'priste[plots]'"
    """
    return f"pip install 'priste[{extra}]'"


def need(extra: str, what: str, *modules: str) -> None:
    """Raise MissingExtra unless an extra is installed, or those of its ``modules`` that are named.

    ``what`` says who asks, as "Reading tables".
    """
    for module in modules or EXTRAS[extra]:
        if not _is_there(module):
            name = module.partition(".")[0]
            raise MissingExtra(
                f"{what} needs {name}, which is not installed.",
                hint=f"Install it with: {install(extra)}",
                extra=extra,
            )


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # of a parent; or blocked by None in sys.modules
        return False
