"""priste: keep what people did, where and when, deniable while they use location services.

Everything a user needs is a name of this module; the packages below it are the
architecture (see ARCHITECTURE.md). Names are loaded when first used, so that
``import priste`` and ``priste --help`` stay quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from priste.errors import (
        EventSyntaxError,
        InvalidParameter,
        LedgerError,
        MissingExtra,
        OutputError,
        OutputExists,
        OutsideMap,
        PolicyError,
        PristeError,
        ReleaseRefused,
        StateError,
        TooManyWorlds,
        TraceError,
    )
    from priste.events import (
        Event,
        Secret,
        at,
        at_least,
        parse_event,
        pattern,
        presence,
        together,
    )
    from priste.frames import audit, protect
    from priste.maps import Grid, Region
    from priste.mechanisms import (
        EmissionTable,
        Identity,
        LocationSet,
        Mechanism,
        PlanarIsotropic,
        PlanarLaplace,
        Uniform,
    )
    from priste.mobility import MarkovModel
    from priste.quantify import (
        AnyPrior,
        BeliefBound,
        KnownPrior,
        LastSeen,
        Leakage,
        OddsBound,
        PriorsWithin,
        Quantifier,
        StartsIn,
    )
    from priste.release import Protector, Release
    from priste.results import evaluate

_HOME = {
    "protect": "frames",
    "AnyPrior": "quantify",
    "BeliefBound": "quantify",
    "EmissionTable": "mechanisms",
    "Event": "events",
    "EventSyntaxError": "errors",
    "Grid": "maps",
    "Identity": "mechanisms",
    "InvalidParameter": "errors",
    "Leakage": "quantify",
    "LedgerError": "errors",
    "LocationSet": "mechanisms",
    "MarkovModel": "mobility",
    "Mechanism": "mechanisms",
    "MissingExtra": "errors",
    "PriorsWithin": "quantify",
    "OddsBound": "quantify",
    "OutputError": "errors",
    "OutputExists": "errors",
    "OutsideMap": "errors",
    "PlanarIsotropic": "mechanisms",
    "PlanarLaplace": "mechanisms",
    "PolicyError": "errors",
    "KnownPrior": "quantify",
    "PristeError": "errors",
    "Protector": "release",
    "Quantifier": "quantify",
    "Region": "maps",
    "Release": "release",
    "ReleaseRefused": "errors",
    "Secret": "events",
    "LastSeen": "quantify",
    "StartsIn": "quantify",
    "StateError": "errors",
    "TooManyWorlds": "errors",
    "TraceError": "errors",
    "Uniform": "mechanisms",
    "at": "events",
    "at_least": "events",
    "evaluate": "results",
    "parse_event": "events",
    "pattern": "events",
    "presence": "events",
    "together": "events",
}

__version__ = "0.2.0"

__all__ = [
    "AnyPrior",
    "BeliefBound",
    "EmissionTable",
    "Event",
    "EventSyntaxError",
    "Grid",
    "Identity",
    "InvalidParameter",
    "KnownPrior",
    "LastSeen",
    "Leakage",
    "LedgerError",
    "LocationSet",
    "MarkovModel",
    "Mechanism",
    "MissingExtra",
    "OddsBound",
    "OutputError",
    "OutputExists",
    "OutsideMap",
    "PlanarIsotropic",
    "PlanarLaplace",
    "PolicyError",
    "PriorsWithin",
    "PristeError",
    "Protector",
    "Quantifier",
    "Region",
    "Release",
    "ReleaseRefused",
    "Secret",
    "StartsIn",
    "StateError",
    "TooManyWorlds",
    "TraceError",
    "Uniform",
    "at",
    "at_least",
    "audit",
    "evaluate",
    "parse_event",
    "pattern",
    "presence",
    "protect",
    "together",
]


def __getattr__(name: str) -> object:
    if name == "audit":  # a package that can be called
        return import_module("priste.audit")
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'priste' has no attribute {name!r}")
    value: object = getattr(import_module(f"priste.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
