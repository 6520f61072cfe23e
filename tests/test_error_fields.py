"""Errors of the library say in fields which argument is at fault, so that doors can word them."""

import ast
from pathlib import Path

import pytest

import priste
from priste import errors

SOURCE = Path(priste.__file__).parent
OURS = {
    name
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, errors.PristeError)
}
for path in SOURCE.rglob("*.py"):  # those of other modules that are made alike
    for node in ast.parse(path.read_text("utf-8")).body:
        if not isinstance(node, ast.ClassDef):
            continue
        bases = {ast.unparse(base) for base in node.bases}
        own = any(
            isinstance(part, ast.FunctionDef) and part.name == "__init__" for part in node.body
        )
        if bases & (OURS - {"PristeError"}) and not own:
            OURS.add(node.name)
FIELDS_OF_ITS_OWN = {
    "OutputExists": "it makes its hint",
    "EventSyntaxError": "its position shows the place in the text",
    "PolicyError": "its problems and faults name the keys",
}
"""Errors that say where the fault is by fields of their own."""


def plain_sentences(source: str) -> list[str]:
    """Return what is wrong with the errors that a source makes, with their lines.

    An error names the ``parameter`` at fault, or gives the next step as a ``hint`` where no single
    argument is. The name and the value of a parameter are not written into its rule.
    """
    found = []
    for call in ast.walk(ast.parse(source)):
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
            continue
        if call.func.id not in OURS - set(FIELDS_OF_ITS_OWN) or not call.args:
            continue
        given = {keyword.arg for keyword in call.keywords}
        if None in given:  # fields of another error, handed on
            continue
        rule = text_of(call.args[0])
        if not given & {"parameter", "hint"}:
            found.append(f"line {call.lineno}: neither 'parameter' nor 'hint'")
        elif rule.startswith(("The '", "The {", "'")) and " must " in rule:
            found.append(f"line {call.lineno}: the parameter is in the sentence")
        elif " Got " in rule or rule.startswith("Got "):
            found.append(f"line {call.lineno}: the value is in the sentence")
    return found


def text_of(node: ast.expr) -> str:
    """Return the text of a literal, with {…} for what an f-string fills in."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        parts = node.values
        return "".join(str(p.value) if isinstance(p, ast.Constant) else "{…}" for p in parts)
    return ""


MODULES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_errors_name_the_parameter_at_fault_or_the_next_step(path: Path) -> None:
    """No error is a sentence alone, which a door could only match as text."""
    assert plain_sentences(path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    ("source", "problems"),
    [
        ('raise InvalidParameter("The sizes are wrong. Got 3.")', 1),
        ('raise InvalidParameter("The \'size\' must be > 0", parameter="size")', 1),
        ('raise InvalidParameter(f"must be > 0. Got {n}.", parameter="size")', 1),
        ('raise StateError(f"The file {path!r} is corrupt.")', 1),
        ('raise InvalidParameter("must be > 0", parameter="size", value=n)', 0),
        ('raise StateError("The file is corrupt.", hint="Restore it.")', 0),
        ("raise InvalidParameter(text, **fields)", 0),
    ],
)
def test_plain_sentences_are_seen(source: str, problems: int) -> None:
    """The search finds what it is for, and nothing else."""
    assert len(plain_sentences(source)) == problems
