"""Results that appear whole under their name, or not at all.

Every file and folder that priste makes for people goes through :func:`atomic_output`. Guarantees:

- The name appears at the very end, when all bytes are on the disk; after a crash, a full disk or an
  error it is as before.
- Something that is there is replaced only on request, and otherwise raises
  :class:`~priste.errors.OutputExists`, also when it appeared meanwhile.
- The draft lies beside the result under an unpredictable name, is created new (never
  opened where something is, never through a link) and is locked while it is written. A draft
  whose writer was killed has no lock any more: the next one who writes the same result removes it.
- A link in place of the result is itself replaced; what it points to is not touched.
- Private results (mode 0600) are private from their first byte.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from priste.errors import OutputError, OutputExists

PathLike = str | os.PathLike[str]

_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
"""What file systems answer that know no hard links."""

_LONGEST_NAME = 255
"""In bytes, on the file systems people have."""

_SHOWN_NAME = 40
"""How many characters of its result's name a draft carries, so that it is never too long itself."""

_TRIES = 100

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)
"""A pipe under the name of a draft must not be waited for."""


def _refused(rule: str, path: PathLike, hint: str, parameter: str = "path") -> OutputError:
    return OutputError(rule, parameter=parameter, value=os.fspath(path), hint=hint)


def check_writable(path: PathLike, *, overwrite: bool = False, folder: bool = False) -> None:
    """Say before any work is done why a result could not be written: OutputError, OutputExists.

    An empty folder is free for a folder; nothing else that exists is free without ``overwrite``.
    A folder is never replaced.
    """
    target = Path(path)
    if target.name in ("", "..") or "\0" in target.name:
        raise _refused("is no name of a file to write", path, "Choose another name.")
    if len(os.fsencode(target.name)) > _LONGEST_NAME:
        raise _refused(
            f"has a name of more than {_LONGEST_NAME} bytes",
            target.name[:_SHOWN_NAME] + "…",
            "Choose a shorter one.",
        )
    if not target.parent.is_dir():
        raise _refused(
            "lies in no folder that exists",
            target.parent,
            "Make that folder first, or choose another name.",
        )
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise _refused(
            "lies in a folder that cannot be written to", target.parent, "Choose another place."
        )
    if not os.path.lexists(target):
        return
    if target.is_dir() and not target.is_symlink():
        if not folder or any(target.iterdir()):
            raise OutputExists(target, "Choose another name.", what="folder")
    elif folder:
        raise OutputExists(target, "Choose another name.")
    elif not overwrite:
        raise OutputExists(target)


@contextmanager
def atomic_output(
    path: PathLike, *, overwrite: bool = False, private: bool = True, folder: bool = False
) -> Iterator[Path]:
    """Yield the path of a draft to write to; it gets the name ``path`` when the block ends well.

    The draft exists already, as an empty file or, with ``folder``, as an empty folder. It is
    readable only by its owner with ``private``, else as the umask allows. When the block
    raises, the draft is removed; an OSError is raised as :class:`~priste.errors.OutputError`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     with atomic_output(Path(place) / "a.txt") as draft:
    ...         _ = draft.write_text("all of it")
    ...     (Path(place) / "a.txt").read_text()
    'all of it'
    """
    target = Path(path)
    check_writable(target, overwrite=overwrite, folder=folder)
    try:
        remove_drafts_of(target)
        draft = target.with_name(_draft_name(target.name))
        lock = _create(draft, private=private, folder=folder)
        try:
            yield draft
            _finish(draft, target, overwrite=overwrite, folder=folder)
        finally:
            _remove(draft)
            os.close(lock)
    except OSError as problem:
        if problem.filename is not None and target.parent not in Path(problem.filename).parents:
            raise  # it is about something else that the block did
        raise _refused(
            f"cannot be written: {problem.strerror or problem}",
            target,
            "What was there is as before. Make room or choose another place, then try again.",
        ) from problem


def write_file(
    path: PathLike, content: str | bytes, *, overwrite: bool = False, private: bool = True
) -> Path:
    """Write a file in one piece; text is UTF-8, and its line ends stay as they are."""
    with atomic_output(path, overwrite=overwrite, private=private) as draft:
        draft.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    return Path(path)


