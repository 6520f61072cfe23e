"""What a person is told is what holds: nights, gaps, clocks, models of oneself, adversaries."""

import math
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from tests.cli.small_world import (
    GRID,
    PATHS,
    POLICY,
    START,
    trace_of,
    with_a_short_event,
    write_policy,
    write_trips,
)

from priste import (
    AnyPrior,
    BeliefBound,
    KnownPrior,
    LastSeen,
    MarkovModel,
    OddsBound,
    PolicyError,
    PriorsWithin,
    StartsIn,
)
from priste.mobility import ModelOrigin
from priste.policy import explain_policy, load_policy, read_policy
from priste.policy.adversary_choice import AdversaryChoice
from priste.policy.sections import AdversarySection
from priste.traces import Fix, Trace, write_traces
from priste.traces.town import residents

GAUSSIAN = 'kind = "gaussian"\nsigma = 1.0'
SHORT = with_a_short_event(POLICY)
NIGHTS = (
    POLICY[: POLICY.index("[events.visit]")].replace("steps = 12", "steps = 60")
    + """[events.night]
formula = 'presence(clinic, "22:00-06:00")'
every = "day"
"""
)


def steps_of(policy, name):
    """Return the steps that an event of a policy looks at."""
    return [layer.step for layer in policy.events[name].event.automaton().layers]


def test_the_night_is_one_event() -> None:
    """The night from Wednesday to Thursday is guarded as one, not as two halves of two days."""
    policy = read_policy(NIGHTS)
    assert steps_of(policy, "night, 2026-03-04") == list(range(22, 30))
    assert not policy.events["night, 2026-03-04"].partly


def test_partial_periods_are_guarded_and_told() -> None:
    """What lies inside the clock is guarded, and explain lists what is cut off or left out."""
    policy = read_policy(NIGHTS)
    assert steps_of(policy, "night, 2026-03-03") == list(range(6))
    assert policy.events["night, 2026-03-03"].partly
    told = explain_policy(policy).unguarded
    assert any("night, 2026-03-03" in line and "part" in line for line in told)
    weekly = NIGHTS.replace('"22:00-06:00"', '"mon 10:00-11:00"').replace('"day"', '"week"')
    weekly = weekly.replace("steps = 60", "steps = 160")
    policy = read_policy(weekly)
    assert list(policy.events) == ["night, week of 2026-03-09"]
    assert [gap.period for gap in policy.unguarded] == ["week of 2026-03-02"]
    assert any("not guarded" in line for line in explain_policy(policy).unguarded)


def test_silence_that_depends_on_the_place_is_refused() -> None:
    """Gaps beyond the map tell where one is, so no guarantee goes with them."""
    gap = 'pace = 0.3\noutside = "gap"'
    with pytest.raises(PolicyError, match="silence reveals"):
        read_policy(POLICY.replace("pace = 0.3", gap))
    uncalibrated = 'calibrator = "uncalibrated"\nno_guarantee = true\noutside = "gap"'
    assert read_policy(POLICY.replace("pace = 0.3", uncalibrated)).outside == "gap"


@pytest.mark.parametrize("name", ["paper", "uncalibrated"])
def test_no_guarantee_has_to_be_said(name: str) -> None:
    """A calibrator that guarantees nothing needs no_guarantee, and then nothing is guaranteed."""
    chosen = f'calibrator = "{name}"'
    with pytest.raises(PolicyError, match="no_guarantee = true"):
        read_policy(POLICY.replace("pace = 0.3", chosen))
    with pytest.raises(PolicyError, match="leave no_guarantee out"):
        read_policy(POLICY.replace("pace = 0.3", "no_guarantee = true"))
    policy = read_policy(POLICY.replace("pace = 0.3", f"{chosen}\nno_guarantee = true"))
    explained = explain_policy(policy)
    assert explained.guaranteed == ()
    assert "keeps no guarantee" in explained.not_guaranteed[0]


# The model


def fit_policy(folder: Path) -> Path:
    write_trips(folder)
    return write_policy(folder, SHORT.replace(GAUSSIAN, 'kind = "fit"\ntraces = "trips.csv"'))


