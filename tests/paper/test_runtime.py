"""The runtime figure: the baseline is right, the job checks it, the fits mean what they say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from paper.experiments import event_timing
from paper.experiments.event_timing import Point, growth_exponents
from paper.experiments.experiment import Settings, settings_for
from paper.experiments.naive import naive_pattern_joint
from paper.experiments.runtime import EXPERIMENT
from paper.running.jobs import Results, perform
from tests.drawn_examples import examples
from tests.quantify.strategies import matrices, row_weights

from priste import Grid, KnownPrior, MarkovModel, Quantifier
from priste.errors import PristeError
from priste.events import pattern

ROUNDING = 1e-12
FIT = 1e-9


@st.composite
def naive_cases(draw: st.DrawFn):
    """A model, a prior, and a PATTERN with the likelihoods of its releases, all small."""
    size = draw(st.integers(2, 4))
    length = draw(st.integers(1, 4))
    region = st.sets(st.integers(0, size - 1), min_size=1).map(sorted)
    column = st.lists(st.sampled_from([0.0, 1e-6, 0.25, 0.5, 1.0]), min_size=size, max_size=size)
    return (
        draw(matrices(size)),
        draw(row_weights(size)),
        [draw(region) for _ in range(length)],
        [draw(column.filter(any)) for _ in range(length)],
    )


@examples(60)
@given(naive_cases())
def test_naive_sum_equals_the_quantifier(case):
    """The sum over all trajectories is the quantifier's joint probability."""
    matrix, prior, regions, columns = case
    model = MarkovModel(Grid(rows=1, columns=len(prior), cell_size=1.0), matrix)
    event = pattern(regions, range(1, len(regions) + 1))
    quantifier = Quantifier(model, event, KnownPrior(prior))
    quantifier.observe(None)
    for column in columns:
        quantifier.observe(column)
    found = quantifier.joint_probabilities()
    joint = math.ldexp(float(found.event[0]), int(found.exponent[0]))
    naive = naive_pattern_joint(matrix.tolist(), prior, columns, regions)
    assert naive == pytest.approx(joint, rel=ROUNDING)


def few(**changes) -> Settings:
    return settings_for("tiny", **changes)


def results_of(chosen: Settings) -> Results:
    done = {job.digest: perform(job) for job in EXPERIMENT.jobs(chosen)}
    return Results(done)


def test_job_times_every_event_and_the_baseline_on_some():
    """A job gives one time per event and kind; the baseline ran on as many events as asked."""
    found = perform(Point(3, 2).job(few(runtime_events=2)))
    assert [len(found["ours"][kind]) for kind in ("pattern", "presence")] == [2, 2]
    assert len(found["naive"]) == 2
    assert perform(Point(30, 2).job(few()))["naive"] == []


def test_job_fails_when_the_algorithms_disagree(monkeypatch):
    """A baseline that is off by a millionth is an error, not a point of the figure."""
    monkeypatch.setattr(
        event_timing,
        "naive_pattern_joint",
        lambda *given: naive_pattern_joint(*given) * (1.0 + 1e-6),
    )
    with pytest.raises(PristeError, match="must agree"):
        perform(Point(3, 2).job(few()))


def test_baseline_stops_at_the_limit_and_gets_fewer_events_before_it():
    """The number of the baseline's events falls with the trajectories and ends at 0."""
    chosen = settings_for("full")
    events = [Point(length, 5).naive_events(chosen) for length in range(5, 16)]
    assert events[0] == chosen.runtime_events
    assert events == sorted(events, reverse=True)
    assert event_timing.FEWEST_NAIVE_EVENTS in events
    assert events[-1] == 0


def test_growth_exponents_are_exact_on_power_laws():
    """A power law has its own power, whatever its factor."""
    values = np.arange(5.0, 16.0)
    rows = np.array([3.0 * values**1.0, 0.1 * values**2.5])
    assert growth_exponents(values, rows) == pytest.approx([1.0, 2.5], rel=FIT)


def invented(chosen: Settings, ours, naive) -> Results:
    """Results as a machine would give whose seconds are these functions of length and width."""
    rng = np.random.default_rng(1)
    done = {}
    for job in EXPERIMENT.jobs(chosen):
        p = job.parameters

        def seconds(law, count, p=p):
            noise = np.exp(0.01 * rng.standard_normal(count))
            return (law(p["length"], p["width"]) * noise).tolist()

        done[job.digest] = {
            "ours": {kind: seconds(ours, p["events"]) for kind in ("pattern", "presence")},
            "naive": seconds(naive, p["naive_events"]),
        }
    return Results(done)


def test_findings_follow_the_growth_of_the_times():
    """Linear and width**length times give the paper's verdicts, but for its claim on the width."""
    chosen = settings_for("quick")
    outcome = EXPERIMENT.outcome(
        chosen, invented(chosen, lambda n, w: 1e-3 * n, lambda n, w: 1e-6 * n * w**n)
    )
    verdicts = [finding.verdict for finding in outcome.findings]
    assert verdicts == ["reproduced", "reproduced", "reproduced", "not reproduced"]


def test_findings_see_growth_that_is_not_linear():
    """Were ours quadratic and the baseline a power law, the verdicts would say so."""
    chosen = settings_for("quick")
    outcome = EXPERIMENT.outcome(
        chosen, invented(chosen, lambda n, w: 1e-3 * n**2 * w**2, lambda n, w: 1e-6 * n**3 * 2.0**w)
    )
    verdicts = [finding.verdict for finding in outcome.findings]
    assert verdicts == ["not reproduced", "not reproduced", "not reproduced", "reproduced"]


def test_tiny_experiment_draws_and_tells_what_was_left_out():
    """The tiny version runs whole: every point has a row, left-out baselines are extrapolated."""
    chosen = few()
    outcome = EXPERIMENT.outcome(chosen, results_of(chosen))
    (table,) = outcome.tables
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert len(rows) == 22
    for row in rows:
        assert row["trajectories"] == row["width"] ** row["length"]
        left_out = row["trajectories"] > event_timing.NAIVE_LIMIT["tiny"]
        assert (row["naive_seconds"] is None) == left_out
        assert (row["naive_extrapolated_seconds"] is not None) == left_out
    assert all(finding.verdict == "not decidable" for finding in outcome.findings)
    (picture,) = outcome.pictures
    assert len(picture.draw().axes) == 4
