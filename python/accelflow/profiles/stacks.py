"""Profiles from files: folded stacks, the output of `perf script`, pprof's protocol buffers."""

import gzip
import re
import zlib
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from accelflow.errors import InputError, refused, unreadable
from accelflow.profiles import perf, pprof
from accelflow.profiles.frames import UNKNOWN

#: Size limit of an unpacked file; profiles of hours have tens of megabytes.
MAX_BYTES: Final = 256 << 20
_GZIP: Final = b"\x1f\x8b"
#: The first bytes of perf's own file, by byte order, and of text in UTF-16. No pprof profile has
#: them.
_PERF_DATA: Final = (b"PERFILE2", b"2ELIFREP")
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class Profile:
    """The weight (samples, cycles, ...) of each call stack; frames go from the root to the leaf."""

    stacks: dict[tuple[str, ...], int]
    #: The type of the weights, and all types of the profile: sample types of pprof
    #: (``cpu/nanoseconds``), events of perf (``cycles:ppp``).
    sample_type: str | None = None
    sample_types: tuple[str, ...] = ()
    #: Whether the first frame of each stack is the name of a command or thread, as in perf's.
    has_commands: bool = False
    #: The instructions of each stack, if perf counted them and the weights are cycles.
    instructions: dict[tuple[str, ...], int] | None = None

    @property
    def weight(self) -> int:
        """The total weight of all stacks."""
        return sum(self.stacks.values())


def read(path: Path, *, sample_type: str | None = None) -> Profile:
    """Read a profile, gzipped or not.

    The file has folded stacks (``main;work;memcpy 12``), the output of ``perf script``, or a
    protocol buffer of pprof. `sample_type` selects the weights: a sample type of pprof (see
    :func:`pprof.parse`) or an event of perf (see :func:`perf.parse`). perf samples are weighed by
    their period, or by 1 if none is printed. Kernel frames end in ``_[k]``.

    Raises InputError for a file that cannot be read, is in none of these formats, is larger than
    256 MiB unpacked or has no samples, for an unknown sample type, and for samples of several
    events, other than cycles and instructions, if `sample_type` does not choose one.
    """
    data = _bytes(path)
    # Every pprof profile has a zero byte, the length of its first text; no text has one.
    if b"\0" in data:
        _check_binary(path, data)
        weighed = pprof.parse(data, str(path), sample_type)
        profile = Profile(_sum(weighed.stacks), weighed.sample_type, weighed.sample_types)
    else:
        lines = data.removeprefix(BOM_UTF8).decode(errors="replace").splitlines()
        if perf.is_perf(lines):
            profile = _of_perf(perf.parse(lines, str(path), sample_type))
        elif sample_type is None:
            profile = Profile(_sum(folded(enumerate(lines, 1), str(path))))
        else:
            allowed = "must be left out: folded stacks have no sample types"
            raise refused(f"{path}: sample type", sample_type, allowed)
    if not profile.weight:
        kinds = "folded stacks, the output of 'perf script' or a pprof profile"
        raise refused(f"{path}: number of samples", 0, f"must be above 0, in {kinds}")
    return profile


def _check_binary(path: Path, data: bytes) -> None:
    """Raise InputError for files that are mistaken for a profile and have zero bytes."""
    if data.startswith(_PERF_DATA):
        allowed = "must be text, such as the output of perf script, and not perf's binary file"
        raise refused("file", str(path), allowed)
    if data.startswith(_UTF16):
        raise refused("file", str(path), "must be text in UTF-8; it is in UTF-16")


def _sum(samples: Iterable[tuple[tuple[str, ...], int]]) -> dict[tuple[str, ...], int]:
    stacks: Counter[tuple[str, ...]] = Counter()
    for frames, weight in samples:
        stacks[frames] += weight
    return dict(stacks)


def _of_perf(weighed: perf.Weighed) -> Profile:
    return Profile(
        weighed.stacks,
        weighed.event,
        weighed.events,
        has_commands=True,
        instructions=weighed.instructions,
    )


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if data.startswith(_GZIP):
            with gzip.open(path) as unpacked:
                data = unpacked.read(MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable("file", path, error) from error
    if len(data) > MAX_BYTES:
        raise InputError(f"{path}: larger than the limit of {MAX_BYTES} bytes")
    return data


def folded(lines: Iterable[tuple[int, str]], place: str) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield the frames and the weight of each line of folded stacks.

    `lines` are pairs of a line's number and its text. Raises InputError for a line of another form;
    the message begins with `place`.
    """
    for number, line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        stack, _, count = line.strip().rpartition(" ")
        if not stack or not re.fullmatch(r"[0-9]{1,18}", count):
            allowed = "must be frames joined by ';', then a space and a count of at most 18 digits"
            raise refused(f"{place}:{number}: line", line.strip()[:80], allowed)
        yield tuple(frame.strip() or UNKNOWN for frame in stack.split(";")), int(count)
