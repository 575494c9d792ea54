"""Reading and writing of trace files; `docs/trace-format.md` specifies every byte."""

from os import PathLike
from pathlib import Path
from typing import Final, TypeAlias

from accelflow import _native
from accelflow.errors import TraceError, instance_of
from accelflow.files import write_whole
from accelflow.trace.traces import LIBRARY, Library

#: A linked trace memory: its words, the names of traces, and the conditions that branches test.
Image: TypeAlias = _native.TraceImage

#: The first bytes of a trace file.
_MAGIC: Final = b"AFTRACE\0"

#: Size limit, above the largest trace memory: 4096 words with the longest names and predicates.
_MAX_FILE_BYTES: Final = 1 << 20


def load(path: str | PathLike[str]) -> Image:
    """Read a trace file.

    Raises TraceError for a file that :func:`save` could not have written: a wrong magic number,
    version, length or checksum, an unknown nibble, a dangling address, a chain of traces that never
    ends. Raises OSError if the file cannot be read.
    """
    return _image(path, _contents(path))


def load_any(path: str | PathLike[str]) -> tuple[Image | Library, tuple[str, ...]]:
    """Read a trace file as :func:`load` does, or traces written in the language of traces.

    The language is that of docs/trace-format.md, in UTF-8. Returns the traces and the names of
    those in the file. For a text, they are a library that also has the paper's traces, to which its
    tails may lead. A trace with the name of one of the paper's replaces it there. Raises TraceError
    for a file that is neither, for a text without a trace, with an invalid one or with different
    ones of one name, and OSError if the file cannot be read.
    """
    data = _contents(path)
    if data.startswith(_MAGIC):
        image = _image(path, data)
        return image, tuple(image.traces)
    try:
        library, names = Library.from_text(data.decode("utf-8-sig"))
        if not names:
            message = "trace is left out: must be given, with a line 'trace NAME:'"
            raise TraceError(message)
    except UnicodeDecodeError as error:
        message = f"{path}: must be a trace file, or a text of traces in UTF-8"
        raise TraceError(message) from error
    except TraceError as error:
        error.args = (f"{path}: {error}",)
        raise
    return library, tuple(names)


def _contents(path: str | PathLike[str]) -> bytes:
    with Path(path).open("rb") as file:
        data = file.read(_MAX_FILE_BYTES + 1)
    if len(data) > _MAX_FILE_BYTES:
        error = TraceError(f"{path}: more than {_MAX_FILE_BYTES} bytes, the limit of a trace file")
        error.reason = "bad_length"
        raise error
    return data


def _image(path: str | PathLike[str], data: bytes) -> Image:
    try:
        return Image.from_bytes(data)
    except TraceError as error:
        error.args = (f"{path}: {error}",)
        raise


def save(path: str | PathLike[str], traces: Image | Library = LIBRARY) -> None:
    """Write an image, or all traces of a library (default: that of the process), to a trace file.

    An image is the content of a trace memory, such as :func:`load` returns. The file appears whole
    or not at all. Equal traces give equal bytes. Raises TraceError if the library does not link,
    OSError if the file cannot be written, and InputError for other values than traces.
    """
    instance_of("traces", traces, (Image, Library), "a trace Library or Image")
    image = traces.link() if isinstance(traces, _native.TraceLibrary) else traces
    data = image.to_bytes()
    write_whole(Path(path), lambda scratch: scratch.write_bytes(data))
