"""Opening: the built-in town, or files in any format that priste reads, and their draft."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from priste.errors import PolicyError, PristeError
from priste.policy import Document, Policy
from priste.policy.draft.text import drafted
from priste.policy.town_policy import build_town, town_policy
from priste.studio.policies import Policies
from priste.studio.setting import carried_of, mistakes, policy_text
from priste.studio.wire import Refused
from priste.studio.worker import bound_memory
from priste.traces import ReadingReport, Trace, Traces, read_traces
from priste.workers import Message, Worker

MOST_PEOPLE = 5_000
"""The most people of a file that can be chosen from."""

LONGEST_OPENING = 60.0
"""Seconds in which a file must be read. The limit is a choice: a person waits that long, and a KMZ
of two million placemarks was read in 16 CPU seconds."""


@dataclass(frozen=True, eq=False)
class Source:
    """What was opened, and whose trace of it is looked at.

    ``folder`` is where a policy would lie, so that it finds its files. ``counts`` are the fixes of
    the ``people``. ``carried`` is what the draft or the opened policy says and the page does not
    show.
    """

    kind: Literal["town", "file", "upload"]
    path: Path
    folder: Path
    draft: str = field(repr=False)
    person: str | None
    people: tuple[str | None, ...]
    counts: tuple[int, ...]
    traces: Traces
    trace: Trace = field(repr=False)
    policies: Policies
    is_drafted: bool = True
    carried: Mapping[str, Any] = field(default_factory=dict)

    @property
    def files(self) -> tuple[str, ...]:
        """The names that a model may be fitted on."""
        return ("residents.csv",) if self.kind == "town" else (self.path.name,)

    def text(self, setting: object) -> str:
        """Return the policy file of a setting; Refused with every mistake of form."""
        return policy_text(setting, self.files, self.carried)

    def policy(self, setting: object) -> Policy:
        """Return the policy of a setting for everybody; Refused with every mistake."""
        return self.policies.policy(self.text(setting))


def open_town(folder: Path, policies: Policies) -> Source:
    """Build the town in a folder, unless it is there, and return Ada's two weeks in it."""
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / "ada.csv"
    if not path.exists():
        build_town(folder)
    traces, draft = read_traces(path), town_policy()
    return _source("town", path, traces, _read(_Order(traces, path.name, None, draft)), policies)


def open_file(
    path: Path,
    kind: Literal["file", "upload"],
    *,
    format: str | None = None,
    zone: str | None = None,
    user: str | None = None,
) -> Source:
    """Open a file, folder or archive of fixes; PristeError or Refused in words if it cannot be."""
    traces = read_traces(path, format, zone=zone, user=user)
    order = _Order(traces, path.name, None, None, format, zone)
    return _source(kind, path, traces, _read_apart(order), Policies(path.parent))


def another_person(source: Source, person: str | None) -> Source:
    """Return the same source with another of its people."""
    order = _Order(source.traces, source.path.name, person, source.draft)
    found = _read(order) if source.kind == "town" else _read_apart(order)
    return replace(source, person=found.trace.user, trace=found.trace)


def drafted_again(source: Source, hours: Sequence[str]) -> Source:
    """Return the same source under a draft that did not read these hours."""
    order = _Order(source.traces, source.path.name, source.person, None, guard=tuple(hours))
    found = _read_apart(order)
    carried = carried_of(Document.from_toml(found.draft).to_json())
    return replace(source, draft=found.draft, is_drafted=True, carried=carried)


def with_policy(source: Source, text: str, folder: Path | None = None) -> Source:
    """Return the same source under a policy that somebody wrote; Refused with every mistake.

    ``folder`` is where the policy lies. Without one it came through the page, and names no files.
    """
    try:
        tables = Document.from_toml(text).to_json()
    except PolicyError as error:
        raise mistakes(error) from None
    carried = carried_of(tables)
    if folder is None and (names := carried["files"]):
        raise Refused(
            422,
            f"This policy names {', '.join(names)}, which the page cannot read.",
            "Start the studio with it: priste studio FILE --policy policy.toml.",
        )
    home = source.folder if folder is None else folder
    policies = source.policies if folder is None else Policies(home)
    policies.policy(text)
    return replace(
        source, draft=text, folder=home, policies=policies, is_drafted=False, carried=carried
    )


def _source(
    kind: Literal["town", "file", "upload"],
    path: Path,
    traces: Traces,
    found: _Found,
    policies: Policies,
) -> Source:
    traces.know(found.report)
    chosen = found.trace
    return Source(
        kind,
        path,
        path.parent,
        found.draft,
        chosen.user,
        found.people,
        found.counts,
        traces,
        chosen,
        policies,
        kind != "town",
        carried_of(Document.from_toml(found.draft).to_json()),
    )


@dataclass(frozen=True)
class _Order:
    """What to read, whose trace is wanted (None: the first one's), and the draft if it is known."""

    traces: Traces
    name: str
    person: str | None
    draft: str | None
    format: str | None = None
    zone: str | None = None
    guard: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Found:
    """What reading a file came to."""

    draft: str = field(repr=False)
    people: tuple[str | None, ...]
    counts: tuple[int, ...]
    trace: Trace = field(repr=False)
    report: ReadingReport


def _read(order: _Order) -> _Found:
    """Read a file to its end, and draft a policy from it unless there is one."""
    everybody = list(order.traces)
    wanted = everybody[0].user if order.person is None else order.person
    chosen = next((trace for trace in everybody if trace.user == wanted), None)
    if chosen is None:
        raise Refused(404, f"The file has no person called {order.person!r:.60}.")
    draft = (
        order.draft
        or drafted(
            everybody, zone=order.zone, source=order.name, format=order.format, guard=order.guard
        ).text
    )
    shown = everybody[:MOST_PEOPLE]
    people, counts = tuple(each.user for each in shown), tuple(map(len, shown))
    return _Found(draft, people, counts, chosen, order.traces.report)


def _read_within_bounds(order: _Order) -> _Found:
    bound_memory()
    return _read(order)


def _read_apart(order: _Order) -> _Found:
    """Read a file in a process of its own: one that crashes or hangs its reader harms nobody."""
    worker = Worker(pickle.dumps(_read_within_bounds))
    limit = threading.Timer(LONGEST_OPENING, worker.kill)
    limit.start()
    try:
        worker.begin(order)
        message, value = worker.receive()
    finally:
        is_over = limit.finished.is_set()
        limit.cancel()
        worker.end(grace=0.0)
    if message is Message.DONE and isinstance(value, _Found):
        return value
    if message is Message.FAILED and isinstance(value, PristeError | Refused):
        raise value
    if is_over:
        words = f"The file was not read within {LONGEST_OPENING:.0f} seconds."
        raise Refused(422, words, "Cut it to the weeks that matter, or use priste protect.")
    words = "The file cannot be read to its end: it is damaged, or needs too much memory."
    raise Refused(422, words, "Cut it to the weeks that matter.")
