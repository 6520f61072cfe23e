"""One stream per person: who was released before, what was released, and how it continues."""

from priste.register.continued import ContinuedStreams, guarded_by, settled
from priste.register.kept_streams import KeptStream
from priste.register.keyed_digests import Recognition
from priste.register.register import Person, Register, RegisterTransaction, Released

__all__ = [
    "ContinuedStreams",
    "KeptStream",
    "Person",
    "Recognition",
    "Register",
    "RegisterTransaction",
    "Released",
    "guarded_by",
    "settled",
]
