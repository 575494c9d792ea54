"""One client's requests hold up nobody else's: coroutines need no thread, and others are shared."""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import grpc
import pytest

from accelflow import Request, Server
from accelflow.settings import Execution
from thrift_client import INTERFACE as THRIFT
from thrift_client import connect

INTERFACE = """
syntax = "proto3";
package fair;
message Number { int64 value = 1; }
service Fair {
  rpc Double(Number) returns (Number);
  rpc Wait(Number) returns (Number);
  rpc Block(Number) returns (Number);
}
"""

STREAMS = 100
CLIENTS = 10
THREADS = 8


class Gate:
    """Handlers that wait until they are let go, and tell when they have begun."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.cancelled = threading.Semaphore(0)
        self._open = threading.Event()
        self._opened = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def wait(self, arguments: dict[str, Any]) -> dict[str, Any]:
        self._loop = asyncio.get_running_loop()
        self.begun.release()
        try:
            await self._opened.wait()
        except asyncio.CancelledError:
            self.cancelled.release()
            raise
        return arguments

    def block(self, arguments: dict[str, Any]) -> dict[str, Any]:
        self.begun.release()
        self._open.wait()
        return arguments

    def await_begun(self, count: int) -> None:
        for _ in range(count):
            assert self.begun.acquire(timeout=60)

    def open(self) -> None:
        self._open.set()
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._opened.set)


class Failures(logging.Handler):
    """Notes that the server has logged a failure."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.seen = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.seen.set()


@pytest.fixture
def failures() -> Iterator[Failures]:
    handler, log = Failures(), logging.getLogger("accelflow.server")
    log.addHandler(handler)
    yield handler
    log.removeHandler(handler)


@pytest.fixture(scope="module")
def interface(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fair") / "accelflow_fair.proto"
    path.write_text(INTERFACE, encoding="utf-8")
    return path


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open()


@pytest.fixture
def server(interface: Path, gate: Gate) -> Iterator[Server]:
    server = Server(interface, execution=Execution(handler_threads=THREADS))
    server.handle("Double", lambda arguments: {"value": 2 * int(arguments["value"])})
    server.handle("Wait", gate.wait)
    server.handle("Block", gate.block)
    server.start()
    yield server
    gate.open()
    server.stop()


Call = Callable[[str, int], "grpc.Future"]


@pytest.fixture
def clients(server: Server) -> Iterator[Callable[[], Call]]:
    """Make clients, each with a connection of its own."""

    def encode(value: int) -> bytes:
        return bytes([8, value]) if value else b""

    with ExitStack() as stack:

        def client() -> Call:
            options = [("grpc.use_local_subchannel_pool", 1)]
            channel = grpc.insecure_channel(f"127.0.0.1:{server.port}", options)
            stack.enter_context(channel)
            methods = {
                name: channel.unary_unary(f"/fair.Fair/{name}", encode, lambda reply: reply)
                for name in ("Double", "Wait", "Block")
            }
            return lambda name, value: methods[name].future(value, timeout=120)

        yield client


def test_coroutines_hold_no_thread(clients: Callable[[], Call], gate: Gate) -> None:
    calls = []
    for call in (clients() for _ in range(CLIENTS)):
        # To begin, a coroutine needs a thread, for which only so many requests may wait.
        calls += [call("Wait", n) for n in range(STREAMS)]
        gate.await_begun(STREAMS)
    # More are under way than there are threads, by far.
    assert clients()("Double", 21).result(60) == b"\x08\x2a"
    assert not any(call.done() for call in calls)
    gate.open()
    replies = [call.result(60) for call in calls]
    assert replies == [bytes([8, n]) if n else b"" for _ in range(CLIENTS) for n in range(STREAMS)]


def test_hundreds_of_coroutines_of_one_connection_run_at_once(
    clients: Callable[[], Call], gate: Gate
) -> None:
    """None waits for another to end: the connection has streams and room for all of them."""
    call = clients()
    calls = [call("Wait", n % 100) for n in range(500)]
    gate.await_begun(500)
    assert not any(call.done() for call in calls)
    gate.open()
    assert [call.result(60) for call in calls] == [
        bytes([8, n % 100]) if n % 100 else b"" for n in range(500)
    ]


def test_a_client_that_has_all_threads_leaves_others_one(
    clients: Callable[[], Call], gate: Gate
) -> None:
    greedy = [clients() for _ in range(THREADS // 2)]
    calls = [greedy[0]("Block", 1) for _ in range(STREAMS)]
    gate.await_begun(THREADS)
    calls += [call("Block", 1) for call in greedy[1:] for _ in range(STREAMS)]
    # All threads that everybody shares are taken, and each of the others has one of its own.
    gate.await_begun(len(greedy) - 1)
    modest = clients()
    assert [modest("Double", n).result(60) for n in (1, 2, 3)] == [
        b"\x08\x02",
        b"\x08\x04",
        b"\x08\x06",
    ]
    assert not gate.begun.acquire(blocking=False)
    gate.open()
    assert all(call.result(60) == b"\x08\x01" for call in calls)


def test_cancelled_coroutines_are_no_failures(
    clients: Callable[[], Call], server: Server, gate: Gate, failures: Failures
) -> None:
    call = clients()
    given_up = call("Wait", 1)
    gate.await_begun(1)
    given_up.cancel()
    assert gate.cancelled.acquire(timeout=60)
    # A future that nobody keeps gives its call up.
    unanswered = call("Wait", 2)
    gate.await_begun(1)
    server.stop(0.0)
    assert unanswered.exception(60) is not None
    assert gate.cancelled.acquire(timeout=60)
    # Whoever would log it does so after the coroutine has ended.
    assert not failures.seen.wait(1)


def test_what_is_cancelled_by_the_server_is_no_failure_of_thrift_either(
    tmp_path: Path, gate: Gate, failures: Failures
) -> None:
    path = tmp_path / "calculator.thrift"
    path.write_text(THRIFT, encoding="utf-8")
    server = Server(path)

    async def slow(arguments: dict[str, Any], request: Request) -> int:
        assert request.method == "slow"
        await gate.wait(arguments)
        return 7

    server.handle("slow", slow)
    server.start()
    with connect(server.port) as client:
        client.send("slow", a=1)
        gate.await_begun(1)
        server.stop(0.0)
    assert gate.cancelled.acquire(timeout=60)
    # Whoever would log it does so after the coroutine has ended.
    assert not failures.seen.wait(1)
