"""A door: protect files of many users, on all cores or a cluster, without ever drawing twice."""

from priste.batch.batch_report import BatchReport
from priste.batch.groups import Group, Outcome, protect_group
from priste.batch.protection import ledger_of, protect_file, workspace_of
from priste.batch.run_files import RunFiles, files_of_run, remember_sources
from priste.batch.streams import ProtectedStream, protect_stream
from priste.batch.workspace import refuse_changed_ledger
from priste.release import is_ledger, read_ledgers, write_ledgers

__all__ = [
    "BatchReport",
    "Group",
    "Outcome",
    "ProtectedStream",
    "RunFiles",
    "files_of_run",
    "is_ledger",
    "ledger_of",
    "protect_file",
    "protect_group",
    "protect_stream",
    "read_ledgers",
    "refuse_changed_ledger",
    "remember_sources",
    "workspace_of",
    "write_ledgers",
]