def test_nobody_is_in_their_own_model(tmp_path: Path) -> None:
    """With kind = "fit" each person is guarded by the model of the others."""
    policy = load_policy(fit_policy(tmp_path))
    ada = trace_of("somebody called otherwise", PATHS["ada"])
    with pytest.raises(PolicyError, match="for_user"):
        policy.cells(ada)
    own = policy.for_user(ada)
    assert own.cells(ada).cells == tuple(PATHS["ada"])
    others = write_trips(tmp_path, ("ben", "cleo"), "others.csv")
    text = SHORT.replace(GAUSSIAN, f'kind = "fit"\ntraces = "{others.name}"')
    assert own.model.fingerprint() == read_policy(text, folder=tmp_path).model.fingerprint()
    other = trace_of("dora", [4] * 12)
    assert policy.for_user(other) is policy


def test_the_only_person_cannot_be_left_out(tmp_path: Path) -> None:
    """A model of nobody else is refused."""
    write_trips(tmp_path, ("ada",))
    text = SHORT.replace(GAUSSIAN, 'kind = "fit"\ntraces = "trips.csv"')
    with pytest.raises(PolicyError, match="only on the person"):
        read_policy(text, folder=tmp_path).for_user(trace_of("ada", PATHS["ada"]))


def test_a_saved_model_of_the_protected_is_refused(tmp_path: Path) -> None:
    """The file remembers whose days it was fitted on."""
    load_policy(fit_policy(tmp_path)).model.save(tmp_path / "model.npz")
    saved = POLICY.replace(GAUSSIAN, 'kind = "saved"\npath = "model.npz"')
    policy = read_policy(saved, folder=tmp_path)
    with pytest.raises(PolicyError, match="very days"):
        policy.for_user(trace_of("x", PATHS["ada"]))
    assert policy.for_user(trace_of("x", [4] * 12)) is policy


def test_a_saved_model_knows_its_clock(tmp_path: Path) -> None:
    """Another step is refused, another hour of the day is re-phased, another zone is refused."""
    text = SHORT.replace(GAUSSIAN, 'kind = "fit"\ntraces = "trips.csv"\nmemory = "hours"')
    write_trips(tmp_path)
    model = read_policy(text, folder=tmp_path).model
    model.save(tmp_path / "model.npz")
    saved = POLICY.replace(GAUSSIAN, 'kind = "saved"\npath = "model.npz"')
    later = saved.replace("2026-03-04T00:00:00", "2026-03-07T05:00:00")
    later = later.replace('"05:00-08:00"', '"07:00-09:00"')
    phased = read_policy(later, folder=tmp_path).model
    assert phased.fingerprint() == model.starting_at(5).fingerprint()
    with pytest.raises(PolicyError, match="steps of 1:00:00"):
        read_policy(saved.replace('"1h"', '"30min"').replace("home@11", "home@3"), folder=tmp_path)
    with pytest.raises(PolicyError, match="begin at"):
        read_policy(saved.replace("04T00:00:00", "04T00:30:00"), folder=tmp_path)
    zoned = saved.replace("steps = 12", 'steps = 12\nzone = "Europe/Zurich"')
    with pytest.raises(PolicyError, match="days of UTC"):
        read_policy(zoned, folder=tmp_path)
    MarkovModel.gaussian(GRID, 1.0).save(tmp_path / "model.npz")
    with pytest.raises(PolicyError, match="does not say how long"):
        read_policy(saved, folder=tmp_path)


def test_events_that_the_model_decides_are_refused(tmp_path: Path) -> None:
    """Impossible wherever one begins: there is nothing to protect, and nobody is told 0."""
    stay = MarkovModel(GRID, np.eye(GRID.size))
    timeline = read_policy(POLICY).timeline
    stay.with_origin(ModelOrigin(START, timedelta(hours=1), str(timeline.zone))).save(
        tmp_path / "model.npz"
    )
    saved = POLICY.replace(GAUSSIAN, 'kind = "saved"\npath = "model.npz"')
    moving = saved.replace("pattern(home@1, home@11)", "pattern(home@1, clinic@11)")
    with pytest.raises(PolicyError, match="cannot happen under the model"):
        read_policy(moving, folder=tmp_path)


