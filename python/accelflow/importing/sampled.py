"""Samples of profiles, assigned to operations while they are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from accelflow.errors import refused
from accelflow.importing.operation_rules import OperationRules
from accelflow.importing.report import Report
from accelflow.importing.sources import LONGEST_NAME, bytes_of, lines_of
from accelflow.profiles import OTHER
from accelflow.profiles import perf as perf_script
from accelflow.profiles import pprof as pprof_format
from accelflow.profiles.stacks import MAX_BYTES, folded

__all__ = ["KINDS", "Asked", "Tally", "read_profiles"]

#: The kinds of profile that can be read.
KINDS: Final = ("perf", "pprof", "folded")

#: perf's name of the idle task, whose samples belong to no service.
_IDLE: Final = "swapper"

#: perf's events that count nanoseconds, and pprof's units of time.
_CLOCKS: Final = ("cpu-clock", "task-clock")
_UNITS_NS: Final = {"nanoseconds": 1.0, "microseconds": 1e3, "milliseconds": 1e6, "seconds": 1e9}
_COUNT: Final = "samples/count"

#: Distinct functions without a rule whose weight is kept, so that the heaviest can be named.
_MOST_NAMES: Final = 100_000

#: The labels of a profile that a message lists.
_SHOWN: Final = 10


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The choice of the samples that are read from a profile of perf, pprof or folded stacks.

    `process` is perf's command, or the first frame of folded stacks (None: all but perf's idle
    tasks). `label` is the key and the text of a label of pprof (None: all samples). `sample_type`
    is an event of perf or a sample type of pprof (None: the profile's default).
    """

    process: str | None = None
    label: tuple[str, str] | None = None
    sample_type: str | None = None


@dataclass
class Tally:
    """The samples of a profile by category, such as ``Encr``: their weights and their numbers.

    Weights are times or counts of events.
    """

    weights: Counter[str] = field(default_factory=Counter)
    samples: Counter[str] = field(default_factory=Counter)
    #: The weights of functions that match no rule, by the function's name.
    unknown: Counter[str] = field(default_factory=Counter)
    #: The length in ns of a weight of 1, or None if weights are not times.
    unit_ns: float | None = None
    #: Whether perf printed no period for a sample, which then has the weight 1.
    unweighed: bool = False

    def add(self, rules: OperationRules, stack: tuple[str, ...], weight: int, samples: int) -> None:
        """Count `samples` samples of the call stack `stack`, whose total weight is `weight`."""
        sorted_to = rules.sort(stack)
        self.weights[sorted_to.category] += weight
        self.samples[sorted_to.category] += samples
        name = sorted_to.function[:LONGEST_NAME]
        if sorted_to.category == OTHER and (
            name in self.unknown or len(self.unknown) < _MOST_NAMES
        ):
            self.unknown[name] += weight

    def merge(self, other: Tally, place: str) -> None:
        """Add the counts of `other`, which was read from the file `place`.

        Raises InputError if the weights of `other` have another unit.
        """
        if self.weights and self.unit_ns != other.unit_ns:
            allowed = "must have samples weighted in the same unit as the other files"
            raise refused("FILE", place, allowed)
        self.unit_ns = other.unit_ns
        for mine, others in (
            (self.weights, other.weights),
            (self.samples, other.samples),
            (self.unknown, other.unknown),
        ):
            mine.update(others)


def read_profiles(
    kind: str, paths: Sequence[Path], rules: OperationRules, asked: Asked, report: Report
) -> Tally:
    """Read the profiles in `paths`, and add up the samples of each kind of operation.

    `kind` is the format, one of :data:`KINDS`. `rules` find the operation of a call stack, and
    `asked` selects samples. Raises InputError for files of another kind, for two files with the
    same content, and if no sample of any profile matches `asked`.
    """
    readers = {"perf": _perf, "pprof": _pprof, "folded": _folded}
    total = Tally()
    for path in paths:
        tally = readers[kind](path, rules, asked, report)
        _check_new(path, report)
        total.merge(tally, str(path))
    if not total.weights.total():
        what = "sample" + (f" of {asked.process}" if asked.process else "")
        raise refused("FILE", ", ".join(map(str, paths)), f"must have at least one {what}")
    return total


