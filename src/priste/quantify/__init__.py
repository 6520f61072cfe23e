"""What releases say about an event: four nonnegative recursions and their worst prior."""

from priste.quantify.moments import Moments

__all__ = ["Moments"]
