"""What processes share: caches live in the objects whose data they hold, so little may be global.

The sources are read. Whatever is kept at the level of a module, or told apart by ``id()``, stands
in one of the two lists below with its reason.
"""

import ast
from pathlib import Path

import numpy as np
import pytest

import priste
from priste.mechanisms import hull_integrals, laplace_integrals
from priste.quantify.joint_probabilities import pairs_of
from priste.release.calibrators.best_guess import fixed_offsets

SOURCE = Path(priste.__file__).parent

KEPT = {
    "batch/cluster.py _kept": "the jobs that a worker of Dask was sent; it drops them on request",
    "events/automaton.py _check_classes": "None for what was checked; the last 64 layers",
    "events/automaton.py _check_moves": "None for what was checked; the last 64 layers",
    "live/freed_memory.py _trim": "a function of the C library",
    "live/protocol_table.py posts": "the table of protocols, read once",
    "live/protocol_table.py sinks": "the table of protocols, read once",
    "live/protocol_table.py sources": "the table of protocols, read once",
    "maps/projection.py _wgs84": "the ellipsoid of the earth, one for all maps",
    "mechanisms/hull_integrals.py _unit_nodes": "twelve constants, read-only",
    "mechanisms/laplace_integrals.py _unit_nodes": "sixteen constants, read-only",
    "quantify/joint_probabilities.py pairs_of": "numbers of pairs of at most 12 rows, read-only",
    "quantify/worst_prior/compilation.py _warn_once": "a warning that is given once",
    "quantify/worst_prior/compilation.py plain_copy": "a module; its count of work decides when "
    "compiled kernels are loaded, which give the same verdicts",
    "release/calibrators/best_guess.py _offsets": "multiples of one constant, read-only; one array"
    " for each power of two",
    "report/pages.py _environment": "the templates of a package",
    "studio/jobs_at_work.py _policies": "the policies of four folders, read again if they change",
    "traces/formats/geolife.py _midnight": "the time of a date; 64 dates",
    "workers.py _cancelled": "whether the job of a worker process is cancelled; it has one job",
    "workers.py _to_parent": "the pipe of a worker process, which has one",
}
"""Names at the level of a module that hold what changes or grows, and why they may."""

BY_IDENTITY = {
    "events/building.py": "parts of one formula, which the builder holds; equal parts are compared "
    "in linear time",
    "events/event_words.py": "parts of one formula, within one call",
    "events/formula.py": "parts of one formula, within one call",
    "mobility/model.py": "matrices of one argument, within one call; arrays have no hash",
    "studio/event_picture.py": "parts of one formula, within one call",
}
"""Modules that tell objects apart by ``id()``, which outlives no object there, and why."""

MUTATORS = {
    *("append", "extend", "insert", "remove", "add", "discard", "update", "setdefault"),
    *("pop", "popitem", "clear", "move_to_end", "set"),
}


def module_names(tree: ast.Module) -> set[str]:
    """Return the names that a module assigns at its level."""
    found = set()
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign):
            targets = [node.target]
        found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


def kept_by(tree: ast.Module) -> set[str]:
    """Return cached functions, and names of the module that its functions change."""
    names, found = module_names(tree), set()
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for decorator in function.decorator_list:
            named = decorator.func if isinstance(decorator, ast.Call) else decorator
            if ast.unparse(named).split(".")[-1] in ("cache", "lru_cache"):
                found.add(function.name)
        for node in ast.walk(function):
            if isinstance(node, ast.Global):
                found |= set(node.names)
            changed: ast.expr | None = None
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                changed = node.func.value if node.func.attr in MUTATORS else None
            elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
                changed = node.value
            if isinstance(changed, ast.Name):
                found |= {changed.id} & names
    return found


def asks_identity(tree: ast.Module) -> bool:
    """Return whether a module calls ``id()``."""
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "id"
        for node in ast.walk(tree)
    )


@pytest.fixture(scope="module")
def trees() -> dict[str, ast.Module]:
    return {
        path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text("utf-8"))
        for path in sorted(SOURCE.rglob("*.py"))
    }


def test_what_modules_keep_is_listed(trees: dict[str, ast.Module]) -> None:
    """A cache or a changing value at the level of a module has its reason in the list."""
    found = {f"{module} {name}" for module, tree in trees.items() for name in kept_by(tree)}
    assert found == set(KEPT)


def test_identities_are_listed(trees: dict[str, ast.Module]) -> None:
    """Objects are told apart by ``id()`` only where each of them is held meanwhile."""
    assert {module for module, tree in trees.items() if asks_identity(tree)} == set(BY_IDENTITY)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("@lru_cache(maxsize=1)\ndef f(): ...", {"f"}),
        ("@functools.cache\ndef f(): ...", {"f"}),
        ("seen = {}\ndef f(x):\n    seen[x] = 1", {"seen"}),
        ("seen = []\ndef f(x):\n    seen.append(x)", {"seen"}),
        ("count = 0\ndef f():\n    global count\n    count += 1", {"count"}),
        ("class A:\n    @cached_property\n    def f(self):\n        return 1", set()),
        ("seen = {}\ndef f(x):\n    mine = {}\n    mine[x] = seen[x]", set()),
    ],
)
def test_shared_state_is_seen(source: str, names: set[str]) -> None:
    """The reading finds each way to keep something for a whole process, and no other."""
    assert kept_by(ast.parse(source)) == names


def test_shared_arrays_are_read_only() -> None:
    """No caller can change an array that another one will get."""
    arrays = [fixed_offsets(3), *pairs_of(3)]
    arrays += [*hull_integrals._unit_nodes(), *laplace_integrals._unit_nodes()]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            np.add(array, 1, out=array)
