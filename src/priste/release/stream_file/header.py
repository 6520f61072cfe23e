"""The terms of a stream in the first line of its file, and back.

A file is enough to continue a stream: models are stored whole, in the format of
``MarkovModel.save``, and everything else by what describes it.

A binding says what a stream belongs to: a user, a policy, a data set. A journal of another user
or policy is as well-formed as the right one, and continuing it would print wrong guarantees. So a
door that opens a journal states what it expects to find.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from priste.errors import InvalidParameter, PristeError, StateError
from priste.events import Event, Guarded, parse_event, secret_from_dict
from priste.float_text import floats_from_text, floats_to_text
from priste.maps import Grid
from priste.mechanisms import Mechanism, mechanism_from_dict
from priste.mobility import MarkovModel
from priste.quantify import adversary_from_dict, guarantee_from_dict
from priste.release.calibrators import Calibrator, calibrator_from_description
from priste.release.terms import Terms, make_terms


def terms_to_json(terms: Terms, calibrator: Calibrator) -> dict[str, Any]:
    """Return the terms and the calibrator as the header of a state file."""
    mechanism = terms.mechanism.describe()
    return {
        "grid": terms.mechanism.grid.to_dict(),
        "models": [
            {"fingerprint": model.fingerprint(), "file": _model_to_text(model)}
            for model in terms.models
        ],
        "events": events_to_json(terms),
        "adversary": terms.adversary.to_dict(),
        "family": terms.family,
        "mechanism": {"fingerprint": _fingerprint(mechanism), "description": mechanism},
        "calibrator": calibrator.describe(),
        "public_prior": None if terms.public_prior is None else floats_to_text(terms.public_prior),
    }


def events_to_json(terms: Terms) -> list[dict[str, Any]]:
    """Return what a stream guards: names, events or secrets, guarantees and pads."""
    return [
        {
            "name": name,
            "event": str(event) if isinstance(event, Event) else event.to_dict(),
            "guarantee": guarantee.to_dict(),
            "guarded_hours": pad,
        }
        for name, event, guarantee, pad in zip(
            terms.event_names, terms.events, terms.guarantees, terms.pads, strict=True
        )
    ]


def ground_of(terms: Terms, calibrator: Calibrator) -> dict[str, str]:
    """Return digests of what a stream keeps while its events change; see :func:`ground_in`."""
    mechanism = terms.mechanism.describe()
    prior = None if terms.public_prior is None else floats_to_text(terms.public_prior)
    return ground_in(
        {
            "grid": terms.mechanism.grid.to_dict(),
            "models": [{"fingerprint": model.fingerprint()} for model in terms.models],
            "adversary": terms.adversary.to_dict(),
            "family": terms.family,
            "mechanism": {"fingerprint": _fingerprint(mechanism)},
            "calibrator": calibrator.describe(),
            "public_prior": prior,
        }
    )


def ground_in(header: Mapping[str, Any]) -> dict[str, str]:
    """Return digests of the map of a header, and of all its terms but the events."""
    models = [entry["fingerprint"] for entry in header["models"]]
    named = ("adversary", "family", "calibrator", "public_prior")
    rest = [models, header["mechanism"]["fingerprint"], *(header[name] for name in named)]
    return {
        "map": map_digest(header["grid"]),
        "terms": _fingerprint({"grid": header["grid"], "rest": rest}),
    }


def map_digest(grid: Mapping[str, Any]) -> str:
    """Return the digest of a map, given as ``Grid.to_dict()``."""
    return _fingerprint(grid)


def terms_from_json(
    header: Mapping[str, Any],
    path: Path,
    *,
    mechanism: Mechanism | None = None,
    calibrator: Calibrator | None = None,
) -> tuple[Terms, Calibrator]:
    """Restore terms and calibrator from a header; ``path`` is for messages.

    ``mechanism`` and ``calibrator`` stand in for parts that cannot be restored from their
    description, such as a class of your own. They must describe themselves as the file does.
    """
    try:
        grid = Grid.from_dict(header["grid"])
        models = [_model_from_text(entry["file"], path) for entry in header["models"]]
        for model, entry in zip(models, header["models"], strict=True):
            if model.fingerprint() != entry["fingerprint"]:
                raise StateError(
                    f"A mobility model in {str(path)!r} does not match its fingerprint: it was "
                    "written by another version.",
                    hint="Open it with the priste that wrote it.",
                )
        described = header["mechanism"]
        if mechanism is None:
            mechanism = mechanism_from_dict(grid, described["description"])
        _must_match("mechanism", _fingerprint(mechanism.describe()), described["fingerprint"], path)
        if calibrator is None:
            calibrator = calibrator_from_description(header["calibrator"])
        else:
            _must_match("calibrator", calibrator.describe(), header["calibrator"], path)
        prior = header["public_prior"]
        terms = make_terms(
            models,
            {entry["name"]: guarded_from_json(entry["event"]) for entry in header["events"]},
            mechanism,
            [guarantee_from_dict(entry["guarantee"]) for entry in header["events"]],
            None if prior is None else floats_from_text(prior),
            adversary_from_dict(header["adversary"]),
            header["family"],
            {entry["name"]: entry.get("guarded_hours") for entry in header["events"]},
        )
        return terms, calibrator
    except StateError:
        raise
    except (PristeError, KeyError, TypeError, ValueError) as problem:
        raise StateError(
            f"The stream in {str(path)!r} cannot be restored: {problem}",
            hint="If its mechanism or calibrator is a class of your own, give it as 'mechanism' "
            "or 'calibrator'.",
        ) from problem


def guarded_from_json(described: str | Mapping[str, Any]) -> Guarded:
    """Return the event of a text, or the secret of a dictionary."""
    if isinstance(described, str):
        return parse_event(described, {})
    return secret_from_dict(described, {name: parse_event(x) for name, x in described["events"]})


def _must_match(name: str, given: object, stored: object, path: Path) -> None:
    if given != stored:
        raise StateError(
            f"does not match the one that the stream in {str(path)!r} was made with",
            parameter=name,
            hint="A stream keeps its terms; for other events or another ε use with_policy().",
        )


def _fingerprint(description: Mapping[str, Any]) -> str:
    text = json.dumps(description, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _model_to_text(model: MarkovModel) -> str:
    return base64.b64encode(model.to_bytes()).decode("ascii")


def _model_from_text(text: str, path: Path) -> MarkovModel:
    return MarkovModel.from_bytes(base64.b64decode(text, validate=True), str(path))


LONGEST_TEXT = 1000
"""Characters of a name or a text in a binding, at most: fingerprints, not documents."""

Binding = dict[str, str]


def checked_binding(binding: Mapping[str, str] | None) -> Binding:
    """Return a binding in the order of its names, or raise InvalidParameter.

    >>> checked_binding({"user": "ada", "policy": "5f3a"})
    {'policy': '5f3a', 'user': 'ada'}
    """
    if binding is None:
        return {}
    if not isinstance(binding, Mapping):
        raise InvalidParameter(
            "must be a mapping from names to texts",
            parameter="binding",
            owner="a stream",
            value=type(binding),
        )
    for name, text in binding.items():
        for part in (name, text):
            if not isinstance(part, str) or len(part) > LONGEST_TEXT:
                raise InvalidParameter(
                    f"must map names to texts of at most {LONGEST_TEXT} characters",
                    parameter="binding",
                    owner="a stream",
                    hint="A digest stands for what is longer.",
                )
    return dict(sorted(binding.items()))


def check_binding(
    header: Mapping[str, Any], expected: Mapping[str, str] | None, path: Path
) -> Binding:
    """Return what the stream of a header belongs to; StateError if something else is expected.

    ``expected`` None expects nothing.
    """
    try:
        found = checked_binding(header["binding"])
    except (KeyError, InvalidParameter) as problem:
        raise StateError(
            f"The state file {str(path)!r} does not say what it belongs to. It was left as it is.",
            hint="Restore it from a copy.",
        ) from problem
    if expected is None:
        return found
    wanted = checked_binding(expected)
    if wanted == found:
        return found
    differing = [
        f"its {name!r} is {_shown(found.get(name))} where {_shown(wanted.get(name))} is expected"
        for name in sorted({*wanted, *found})
        if wanted.get(name) != found.get(name)
    ]
    raise StateError(
        f"The stream in {str(path)!r} belongs to something else: {'; '.join(differing)}. "
        "Continuing it here would guarantee what is not so. It was left as it is.",
        hint="Give the file of this stream, or begin a new one at another path.",
    )


def _shown(text: str | None) -> str:
    if text is None:
        return "missing"
    return repr(text if len(text) <= 80 else text[:77] + "...")
