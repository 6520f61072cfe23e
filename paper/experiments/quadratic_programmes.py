"""The paper's quadratic programme in commercial and free global solvers, for comparison only.

:func:`solver_check` lets a solver decide what :func:`priste.quantify.passes` decides exactly. The
solvers are those of the extra ``solvers``; :func:`is_installed` tells which are there.

One programme asks whether some prior w (w >= 0, sum 1) has

    F(w) = (w·b)(w·ā) - r (w·a)(w·d) > 0.

Two forms are offered. ``dense`` is the paper's: the full quadratic form in w. ``lifted``
is the best we found for solvers: three auxiliary variables x = w·a, y = w·b, z = w·d
(and w·ā = 1 - x), which leaves two products. b and d are divided by their largest entry,
without which solvers miss nearly every violation. Each form also comes with its objective
multiplied by 1000 ("x1000"): that is more accurate, since solvers stop at an absolute gap, and
slower where the maximum is close to 0. Neither alone would be a fair baseline.

Building the model is not timed. One thread each, CPU seconds. A violation counts when the
solver's own prior, put on the simplex, has F > 0 in double precision: what a solver
calls positive within its tolerances often is not. A programme that the solver leaves
open at its limit is undecided.
"""

from __future__ import annotations

import importlib.util
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter
from priste.quantify import JointProbabilities

Floats = NDArray[np.float64]

NO_LIMIT = 20.0
"""What "none" means: seconds per programme after which a solver is stopped all the same."""

INSTALL = "pip install 'priste[solvers]'"
"""How to get the solvers."""

_PACKAGES = {"cplex": "cplex", "copt": "coptpy", "scip": "pyscipopt"}
"""The Python package of each solver; the first word of an engine is its solver."""

_CPLEX_OPTIMAL = (1, 101, 102)

_FAR_BELOW = -2000
"""A row this many powers of two below the largest is 0 next to it in double precision."""


@dataclass(frozen=True)
class Programme:
    """One direction of one check; b and d already divided by their largest entry."""

    a: Floats
    c: Floats
    b: Floats
    d: Floats
    r: float

    def quadratic_form(self) -> Floats:
        """The symmetric matrix Q with F(w) = w·Q·w."""
        half = np.outer(self.b, self.c) - self.r * np.outer(self.a, self.d)
        return np.asarray(0.5 * (half + half.T))


@dataclass(frozen=True)
class Answer:
    """``violated`` is None when there is no proof either way: out of time, or ``failed``."""

    violated: bool | None
    seconds: float
    failed: bool = False


def programmes(joint: JointProbabilities, epsilon: float) -> list[Programme]:
    """Return the two programmes of a check of one candidate, scaled as solvers need it.

    The event first, its negation second; ``joint`` may be (n,) or have one column.
    """
    if joint.candidates not in (None, 1):
        raise InvalidParameter(
            f"A solver checks one candidate at a time. Got {joint.candidates} columns; "
            "give it one column of them."
        )
    exponent = np.maximum(joint.exponent - joint.exponent.max(), _FAR_BELOW).astype(np.int32)
    b = np.ldexp(joint.event.reshape(-1), exponent)
    d = np.ldexp(joint.complement.reshape(-1), exponent)
    top = max(b.max(), d.max()) or 1.0  # releases that no cell makes: F is 0 everywhere
    a, c = joint.prior_event, joint.prior_complement
    r = math.exp(epsilon)
    return [Programme(a, c, b / top, d / top, r), Programme(c, a, d / top, b / top, r)]


def is_installed(engine: str) -> bool:
    """Whether the solver of an engine can be imported."""
    return importlib.util.find_spec(_PACKAGES[_known(engine).split()[0]]) is not None


def solver_check(engine: str, joint: JointProbabilities, epsilon: float, limit: float) -> Answer:
    """Let a solver make a whole check: violated, private (False) or undecided (None).

    Each of the two programmes may take ``limit`` seconds; the second is not tried when the first
    is violated.
    """
    if not is_installed(engine):
        raise InvalidParameter(
            f"The solver of the engine {engine!r} is not installed. Install it with {INSTALL}."
        )
    seconds = 0.0
    private = True
    failed = False
    for programme in programmes(joint, epsilon):
        answer = ENGINES[engine](programme, limit)
        seconds += answer.seconds
        if answer.violated:
            return Answer(True, seconds)
        private = private and answer.violated is not None
        failed = failed or answer.failed
    return Answer(False if private else None, seconds, failed)


