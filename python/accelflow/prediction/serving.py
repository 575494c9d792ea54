"""The process of the measured server: ``python -m accelflow.prediction.serving SETTINGS``.

SETTINGS is one JSON object. The process binds itself to the core in SETTINGS, serves, and prints
its port. It answers the input line ``recording`` with a recording, and exits on any other line and
at the end of the input.
"""

import json
import os
import sys
from typing import Any, Final

from accelflow.errors import AccelflowError, InputError
from accelflow.handlers import find_setup, set_up
from accelflow.operations import RpcProcessor
from accelflow.server import Server
from accelflow.settings import Execution, Observability, Tls
from accelflow.tenants import Shaping, Tenant

__all__ = ["main"]

#: Memory that messages reserve with parts of Cerebros's processor: far more than a load takes.
_ARENA_BYTES: Final = 64 << 20


def main(settings: dict[str, Any]) -> int:
    """Run a server according to `settings` until standard input ends; return the exit code."""
    if settings["core"] is not None:
        os.sched_setaffinity(0, {settings["core"]})
    try:
        setup = find_setup(settings["handlers"])
        server = Server(
            settings["interface"],
            tls=Tls(certificate=settings["certificate"], key=settings["key"]),
            observability=Observability(record=settings["record"]),
            execution=_execution(settings["options"]),
            tenants=_tenants(settings["options"]),
        )
        set_up(settings["handlers"], setup, server)
        port = server.start(settings["options"]["host"])
    except AccelflowError as error:
        _tell({"error": str(error), "wrong_input": isinstance(error, InputError)})
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


def _execution(options: dict[str, Any]) -> Execution:
    rpc = RpcProcessor(split_schema=True, arena_bytes=_ARENA_BYTES)
    return Execution(workers=options["workers"], rpc=rpc if options["rpc"] else RpcProcessor())


def _tenants(options: dict[str, Any]) -> list[Tenant]:
    if options["tenant_rps"] is None:
        return []
    shaping = Shaping(requests_per_s=options["tenant_rps"])
    return [Tenant(name="flooding", networks=["::1"], shaping=shaping)]


def _tell(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
