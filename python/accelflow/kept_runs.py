"""Results of simulations, saved on disk, so that a stopped command does not repeat them."""

from __future__ import annotations

import functools
import hashlib
import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from accelflow import _native
from accelflow.errors import AccelflowError
from accelflow.files import write_whole
from accelflow.scenario import Scenario, hashed

__all__ = ["UNFINISHED", "KeptRuns", "code_version"]

#: The name of the folder for results of a stopped command, in the folder of its results.
UNFINISHED: Final = "unfinished"

_CHUNK: Final = 1 << 20

#: The member of a service's row with response times. They are arrays of a file, since they are most
#: of the results, and take long to write as text.
_TIMES: Final = "tail_us"
#: The array of a file with all other results, as JSON.
_RESULTS: Final = "results"


@functools.cache
def code_version() -> str:
    """Return the version of the simulator: that of the package and a hash of the native engine."""
    digest = hashlib.sha256()
    with Path(_native.__file__).open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return f"{_native.version()}+{digest.hexdigest()[:16]}"


class KeptRuns:
    """A folder with saved results of simulations, so that equal simulations need not run again.

    The name of each file is a hash of everything that determines the results. Files appear
    atomically, so any number of processes and threads may share the folder.
    """

    def __init__(self, place: Path) -> None:
        """Keep runs in the folder `place`; saving the first results creates it."""
        self._place = place
        self._used: set[Path] = set()

    def find(self, scenario: Scenario, *settings: object) -> dict[str, Any] | None:
        """Return the saved results of `scenario` with `settings`, or None if the folder has none.

        `settings` are all inputs that determine results besides the scenario. In the results,
        response times are numpy arrays. Raises AccelflowError for a file that is damaged or cannot
        be read.
        """
        import numpy as np  # noqa: PLC0415 (slow to load)

        file = self._file(scenario, settings)
        try:
            # numpy leaves a damaged file open that it opened itself.
            with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
                found: dict[str, Any] = json.loads(bytes(arrays[_RESULTS]))
                for number, service in enumerate(_services(found)):
                    if _TIMES in service:
                        service[_TIMES] = arrays[f"{_TIMES}{number}"]
        except FileNotFoundError:
            return None
        except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise AccelflowError(
                f"{file}: is damaged or cannot be read; delete it to repeat the simulation whose"
                " results it had"
            ) from error
        return found

    def add(self, scenario: Scenario, results: Mapping[str, Any], *settings: object) -> None:
        """Save the results of `scenario`, which :func:`accelflow.simulation.run` returned.

        `settings` are those of :meth:`find`. Raises OSError if the file cannot be written.
        """
        import numpy as np  # noqa: PLC0415 (slow to load)

        arrays: dict[str, Any] = {
            f"{_TIMES}{number}": np.array(service[_TIMES])
            for number, service in enumerate(_services(results))
            if _TIMES in service
        }
        text = json.dumps(_without_times(results)).encode()
        arrays[_RESULTS] = np.frombuffer(text, np.uint8)
        write_whole(self._file(scenario, settings), lambda scratch: np.savez(scratch, **arrays))

    def clear(self) -> None:
        """Delete the results that :meth:`find` has looked for or :meth:`add` has saved.

        Also deletes the folder if it is then empty.
        """
        for file in self._used:
            file.unlink(missing_ok=True)
        if self._place.is_dir() and not any(self._place.iterdir()):
            self._place.rmdir()

    def _file(self, scenario: Scenario, settings: tuple[object, ...]) -> Path:
        text = "\n".join([code_version(), hashed(scenario), *map(repr, settings)])
        file = self._place / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.npz"
        self._used.add(file)
        return file


def _services(results: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the row of each service under each system."""
    for system in results["systems"]:
        yield from system["services"]


def _without_times(results: Mapping[str, Any]) -> dict[str, Any]:
    """Return `results` without response times; a service that has some keeps the name."""
    systems = [
        {
            **system,
            "services": [
                {key: None if key == _TIMES else value for key, value in service.items()}
                for service in system["services"]
            ],
        }
        for system in results["systems"]
    ]
    return {**results, "systems": systems}
