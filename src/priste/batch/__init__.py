"""A door: protect files of many users, in parallel, without ever drawing twice."""

from priste.batch.protection import BatchReport, ledger_of, protect_file, workspace_of
from priste.batch.streams import ProtectedStream, Workspace, protect_stream

__all__ = [
    "BatchReport",
    "ProtectedStream",
    "Workspace",
    "ledger_of",
    "protect_file",
    "protect_stream",
    "workspace_of",
]
