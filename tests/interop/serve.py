"""The server of the interoperation matrix: interop.thrift with handlers in Python."""

import json
import threading
from pathlib import Path
from typing import Any

from accelflow import DeclaredError, Server
from accelflow.settings import Observability

FOLDER = Path(__file__).resolve().parent


def interop_server(**options: Any) -> Server:
    server = Server(
        FOLDER / "interop.thrift", observability=Observability(verbose_errors=True), **options
    )
    noted: set[int] = set()
    lock = threading.Lock()

    def add(arguments: dict[str, Any]) -> int:
        total = int(arguments["a"] + arguments["b"])
        if total >= 2**63:
            raise DeclaredError("refused", {"code": 7, "why": "overflow"})
        return total

    def describe(arguments: dict[str, Any]) -> str:
        return json.dumps(arguments["value"], sort_keys=True, separators=(",", ":"))

    def fail(arguments: dict[str, Any]) -> None:
        raise ValueError(arguments["why"])

    def note(arguments: dict[str, Any]) -> None:
        with lock:
            noted.add(arguments["number"])

    def was_noted(arguments: dict[str, Any]) -> bool:
        with lock:
            return arguments["number"] in noted

    server.handle("Interop.add", add)
    server.handle("Interop.echo", lambda arguments: arguments["value"])
    server.handle("Interop.standard", lambda _: {})
    server.handle("Interop.describe", describe)
    server.handle("Interop.fail", fail)
    server.handle("Interop.note", note)
    server.handle("Interop.noted", was_noted)
    return server
