"""The process of the measured server: ``python -m accelflow.prediction.serving SETTINGS``.

SETTINGS is one JSON object. The process binds itself to the core in SETTINGS, serves, and prints
its port. It answers the input line ``recording`` with a recording, and exits on an empty line or
the end of the input.
"""

import json
import os
import sys
from typing import Any

from accelflow.errors import AccelflowError
from accelflow.handlers import find_setup, set_up
from accelflow.server import Server
from accelflow.settings import Observability, Tls

__all__ = ["main"]


def main(settings: dict[str, Any]) -> int:
    """Serve according to `settings` until the input ends. Return the exit code."""
    if settings["core"] is not None:
        os.sched_setaffinity(0, {settings["core"]})
    try:
        setup = find_setup(settings["handlers"])
        server = Server(
            settings["interface"],
            tls=Tls(certificate=settings["certificate"], key=settings["key"]),
            observability=Observability(record=settings["record"]),
        )
        set_up(settings["handlers"], setup, server)
        port = server.start()
    except AccelflowError as error:
        _tell({"error": str(error)})
        return 1
    _tell({"port": port})
    with server:
        for line in sys.stdin:
            if line.strip() != "recording":
                break
            try:
                _tell({"recording": server.recording(settings["services"])})
            except AccelflowError as error:
                _tell({"error": str(error)})
    return 0


def _tell(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
