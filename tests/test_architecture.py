"""The package tree is the architecture: imports point one way, and names say what they hold."""

import ast
from pathlib import Path

import pytest

import priste

SOURCE = Path(__file__).parent.parent / "src" / "priste"

# A package imports only from itself and from those before it.
ORDER = [
    "maps",
    "mobility",
    "events",
    "mechanisms",
    "quantify",
    "release",
    "audit",
    "traces",
    "policy",
    "register",
    "results",
    "report",
    "forecast",
    "display",
    "testing",
]
# The doors stand beside each other; frames use the one path of batch, and only the command line
# may open all others.
DOORS = ["batch", "live", "studio"]
FRAMES = "frames"
COMMAND_LINE = {"cli", "__main__"}
FREE_TO_ALL = {
    "arguments",
    "errors",
    "extras",
    "float_text",
    "late_parts",
    "randomness",
    "registered",
    "showable",
    "atomic_files",
    "workers",
}

# Top-level folders that use the package; the package must not use them.
OUTSIDE = {"paper", "benchmarks", "tests"}
TESTS_OF_BENCHMARKS = {"test_benchmarks.py", "test_evidence.py", "test_usefulness_floor.py"}

# Each of these costs a tenth of a second or more: `import priste` must not pay for it.
HEAVY = ["numba", "duckdb", "pyarrow", "matplotlib", "pyproj", "shapely", "pydantic", "typer"]
VAGUE_NAMES = {"utils", "util", "helpers", "common", "core", "base", "manager", "misc"}


# Two modules of one name make a stranger open the wrong one. These say why they may.
SHARED_NAMES = {
    "assembly": "of moments from their parts, and of a report from a policy and its streams",
    "geojson": "the format: as files of fixes, and as what live receivers post",
    "nmea": "the format: as files of fixes, and as sentences on a wire",
    "owntracks": "the format: as files of fixes, and as messages from phones",
    "page": "each makes the one page of its package",
}


