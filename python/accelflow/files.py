"""Read text files of limited size; write files that appear whole or not at all."""

import codecs
import errno
import fcntl
import itertools
import json
import os
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TextIO, TypeVar

__all__ = [
    "alone_in",
    "exists",
    "free_suffix",
    "named",
    "parse_json",
    "parse_toml",
    "read_text",
    "remove_interrupted",
    "take_lock",
    "why",
    "write_whole",
]

_Found = TypeVar("_Found")

#: The file by which processes write to a folder one after another; it exists only meanwhile.
LOCK: Final = ".accelflow-lock"

#: Temporary files whose writing was interrupted.
_INTERRUPTED: list[Path] = []

#: Hundreds of times as large as a recording of all services.
_MAX_TEXT_BYTES = 64 << 20

_MAX_DEPTH = 64
_TOO_DEEP_TOML = f"tables and lists are nested more than {_MAX_DEPTH} deep"
_TOO_DEEP_JSON = "objects and lists are nested too deeply"

_MOST_DIGITS = 20
_TOO_WIDE = "an integer has more than 64 bits"


def read_text(path: Path) -> str:
    """Read the UTF-8 file `path`, and return its text without a byte-order mark.

    Raises UnicodeError if it is not UTF-8, and OSError if it cannot be read or is larger than 64
    MiB. The limit protects against endless files, such as ``/dev/zero``.
    """
    with path.open("rb") as file:
        data = file.read(_MAX_TEXT_BYTES + 1)
    if len(data) > _MAX_TEXT_BYTES:
        raise OSError(errno.EFBIG, f"has more than {_MAX_TEXT_BYTES} bytes, the limit", str(path))
    return data.removeprefix(codecs.BOM_UTF8).decode()


def exists(path: str) -> bool:
    """Return whether there is a file or folder at `path`; False for a text that cannot be a path.

    For example, a text may be too long for a path. :meth:`pathlib.Path.exists` may raise an
    exception for such a text.
    """
    try:
        Path(path).stat()
    except (OSError, ValueError):
        return False
    return True


def why(error: Exception) -> str:
    """Return the text of `error` without the name of the file, for messages that name the file."""
    if isinstance(error, FileExistsError):  # of mkdir
        return "a file is where a folder must be"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, UnicodeDecodeError):
        value = error.object[error.start]
        return f"not UTF-8 text: the byte at offset {error.start} is 0x{value:02x}"
    return str(error)


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML and return its tables as dicts.

    Raises ValueError for malformed text, for tables and arrays nested more than 64 deep within the
    document, and for integers of more than 64 bits, TOML's limit.
    """
    try:
        tree = tomllib.loads(text)
    except RecursionError as error:
        raise ValueError(_TOO_DEEP_TOML) from error
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"not TOML: {error}") from error
    except ValueError as error:  # of Python, for an integer of more than 4,300 digits
        raise ValueError(_TOO_WIDE) from error
    level: list[Any] = [tree]
    for _ in range(_MAX_DEPTH + 1):  # the document, and what is nested in it
        level = [inner for outer in level for inner in _inner(outer)]
    for value in level:
        if isinstance(value, dict | list):
            raise ValueError(_TOO_DEEP_TOML)
        _check_width(value)
    return tree


def _check_width(value: Any) -> None:
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError(_TOO_WIDE)


def _inner(value: Any) -> Iterator[Any]:
    _check_width(value)
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def parse_json(text: str) -> Any:
    """Parse JSON and return its value.

    Raises ValueError for malformed text, for an object that has a name twice, for too deep nesting,
    and for integers of more than 64 bits.
    """
    try:
        return json.loads(text, object_pairs_hook=_distinct, parse_int=_integer)
    except RecursionError as error:
        raise ValueError(_TOO_DEEP_JSON) from error
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from error


def _integer(text: str) -> int:
    # Python converts no more than 4,300 digits.
    if len(text) > _MOST_DIGITS or not -(2**63) <= int(text) < 2**64:
        raise ValueError(_TOO_WIDE)
    return int(text)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"an object has the name '{twice}' twice")
    return found


def write_whole(path: Path, write: Callable[[Path], _Found]) -> _Found:
    """Write the file `path` atomically: `write` fills a temporary file, which is then renamed.

    `write` receives the path of the temporary file, which is in the same folder. Returns the result
    of `write`. Missing folders are created. After an error, `path` is unchanged. If `path` is a
    symbolic link, its target is replaced and the link stays. An existing pipe or device, such as
    ``/dev/stdout``, is written directly, not atomically, since a rename would replace it. Raises
    OSError if nothing can be written there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.is_file():
        with named(path):
            return write(path)
    place = Path(os.path.realpath(path))
    try:
        # With the whole name, it could be too long.
        prefix = f".{place.stem[:40]}-"
        handle, name = tempfile.mkstemp(prefix=prefix, suffix=path.suffix, dir=place.parent)
    except OSError as error:
        error.filename = str(path)  # the user does not know the temporary file
        raise
    os.close(handle)
    scratch = Path(name)
    try:
        with named(path):
            found = write(scratch)
        scratch.chmod(0o666 & ~_umask())  # mkstemp's 0600 is for secrets; results are shared
        scratch.replace(place)
    except KeyboardInterrupt:
        _INTERRUPTED.append(scratch)
        raise
    finally:
        scratch.unlink(missing_ok=True)
    return found