# Reading steps


def test_a_short_visit_counts_if_asked_for() -> None:
    """With rule = "any" one fix in a guarded place makes the step; else the nearest fix does."""
    middle = START + timedelta(hours=6, minutes=30)
    fixes = [Fix("ada", middle, *GRID.latlon(6))]
    fixes += [Fix("ada", middle + timedelta(minutes=20), *GRID.latlon(10))]
    trace = Trace.of(fixes)
    assert read_policy(POLICY).cells(trace).cells[6] == 6
    policy = read_policy(POLICY.replace('step = "1h"', 'step = "1h"\nrule = "any"'))
    assert policy.cells(trace).cells[6] == 10
    assert policy.guarded_cells == {0, 9, 10}
    assert "single fix of its hour" in " ".join(explain_policy(policy).summary)
    told = " ".join(explain_policy(read_policy(POLICY)).summary)
    assert "shorter than hour" in told or "shorter than 1 hour" in told


# Against whom, and what


def observed(section: str) -> str:
    return POLICY.replace("[release]", f"[adversary]\n{section}\n\n[release]")


def test_without_the_section_anybody_is_meant() -> None:
    """A policy without [adversary] is against any belief, as with knows = "anything"."""
    for text in (POLICY, observed('knows = "anything"')):
        policy = read_policy(text)
        assert policy.chosen_adversary.adversary == AnyPrior()
        assert "any belief" in explain_policy(policy).against


def test_the_population_and_home() -> None:
    """One row for the long run of the model, one for each cell of the places named."""
    policy = read_policy(observed('knows = "population"\nalso = ["home"]'))
    adversary = policy.chosen_adversary.adversary
    assert isinstance(adversary, KnownPrior)
    assert np.array_equal(adversary.priors[0], policy.model.stationary())
    assert np.array_equal(adversary.priors[1], np.eye(GRID.size)[0])
    told = explain_policy(policy)
    assert told.against == (
        "The guarantee is against an adversary who knows how people here move, and perhaps knows "
        "that you began at home."
    )
    assert any("something else about where you began" in line for line in told.not_guaranteed)


def test_other_adversaries(tmp_path: Path) -> None:
    """Near a population, stale knowledge, known starts, and a population from a file."""
    policy = read_policy(POLICY)
    section = AdversarySection(knows="near", factor=3.0)
    choice = AdversaryChoice.read(section, GRID, {}, timedelta(hours=1), tmp_path)
    near = choice.adversary(policy.models).adversary
    assert isinstance(near, PriorsWithin)
    assert np.array_equal(near.prior, policy.model.stationary())
    assert near.factor == 3.0
    stale = read_policy(observed('knows = "stale"\nhours = 2.5')).chosen_adversary.adversary
    assert stale == LastSeen(2)
    starts = read_policy(observed('knows = "starts"\nalso = ["clinic"]')).chosen_adversary.adversary
    assert starts == StartsIn([9, 10])
    (tmp_path / "shares.csv").write_text("cell,share\n3,0.25\n5,0.75\n")
    text = observed('knows = "population"\npopulation = "shares.csv"')
    rows = read_policy(text, folder=tmp_path).chosen_adversary.adversary.priors
    assert rows[0, 3] == 0.25
    assert rows[0, 5] == 0.75


@pytest.mark.parametrize(
    ("section", "complaint"),
    [
        ('knows = "near"', "needs 'factor'"),
        ('knows = "stale"\nfactor = 2.0', "needs 'hours'"),
        ('knows = "population"\nhours = 1.0', "does not take 'hours'"),
        ('knows = "population"\nalso = ["hmoe"]', "must name regions of this policy: clinic, home"),
        ('knows = "everything"', "anything"),
        ('knows = "population"\npopulation = "none.csv"', "cannot be read"),
        ('knows = "near"\nfactor = 0.5', "greater than or equal to 1"),
    ],
)
def test_adversaries_that_cannot_be_meant(section: str, complaint: str) -> None:
    """Each rule has its sentence."""
    with pytest.raises(PolicyError, match=complaint):
        read_policy(observed(section))


