"""Results of simulations, saved on disk, so that a stopped comparison does not repeat them."""

from __future__ import annotations

import functools
import gzip
import hashlib
import json
from pathlib import Path
from typing import Any, Final

from accelflow import _native
from accelflow.errors import AccelflowError
from accelflow.files import write_whole
from accelflow.scenario import Scenario, hashed

__all__ = ["KeptRuns", "code_version"]

_CHUNK: Final = 1 << 20


@functools.cache
def code_version() -> str:
    """Return the version of the simulator: that of the package and a hash of the native engine."""
    digest = hashlib.sha256()
    with Path(_native.__file__).open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return f"{_native.version()}+{digest.hexdigest()[:16]}"


class KeptRuns:
    """A folder with the saved results of simulations, named by a hash of their inputs.

    The hash covers everything that determines the results. Files appear atomically, so any number
    of processes may share the folder.
    """

    def __init__(self, place: Path, *settings: object) -> None:
        """Keep runs in the folder `place`.

        `settings` are all inputs that determine results besides the scenario.
        """
        self._place, self._settings = place, settings
        self._used: set[Path] = set()

    def find(self, scenario: Scenario) -> dict[str, Any] | None:
        """Return the saved results of `scenario`, or None if the folder has none.

        Raises AccelflowError for a damaged file.
        """
        file = self._file(scenario)
        try:
            with gzip.open(file, "rt", encoding="utf-8") as stream:
                found: dict[str, Any] = json.load(stream)
        except FileNotFoundError:
            return None
        except (OSError, EOFError, ValueError) as error:
            raise AccelflowError(
                f"{file}: is damaged; delete it to repeat the simulation whose results it had"
            ) from error
        return found

    def add(self, scenario: Scenario, results: dict[str, Any]) -> None:
        """Save the results of `scenario`. Raises OSError if they cannot be written."""
        data = gzip.compress(json.dumps(results).encode(), compresslevel=1, mtime=0)
        write_whole(self._file(scenario), lambda scratch: scratch.write_bytes(data))

    def clear(self) -> None:
        """Delete the results that this object found or added.

        Also deletes the folder if it is then empty.
        """
        for file in self._used:
            file.unlink(missing_ok=True)
        if self._place.is_dir() and not any(self._place.iterdir()):
            self._place.rmdir()

    def _file(self, scenario: Scenario) -> Path:
        text = "\n".join([code_version(), hashed(scenario), *map(repr, self._settings)])
        file = self._place / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.json.gz"
        self._used.add(file)
        return file