def package_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_packages(tree: ast.Module) -> set[str]:
    """Return the packages of priste that a module imports, at its top or inside functions."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            if node.level:
                found.add(f"relatively, on line {node.lineno}: write it from the root")
                continue
            names = [node.module or ""]
            if node.module == "priste":
                # A name of the front door lives in some package; __version__ in none.
                found |= {
                    priste._HOME.get(alias.name, alias.name)
                    for alias in node.names
                    if alias.name in priste._HOME or (SOURCE / alias.name).is_dir()
                }
                continue
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            first, _, rest = name.partition(".")
            if first in OUTSIDE:
                found.add(name)
            elif first == "priste" and rest:
                found.add(rest.split(".")[0])
    return found


def allowed(package: str) -> set[str]:
    if package == "__init__":  # the front door names what the packages hold
        return FREE_TO_ALL | set(ORDER) | {FRAMES}
    if package == FRAMES:
        return FREE_TO_ALL | set(ORDER) | {"batch", FRAMES}
    if package == "errors":
        return {"errors"}
    if package in FREE_TO_ALL:
        return FREE_TO_ALL
    if package in COMMAND_LINE:
        return FREE_TO_ALL | set(ORDER) | set(DOORS) | {FRAMES} | COMMAND_LINE
    if package in DOORS:
        return FREE_TO_ALL | set(ORDER) | {package}
    return FREE_TO_ALL | set(ORDER[: ORDER.index(package) + 1])


MODULES = sorted(SOURCE.rglob("*.py"))


@pytest.fixture(scope="module")
def trees() -> dict[Path, ast.Module]:
    """Every module, parsed once."""
    return {path: ast.parse(path.read_text()) for path in MODULES}


def test_imports_point_one_way(trees: dict[Path, ast.Module]) -> None:
    """Every module imports only from packages above its own."""
    forbidden = {}
    for path, tree in trees.items():
        if wrong := imported_packages(tree) - allowed(package_of(path)):
            forbidden[str(path.relative_to(SOURCE))] = sorted(wrong)
    assert not forbidden, f"These must not import: {forbidden}"


def test_the_arrow_check_sees_a_wrong_arrow() -> None:
    """The reader of imports finds them at the top, inside functions, and through the root."""
    source = (
        "import priste.release, paper.page\ndef f():\n    from priste.audit.x import y\n"
        "from priste import maps"
    )
    assert imported_packages(ast.parse(source)) == {"release", "audit", "maps", "paper.page"}
    assert "paper.page" not in allowed("cli")
    assert "release" not in allowed("quantify")
    assert "events" not in allowed("mobility")
    assert "maps" not in allowed("arguments")
    assert "arguments" not in allowed("errors")


def test_only_one_module_looks_upward(trees: dict[Path, ast.Module]) -> None:
    """Packages that are loaded by name, against the arrows, are two and are named in one place."""
    from priste.late_parts import PROVIDERS

    assert set(PROVIDERS) == {"frames", "display"}
    loading = set()
    for path, tree in trees.items():
        named = {
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        } | {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        if named & {"import_module", "__import__"}:
            loading.add(str(path.relative_to(SOURCE)))
    assert loading == {"__init__.py", "late_parts.py"}


def test_names_explain_themselves() -> None:
    """No module or package has a name that could hold anything."""
    named = {path.relative_to(SOURCE) for path in MODULES}
    vague = {
        str(path) for path in named if VAGUE_NAMES & {p.removesuffix(".py") for p in path.parts}
    }
    assert not vague


def test_names_stand_for_one_module() -> None:
    """No two modules of the product have one name, unless it is stated why."""
    named: dict[str, list[str]] = {}
    for path in MODULES:
        if path.stem not in ("__init__", "__main__"):
            named.setdefault(path.stem, []).append(str(path.relative_to(SOURCE)))
    twice = {name: paths for name, paths in named.items() if len(paths) > 1}
    assert set(twice) <= set(SHARED_NAMES), twice


LINES_ALIKE = 10
"""So many equal lines in two places are one piece of knowledge, written twice."""


def test_nothing_is_written_twice() -> None:
    """No run of ten equal lines, blank ones and comments left out, stands in two places."""
    places: dict[tuple[str, ...], str] = {}
    twice = []
    for path in MODULES:
        stripped = [line.strip() for line in path.read_text().splitlines()]
        lines = [line for line in stripped if line and not line.startswith("#")]
        for start in range(len(lines) - LINES_ALIKE + 1):
            run = tuple(lines[start : start + LINES_ALIKE])
            if run in places:
                twice.append(f"{path.relative_to(SOURCE)} as in {places[run]}: {run[0]}")
            places[run] = str(path.relative_to(SOURCE))
    assert not twice, twice


def test_modules_open_with_a_docstring(trees: dict[Path, ast.Module]) -> None:
    """Every module says what it holds."""
    silent = [
        str(path.relative_to(SOURCE)) for path in MODULES if not ast.get_docstring(trees[path])
    ]
    assert not silent


@pytest.mark.parametrize("package", [p for p in ORDER if (SOURCE / p).is_dir()])
def test_packages_list_what_they_offer(package: str) -> None:
    """Every package has an ``__all__`` whose names exist (the linter keeps it sorted)."""
    import importlib

    module = importlib.import_module(f"priste.{package}")
    assert len(module.__all__) == len(set(module.__all__)) > 0
    for name in module.__all__:
        assert hasattr(module, name)


def test_import_is_light() -> None:
    """Building the whole front door loads none of the heavy libraries."""
    import subprocess
    import sys

    code = (
        "import sys, priste; [getattr(priste, n) for n in priste.__all__]; "
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_tests_share_code_in_plain_modules() -> None:
    """No test or benchmark imports a test module, and no test a benchmark."""
    root = SOURCE.parent.parent
    wrong = []
    for folder in ("tests", "benchmarks", "paper"):
        for path in (root / folder).rglob("*.py"):
            if path.name in TESTS_OF_BENCHMARKS:
                continue
            for line in path.read_text(encoding="utf-8").splitlines():
                words = line.strip(" \"'").split()
                if words[:1] not in (["from"], ["import"]) or len(words) < 2:
                    continue
                parts = words[1].split(".")
                in_test = parts[0] == "tests" and any(part.startswith("test_") for part in parts)
                if in_test or (folder != "benchmarks" and parts[0] == "benchmarks"):
                    wrong.append(f"{path.relative_to(root)}: {line.strip()}")
    assert not wrong


FORMS = {
    *("DenseTransition", "SparseTransition", "SeparableTransition", "BlendedTransition"),
    *("AnyPrior", "KnownPrior", "StartsIn", "LastSeen", "PriorsWithin", "PerModel"),
    *("FirstCells", "GivenPriors", "SeenBefore"),
    *("EveryMixture", "WithinFactor", "EachOf"),
    *("OddsBound", "BeliefBound"),
}
"""Transitions, adversaries, their rows and judges, and guarantees: only the module that defines a
class may ask whether an object is one."""


def asked_forms(tree: ast.Module) -> set[str]:
    """Return the forms that a module names in ``isinstance`` or ``match`` and does not define."""
    asked = [
        node.args[1]
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "isinstance"
    ] + [node.cls for node in ast.walk(tree) if isinstance(node, ast.MatchClass)]
    names = {part.id for node in asked for part in ast.walk(node) if isinstance(part, ast.Name)}
    own = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    return names & FORMS - own


def test_forms_own_their_behaviour(trees: dict[Path, ast.Module]) -> None:
    """No module asks which form an object of a family has, so that a new one touches one module."""
    asking = {str(path.relative_to(SOURCE)) for path, tree in trees.items() if asked_forms(tree)}
    assert not asking
    assert asked_forms(ast.parse("isinstance(x, A | DenseTransition)")) == {"DenseTransition"}
    defined = "class AnyPrior: ...\nisinstance(x, AnyPrior)\nisinstance(x, LastSeen)"
    assert asked_forms(ast.parse(defined)) == {"LastSeen"}
