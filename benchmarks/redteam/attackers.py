"""Attackers that guess from a released stream whether the event happened, and how well they do.

- ``bayes``: the exact posterior of an adversary who knows the model and the release tables; it is
  not trained. A second implementation, apart from ``priste.quantify``.
- ``boosting``: gradient boosting (LightGBM), trained with labels.
- ``recurrent``: a small recurrent network (PyTorch's GRU) where torch is installed, else
  ``perceptron``, scikit-learn's MLP on the whole sequence; trained with labels.
- ``dp-sniper``: the method of Bichsel et al. (2021): a logistic regression trained to tell the two
  cases apart, the likeliest one in a hundred streams of one case as the attack set.

What counts is the largest ratio of probabilities, under the event and under its negation, that is
sure: the lower confidence limit of one over the upper limit of the other (Clopper and Pearson).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from benchmarks.redteam.labelled_streams import Streams, World
from priste.release.guarded_hours import event_steps

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Score = Callable[[Floats, Flags, Floats], Floats]

CONFIDENCE = 0.99
"""Each limit of a ratio holds with this probability."""

SNIPED = 0.01
"""The probability of DP-Sniper's attack set under the other case, as its authors choose it."""

FEWEST_HELD_OUT = 100
"""With fewer sequences the perceptron holds none out to stop early."""

EPOCHS = 40
"""How often the recurrent network sees each stream."""

DEPTHS = (0.5, 0.25, 0.1, 0.05, 0.02, 0.01)
"""Shares of streams, by score, of which a threshold is chosen."""


@dataclass(frozen=True)
class Found:
    """What one attacker proves about one way of releasing.

    ``sure`` is the natural logarithm of the ratio of the true positive rate and the false positive
    rate that is exceeded with the stated confidence, in the better of two directions (0 if none is
    sure); ``ratio`` is the logarithm of the measured one. ``auc`` is the area under the curve.
    """

    attacker: str
    auc: float
    direction: str
    rate: float
    other_rate: float
    ratio: float
    sure: float
    tried: int
    trained: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; an infinite number becomes None."""
        return {
            key: None if isinstance(value, float) and not math.isfinite(value) else value
            for key, value in asdict(self).items()
        }


def limits(hits: int, count: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the two-sided limits of Clopper and Pearson for a share.

    >>> low, high = limits(5, 10, 0.95)
    >>> round(low, 4), round(high, 4)
    (0.1871, 0.8129)
    """
    tail = (1.0 - confidence) / 2
    low = 0.0 if hits == 0 else float(beta.ppf(tail, hits, count - hits + 1))
    high = 1.0 if hits == count else float(beta.ppf(1 - tail, hits + 1, count - hits))
    return low, high