def remove_interrupted() -> None:
    """Remove the temporary files of :func:`write_whole` calls that were interrupted.

    A thread that still runs after the interrupt may create such files again.
    """
    for scratch in _INTERRUPTED:
        scratch.unlink(missing_ok=True)


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Add the file name `path` to an OSError of the ``with`` block that names no file.

    The error for a full disk, for example, names none.
    """
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            error.filename = str(path)
        raise


def take_lock(file: TextIO, *, wait: bool) -> bool:
    """Lock the open `file` against other processes until it is closed; return whether it is locked.

    If another process has locked the file, the function waits for the end of this lock if `wait` is
    true, and returns False at once if not. Raises OSError if the file system has no locks.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError as error:
        if not wait and error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        raise
    return True


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Let only one process at a time write to `folder` in a ``with`` block of this function.

    Other processes of this machine wait at their blocks, and say so on standard error. So the block
    can choose names that are free, and write the files with these names. Such blocks must not be
    nested. A missing folder is created. On a file system without locks no process waits. Raises
    OSError if nothing can be written to the folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / LOCK
    while True:
        with _opened(place) as lock:
            is_locked = lock is not None and _locked(lock, folder)
            # The process before this one has removed the file for which this one has waited.
            if lock is not None and is_locked and not _is_at(lock, place):
                continue
            try:
                yield
            finally:
                if lock is not None:
                    with suppress(OSError):  # another user's file may stay
                        place.unlink(missing_ok=True)
            return


@contextmanager
def _opened(place: Path) -> Iterator[TextIO | None]:
    """Open the file of a lock, which may be another user's; None if that user keeps it private."""
    # Not to write, which only the owner may. A pipe would block otherwise.
    how = os.O_RDONLY | os.O_CREAT | os.O_NONBLOCK
    try:
        handle = os.open(place, how, 0o666)
    except PermissionError:
        if place.exists():
            yield None
            return
        handle = os.open(place, how, 0o666)  # unless it has gone away meanwhile
    with os.fdopen(handle, encoding="utf-8") as file:
        yield file


def _locked(file: TextIO, folder: Path) -> bool:
    """Lock `file`, after other processes; return False if the file system has no locks."""
    try:
        if not take_lock(file, wait=False):
            sys.stderr.write(f"waiting for another process that writes to {folder}\n")
            take_lock(file, wait=True)
    except OSError:
        return False
    return True


def _is_at(file: TextIO, place: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), place.stat())
    except FileNotFoundError:
        return False


def free_suffix(taken: Callable[[str], bool]) -> str:
    """Return the first free suffix for the names of output files: empty, ``-2``, ``-3`` and so on.

    `taken` returns whether files with a given suffix exist and hold other results. Choose the
    suffix and write the files in one block of :func:`alone_in`, so that no other process takes the
    same suffix.
    """
    numbered = (f"-{number}" for number in itertools.count(2))
    return next(suffix for suffix in itertools.chain([""], numbered) if not taken(suffix))


def holds_another(
    path: Path,
    mine: Mapping[str, Any],
    also: Callable[[Mapping[str, Any]], bool] = lambda _: False,
) -> bool:
    """Return whether the JSON file `path` holds the results of another request than `mine`.

    `mine` has the request's settings by name, as JSON values. The file holds another request's
    results if one of these members differs or is missing, if `also` returns True for its content,
    or if it cannot be read. A missing file holds none.
    """
    if not path.exists():
        return False
    try:
        there = parse_json(read_text(path))
    except (OSError, ValueError):
        return True
    if not isinstance(there, Mapping) or any(there.get(key) != mine[key] for key in mine):
        return True
    return also(there)


def _umask() -> int:
    mask = os.umask(0)  # it can only be read by setting it
    os.umask(mask)
    return mask
