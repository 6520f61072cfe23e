"""The adversary's side: what releases reveal about events, recomputed from the outside.

- a stream: ``audit_stream``, ``audit_under_models``, beliefs and the most likely trajectory;
- a procedure: its true leakage, by enumeration or along sampled runs;
- attacks, with what they win and what they can win at most;
- a black-box check of an implementation from its releases only.
"""

import sys
from types import ModuleType
from typing import Any

from priste.audit.assumed_release import at_level, share_off_centre
from priste.audit.attacks import (
    EventAttack,
    event_attack,
    exact_accuracy,
    largest_accuracy,
    largest_area,
)
from priste.audit.beliefs import (
    EventBelief,
    event_belief,
    location_belief,
    most_likely_trajectory,
    prior_in_words,
)
from priste.audit.black_box import BlackBoxResult, black_box_check
from priste.audit.black_box_power import Excess, detection_power, smallest_excess, streams_for
from priste.audit.comparison import ProcedureRow, audit_procedure
from priste.audit.emission_table_files import read_emission_table
from priste.audit.estimates import Estimate
from priste.audit.localisation import (
    LocalisationAttack,
    averaging_attack,
    expected_error,
    localisation_attack,
)
from priste.audit.other_models import (
    GuardedModels,
    audit_under_models,
    compare_guards,
    leakage_by_model,
    moves_scaled,
)
from priste.audit.recurrences import RecurrenceAudit, audit_recurrence
from priste.audit.sampled import SampledLeakage, sampled_leakage
from priste.audit.stream import EventAudit, audit_stream, columns_of
from priste.audit.true_leakage import (
    History,
    TooManyHistories,
    TrueLeakage,
    output_histories,
    true_leakage,
)
from priste.late_parts import late

__all__ = [
    "BlackBoxResult",
    "Estimate",
    "EventAttack",
    "EventAudit",
    "EventBelief",
    "Excess",
    "GuardedModels",
    "History",
    "LocalisationAttack",
    "ProcedureRow",
    "RecurrenceAudit",
    "SampledLeakage",
    "TooManyHistories",
    "TrueLeakage",
    "at_level",
    "audit_procedure",
    "audit_recurrence",
    "audit_stream",
    "audit_under_models",
    "averaging_attack",
    "black_box_check",
    "columns_of",
    "compare_guards",
    "detection_power",
    "event_attack",
    "event_belief",
    "exact_accuracy",
    "expected_error",
    "largest_accuracy",
    "largest_area",
    "leakage_by_model",
    "localisation_attack",
    "location_belief",
    "most_likely_trajectory",
    "moves_scaled",
    "output_histories",
    "prior_in_words",
    "read_emission_table",
    "sampled_leakage",
    "share_off_centre",
    "smallest_excess",
    "streams_for",
    "true_leakage",
]


class _CallablePackage(ModuleType):
    """``priste.audit(frame, policy)`` is what people write; the package has the same name."""

    def __call__(self, released: Any, policy: Any = None, **options: Any) -> Any:
        """Return what released locations reveal: see :func:`priste.frames.audit`."""
        return late("frames").audit(released, policy, **options)


sys.modules[__name__].__class__ = _CallablePackage
