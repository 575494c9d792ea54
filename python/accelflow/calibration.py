"""What the operations of the services cost on this machine: measured once, then remembered.

Measured times differ from run to run, so a comparison is only repeatable if its costs stay the
same. The first comparison measures and keeps the recording; later ones use it until it is asked
for anew, the version of accelflow changes, or the machine does.
"""

from __future__ import annotations

import datetime
import hashlib
import os
from collections.abc import Callable
from pathlib import Path

from accelflow import _native
from accelflow.errors import AccelflowError
from accelflow.files import read_text, write_whole

__all__ = ["calibrated", "executed_operations", "kept_recording", "measure"]


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
            _native.check_recording(recording)
        except (OSError, UnicodeDecodeError, AccelflowError):
            pass  # none, or damaged: it is measured and kept anew
        else:
            return recording, f"costs as recorded in {kept}"
    recording = measure(progress)
    try:
        write_whole(kept, lambda path: path.write_text(recording, encoding="utf-8"))
    except OSError as error:
        return recording, f"costs were measured, but could not be kept in {kept}: {error}"
    return recording, f"costs were measured and are kept in {kept}"


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