def private_folder(path: PathLike) -> Path:
    """Return a folder that only this user can open, made with mode 0700 if it is not there.

    Raises OutputError for one that is a link, belongs to another user, or lets others in: what
    is in it may have been put there.
    """
    folder = Path(path)
    try:
        _make_folder(folder)
        found = folder.lstat()
    except OSError as problem:
        raise _refused(
            f"cannot be made: {problem.strerror}", folder, "Choose another place.", "folder"
        ) from problem
    if not stat.S_ISDIR(found.st_mode):
        raise _refused(
            "must be a folder of its own, not a link or a file",
            folder,
            "Remove it, or choose another place.",
            "folder",
        )
    if hasattr(os, "getuid") and found.st_uid != os.getuid():
        raise _refused("belongs to another account", folder, "It was not used.", "folder")
    if found.st_mode & 0o077:
        raise _refused(
            f"lets others in (mode {found.st_mode & 0o777:o}), who may have read or changed what "
            "it holds",
            folder,
            "If it is sound, make it private: chmod 700.",
            "folder",
        )
    return folder


def _make_folder(folder: Path) -> None:
    """Make a private folder and those above it; their names are on the disk when this returns."""
    if os.path.lexists(folder):
        return
    if folder.parent != folder:
        _make_folder(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)
    sync(folder.parent)


def check_apart(outputs: Mapping[str, PathLike], inputs: Mapping[str, PathLike]) -> None:
    """Refuse an output that is an input, holds one, lies in one, or is another output.

    Files are compared by what they are, through links, and names as if case and the form of
    accents did not count, as on many systems they do not. Names of the mappings are for messages.
    """
    written = list(outputs.items())
    for number, (name, path) in enumerate(written):
        for other, place in [*inputs.items(), *written[:number]]:
            if _same_or_within(Path(path), Path(place)):
                raise _refused(
                    f"is, holds or lies in the {other} {os.fspath(place)!r}, which would be harmed",
                    path,
                    "Results and what they are made from belong apart: choose another place.",
                    name,
                )


def _same_or_within(one: Path, other: Path) -> bool:
    if one.exists() and other.exists() and one.samefile(other):
        return True
    first, second = _comparable(one), _comparable(other)
    return first == second or first in second.parents or second in first.parents


def _comparable(path: Path) -> Path:
    # realpath leaves links that go round in circles as they are, where Path.resolve raises.
    return Path(unicodedata.normalize("NFC", os.path.realpath(path)).casefold())


def sync(path: PathLike) -> None:
    """Wait until a file's content, or a folder's list of names, is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_abandoned_drafts(folder: PathLike) -> None:
    """Remove every draft in a folder whose writer is no more."""
    for path in Path(folder).iterdir():
        if _ANY_DRAFT.fullmatch(path.name):
            _remove_if_left(path)


_ANY_DRAFT = re.compile(r"\..+\.[0-9a-f]{16}\.part", re.DOTALL)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield a private folder for what is needed meanwhile; it is removed when the block ends.

    All such folders lie in one private folder of this user below TMPDIR, each locked by its owner.
    What a killed process left there is removed by the next one, and by every command.
    """
    try:
        root = private_folder(_scratch_root())
    except OutputError:  # another user has that name: a folder with a random name
        import tempfile

        with tempfile.TemporaryDirectory(prefix="priste-") as place:
            yield Path(place)
        return
    folder, lock = _new_scratch(root)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)
        with suppress(OSError), _alone_in(root):
            root.rmdir()  # if no other process uses it


def _new_scratch(root: Path) -> tuple[Path, int]:
    """Return a new folder and its lock."""
    for _ in range(_TRIES):
        with suppress(FileNotFoundError):  # who used it last removed it meanwhile
            root.mkdir(mode=0o700, exist_ok=True)
            with _alone_in(root):
                _remove_unlocked(root)
                folder = root / secrets.token_hex(8)
                return folder, _create(folder, private=True, folder=True)
    raise _refused("is removed again and again", root, "Set TMPDIR to another folder.", "folder")


