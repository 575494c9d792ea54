"""Files that appear whole or not at all."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

__all__ = ["write_whole"]


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a scratch file beside `path`, then give it that name.

    Missing folders are made. After an error `path` is as it was. A link stays a link: the file that
    it leads to is written. What is there and no file, such as a pipe or ``/dev/stdout``, is written
    to as it is, since a file in its place would destroy it. Raises OSError when the place cannot be
    written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.is_file():
        write(path)
        return
    place = Path(os.path.realpath(path))
    handle, name = tempfile.mkstemp(prefix=f".{place.stem}-", suffix=path.suffix, dir=place.parent)
    os.close(handle)
    scratch = Path(name)
    try:
        write(scratch)
        scratch.chmod(0o666 & ~_umask())  # mkstemp's 0600 is for secrets; results are for sharing
        scratch.replace(place)
    finally:
        scratch.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)  # there is no way to read it without setting it
    os.umask(mask)
    return mask
