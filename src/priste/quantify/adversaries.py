"""Whom a guarantee is against: the priors over the first cell that an adversary may hold.

A class of priors is a value, independent of any model. A ``Quantifier`` turns it into rows
(:mod:`priste.quantify.start_rows`) and decides about all of its priors at once.

>>> LastSeen(steps=8).words()
'an adversary who knew exactly where the user was 8 steps before the stream began...'
>>> adversary_from_dict(LastSeen(steps=8).describe())
LastSeen(steps=8)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from priste.arguments import check_float, check_int
from priste.errors import InvalidParameter
from priste.float_text import floats_from_text, floats_to_text
from priste.maps import cell_numbers
from priste.quantify.inputs import PRIOR_TOLERANCE, checked_nonnegative, checked_priors
from priste.quantify.joint_probabilities import Floats

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from priste.maps import Cells


class _Value:
    """Equality and hash of a value that describes itself."""

    def describe(self) -> dict[str, object]:
        raise NotImplementedError

    def of_model(self, number: int) -> Adversary:
        """Return the adversary under one of several models: the same one, unless told."""
        return self  # type: ignore[return-value]  # every subclass is one

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Value) and self.describe() == other.describe()

    def __hash__(self) -> int:
        return hash(repr(self.describe()))

    def __setattr__(self, name: str, value: object) -> None:
        if hasattr(self, name):
            raise AttributeError(f"A {type(self).__name__} never changes; make another one.")
        object.__setattr__(self, name, value)


class AnyPrior(_Value):
    """Anybody: every prior over the first cell. The paper's adversary, and the default.

    >>> AnyPrior().words()
    'anybody, whatever they believe about where the stream began'
    """

    def describe(self) -> dict[str, object]:
        """Return what :func:`adversary_from_dict` reads, ready for JSON."""
        return {"adversary": "any start"}

    def words(self) -> str:
        """Return who is meant, as part of a sentence."""
        return "anybody, whatever they believe about where the stream began"

    def __repr__(self) -> str:
        return "AnyPrior()"


class StartsIn(_Value):
    """Every prior on these cells; one at least. ``cells`` is kept as a sorted tuple.

    >>> StartsIn([5, 2]).cells
    (2, 5)
    """

    cells: tuple[int, ...]

    def __init__(self, cells: Cells) -> None:
        self.cells = tuple(sorted(cell_numbers(cells, name="cells of StartsIn")))

    def describe(self) -> dict[str, object]:
        """Return what :func:`adversary_from_dict` reads, ready for JSON."""
        return {"adversary": "starts", "cells": list(self.cells)}

    def words(self) -> str:
        """Return who is meant, as part of a sentence."""
        if len(self.cells) == 1:
            return "an adversary who knows the cell in which the stream began"
        return (
            f"anybody who knows that the stream began in one of {len(self.cells)} given cells, "
            "whatever they believe about which"
        )

    def __repr__(self) -> str:
        return f"StartsIn({list(self.cells)})"


class KnownPrior(_Value):
    """These priors and all their mixtures: ``rows`` (K, m), or (m,) for one known prior.

    Each row is >= 0 and sums to 1 within ``PRIOR_TOLERANCE``. With several models each prior
    goes with each model.

    >>> KnownPrior([0.5, 0.5]).words()
    'an adversary who holds one known prior about where the stream began'
    """

    rows: Floats

    def __init__(self, rows: ArrayLike) -> None:
        self.rows = checked_priors(rows, None, name="'rows' of KnownPrior")

    def describe(self) -> dict[str, object]:
        """Return what :func:`adversary_from_dict` reads, ready for JSON; floats to the bit."""
        return {"adversary": "priors", "rows": [floats_to_text(row) for row in self.rows]}

    def words(self) -> str:
        """Return who is meant, as part of a sentence."""
        if len(self.rows) == 1:
            return "an adversary who holds one known prior about where the stream began"
        return (
            f"an adversary who holds one of {len(self.rows)} given priors about where the stream "
            "began, or any mixture of them"
        )

    def __repr__(self) -> str:
        return f"KnownPrior(<{self.rows.shape[0]} on {self.rows.shape[1]} cells>)"


class LastSeen(_Value):
    """Knew exactly where the user was ``steps`` (>= 0) steps before step 0, and nothing since.

    The rows of P^steps, with the phases of a cycle that precede step 0. 0 steps is every
    prior. A sequence of matrices without a cycle says nothing about the time before it, and
    the states of a second-order model begin at step 0: both are refused by a ``Quantifier``.
    """

    steps: int

    def __init__(self, steps: int) -> None:
        self.steps = check_int(steps, "steps", "LastSeen")

    def describe(self) -> dict[str, object]:
        """Return what :func:`adversary_from_dict` reads, ready for JSON."""
        return {"adversary": "stale", "steps": self.steps}

    def words(self) -> str:
        """Return who is meant, as part of a sentence."""
        return (
            f"an adversary who knew exactly where the user was {self.steps} "
            f"step{'s' if self.steps != 1 else ''} before the stream began, and nothing since"
        )

    def __repr__(self) -> str:
        return f"LastSeen(steps={self.steps})"


class PriorsWithin(_Value):
    """Priors whose odds between any two starts are within ``factor`` of those of ``prior``.

    That is all π with π_i proportional to p_i w_i, 1 <= w_i <= ``factor``. ``prior`` is (m,), >= 0,
    and sums to 1 within ``PRIOR_TOLERANCE``; starts where it is 0 are excluded. A factor of 1 is
    the known prior; the larger it is the nearer the class comes to any prior on the support.

    With n models ``prior`` may be (n, m), the joint prior over model and first cell, which
    sums to 1 in all; (m,) gives each model the same weight. Odds are then those between any
    two pairs (model, first cell).

    >>> PriorsWithin([0.5, 0.5], factor=3.0).words()
    'an adversary whose odds between any two first cells are within a factor 3 of a given prior'
    """

    prior: Floats
    factor: float

    def __init__(self, prior: ArrayLike, factor: float) -> None:
        self.factor = check_float(
            factor,
            "factor",
            "PriorsWithin",
            least=1.0,
            most=LARGEST_FACTOR,
            hint="For every prior on given cells use StartsIn(cells).",
        )
        name = "'prior' of PriorsWithin"
        shape: tuple[int | None, ...] = (None,) if np.ndim(prior) == 1 else (None, None)
        array = checked_nonnegative(prior, shape, name=name)
        total = math.fsum(array.ravel())
        if not abs(total - 1.0) <= PRIOR_TOLERANCE:
            raise InvalidParameter(
                f"The {name} must sum to 1 within {PRIOR_TOLERANCE}. It sums to {total!r}."
            )
        kept = array.copy()
        kept.flags.writeable = False
        self.prior = kept

    def describe(self) -> dict[str, object]:
        """Return what :func:`adversary_from_dict` reads, ready for JSON; floats to the bit."""
        lines = np.atleast_2d(self.prior)
        return {
            "adversary": "near",
            "prior": [floats_to_text(line) for line in lines],
            "joint": self.prior.ndim == 2,
            "factor": self.factor,
        }

    def words(self) -> str:
        """Return who is meant, as part of a sentence."""
        starts = "first cells" if self.prior.ndim == 1 else "models and first cells"
        return (
            f"an adversary whose odds between any two {starts} are within a factor "
            f"{self.factor:.4g} of a given prior"
        )

    def __repr__(self) -> str:
        return f"PriorsWithin(<prior on {self.prior.shape[-1]} cells>, factor={self.factor!r})"


class PerModel(_Value):
    """One adversary for each of several models, in the order of the models.

    With ``family="each"`` the adversary who holds a model has the priors given for that model, such
    as its own stationary distribution. With ``family="joint"`` the rows of all of them are mixed,
    which every adversary allows whose priors are all mixtures of its rows.

    >>> PerModel([LastSeen(steps=2), AnyPrior()]).of_model(1)
    AnyPrior()
    """

    parts: tuple[Adversary, ...]

    def __init__(self, parts: Sequence[Adversary]) -> None:
        given = tuple(parts)
        if not given or not all(isinstance(each, Adversary) for each in given):
            raise InvalidParameter(
                "PerModel needs one adversary for each model. Got "
                f"{[type(each).__name__ for each in given]}."
            )
        if any(isinstance(each, PerModel) for each in given):
            raise InvalidParameter("The parts of PerModel must not be PerModel themselves.")
        self.parts = given

    def of_model(self, number: int) -> Adversary:
        """Return the adversary of the model with this number."""
        return self.parts[number]

    def describe(self) -> dict[str, object]:
        """Return what :func:`adversary_from_dict` reads, ready for JSON."""
        return {"adversary": "per model", "parts": [part.describe() for part in self.parts]}

    def words(self) -> str:
        """Return who is meant, as part of a sentence."""
        different = list(dict.fromkeys(part.words() for part in self.parts))
        if len(different) == 1:
            return f"for each of {len(self.parts)} models {different[0]}"
        return "; or ".join(
            f"under model {number}, {part.words()}" for number, part in enumerate(self.parts, 1)
        )

    def __repr__(self) -> str:
        return f"PerModel({list(self.parts)})"


LARGEST_FACTOR = 1e6
"""Beyond this doubles would leave the bound in doubt; ``StartsIn`` is nearly the same and exact."""

Adversary: TypeAlias = AnyPrior | StartsIn | KnownPrior | LastSeen | PriorsWithin | PerModel
"""Any of the classes of priors."""


def as_adversary(value: object, *, name: str) -> Adversary:
    """Return the adversary that ``value`` means: itself, or ``PerModel`` for a sequence of them."""
    if isinstance(value, Adversary):
        return value
    if isinstance(value, Sequence) and all(isinstance(each, Adversary) for each in value):
        return PerModel(value)
    raise InvalidParameter(
        f"The {name} must be AnyPrior(), StartsIn(cells), KnownPrior(rows), LastSeen(steps) or "
        "PriorsWithin(prior, factor), or one of these for each model. Got "
        f"{type(value).__name__}."
    )


def adversary_from_dict(described: Mapping[str, object]) -> Adversary:
    """Undo ``describe()``; raises ``InvalidParameter`` for anything else."""
    try:
        return _read(described)
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidParameter(
            "A described adversary must have 'adversary' (any start, starts, priors, stale, "
            "near or per model) and its values, as describe() wrote them."
        ) from error


def _read(described: Mapping[str, object]) -> Adversary:
    kind = described["adversary"]
    values = {name: value for name, value in described.items() if name != "adversary"}
    if kind == "any start" and not values:
        return AnyPrior()
    if kind == "starts":
        return StartsIn(**values)  # type: ignore[arg-type]  # checked by the class
    if kind == "stale":
        return LastSeen(**values)  # type: ignore[arg-type]  # checked by the class
    if kind == "priors":
        return KnownPrior(_rows(values.pop("rows")), **values)
    if kind == "per model":
        return PerModel([adversary_from_dict(part) for part in values.pop("parts")])  # type: ignore[attr-defined]  # TypeError if none
    if kind == "near":
        lines, joint = _rows(values.pop("prior")), values.pop("joint")
        return PriorsWithin(lines if joint else lines.ravel(), **values)  # type: ignore[arg-type]  # as above
    raise ValueError(f"no such adversary: {kind!r}")


def _rows(texts: object) -> Floats:
    if not isinstance(texts, list):
        raise TypeError("rows of floats are a list of texts")
    return np.array([floats_from_text(text) for text in texts])