@pytest.mark.parametrize("shares", ["cell,share\n3,0.5\n", "cell,share\n99,1\n", "a,b\n1,2\n", ""])
def test_populations_that_are_none(tmp_path: Path, shares: str) -> None:
    """Shares must be of cells and sum to 1."""
    (tmp_path / "shares.csv").write_text(shares)
    text = observed('knows = "population"\npopulation = "shares.csv"')
    with pytest.raises(PolicyError, match=r"shares\.csv"):
        read_policy(text, folder=tmp_path)


def test_guarantees_of_each_kind() -> None:
    """epsilon, one direction, both with their own bound, and a belief; events override."""
    event = "[events.homecoming]\nformula = 'pattern(home@1, home@11)'\nepsilon = 1.2"
    text = POLICY.replace(event, event.replace("epsilon = 1.2", "odds_up = 0.7"))
    text = observed_in(text, 'knows = "population"')
    events = read_policy(text).events
    assert events["visit"].guarantee == OddsBound(0.8, 0.8)
    assert events["homecoming"].guarantee == OddsBound(0.7, math.inf)
    assert events["homecoming"].epsilon == 0.7
    both = text.replace("odds_up = 0.7", "odds_up = 0.7\nodds_down = 2.0")
    assert read_policy(both).events["homecoming"].guarantee == OddsBound(0.7, 2.0)
    belief = text.replace("odds_up = 0.7", "belief_at_most = 0.9")
    policy = read_policy(belief)
    assert policy.events["homecoming"].guarantee == BeliefBound(0.9)
    told = explain_policy(policy)
    assert any("90 % sure" in line for line in told.guaranteed)
    assert any("did not happen may be revealed" in line for line in told.not_guaranteed)
    with pytest.raises(PolicyError, match="give one guarantee"):
        read_policy(text.replace("odds_up = 0.7", "odds_up = 0.7\nepsilon = 1.0"))
    with pytest.raises(PolicyError, match="has no guarantee"):
        read_policy(POLICY.replace("epsilon = 0.8\n", ""))


def observed_in(text: str, section: str) -> str:
    return text.replace("[release]", f"[adversary]\n{section}\n\n[release]")


def test_several_models_are_guarded_each_or_jointly() -> None:
    """Two [[mobility]] tables make two models, each with its population; or both are rows."""
    two = POLICY.replace(
        f"[mobility]\n{GAUSSIAN}",
        f'[[mobility]]\n{GAUSSIAN}\n\n[[mobility]]\nkind = "gaussian"\nsigma = 2.0',
    )
    policy = read_policy(two)
    assert len(policy.models) == 2
    assert policy.fingerprint() != read_policy(POLICY).fingerprint()
    assert any("2 models" in line for line in explain_policy(policy).summary)
    each = read_policy(observed_in(two, 'knows = "population"'))
    assert each.family == "each"
    for number, model in enumerate(each.models):
        (prior,) = each.chosen_adversary.adversary.of_model(number).priors
        assert np.array_equal(prior, model.stationary())
    joint = two.replace("sigma = 1.0", 'sigma = 1.0\nfamily_mode = "joint"')
    rows = read_policy(observed_in(joint, 'knows = "population"')).chosen_adversary.adversary.priors
    assert len(rows) == 2
    assert policy.protector(rng=1).release(0).step == 0


@pytest.mark.parametrize("memory", ["auto", "parts"])
def test_a_chosen_memory_is_chosen_without_the_person_too(tmp_path, memory: str) -> None:
    """With memory each person's model and its choice are made on the others alone."""
    from priste.mobility import PopulationChoice
    from priste.policy import cell_sequences, chosen_memory, population_model

    people = residents(6, days=3)
    write_traces(people, tmp_path / "trips.csv")
    section = f'kind = "fit"\ntraces = "trips.csv"\nmemory = "{memory}"'
    policy = read_policy(SHORT.replace(GAUSSIAN, section), folder=tmp_path)
    own = policy.for_user(people[2])
    others = [policy.windows.outside(each) for n, each in enumerate(people) if n != 2]
    sequences = cell_sequences(others, policy.grid, policy.timeline)
    choice = chosen_memory(policy.grid, policy.timeline, sequences, memory)
    assert isinstance(choice, PopulationChoice)
    wanted = population_model(policy.grid, policy.timeline, sequences, choice)
    assert own.model.fingerprint() == wanted.fingerprint() != policy.model.fingerprint()
    assert memory == "auto" or choice.memory == memory


