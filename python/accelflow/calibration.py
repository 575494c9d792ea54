"""What the operations of the services cost on this machine: measured once, then remembered.

Measured times differ from run to run, so a comparison is only repeatable if its costs stay the
same. The first comparison measures and keeps the recording; later ones use it until it is asked
for anew, the version of accelflow changes, or the machine does.
"""

from __future__ import annotations

import datetime
import hashlib
import os
import platform
from collections.abc import Callable
from pathlib import Path

from accelflow import _native
from accelflow.files import write_whole

__all__ = ["calibrated", "kept_recording", "measure"]

REPETITIONS = 41
SAMPLES = 8


def measure(progress: Callable[[int, int], object] | None = None) -> str:
    """Execute the services on real bytes and return the recording as text.

    `progress` is called with the number of services that were measured and of all. The format is
    that of docs/recording-format.md.
    """
    now = datetime.datetime.now(tz=datetime.UTC)
    date = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    return _native.record_services(_machine(), date, REPETITIONS, SAMPLES, progress)


def calibrated(
    *, anew: bool = False, progress: Callable[[int, int], object] | None = None
) -> tuple[str, str]:
    """The recording of this machine and a sentence that says where it comes from."""
    kept = kept_recording()
    if not anew:
        try:
            return kept.read_text(encoding="utf-8"), f"costs as recorded in {kept}"
        except (OSError, UnicodeDecodeError):
            pass
    recording = measure(progress)
    try:
        write_whole(kept, lambda path: path.write_text(recording, encoding="utf-8"))
    except OSError as error:
        return recording, f"costs were measured, but could not be kept in {kept}: {error}"
    return recording, f"costs were measured and are kept in {kept}"


def kept_recording() -> Path:
    """Where the recording of this machine is kept, if there is one."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    identity = f"{_native.version()} {_machine()}"
    digest = hashlib.sha256(identity.encode()).hexdigest()[:16]
    return Path(base) / "accelflow" / f"recording-{digest}.json"


def _machine() -> str:
    """The processor's name and the number of cores, as far as the system tells."""
    name = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                name = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    return f"{name}, {os.cpu_count()} cores"
