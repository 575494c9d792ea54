"""Calls of handlers that fail since the handler's client no longer waits."""

import logging
import threading
from pathlib import Path
from typing import Any

import pytest

from accelflow import CallError, GrpcClient, Server

INTERFACE = """
syntax = "proto3";
message Empty {}
service Shop {
    rpc Wait(Empty) returns (Empty);
    rpc Function(Empty) returns (Empty);
    rpc Coroutine(Empty) returns (Empty);
    rpc Impatient(Empty) returns (Empty);
}
"""


class Records(logging.Handler):
    """Collects the records of failed handlers."""

    def __init__(self) -> None:
        super().__init__()
        self.levels: list[int] = []
        self.came = threading.Semaphore(0)

    def emit(self, record: logging.LogRecord) -> None:
        if "the handler of" in record.getMessage():
            self.levels.append(record.levelno)
            self.came.release()


@pytest.mark.parametrize("function", ["Function", "Coroutine", "Impatient"])
def test_a_clients_own_deadline_is_no_error_of_the_service(function: str, tmp_path: Path) -> None:
    interface = tmp_path / "shop.proto"
    interface.write_text(INTERFACE, encoding="utf-8")
    release, records = threading.Event(), Records()
    log = logging.getLogger("accelflow.server")
    inner, outer = Server(interface), Server(interface)
    inner.handle("Wait", lambda _: release.wait(60) and {})
    log.addHandler(records)
    log.setLevel(logging.INFO)
    try:
        with inner, outer_of(outer, interface, inner):
            client = GrpcClient(interface, f"127.0.0.1:{outer.port}")
            # The handler's own time limit is shorter in one case, which is the service's affair.
            limit_s = 60 if function == "Impatient" else 0.3
            with pytest.raises(CallError):
                client.call(function, {}, timeout_s=limit_s)
            assert records.came.acquire(timeout=60)
            release.set()
    finally:
        log.removeHandler(records)
        log.setLevel(logging.NOTSET)
    expected = logging.ERROR if function == "Impatient" else logging.INFO
    assert records.levels == [expected]


def outer_of(server: Server, interface: Path, inner: Server) -> Server:
    """`server`, whose handlers call `inner`."""
    inner_client = GrpcClient(interface, f"127.0.0.1:{inner.port}")

    async def coroutine(_: dict[str, Any]) -> Any:
        return await inner_client.call_async("Wait", {})

    server.handle("Function", lambda _: inner_client.call("Wait", {}))
    server.handle("Coroutine", coroutine)
    server.handle("Impatient", lambda _: inner_client.call("Wait", {}, timeout_s=0.1))
    return server
