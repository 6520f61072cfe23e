"""A door for frames: protect and audit what lies in memory, by the one path of ``batch``."""

from priste.frames.frame_audit import audit
from priste.frames.frame_protection import protect
from priste.frames.frame_sequences import cells_of_frame

__all__ = ["audit", "cells_of_frame", "protect"]
