"""The costs of operations on this machine, measured once and saved.

Measured times differ from run to run, so a comparison is only repeatable with constant costs. The
first comparison measures and keeps a recording. Later comparisons use this recording until the user
asks for a new one, or until accelflow's version or the machine changes. Builds with debug
assertions keep a separate recording.

Times also differ within a run. They are therefore measured in rounds, and the recording keeps the
result of each round (docs/recording-format.md).
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from accelflow import _native
from accelflow.errors import AccelflowError
from accelflow.files import parse_json, read_text, why, write_whole

__all__ = [
    "BUSY_RATIO",
    "UNSTEADY_RATIO",
    "Calibration",
    "calibrated",
    "calibration_of",
    "executed_operations",
    "kept_recording",
    "measure",
    "noted_costs",
]

#: Largest acceptable share of time in which the measuring thread did not run. It never waits, so
#: other threads had its core in this time. Above this share, their use of the caches affects the
#: medians.
BUSY_RATIO: Final = 0.05
#: Largest acceptable interquartile range of a service's rounds, as a share of their median. Beyond
#: it, systems that differ by a few percent cannot be told apart.
UNSTEADY_RATIO: Final = 0.05


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """The uncertainty of the costs in a recording, a file of operations' costs on one machine.

    `machine` is the name of the processor that was measured, `date` the day, and `rounds` how often
    each service was measured. `spread_ratio` has, for each service, how much the total time of its
    operations differed between rounds: the interquartile range divided by the median.
    `waited_ratio` is the share of time in which the measuring thread did not run, for the worst
    service; None if the recording does not say. `doubts` are sentences with reasons to measure
    again; empty if the costs are good.
    """

    machine: str
    date: str
    rounds: int
    spread_ratio: dict[str, float]
    waited_ratio: float | None
    doubts: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Return the calibration as one object for JSON."""
        return asdict(self)


#: Where :func:`calibrated` notes the recordings that it returns.
_NOTED: Final[ContextVar[set[str] | None]] = ContextVar("noted", default=None)


@contextmanager
def noted_costs() -> Iterator[set[str]]:
    """Collect the recordings that :func:`calibrated` returns in a ``with`` block, as texts."""
    noted: set[str] = set()
    token = _NOTED.set(noted)
    try:
        yield noted
    finally:
        _NOTED.reset(token)


def measure(
    progress: Callable[[int, int], object] | None = None,
    workload: str | Mapping[str, Any] = "socialnetwork",
    names: Sequence[str] = (),
) -> str:
    """Measure the costs of services on this machine, and return them as the text of a recording.

    The services are executed on real messages with software accelerators. `workload` is a suite's
    name or the parsed content of a workload's file. `names` selects services, by default all.
    `progress` is called with the number of measured invocations and the total.
    docs/recording-format.md describes the format of the recording.

    Raises AccelflowError for an unknown name, and for a service without built-in messages: neither
    its name nor its method is one of SocialNetwork's.
    """
    today = datetime.datetime.now(tz=datetime.UTC).date()
    text = workload if isinstance(workload, str) else json.dumps(workload)
    return _native.record_services(today.isoformat(), progress, text, list(names))


def calibrated(
    *, anew: bool = False, progress: Callable[[int, int], object] | None = None
) -> tuple[str, str]:
    """Return this machine's costs as the text of a recording, and a sentence on their origin.

    If this machine has no saved recording yet, or with `anew`, the costs are measured, which takes
    some seconds, and the recording is saved. `progress` is called with the number of measured
    invocations and the total.
    """
    recording, note = _calibrated(anew, progress)
    noted = _NOTED.get()
    if noted is not None:
        noted.add(recording)
    return recording, note


