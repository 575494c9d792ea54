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

#: Size limit, above the largest trace memory: 4096 words with the longest names and predicates.
_MAX_FILE_BYTES: Final = 1 << 20


def load(path: str | PathLike[str]) -> Image:
    """Read a trace file.

    Raises TraceError for a file that :func:`save` could not have written: a wrong magic number,
    version, length or checksum, an unknown nibble, a dangling address, a chain of traces that never
    ends. Raises OSError if the file cannot be read.
    """
    with Path(path).open("rb") as file:
        data = file.read(_MAX_FILE_BYTES + 1)
    if len(data) > _MAX_FILE_BYTES:
        error = TraceError(f"{path}: more than {_MAX_FILE_BYTES} bytes, the limit of a trace file")
        error.reason = "bad_length"
        raise error
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
