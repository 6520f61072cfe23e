"""Random transitions in every form, each with its exact matrix of fractions."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from priste.mobility import (
    BlendedTransition,
    DenseTransition,
    SeparableTransition,
    SparseTransition,
    Transition,
)

Exact = list[list[Fraction]]


def exact(matrix: np.ndarray) -> Exact:
    """Read floats as the rationals that they are."""
    return [[Fraction(float(entry)) for entry in row] for row in matrix]


@dataclass(frozen=True)
class Case:
    """A transition and, independently of its code, the matrix that it stands for."""

    transition: Transition
    matrix: Exact


@st.composite
def stochastic(draw: st.DrawFn, rows: int, columns: int) -> np.ndarray:
    """A row-stochastic matrix with zeros and with entries of very different sizes."""
    weights = st.sampled_from([0.0, 0.0, 1.0, 0.3, 2.0, 1e-9, 1e-200])
    matrix = np.array([[draw(weights) for _ in range(columns)] for _ in range(rows)])
    for row in matrix:
        if row.sum() < 0.1:
            row[draw(st.integers(0, columns - 1))] = 1.0
    return matrix / matrix.sum(axis=1, keepdims=True)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    form = draw(st.sampled_from(["dense", "sparse", "separable", "blended"]))
    if form in ("dense", "sparse"):
        shape = draw(st.integers(1, 6)), draw(st.integers(1, 6))
        matrix = draw(stochastic(*shape))
        if form == "dense":
            return Case(DenseTransition(matrix), exact(matrix))
        return Case(SparseTransition(sparse.csr_array(matrix)), exact(matrix))
    r, c = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    rows, columns = draw(stochastic(r, r)), draw(stochastic(c, c))
    product = [
        [Fraction(rows[i // c, j // c]) * Fraction(columns[i % c, j % c]) for j in range(r * c)]
        for i in range(r * c)
    ]
    prior = SeparableTransition(rows, columns)
    if form == "separable":
        return Case(prior, product)
    counts = np.array(
        [[draw(st.sampled_from([0, 0, 0, 1, 5])) for _ in range(r * c)] for _ in range(r * c)],
        dtype=np.float64,
    )
    strength = draw(st.sampled_from([1.0, 0.25, 1e-6]))
    totals = counts.sum(axis=1) + strength
    weights, seen = strength / totals, counts / totals[:, None]
    blend = [
        [Fraction(float(weights[i])) * product[i][j] + Fraction(float(seen[i, j]))
         for j in range(r * c)]
        for i in range(r * c)
    ]  # fmt: skip
    return Case(BlendedTransition(weights, prior, sparse.csr_array(seen)), blend)
