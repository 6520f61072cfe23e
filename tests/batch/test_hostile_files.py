"""Every reader of a file ends with an error of ours or with a value, whatever the file holds.

Short here; ``PRISTE_FREE_EXAMPLES=1`` draws new examples each time.
"""

import json
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.small_world import POLICY
from tests.drawn_examples import examples

from priste import PristeError, parse_event
from priste.batch.workspace import MANIFEST, read_manifest
from priste.policy import read_policy
from priste.register.register import Person, Register
from priste.release import read_ledgers

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=6,
)
keys = st.sampled_from(
    ["format", "version", "part", "generation", "sha256", "fixes", "users", "ledger", "chunks"]
)
documents = st.dictionaries(keys, values, max_size=5).map(json.dumps) | values.map(json.dumps)
HEAD = json.dumps({"format": "priste-run", "version": 2, "policy": "p", "key": "k", "chunks": 3})


def ends_well(read: Callable[[Path], object], content: bytes, name: str = "file") -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        with suppress(PristeError):
            read(path)


@examples(150)
@given(st.lists(documents, max_size=4), st.booleans(), st.binary(max_size=6))
def test_manifests(lines: list[str], headed: bool, tail: bytes) -> None:
    """Lines of any JSON, with or without a head, and any bytes at the end."""
    text = "\n".join([HEAD, *lines] if headed else lines)
    ends_well(read_manifest, text.encode("utf-8", "surrogatepass") + tail, MANIFEST)


@examples(100)
@given(st.lists(documents, max_size=4), st.binary(max_size=6))
def test_registers(lines: list[str], tail: bytes) -> None:
    """Damaged registers are said to be damaged."""
    content = "\n".join(lines).encode("utf-8", "surrogatepass") + tail

    def read(path: Path) -> object:
        path.parent.chmod(0o700)
        with Register(path.parent).transaction() as register:
            return register.earlier(Person("x", "x", bytes(8)))

    ends_well(read, content, "register.sqlite")


TITLES = "user,step,cell,budget,attempts,undecided,leakage:visit"
fields = st.sampled_from(["", "0", "1", "-1", "1e400", "nan", "ada", '"', "0.5", "∞", "9" * 30])


@examples(100)
@given(st.lists(st.lists(fields, max_size=9).map(",".join), max_size=4), st.binary(max_size=4))
def test_ledgers(rows: list[str], tail: bytes) -> None:
    """Rows of plausible and implausible fields under the right titles."""
    ends_well(read_ledgers, "\n".join([TITLES, *rows]).encode() + tail, "x.ledger.csv")


lines_of_policy = POLICY.splitlines()
odd = st.sampled_from(
    ["0", "-1", "1e308", "nan", "inf", '""', '"x"', "[]", "{}", "true", "1979-05-27", "9" * 40,
     '"1000000000000h"', '"presence(clinic, 0..99999)"', '"at(clinic, 3) and"', '["clinic"]']
)  # fmt: skip


@examples(60)
@given(st.data())
def test_policies(data: st.DataObject) -> None:
    """A good policy with a few values replaced: most still parse, none crashes."""
    lines = list(lines_of_policy)
    for _ in range(data.draw(st.integers(1, 3))):
        number = data.draw(st.integers(0, len(lines) - 1))
        name, equals, _ = lines[number].partition(" = ")
        if equals and data.draw(st.booleans()):
            lines[number] = f"{name} = {data.draw(odd)}"
        elif data.draw(st.booleans()):
            lines[number] = ""
    with suppress(PristeError):
        read_policy("\n".join(lines))


words = st.sampled_from(
    ["presence", "at", "pattern", "at_least", "not", "and", "or", "(", ")", ",", "clinic", "home",
     "@", "3", "0", "7..3", "3..7", "-1", "99999999999", '"', "é", " "]
)  # fmt: skip


@examples(200)
@given(st.lists(words, max_size=14))
def test_events(parts: list[str]) -> None:
    """Words of the event language in any order."""
    with suppress(PristeError):
        parse_event(" ".join(parts), {"clinic": [1, 2], "home": [0]})


@pytest.mark.parametrize("depth", [10, 100_000])
def test_deep_nesting(depth: int) -> None:
    """Brackets without end are an error, not a broken stack."""
    ends_well(read_manifest, (HEAD + "\n" + "[" * depth).encode(), MANIFEST)
    with suppress(PristeError):
        parse_event("(" * depth + "at(home, 1)" + ")" * depth, {"home": [0]})
