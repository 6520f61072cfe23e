"""Protect files of many users, on all cores or a cluster, without ever drawing twice."""

from priste.batch.batch_report import BatchReport
from priste.batch.groups import protect_group
from priste.batch.protection import ledger_of, protect_file, workspace_of
from priste.batch.run_files import RunFiles, files_of_run, remember_sources
from priste.batch.streams import protect_stream
from priste.release import is_ledger, read_ledgers, write_ledgers

__all__ = [
    "BatchReport",
    "RunFiles",
    "files_of_run",
    "is_ledger",
    "ledger_of",
    "protect_file",
    "protect_group",
    "protect_stream",
    "read_ledgers",
    "remember_sources",
    "workspace_of",
    "write_ledgers",
]