def area(scores: Floats, labels: Flags) -> float:
    """Return the probability that a positive scores above a negative, ties counting half."""
    order = np.argsort(scores, kind="stable")
    _, ties, counts = np.unique(scores[order], return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks = (ends - (counts - 1) / 2)[ties]
    positives = int(labels.sum())
    negatives = len(labels) - positives
    total = float(ranks[labels[order]].sum())
    return (total - positives * (positives + 1) / 2) / (positives * negatives)


def judged(
    name: str, chosen: tuple[Floats, Flags], tried: tuple[Floats, Flags], trained: int
) -> Found:
    """Choose a threshold on some streams, and state what it proves on others."""
    best: tuple[float, str, float] = (-math.inf, "for", math.inf)
    for direction, sign in (("for", 1.0), ("against", -1.0)):
        scores, labels = sign * chosen[0], chosen[1] if sign > 0 else ~chosen[1]
        for depth in DEPTHS:
            threshold = float(np.quantile(scores, 1 - depth))
            hits = scores >= threshold
            low = limits(int((hits & labels).sum()), int(labels.sum()))[0]
            high = limits(int((hits & ~labels).sum()), int((~labels).sum()))[1]
            if low > 0 and math.log(low / high) > best[0]:
                best = (math.log(low / high), direction, threshold)
    _, direction, threshold = best
    sign = 1.0 if direction == "for" else -1.0
    scores, labels = sign * tried[0], tried[1] if sign > 0 else ~tried[1]
    hits = scores >= threshold
    inside, outside = int((hits & labels).sum()), int((hits & ~labels).sum())
    count, others = int(labels.sum()), int((~labels).sum())
    low, high = limits(inside, count)[0], limits(outside, others)[1]
    ratio = math.inf if outside == 0 else math.log(max(inside / count, 1e-12) / (outside / others))
    return Found(
        name,
        area(*tried),
        direction,
        inside / count,
        outside / others,
        ratio if inside else -math.inf,
        max(0.0, math.log(low / high)) if low > 0 else 0.0,
        len(labels),
        trained,
    )


def bayes_scores(world: World, streams: Streams, people: NDArray[np.int64]) -> Floats:
    """Return ln of the odds of the event for each stream, by two forward passes of all at once."""
    policy = world.policy
    event = next(iter(policy.events.values())).event
    spoken = sorted(event_steps(event))
    outside = np.ones(policy.grid.size)
    outside[list(policy.guarded_cells)] = 0.0
    last = max(int(world.steps[-1]), spoken[-1])
    logs = []
    for avoiding in (False, True):
        mass = np.tile(policy.population, (len(people), 1))
        log = np.zeros(len(people))
        for step in range(last + 1):
            matrix = policy.model.transition(step - 1).toarray() if step else None
            moved = mass if matrix is None else mass @ matrix
            for place, person in enumerate(people):
                told = streams.likelihoods[person]
                likelihood = told[step] if step < len(told) else None
                if likelihood is None:
                    continue
                if likelihood.ndim == 1:
                    moved[place] = moved[place] * likelihood
                else:
                    moved[place] = mass[place] @ (matrix * likelihood)
            if avoiding and step in spoken:
                moved = moved * outside
            total = moved.sum(axis=1)
            with np.errstate(divide="ignore"):
                log += np.log(total)
            mass = moved / np.where(total > 0, total, 1.0)[:, None]
        logs.append(log)
    # ln((all - without) / without), and finite where one of them is impossible
    ratio = np.clip(logs[1] - logs[0], -700, -1e-12)
    return np.asarray(np.log(-np.expm1(ratio)) - ratio)


def features(streams: Streams) -> Floats:
    """Return (n, T, 3): the released point, centred, and whether there is one."""
    points = streams.points
    there = ~np.isnan(points[:, :, :1])
    middle = np.nanmean(points.reshape(-1, 2), axis=0)
    return np.concatenate([np.where(there, points - middle, 0.0), there], axis=2)


def boosting(train: Floats, labels: Flags, test: Floats) -> Floats:
    """Train LightGBM on points and silences."""
    lightgbm: Any = import_module("lightgbm")

    model = lightgbm.LGBMClassifier(
        n_estimators=300,
        learning_rate=0.05,
        num_leaves=15,
        min_child_samples=10,
        subsample=0.8,
        subsample_freq=1,
        colsample_bytree=0.5,
        n_jobs=1,
        random_state=1,
        verbose=-1,
    )
    flat = train.reshape(len(train), -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(flat, labels)
        return np.asarray(model.predict_proba(test.reshape(len(test), -1))[:, 1])


def recurrent(train: Floats, labels: Flags, test: Floats) -> Floats:
    """Train a GRU of 48 units on the sequence, with PyTorch on the processor."""
    torch: Any = import_module("torch")

    torch.manual_seed(1)
    torch.set_num_threads(1)

    gru, out = torch.nn.GRU(3, 48, batch_first=True), torch.nn.Linear(48, 1)

    def model(given: Any) -> Any:
        return out(gru(given)[0].mean(dim=1)).squeeze(1)

    step = torch.optim.Adam([*gru.parameters(), *out.parameters()], lr=5e-3, weight_decay=1e-4)
    given = torch.tensor(train, dtype=torch.float32)
    wanted = torch.tensor(labels, dtype=torch.float32)
    loss = torch.nn.BCEWithLogitsLoss()
    for _ in range(EPOCHS):
        for part in torch.randperm(len(given)).split(128):
            step.zero_grad()
            loss(model(given[part]), wanted[part]).backward()
            step.step()
    with torch.no_grad():
        return np.asarray(model(torch.tensor(test, dtype=torch.float32)), dtype=np.float64)


def perceptron(train: Floats, labels: Flags, test: Floats) -> Floats:
    """Train scikit-learn's multi-layer perceptron on the whole sequence."""
    networks: Any = import_module("sklearn.neural_network")
    model = networks.MLPClassifier(
        (64, 32),
        max_iter=300,
        alpha=1e-3,
        early_stopping=len(labels) >= FEWEST_HELD_OUT,
        random_state=1,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(train.reshape(len(train), -1), labels)
        return np.asarray(model.predict_proba(test.reshape(len(test), -1))[:, 1])


def sniper(train: Floats, labels: Flags, test: Floats) -> Floats:
    """Train DP-Sniper's logistic regression, on points and their squares."""
    linear: Any = import_module("sklearn.linear_model")
    pipeline: Any = import_module("sklearn.pipeline")
    scaling: Any = import_module("sklearn.preprocessing")

    def widened(given: Floats) -> Floats:
        flat = given.reshape(len(given), -1)
        return np.concatenate([flat, flat**2], axis=1)

    model = pipeline.make_pipeline(
        scaling.StandardScaler(), linear.LogisticRegression(max_iter=500, C=0.1)
    )
    model.fit(widened(train), labels)
    return np.asarray(model.decision_function(widened(test)))


def sniped(
    name: str, chosen: tuple[Floats, Flags], tried: tuple[Floats, Flags], trained: int
) -> Found:
    """State what DP-Sniper's attack set proves: the top ``SNIPED`` of the other case."""
    found = []
    for direction, sign in (("for", 1.0), ("against", -1.0)):
        scores, labels = sign * chosen[0], chosen[1] if sign > 0 else ~chosen[1]
        others = scores[~labels]
        threshold = float(np.quantile(others, max(0.0, 1 - max(SNIPED, 2 / len(others)))))
        scores, labels = sign * tried[0], tried[1] if sign > 0 else ~tried[1]
        hits = scores >= threshold
        inside, outside = int((hits & labels).sum()), int((hits & ~labels).sum())
        count, without = int(labels.sum()), int((~labels).sum())
        low, high = limits(inside, count)[0], limits(outside, without)[1]
        found.append(
            Found(
                name,
                area(*tried),
                direction,
                inside / count,
                outside / without,
                math.log(max(inside, 0.5) / count / (max(outside, 0.5) / without)),
                max(0.0, math.log(low / high)) if low > 0 else 0.0,
                len(labels),
                trained,
            )
        )
    return max(found, key=lambda each: each.sure)


def learned() -> dict[str, Score]:
    """Return the attackers that are trained, those whose libraries are installed."""
    found: dict[str, Score] = {}
    if find_spec("lightgbm"):
        found["boosting"] = boosting
    if find_spec("torch"):
        found["recurrent"] = recurrent
    if find_spec("sklearn"):
        if "recurrent" not in found:
            found["perceptron"] = perceptron
        found["dp-sniper"] = sniper
    return found


def attack(world: World, streams: Streams, seed: int = 5) -> list[Found]:
    """Return what every attacker proves about one way of releasing.

    Half of the people train attackers, a fifth choose thresholds, and the rest is what counts. The
    exact posterior needs no training.
    """
    rng = np.random.default_rng([seed, 1])
    owners = rng.permutation(np.unique(world.owners))
    parts = np.split(owners, [len(owners) // 2, len(owners) * 7 // 10])
    train, choose, test = (np.flatnonzero(np.isin(world.owners, part)) for part in parts)
    given, labels = features(streams), world.labels
    both = np.concatenate([choose, test])
    cut = len(choose)
    found = []
    scores = bayes_scores(world, streams, both)
    found.append(judged("bayes", (scores[:cut], labels[choose]), (scores[cut:], labels[test]), 0))
    for name, score in learned().items():
        scores = score(given[train], labels[train], given[both])
        judge = sniped if name == "dp-sniper" else judged
        found.append(
            judge(name, (scores[:cut], labels[choose]), (scores[cut:], labels[test]), len(train))
        )
    return found