def remove_abandoned_scratch() -> None:
    """Remove the scratch folders of processes that are no more; says nothing if it cannot."""
    root = _scratch_root()
    if root.is_dir():
        with suppress(OSError, OutputError), _alone_in(private_folder(root)):
            _remove_unlocked(root)
            root.rmdir()


def _scratch_root() -> Path:
    import tempfile

    owner = os.getuid() if hasattr(os, "getuid") else "user"
    return Path(tempfile.gettempdir()) / f"priste-{owner}"


@contextmanager
def _alone_in(root: Path) -> Iterator[None]:
    """Keep other processes from making or removing folders: a new one has no lock for a moment."""
    handle = os.open(root, os.O_RDONLY | _NO_FOLLOW)
    try:
        with suppress(ImportError, OSError):  # without locks nothing is ever removed
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _remove_unlocked(root: Path) -> None:
    for path in root.iterdir():
        _remove_if_left(path)


def _draft_name(name: str) -> str:
    return f".{name[:_SHOWN_NAME]}.{secrets.token_hex(8)}.part"


def _create(draft: Path, *, private: bool, folder: bool) -> int:
    """Make the draft and return a handle that holds its lock; no other process holds it."""
    if folder:
        draft.mkdir(mode=0o700 if private else 0o777)
        handle = os.open(draft, os.O_RDONLY | _NO_FOLLOW)
    else:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW
        handle = os.open(draft, flags, 0o600 if private else 0o666)
        if private:
            os.fchmod(handle, 0o600)  # an odd umask may have taken the owner's bits away
    with suppress(OutputError):  # a file system without locks: nothing is ever swept there
        take_lock(handle, draft)
    return handle


def take_lock(handle: int, path: PathLike) -> bool:
    """Take the lock of an open file at once; False if another process has it.

    Raises OutputError where files cannot be locked, as on some network file systems.
    """
    import fcntl  # POSIX only; the rest of the package works without it

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as problem:
        if problem.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        raise _refused(
            f"lies where files cannot be locked ({problem.strerror}), so that two processes could "
            "write to it at once",
            path,
            "Use a disk of this machine.",
        ) from problem
    return True


def _finish(draft: Path, target: Path, *, overwrite: bool, folder: bool) -> None:
    for path in [*draft.rglob("*"), draft] if folder else [draft]:
        sync(path)
    if folder:
        if os.path.lexists(target):
            target.rmdir()  # only an empty one goes
        os.rename(draft, target)
    elif overwrite:
        os.replace(draft, target)
    else:
        _place(draft, target)
    sync(target.parent)


def _place(draft: Path, target: Path) -> None:
    """Give the draft its name unless the name is taken: a rename would replace what is there."""
    try:
        os.link(draft, target, follow_symlinks=False)
    except FileExistsError:
        raise OutputExists(target) from None
    except OSError as problem:
        if problem.errno not in _NO_LINKS:
            raise
        try:  # without hard links: take the name first, then put the content there
            os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            raise OutputExists(target) from None
        os.replace(draft, target)


def remove_drafts_of(target: Path) -> None:
    """Remove every draft of one result whose writer is no more."""
    shown = re.escape(target.name[:_SHOWN_NAME])
    ours = re.compile(rf"\.{shown}\.[0-9a-f]{{16}}\.part", re.DOTALL)
    for path in target.parent.iterdir():
        if ours.fullmatch(path.name):
            _remove_if_left(path)


def _remove_if_left(draft: Path) -> None:
    """Remove a draft if no living writer holds its lock, or if it has its result's name already.

    A writer that was killed between the link and the removal of its draft leaves a second name of
    the result, whose lock belongs to its present user.
    """
    try:
        handle = os.open(draft, os.O_RDONLY | _NO_FOLLOW | _NO_WAIT)
    except OSError:
        return
    try:
        found = os.fstat(handle)
        if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
            return
        placed = stat.S_ISREG(found.st_mode) and found.st_nlink > 1
        if placed or take_lock(handle, draft):  # else another process is writing it
            _remove(draft)
    except (OSError, OutputError):
        return  # it is not ours to remove
    finally:
        os.close(handle)


def _remove(draft: Path) -> None:
    if draft.is_dir() and not draft.is_symlink():
        shutil.rmtree(draft)
    else:
        draft.unlink(missing_ok=True)