def _calibrated(anew: bool, progress: Callable[[int, int], object] | None) -> tuple[str, str]:
    kept = kept_recording()
    if not anew:
        try:
            recording = read_text(kept)
            known = calibration_of(recording) is not None  # earlier versions kept no rounds
        except (OSError, UnicodeDecodeError, AccelflowError):
            pass  # missing or damaged: measure below
        else:
            if known:
                return recording, f"costs as recorded in {kept}"
    recording = measure(progress)
    try:
        write_whole(kept, lambda path: path.write_text(recording, encoding="utf-8"))
    except OSError as error:
        return recording, f"costs were measured, but could not be kept in {kept}: {why(error)}"
    return recording, f"costs were measured and are kept in {kept}"


def calibration_of(recording: str) -> Calibration | None:
    """Return the uncertainty of the costs in `recording`, a text; None for fewer than two rounds.

    Raises AccelflowError if the text is not a recording.
    """
    _native.check_recording(recording)
    tree = parse_json(recording)
    found = {service["service"]: service.get("calibration") for service in tree["services"]}
    known = {name: calibration for name, calibration in found.items() if calibration}
    rounds = {name: calibration["round_costs_ns"] for name, calibration in known.items()}
    if not rounds or any(len(costs) < 2 for costs in rounds.values()):
        return None
    ratios = [calibration["waited_ratio"] for calibration in known.values()]
    waited = [ratio for ratio in ratios if ratio is not None]
    spread = {name: _spread(costs) for name, costs in rounds.items()}
    busiest = max(waited, default=None)
    return Calibration(
        machine=tree["machine"],
        date=tree["date"],
        rounds=min(map(len, rounds.values())),
        spread_ratio=spread,
        waited_ratio=busiest,
        doubts=_doubts(spread, busiest),
    )


def _spread(costs_ns: list[float]) -> float:
    low, middle, high = statistics.quantiles(costs_ns, n=4, method="inclusive")
    return (high - low) / middle if middle > 0 else 0.0


def _doubts(spread_ratio: dict[str, float], waited_ratio: float | None) -> list[str]:
    doubts = []
    if waited_ratio is not None and waited_ratio > BUSY_RATIO:
        doubts.append(
            f"the machine was busy: for {waited_ratio:.0%} of the time the measuring thread did"
            f" not run (at most {BUSY_RATIO:.0%} is good)"
        )
    name, most = max(spread_ratio.items(), key=lambda item: item[1])
    if most > UNSTEADY_RATIO:
        doubts.append(
            f"the costs are unsteady: those of {name} vary by {most:.0%} between rounds (at most"
            f" {UNSTEADY_RATIO:.0%} is acceptable)"
        )
    return doubts


def executed_operations(name: str, *, seed: int = 1) -> list[tuple[int, int, str, int, str]]:
    """Execute a SocialNetwork service once on real messages, and return its operations in order.

    `seed` chooses the content of the messages. An operation is (phase, chain, trace, arm,
    accelerator). `phase` is the index of the phase in the service's path, and `chain` that of the
    chain of traces in the phase. `arm` tells parallel executions apart: 0 for the one that begins
    the chain, 1 and up for those that forks of traces start. Raises AccelflowError for an unknown
    service.
    """
    return _native.executed_operations(name, seed)


def kept() -> tuple[Path, str | None]:
    """Return the path of this machine's recording and the date when it was made.

    The date is None if the recording is missing, damaged, or has no calibration rounds.
    """
    place = kept_recording()
    try:
        known = calibration_of(read_text(place))
    except (OSError, UnicodeDecodeError, AccelflowError):
        known = None
    return place, known.date if known else None


def kept_recording() -> Path:
    """Return the path of this machine's recording, whether or not it exists."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    identity = f"{_native.version()} {_native.machine_name()} {os.cpu_count()}"
    if not _native.is_optimized():  # its costs, many times as high, are no other build's
        identity += " with debug assertions"
    digest = hashlib.sha256(identity.encode()).hexdigest()[:16]
    return Path(base) / "accelflow" / f"recording-{digest}.json"
