"""Results are whole under their name or absent; nothing else is ever touched."""

import errno
import fcntl
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from paper.running.store import Store

from priste import (
    AnyPrior,
    Grid,
    MarkovModel,
    OutputError,
    OutputExists,
    PlanarLaplace,
    Protector,
    StateError,
    atomic_files,
    presence,
)
from priste.atomic_files import (
    atomic_output,
    check_writable,
    private_folder,
    remove_abandoned_drafts,
    take_lock,
    write_file,
)
from priste.batch.workspace import Workspace
from priste.register.keyed_digests import Recognition


def write_while(target: Path, happening: Callable[[], object], **options: bool) -> None:
    """Write a result, while something else happens."""
    with atomic_output(target, **options) as draft:
        (draft / "a" if draft.is_dir() else draft).write_text("ours")
        happening()


def fail(error: BaseException) -> None:
    raise error


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_result_appears_at_the_end(tmp_path: Path) -> None:
    """While it is written the name is free, afterwards it holds all of it, and no draft stays."""
    target = tmp_path / "a.csv"
    with atomic_output(target) as draft:
        draft.write_text("half")
        assert not target.exists()
        draft.write_text("all")
    assert target.read_text() == "all"
    assert names(tmp_path) == {"a.csv"}


def test_an_error_leaves_everything_as_it_was(tmp_path: Path) -> None:
    """Whatever is raised, the old content stays and the draft goes."""
    target = write_file(tmp_path / "a", "old")
    for error in (ValueError("no"), KeyboardInterrupt()):
        with pytest.raises(type(error)):
            write_while(target, partial(fail, error), overwrite=True)
    assert target.read_text() == "old"
    assert names(tmp_path) == {"a"}


def test_nothing_is_replaced_unasked(tmp_path: Path) -> None:
    """An existing file, link or folder raises one error with one wording, before and after."""
    (tmp_path / "file").write_text("mine")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "folder").mkdir()
    for name, what in (("file", "file"), ("dangling", "file"), ("folder", "folder")):
        with pytest.raises(OutputExists, match=f"already a {what} at") as caught:
            write_file(tmp_path / name, "x")
        assert "not touched" in str(caught.value)
    with pytest.raises(OutputExists):
        write_file(tmp_path / "folder", "x", overwrite=True)
    late = tmp_path / "late"
    with pytest.raises(OutputExists, match="already a file"):
        write_while(late, lambda: late.write_text("theirs, meanwhile"))
    assert late.read_text() == "theirs, meanwhile"
    assert names(tmp_path) == {"file", "dangling", "folder", "late"}


def test_links_are_replaced_and_not_followed(tmp_path: Path) -> None:
    """Overwriting a name that is a link leaves the file that it points to as it is."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "out").symlink_to(victim)
    write_file(tmp_path / "out", "new", overwrite=True)
    assert victim.read_text() == "precious"
    assert (tmp_path / "out").read_text() == "new"
    assert not (tmp_path / "out").is_symlink()


def test_a_planted_draft_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even under a name that somebody foretold, a link in the draft's place is not followed."""
    with atomic_output(tmp_path / "a") as one:
        first = one.name
    with atomic_output(tmp_path / "b") as other:
        assert other.name != first.replace(".a.", ".b.")
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / ".c.planted").symlink_to(victim)
    monkeypatch.setattr(atomic_files, "_draft_name", lambda name: f".{name}.planted")
    with pytest.raises(OutputError, match="exists"):
        write_file(tmp_path / "c", "x")
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_private_means_private_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    """A private draft and result have mode 0600; others have what the umask leaves."""
    before = os.umask(umask)
    try:
        with atomic_output(tmp_path / "mine") as draft:
            assert stat.S_IMODE(draft.stat().st_mode) == 0o600
        if umask != 0o777:
            write_file(tmp_path / "all", "", private=False)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "mine").stat().st_mode) == 0o600
    if umask != 0o777:
        assert stat.S_IMODE((tmp_path / "all").stat().st_mode) == 0o666 & ~umask


def test_folders_too(tmp_path: Path) -> None:
    """A folder appears with all of its files, in the place of nothing or of an empty folder."""
    (tmp_path / "empty").mkdir()
    for name in ("new", "empty"):
        with atomic_output(tmp_path / name, folder=True) as draft:
            (draft / "deep").mkdir()
            (draft / "deep" / "a").write_text("x")
        assert (tmp_path / name / "deep" / "a").read_text() == "x"
    with pytest.raises(OutputExists, match="folder"), atomic_output(tmp_path / "new", folder=True):
        pass
    with pytest.raises(ValueError, match="no"):
        write_while(tmp_path / "other", partial(fail, ValueError("no")), folder=True)
    assert names(tmp_path) == {"new", "empty"}


