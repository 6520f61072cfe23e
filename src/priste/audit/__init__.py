"""The adversary's side: what releases tell about events, recomputed from the outside."""

from priste.audit.stream import EventAudit, audit_stream, columns_of

__all__ = ["EventAudit", "audit_stream", "columns_of"]