def _check_new(path: Path, report: Report) -> None:
    """Refuse the file that was read last if it has the content of another: it would count twice."""
    *others, last = report.sources
    same = next((other.name for other in others if other.sha256 == last.sha256), None)
    if same is not None:
        allowed = f"must have other samples than {same}: the two files have the same content"
        raise refused("FILE", str(path), allowed)


def _perf(path: Path, rules: OperationRules, asked: Asked, report: Report) -> Tally:
    """Read samples of ``perf script`` by event; the event to weigh by is known only at the end."""
    tallies: dict[str, Tally] = {}
    commands: Counter[str] = Counter()
    with lines_of(path, report) as lines:
        for sample in perf_script.samples((text for _, text in lines), str(path)):
            command = sample.stack[0]
            tally = tallies.setdefault(sample.event, Tally())
            if asked.process is None and command.startswith(_IDLE):
                report.left_out("samples of idle cores (swapper)", "not of a service")
                continue
            _count_command(commands, command)
            if asked.process in {None, command}:
                tally.add(rules, sample.stack[1:], sample.weight, 1)
                tally.unweighed |= not sample.has_period
    if not tallies:
        raise refused(
            "FILE", str(path), "must be the output of 'perf script' with at least one sample"
        )
    event, added = perf_script.chosen(tuple(tallies), asked.sample_type, str(path))
    result = Tally()
    for each in added:
        result.merge(tallies[each], str(path))
        result.unweighed |= tallies[each].unweighed
    if event.partition(":")[0] in _CLOCKS and not result.unweighed:
        result.unit_ns = 1.0
    _say_commands(commands, asked, path, report)
    return result


def _pprof(path: Path, rules: OperationRules, asked: Asked, report: Report) -> Tally:
    data = bytes_of(path, report, MAX_BYTES)
    weighed = pprof_format.parse(data, str(path), asked.sample_type, asked.label)
    unit = weighed.sample_type.partition("/")[2]
    if unit not in _UNITS_NS and weighed.sample_type != _COUNT:
        raise refused(
            f"{path}: sample type",
            weighed.sample_type,
            "must be a time or a number of samples; --event chooses another",
        )
    result = Tally(unit_ns=_UNITS_NS.get(unit))
    for stack, weight in weighed.stacks:
        result.add(rules, stack, weight, 1)
    if asked.label is not None:
        _check_label(asked.label, pprof_format.labels(data, str(path)), path)
    if _COUNT in weighed.sample_types:
        result.samples.clear()
        counted = pprof_format.parse(data, str(path), _COUNT, asked.label)
        for stack, count in counted.stacks:
            result.samples[rules.sort(stack).category] += count
    else:
        report.guessed(
            "profiles without the type samples/count",
            "each record is taken for one sample",
            str(path),
        )
    return result


def _check_label(label: tuple[str, str], labels: set[tuple[str, str]], path: Path) -> None:
    """Refuse a label that no sample of a profile with these `labels` has."""
    if label in labels:
        return
    known = sorted("=".join(each) for each in labels)
    allowed = f"must be the label of a sample; {path} has none"
    if known:
        more = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
        allowed = f"must be the label of a sample: {', '.join(known[:_SHOWN])}{more}"
    raise refused(f"{path}: --label", "=".join(label), allowed, known)


def _folded(path: Path, rules: OperationRules, asked: Asked, report: Report) -> Tally:
    result = Tally()
    commands: Counter[str] = Counter()
    with lines_of(path, report) as lines:
        for stack, weight in folded(lines, str(path)):
            _count_command(commands, stack[0], weight)
            if asked.process is None:
                result.add(rules, stack, weight, weight)
            elif stack[0] == asked.process:
                result.add(rules, stack[1:] or stack, weight, weight)
    _say_commands(commands, asked, path, report)
    return result


def _count_command(commands: Counter[str], command: str, count: int = 1) -> None:
    if command in commands or len(commands) < _MOST_NAMES:
        commands[command] += count


def _say_commands(commands: Counter[str], asked: Asked, path: Path, report: Report) -> None:
    """Report the samples that --process leaves out; refuse an unknown process."""
    if asked.process is None:
        report.understood("commands or first frames, of which all count", len(commands))
        return
    if asked.process not in commands:
        raise refused(f"{path}: --process", asked.process, known=sorted(commands))
    others = commands.total() - commands[asked.process]
    report.left_out("samples of other processes than --process", "not counted", others)
