"""All engines in one table, by the word that their addresses begin with.

Another package adds one with an entry point of the group ``priste.engines`` that names an
:class:`~priste.batch.engines.EngineKind`; the name of the entry point is that word.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from priste.batch.cluster import cluster_at
from priste.batch.engines import Engine, EngineKind, here, pool_of
from priste.errors import InvalidParameter
from priste.registered import Registered

THIS_PROCESS = "here://"


def processes(count: int) -> str:
    """Return the address of this many processes on this machine."""
    return f"processes://{count}"


_DASK = EngineKind(cluster_at)

ENGINES = Registered(
    "priste.engines",
    EngineKind,
    {
        "here": EngineKind(lambda address: nullcontext(here)),
        "processes": EngineKind(
            lambda address: nullcontext(pool_of(int(address.removeprefix("processes://"))))
        ),
        **dict.fromkeys(("tcp", "tls", "ucx", "ws", "wss", "inproc"), _DASK),
    },
)


def engine_at(address: str) -> AbstractContextManager[Engine]:
    """Return the engine at an address, which is that of a Dask scheduler if it names no other."""
    word, named, _ = address.partition("://")
    kind = ENGINES.get(word) if named else _DASK
    if kind is None:
        raise InvalidParameter(
            f"must begin with one of {', '.join(sorted(ENGINES))}, and ://",
            parameter="cluster",
            value=address,
        )
    return kind.open(address)