def test_a_fit_has_a_memory_by_default(tmp_path) -> None:
    """What predicts best those left out is also what a section says without the key."""
    write_trips(tmp_path)
    section = 'kind = "fit"\ntraces = "trips.csv"\npublic = true'
    found, said = (
        read_policy(SHORT.replace(GAUSSIAN, section + more), folder=tmp_path).model.fingerprint()
        for more in ("", '\nmemory = "auto"')
    )
    assert found == said


def test_two_events_with_one_label_are_refused() -> None:
    """A ledger tells events apart by their labels, so no two may have the same."""
    twin = "\n[events.\"night, 2026-03-04\"]\nformula = 'presence(clinic, 3..4)'\n"
    with pytest.raises(PolicyError, match="two events are called 'night, 2026-03-04'"):
        read_policy(NIGHTS + twin)
    found = read_policy(NIGHTS).events["night, 2026-03-04"]
    assert (found.name, found.period) == ("night", "2026-03-04")


def test_guarded_hours_are_an_hour_around_an_event_unless_the_policy_says_otherwise() -> None:
    """The visit is at step 6."""
    policy = read_policy(SHORT)
    assert policy.guarded_hours == (range(5, 8),)
    assert policy.protector(rng=1).guarded_hours == frozenset(range(5, 8))
    told = explain_policy(policy).summary
    assert any(line.startswith("visit: guarded hours. From 1 hour before it") for line in told)
    longer = SHORT.replace("epsilon = 0.8", 'epsilon = 0.8\nguarded_hours = "90min"')
    assert read_policy(longer).guarded_hours == (range(4, 9),)
    off = read_policy(SHORT.replace("epsilon = 0.8", 'epsilon = 0.8\nguarded_hours = "off"'))
    assert off.guarded_hours == ()
    assert any(line.startswith("visit: no guarded hours") for line in explain_policy(off).summary)
    with pytest.raises(PolicyError, match="guarded_hours"):
        read_policy(SHORT.replace("epsilon = 0.8", 'epsilon = 0.8\nguarded_hours = "soon"'))


def test_an_event_that_takes_most_of_the_stream_has_no_guarded_hours() -> None:
    """The tables decide there, and the explanation says so."""
    policy = read_policy(SHORT.replace("06:00-07:00", "01:00-10:00"))
    assert policy.events["visit"].pad is None
    assert any("no guarded hours" in line for line in explain_policy(policy).summary)


def test_days_before_the_clock_are_one_more_model_and_their_guarded_hours_are_not_read() -> None:
    """Ten days before the clock; only the hours around 06:00 differ between the two histories."""

    def days_of(cells: list[int]) -> Trace:
        begin = START - timedelta(days=10) + timedelta(minutes=30)
        return Trace.of(
            Fix("ada", begin + timedelta(hours=step), *GRID.latlon(cell))
            for step, cell in enumerate(10 * cells)
        )

    def history(around_six: int) -> Trace:
        return days_of([0] * 5 + [around_six] * 3 + [0] * 4 + [5] * 12)

    policy = read_policy(SHORT + 'every = "day"\n')
    assert len(policy.models) == 1
    own = [policy.for_user(history(cell)) for cell in (10, 3)]
    assert [len(each.models) for each in own] == [2, 2]
    staying = [model.transition(20).toarray()[5, 5] for model in own[0].models]
    assert staying[1] > staying[0]
    assert own[0].fingerprint() == own[1].fingerprint()
    assert own[0].fingerprint() != policy.for_user(days_of([15] * 24)).fingerprint()
    named = SHORT.replace("sigma = 1.0", 'sigma = 1.0\nfamily = ["narrow"]')
    assert len(read_policy(named).for_user(history(10)).models) == 2  # narrow, and no own days
