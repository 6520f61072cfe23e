"""A door: protect files of many users, in parallel, without ever drawing twice."""

from priste.batch.protection import BatchReport, ledger_of, protect_file, workspace_of
from priste.batch.streams import ProtectedStream, protect_stream
from priste.release import is_ledger, read_ledgers, write_ledgers

__all__ = [
    "BatchReport",
    "ProtectedStream",
    "is_ledger",
    "ledger_of",
    "protect_file",
    "protect_stream",
    "read_ledgers",
    "workspace_of",
    "write_ledgers",
]
