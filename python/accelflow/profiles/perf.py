"""A reader for the output of `perf script`, with samples of one or several events."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from accelflow.errors import LEFT_OUT, refused
from accelflow.profiles.frames import UNKNOWN, marked

#: The frames of a call stack, from the root to the leaf.
Stack = tuple[str, ...]

#: command, pid (-1 if perf does not know the thread), [cpu], flags, time, the period if there is
#: one, the event, and the frame if only one. A command may have blanks and end in a number.
_HEADER = re.compile(
    r"^(?P<comm>\S.*?)\s+(?P<pid>-?\d+(?:/-?\d+)?)\s+(?:\[\d+\]\s+)?(?:[^\s\d]\S*\s+)?"
    r"[\d.]+:\s+(?:(?P<period>\d{1,18})\s+)?"
    r"(?P<event>[\w./,=-]+(?::[\w./,=-]*)*):\s*(?P<inline>\S.*)?$"
)
_FRAME = re.compile(r"^(?P<address>[0-9a-f]+)\s+(?P<symbol>.+?)(?:\s+\((?P<object>[^()]*)\))?$")

_CYCLES: Final = ("cycles", "cpu-cycles")
_INSTRUCTIONS: Final = ("instructions",)


@dataclass(frozen=True)
class Weighed:
    """The stacks of a profile by `perf`, each weighed by the counts of one event."""

    event: str
    #: All events of the profile, in order of appearance.
    events: tuple[str, ...]
    stacks: dict[Stack, int]
    #: The instructions of each stack, if `event` is cycles and the profile also counts them, with a
    #: period for each sample.
    instructions: dict[Stack, int] | None


def is_perf(lines: Iterable[str]) -> bool:
    """Return whether `lines` begin like the output of ``perf script``."""
    first = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    # Without call stacks, perf right-aligns the command with blanks.
    return _HEADER.match(first.strip()) is not None


def parse(lines: Iterable[str], place: str, asked: str | None = None) -> Weighed:
    """Read the samples of `lines`, weighed by their period, or by 1 if none is printed.

    A profile may have samples of several events, whose counts cannot be added. `asked` names the
    event to weigh by. A name with modifiers (``cycles:ppp``) is that event alone. A name without
    modifiers (``cycles``) is that event, or the sum of its variants with modifiers if the profile
    has no event of just this name. If `asked` is None, a profile of one event is weighed by this
    event or the sum of its variants, and a profile of cycles and instructions is weighed by
    cycles. `place`, the file's name, begins error messages. Raises InputError for a line that is
    not part of a sample, for an unknown event, and, if `asked` is None, for other profiles of
    several events.
    """
    stacks: dict[str, Counter[Stack]] = {}
    unweighed = set[str]()
    for sample in samples(lines, place):
        stacks.setdefault(sample.event, Counter())[sample.stack] += sample.weight
        if not sample.has_period:
            unweighed.add(sample.event)
    events = tuple(stacks)
    if not events:
        return Weighed(asked or "", (), {}, None)
    event, added = chosen(events, asked, place)
    counts = _of_kind(events, _INSTRUCTIONS) if _kind(added[0]) in _CYCLES else ()
    # A sample without a period counts itself, not cycles or instructions.
    known = counts and not unweighed & {*added, *counts}
    instructions = _merged(stacks, counts) if known else None
    return Weighed(event, events, _merged(stacks, added), instructions)


def _kind(event: str) -> str:
    """Return the event's name without modifiers and without the kind of core.

    Counts of `cycles:u` and `cycles:k`, or of `cycles` on two kinds of core, can be added.
    """
    unit = re.fullmatch(r"cpu\w*/([\w.-]+)/\w*", event)
    return unit[1] if unit else event.partition(":")[0]


def _of_kind(events: tuple[str, ...], kinds: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(event for event in events if _kind(event) in kinds)


def _merged(stacks: dict[str, Counter[Stack]], events: tuple[str, ...]) -> dict[Stack, int]:
    merged: Counter[Stack] = Counter()
    for event in events:
        merged.update(stacks[event])
    return dict(merged)


def chosen(events: tuple[str, ...], asked: str | None, place: str) -> tuple[str, tuple[str, ...]]:
    """Return the event by which samples are weighed, and those of `events` of which it is the sum.

    For example, ``cycles`` is the sum of ``cycles:u`` and ``cycles:k``. `asked` is the event that
    the user chose, or None. Raises InputError, whose message begins with `place`, if `asked` is
    neither one of `events` nor such a sum. If `asked` is None, it is also raised for events of
    several kinds, unless these are cycles and instructions.
    """
    if asked in events:
        return asked, (asked,)
    kinds = tuple(dict.fromkeys(_kind(event) for event in events))
    if asked is not None and asked not in kinds:
        raise refused(f"{place}: event", asked, known=events)
    cycles = [kind for kind in kinds if kind in _CYCLES]
    kind = asked
    if len(kinds) == 1:
        kind = kinds[0]
    elif kind is None and len(cycles) == 1 and set(kinds) <= {*_CYCLES, *_INSTRUCTIONS}:
        kind = cycles[0]
    if kind is None:
        names = ", ".join(events)
        allowed = f"must be chosen with --event, since counts of {names} cannot be added"
        raise refused(f"{place}: event", LEFT_OUT, allowed)
    added = _of_kind(events, (kind,))
    return (added[0] if len(added) == 1 else kind), added


@dataclass(frozen=True)
class Sample:
    """One sample of `perf`: its event, its stack, its weight, and whether perf printed a period.

    The first frame of the stack is the command.
    """

    event: str
    stack: Stack
    weight: int
    has_period: bool


def samples(lines: Iterable[str], place: str) -> Iterator[Sample]:
    """Yield the samples of `lines`. Raises InputError for a line that is not part of a sample."""
    header: re.Match[str] | None = None
    frames: list[str] = []

    def sample() -> Iterator[Sample]:
        if header:
            stack = (header["comm"], *(reversed(frames) if frames else [UNKNOWN]))
            weight = 1 if header["period"] is None else int(header["period"])
            yield Sample(header["event"], stack, weight, header["period"] is not None)

    for number, line in enumerate(lines, 1):
        if line.startswith("#"):
            continue
        if not line.strip():
            yield from sample()
            header, frames = None, []
            continue
        # perf right-aligns the command, with blanks, unless it prints call stacks, whose frames
        # begin with a tab. A command such as fe looks like a frame's address, so the first line of
        # a sample is tried before a frame.
        begun = None if line[0] == "\t" and header else _HEADER.match(line.strip())
        if begun:
            yield from sample()
            header, frames = begun, [_frame(begun["inline"])] if begun["inline"] else []
        elif header and not _has_whole_stack(header) and _FRAME.match(line.strip()):
            frames.append(_frame(line.strip()))
        else:
            allowed = (
                "must be a sample's first line or one of its frames, as 'perf script' prints them"
            )
            raise refused(f"{place}:{number}: line", line.strip()[:80], allowed)
    yield from sample()


def _has_whole_stack(header: re.Match[str]) -> bool:
    """Return whether a sample's first line has its only frame, so that no lines of frames follow.

    The text of a tracepoint stands in the same place, but frames may follow it.
    """
    return header["inline"] is not None and _FRAME.match(header["inline"]) is not None


def _frame(text: str) -> str:
    found = _FRAME.match(text)
    if not found:
        return UNKNOWN
    symbol = re.sub(r"\+0x[0-9a-f]+$", "", found["symbol"])
    return marked(symbol, found["object"] or "")
