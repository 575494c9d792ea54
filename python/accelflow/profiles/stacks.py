"""Profiles as files: folded stacks, what `perf script` prints, and pprof's protocol buffers."""

import gzip
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from accelflow.errors import InputError
from accelflow.files import why
from accelflow.profiles import pprof
from accelflow.profiles.frames import UNKNOWN, marked

#: command, pid, [cpu], time, the period if there is one, the event, and the frame if only one.
_HEADER = re.compile(
    r"^(?P<comm>\S.*?)\s+(?P<pid>\d+(?:/\d+)?)\s+(?:\[\d+\]\s+)?(?:\S+\s+)?[\d.]+:"
    r"\s+(?:(?P<period>\d{1,18})\s+)?(?P<event>[\w./-]+(?::[\w./-]*)*):\s*(?P<inline>\S.*)?$"
)
_FRAME = re.compile(r"^(?P<address>[0-9a-f]+)\s+(?P<symbol>.+?)(?:\s+\((?P<object>[^()]*)\))?$")

#: The most that a file may hold, unpacked: profiles of hours have some tens of megabytes.
MAX_BYTES: Final = 256 << 20
_GZIP: Final = b"\x1f\x8b"


@dataclass(frozen=True)
class Profile:
    """How much weight (samples, cycles ...) each stack has; frames go from the root to the leaf."""

    stacks: dict[tuple[str, ...], int]
    #: Of a pprof profile, what the weights are (``cpu/nanoseconds``), and what else it has.
    sample_type: str | None = None
    sample_types: tuple[str, ...] = ()
    #: Whether the first frame of each stack is the name of a command or thread, as in perf's.
    has_commands: bool = False

    @property
    def weight(self) -> int:
        """The weight of all stacks."""
        return sum(self.stacks.values())


def read(path: Path, *, sample_type: str | None = None) -> Profile:
    """Read a profile, gzipped or not.

    It has folded stacks (``main;work;memcpy 12``), or what ``perf script`` prints, or is a protocol
    buffer of pprof, of which `sample_type` says what to weigh by (see :func:`pprof.parse`). Samples
    of perf weigh their period, or 1 where none is printed. Frames of the kernel end in ``_[k]``.
    Raises InputError for a file that cannot be read, one that is none of these, one of more than
    256 MiB unpacked, no samples, and a sample type that is not there.
    """
    data = _bytes(path)
    stacks: Counter[tuple[str, ...]] = Counter()
    # Every pprof profile has a zero byte, the length of its first text; no text has one.
    weighed = pprof.parse(data, str(path), sample_type) if b"\0" in data else None
    if weighed is None and sample_type is not None:
        raise InputError(f"{path}: sample type '{sample_type}': only profiles of pprof have any")
    lines = [] if weighed else data.decode(errors="replace").splitlines()
    parse = _perf if _is_perf(lines) else _folded
    samples = weighed.stacks if weighed else parse(lines, path)
    for frames, weight in samples:
        stacks[frames] += weight
    if not stacks.total():
        raise InputError(
            f"{path}: no samples; must be folded stacks, what 'perf script' prints, or a profile"
            " of pprof"
        )
    if weighed is None:
        return Profile(dict(stacks), has_commands=parse is _perf)
    return Profile(dict(stacks), weighed.sample_type, weighed.sample_types)


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if data.startswith(_GZIP):
            with gzip.open(path) as unpacked:
                data = unpacked.read(MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: {why(error)}") from error
    if len(data) > MAX_BYTES:
        raise InputError(f"{path}: more than {MAX_BYTES} bytes, which is the most that is read")
    return data


def _is_perf(lines: Iterable[str]) -> bool:
    first = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    return _HEADER.match(first) is not None


def _folded(lines: Iterable[str], path: Path) -> Iterator[tuple[tuple[str, ...], int]]:
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        stack, _, count = line.strip().rpartition(" ")
        if not stack or not re.fullmatch(r"[0-9]{1,18}", count):
            raise InputError(
                f"{path}:{number}: '{line.strip()[:80]}'; must be frames joined by ';', a space"
                " and a whole number of at most 18 digits"
            )
        yield tuple(frame.strip() or UNKNOWN for frame in stack.split(";")), int(count)


def _perf(lines: Iterable[str], path: Path) -> Iterator[tuple[tuple[str, ...], int]]:
    command, weight, frames = "", 0, list[str]()

    def sample() -> Iterator[tuple[tuple[str, ...], int]]:
        if weight:
            yield (command, *(reversed(frames) if frames else [UNKNOWN])), weight

    for number, line in enumerate(lines, 1):
        if line.startswith("#"):
            continue
        if not line.strip():
            yield from sample()
            weight, frames = 0, []
            continue
        header = None if line[0] in " \t" and weight else _HEADER.match(line.strip())
        if header:
            yield from sample()
            command, weight = header["comm"], int(header["period"] or 1)
            frames = [_frame(header["inline"])] if header["inline"] else []
        elif weight and _FRAME.match(line.strip()):
            frames.append(_frame(line.strip()))
        else:
            raise InputError(
                f"{path}:{number}: '{line.strip()[:80]}'; must be a sample of 'perf script' or a"
                " frame of one"
            )
    yield from sample()


def _frame(text: str) -> str:
    found = _FRAME.match(text)
    if not found:
        return UNKNOWN
    symbol = re.sub(r"\+0x[0-9a-f]+$", "", found["symbol"])
    return marked(symbol, found["object"] or "")