def _known(engine: str) -> str:
    if engine not in ENGINES:
        raise InvalidParameter(f"The 'engine' must be one of {list(ENGINES)}. Got {engine!r}.")
    return engine


def decided(programme: Programme, prior: Floats | None, proved: bool) -> bool | None:
    """True if the prior violates, False if the solver is sure that nothing else does."""
    if prior is not None:
        w = np.maximum(prior[: len(programme.a)], 0.0)
        happened = (w @ programme.b) * (w @ programme.c)
        if happened > programme.r * (w @ programme.a) * (w @ programme.d):
            return True
    return False if proved else None


def cplex_dense(programme: Programme, limit: float, scale: float) -> Answer:
    """CPLEX as in the paper: dense form, global optimality target."""
    n = len(programme.a)
    model, _ = _cplex_model(programme, limit)
    q = programme.quadratic_form() * (2.0 * scale)
    index = list(range(n))
    model.objective.set_quadratic([[index, q[i].tolist()] for i in range(n)])
    return _cplex_solve(programme, model)


def cplex_lifted(programme: Programme, limit: float, scale: float) -> Answer:
    """CPLEX with the three auxiliary variables."""
    model, add_sums = _cplex_model(programme, limit)
    x, y, z = add_sums()
    model.objective.set_linear([(y, scale)])
    model.objective.set_quadratic_coefficients([(x, y, -scale), (x, z, -scale * programme.r)])
    return _cplex_solve(programme, model)


def _cplex_model(programme: Programme, limit: float) -> tuple[Any, Callable[[], list[int]]]:
    import cplex

    n = len(programme.a)
    model = cplex.Cplex()
    for stream in ("log", "results", "warning", "error"):
        getattr(model, f"set_{stream}_stream")(None)
    model.parameters.threads.set(1)
    model.parameters.clocktype.set(1)
    model.parameters.optimalitytarget.set(3)
    if limit < math.inf:
        model.parameters.timelimit.set(limit)
    model.objective.set_sense(model.objective.sense.maximize)
    model.variables.add(lb=[0.0] * n, ub=[1.0] * n)
    model.linear_constraints.add(lin_expr=[[list(range(n)), [1.0] * n]], senses="E", rhs=[1.0])

    def add_sums() -> list[int]:
        model.variables.add(lb=[0.0] * 3, ub=[1.0] * 3)
        for k, column in enumerate((programme.a, programme.b, programme.d)):
            model.linear_constraints.add(
                lin_expr=[[[*range(n), n + k], [*column.tolist(), -1.0]]], senses="E", rhs=[0.0]
            )
        return [n, n + 1, n + 2]

    return model, add_sums


def _cplex_solve(programme: Programme, model: Any) -> Answer:
    import cplex

    start = time.process_time()
    try:
        model.solve()
        prior = np.array(model.solution.get_values())
    except cplex.exceptions.CplexSolverError:  # mostly 3019, a subproblem it cannot solve
        return Answer(None, time.process_time() - start, failed=True)
    seconds = time.process_time() - start
    proved = model.solution.get_status() in _CPLEX_OPTIMAL
    return Answer(decided(programme, prior, proved), seconds)


def copt_dense(programme: Programme, limit: float, scale: float) -> Answer:
    """COPT, dense form."""
    model, w = _copt_model(programme, limit)
    q = programme.quadratic_form() * scale
    model.setObjective(w @ q @ w, sense=-1)
    return _copt_solve(programme, model, w)