@pytest.mark.parametrize(
    "path", ["", ".", "..", "none/out", "a/..", "x" * 256, "file/out"], ids=lambda p: p[:8]
)
def test_places_that_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """What is no name of a file, or lies in no folder, is refused before any work."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError):
        check_writable(path, overwrite=True)
    with pytest.raises(OutputError):
        write_file(path, "x", overwrite=True)


def test_long_names_are_fine(tmp_path: Path) -> None:
    """The longest name that the file system takes can be written; its draft is shorter."""
    write_file(tmp_path / ("ü" * 127), "x")
    assert (tmp_path / ("ü" * 127)).read_text() == "x"


def test_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """File systems that know no hard links give the same, and replace nothing either."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    write_file(tmp_path / "a", "x")
    assert (tmp_path / "a").read_text() == "x"
    other = tmp_path / "b"
    with pytest.raises(OutputExists):
        write_while(other, lambda: other.write_text("theirs"))
    assert other.read_text() == "theirs"
    assert names(tmp_path) == {"a", "b"}


def test_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results need no locks; whatever two processes must not write to at once does, and says so."""

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    grid = Grid(rows=2, columns=2, cell_size=1.0)
    parts = (MarkovModel.gaussian(grid, sigma=1.0), presence([0], [1]), PlanarLaplace(grid, 1.0))
    with Protector(
        *parts, 0.5, "uncalibrated", journal=tmp_path / "j", rng=1, adversary=AnyPrior()
    ) as stream:
        made = stream.release(0)
    monkeypatch.setattr(fcntl, "flock", refuse)
    write_file(tmp_path / "a", "x")
    assert names(tmp_path) == {"a", "j"}
    assert list(Protector.load(tmp_path / "j").ledger) == [made]
    with pytest.raises(StateError, match=r"cannot be locked \(No locks available"):
        Protector.resume(tmp_path / "j")
    with pytest.raises(StateError, match="cannot be locked"):
        Protector(*parts, 0.5, "uncalibrated", journal=tmp_path / "k", adversary=AnyPrior())
    with pytest.raises(OutputError, match="cannot be locked"):
        Workspace(tmp_path / "run", "p", Recognition(b"k" * 32)).__enter__()
    with pytest.raises(OutputError, match="cannot be locked"):
        Store(tmp_path / "results")


KILLED = """
import os, signal, sys
from priste.atomic_files import atomic_output
with atomic_output(sys.argv[1], folder=sys.argv[2] == "folder") as draft:
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_a_killed_writer_left_is_swept(tmp_path: Path, kind: str) -> None:
    """The next writer of the same result removes the draft; drafts of the living stay."""
    target = tmp_path / "out"
    done = subprocess.run([sys.executable, "-c", KILLED, str(target), kind], check=False)
    assert done.returncode == -signal.SIGKILL
    (left,) = names(tmp_path)
    assert left.startswith(".out.")
    with atomic_output(target, folder=kind == "folder") as living:
        assert names(tmp_path) == {living.name}
        remove_abandoned_drafts(tmp_path)
        with atomic_output(target, folder=kind == "folder") as second:
            assert names(tmp_path) == {living.name, second.name}
            (tmp_path / "seen").touch()
        (target.unlink if kind == "file" else target.rmdir)()
    assert names(tmp_path) == {"out", "seen"}


def test_a_pipe_under_the_name_of_a_draft_is_not_waited_for(tmp_path: Path) -> None:
    """It is nobody's draft: it stays, and the result is written."""
    pipe = tmp_path / f".out.{'0' * 16}.part"
    os.mkfifo(pipe)
    write_file(tmp_path / "out", "all of it")
    assert (tmp_path / "out").read_text() == "all of it"
    assert pipe.is_fifo()


def test_a_second_name_that_a_killed_writer_left_is_swept(tmp_path: Path) -> None:
    """Also while somebody holds the lock of the result, which is the same file."""
    write_file(tmp_path / "out", "all of it")
    draft = tmp_path / f".out.{'0' * 16}.part"
    os.link(tmp_path / "out", draft)
    with (tmp_path / "out").open() as used:
        assert take_lock(used.fileno(), tmp_path / "out")
        remove_abandoned_drafts(tmp_path)
    assert names(tmp_path) == {"out"}


def test_new_folders_are_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of each new folder is synced in the folder above it, the highest first."""
    synced: list[str] = []
    monkeypatch.setattr(atomic_files, "sync", lambda path: synced.append(Path(path).name))
    private_folder(tmp_path / "a" / "b" / "c")
    assert synced == [tmp_path.name, "a", "b"]
    private_folder(tmp_path / "a" / "b" / "c")
    assert synced == [tmp_path.name, "a", "b"]


FULL = """
import resource, sys
from priste import OutputError
from priste.atomic_files import write_file
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    write_file(sys.argv[1], b"x" * 100_000, overwrite=True)
except OutputError as error:
    print(error)
"""


def test_when_there_is_no_room(tmp_path: Path) -> None:
    """A write that the system refuses half way leaves the old file, no draft, and says why."""
    target = write_file(tmp_path / "out", "old")
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(target)], capture_output=True, text=True, check=True
    )
    assert "File too large" in done.stdout
    assert "as before" in done.stdout
    assert target.read_text() == "old"
    assert names(tmp_path) == {"out"}


def test_errors_about_other_files_stay_what_they_are(tmp_path: Path) -> None:
    """Reading something that is not there is not called a failure to write."""
    with pytest.raises(FileNotFoundError), atomic_output(tmp_path / "out"):
        Path("/nowhere/at/all").read_text()
    assert names(tmp_path) == set()
