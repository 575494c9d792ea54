"""Profiles as text: folded stacks, and what `perf script` prints."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from accelflow.errors import InputError

#: The name of a frame that the profiler could not name.
UNKNOWN: Final = "[unknown]"

#: command, pid, [cpu], time, the period if there is one, the event, and the frame if only one.
_HEADER = re.compile(
    r"^(?P<comm>\S.*?)\s+(?P<pid>\d+(?:/\d+)?)\s+(?:\[\d+\]\s+)?(?:\S+\s+)?[\d.]+:"
    r"\s+(?:(?P<period>\d+)\s+)?(?P<event>[\w./-]+(?::[\w./-]*)*):\s*(?P<inline>\S.*)?$"
)
_FRAME = re.compile(r"^(?P<address>[0-9a-f]+)\s+(?P<symbol>.+?)(?:\s+\((?P<object>[^()]*)\))?$")
_KERNEL_OBJECTS: Final = ("[kernel", "[guest.kernel", "vmlinux", ".ko")


@dataclass(frozen=True)
class Profile:
    """How much weight (samples, cycles ...) each stack has; frames go from the root to the leaf."""

    stacks: dict[tuple[str, ...], int]

    @property
    def weight(self) -> int:
        """The weight of all stacks."""
        return sum(self.stacks.values())


def read(path: Path) -> Profile:
    """Read folded stacks (``main;work;memcpy 12``) or the output of ``perf script``.

    Samples of perf weigh their period, or 1 where none is printed. Frames of the kernel end in
    ``_[k]``. Raises InputError for a file that cannot be read, a line that is neither, and no
    samples.
    """
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise InputError(f"{path}: {error}") from error
    first = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    parse = _perf if _HEADER.match(first) else _folded
    stacks: Counter[tuple[str, ...]] = Counter()
    for frames, weight in parse(lines, path):
        stacks[frames] += weight
    if not stacks.total():
        raise InputError(f"{path}: no samples; must be folded stacks or what 'perf script' prints")
    return Profile(dict(stacks))


def _folded(lines: Iterable[str], path: Path) -> Iterator[tuple[tuple[str, ...], int]]:
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        stack, _, count = line.strip().rpartition(" ")
        if not stack or not re.fullmatch(r"[0-9]+", count):
            raise InputError(
                f"{path}:{number}: '{line.strip()[:80]}'; must be frames joined by ';', a space"
                " and a whole number"
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
    in_kernel = any(part in (found["object"] or "") for part in _KERNEL_OBJECTS)
    return f"{symbol}_[k]" if in_kernel and symbol != UNKNOWN else symbol