def copt_lifted(programme: Programme, limit: float, scale: float, *, first: bool = False) -> Answer:
    """COPT with the three auxiliary variables: the fastest solver we found.

    With ``first`` it stops at the first point that is checked to violate the guarantee.
    """
    model, w = _copt_model(programme, limit)
    sums = model.addMVar(3, lb=0.0, ub=1.0)
    model.addConstr(np.vstack([programme.a, programme.b, programme.d]) @ w - sums == 0.0)
    x, y, z = (sums[k].item() for k in range(3))
    model.setObjective(scale * (y - x * y - programme.r * x * z), sense=-1)
    watcher = _stopped_at_a_violation(programme, model, w) if first else None
    answer = _copt_solve(programme, model, w)
    del watcher  # the model does not keep it alive
    return answer


def _stopped_at_a_violation(programme: Programme, model: Any, w: Any) -> Any:
    """Make COPT stop at the first incumbent that violates, and return what watches it."""
    import coptpy

    def look(watcher: Any) -> None:
        if decided(programme, np.asarray(watcher.getIncumbent(w)).ravel(), proved=False):
            watcher.interrupt()

    watcher = type("Watcher", (coptpy.CallbackBase,), {"callback": look})()
    model.setCallback(watcher, coptpy.COPT.CBCONTEXT_INCUMBENT)
    return watcher


_copt_environment: list[Any] = []


def _copt_model(programme: Programme, limit: float) -> tuple[Any, Any]:
    import coptpy

    if not _copt_environment:
        settings = coptpy.EnvrConfig()
        settings.set("nobanner", "1")
        _copt_environment.append(coptpy.Envr(settings))
    model = _copt_environment[0].createModel()
    model.setParam("Logging", 0)
    model.setParam("Threads", 1)
    model.setParam("NonConvex", 2)
    if limit < math.inf:
        model.setParam("TimeLimit", limit)
    w = model.addMVar(len(programme.a), lb=0.0, ub=1.0)
    model.addConstr(w.sum() == 1.0)
    return model, w


def _copt_solve(programme: Programme, model: Any, w: Any) -> Answer:
    import coptpy

    start = time.process_time()
    model.solve()
    seconds = time.process_time() - start
    prior = np.asarray(w.x.tonumpy()) if model.hasmipsol else None
    proved = model.status == coptpy.COPT.OPTIMAL
    return Answer(decided(programme, prior, proved), seconds)


def scip_lifted(programme: Programme, limit: float, scale: float) -> Answer:
    """SCIP with the three auxiliary variables (the dense form exhausts memory at m = 400)."""
    import pyscipopt

    model = pyscipopt.Model()
    model.hideOutput()
    if limit < math.inf:
        model.setParam("limits/time", limit)
    model.setParam("timing/clocktype", 1)
    w = [model.addVar(lb=0.0, ub=1.0) for _ in programme.a]
    x, y, z = (model.addVar(lb=0.0, ub=1.0) for _ in range(3))
    level = model.addVar(lb=None, ub=None)
    model.addCons(pyscipopt.quicksum(w) == 1.0)
    for variable, column in ((x, programme.a), (y, programme.b), (z, programme.d)):
        model.addCons(
            pyscipopt.quicksum(float(c) * w[i] for i, c in enumerate(column) if c > 0) == variable
        )
    model.addCons(level <= scale * (y - x * y - programme.r * x * z))
    model.setObjective(level, "maximize")
    start = time.process_time()
    model.optimize()
    seconds = time.process_time() - start
    prior = np.array([model.getVal(v) for v in w]) if model.getNSols() else None
    return Answer(decided(programme, prior, model.getStatus() == "optimal"), seconds)


ENGINES: dict[str, Callable[[Programme, float], Answer]] = {
    "cplex dense": partial(cplex_dense, scale=1.0),
    "cplex dense x1000": partial(cplex_dense, scale=1000.0),
    "cplex lifted": partial(cplex_lifted, scale=1.0),
    "cplex lifted x1000": partial(cplex_lifted, scale=1000.0),
    "copt dense": partial(copt_dense, scale=1.0),
    "copt lifted": partial(copt_lifted, scale=1.0),
    "copt lifted x1000": partial(copt_lifted, scale=1000.0),
    "copt lifted, first violation": partial(copt_lifted, scale=1.0, first=True),
    "scip lifted": partial(scip_lifted, scale=1.0),
    "scip lifted x1000": partial(scip_lifted, scale=1000.0),
}
