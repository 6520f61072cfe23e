"""Protect and audit frames in memory, by the same code as files (``batch``)."""

from priste.frames.frame_audit import audit
from priste.frames.frame_protection import protect
from priste.frames.frame_sequences import cells_of_frame

__all__ = ["audit", "cells_of_frame", "protect"]
