"""What the operations of the services cost on this machine: measured once, then remembered.

Measured times differ from run to run, so a comparison is only repeatable if its costs stay the
same. The first comparison measures and keeps the recording; later ones use it until it is asked
for anew, the version of accelflow changes, or the machine does.

They also differ within a run, so they are measured in rounds, and the recording keeps what each
round found (docs/recording-format.md).
"""

from __future__ import annotations

import datetime
import hashlib
import os
import statistics
from collections.abc import Callable
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
]

#: The measuring thread waits for nobody, so above this share of the time in which it did not run,
#: others had its core: too often for a median to be free of what they left in the caches.
BUSY_RATIO: Final = 0.05
#: Above this interquartile range of its rounds, as a share of their median, what a service costs is
#: known too badly to tell systems apart that differ by a few percent.
UNSTEADY_RATIO: Final = 0.05


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """How well the costs of a recording are known.

    `spread_ratio` is by service the interquartile range, over the rounds, of what its operations
    took together, as a share of the median. `waited_ratio` is the largest share of the time of a
    service in which the measuring thread did not run, None where the recording does not say.
    `doubts` are sentences on why the costs should be measured anew, none if they need not be.
    """

    machine: str
    date: str
    rounds: int
    spread_ratio: dict[str, float]
    waited_ratio: float | None
    doubts: list[str]

    def to_dict(self) -> dict[str, Any]:
        """The same as one object for JSON."""
        return asdict(self)


def measure(progress: Callable[[int, int], object] | None = None) -> str:
    """Execute the services on real bytes and return the recording as text.

    `progress` is called with the invocations that were measured and of all. The format is
    that of docs/recording-format.md.
    """
    today = datetime.datetime.now(tz=datetime.UTC).date()
    return _native.record_services(today.isoformat(), progress)


def calibrated(
    *, anew: bool = False, progress: Callable[[int, int], object] | None = None
) -> tuple[str, str]:
    """The recording of this machine and a sentence that says where it comes from."""
    kept = kept_recording()
    if not anew:
        try:
            recording = read_text(kept)
            known = calibration_of(recording) is not None  # earlier versions kept no rounds
        except (OSError, UnicodeDecodeError, AccelflowError):
            pass  # none, or damaged: it is measured and kept anew
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
    """How well the costs of `recording` are known; None if it does not say.

    Raises AccelflowError for what is no recording.
    """
    _native.check_recording(recording)
    tree = parse_json(recording)
    found = {it["service"]: it.get("calibration") for it in tree["services"]}
    rounds = {name: it["round_costs_ns"] for name, it in found.items() if it}
    if not rounds or any(len(costs) < 2 for costs in rounds.values()):
        return None
    waited = [it["waited_ratio"] for it in found.values() if it and it["waited_ratio"] is not None]
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
            f"the costs are unsteady: those of {name} vary by {most:.0%} from round to round (at"
            f" most {UNSTEADY_RATIO:.0%} is good)"
        )
    return doubts


def executed_operations(name: str, *, seed: int = 1) -> list[tuple[int, int, str, int, str]]:
    """The operations of one invocation of a service on real bytes.

    Each is (phase, chain, trace, arm, accelerator); arm 0 is the first execution of a chain, each
    fork starts another. Raises AccelflowError for an unknown service.
    """
    return _native.executed_operations(name, seed)


def kept_recording() -> Path:
    """Where the recording of this machine is kept, if there is one."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    identity = f"{_native.version()} {_native.machine_name()} {os.cpu_count()}"
    digest = hashlib.sha256(identity.encode()).hexdigest()[:16]
    return Path(base) / "accelflow" / f"recording-{digest}.json"
