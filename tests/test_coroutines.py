"""The event loop of a server's coroutines: what they raise, how it stops, and when it ends."""

import asyncio
import gc
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from accelflow import AccelflowError, Server
from accelflow.coroutines import Coroutines
from test_client_grpc import connect, interface, stubs

__all__ = ["interface", "stubs"]


@contextmanager
def served(interface: Path, stubs: Any, slow: Any) -> Iterator[Any]:
    """A server with the handler `slow` and one that answers 7, and gRPC's own client of it."""
    server = Server(interface)
    server.handle("Shop.Slow", slow)
    server.handle("Shop.Add", seven)
    with server, grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        yield stubs[1].ShopStub(channel)


async def seven(_: dict[str, Any]) -> dict[str, Any]:
    return {"sum": 7}


@pytest.mark.parametrize("raised", [SystemExit(3), KeyboardInterrupt()])
def test_whatever_a_task_of_a_coroutine_raises_others_go_on(
    interface: Path, stubs: Any, raised: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    async def inner() -> None:
        raise raised

    async def bad(_: dict[str, Any]) -> dict[str, Any]:
        await asyncio.create_task(inner())
        return {}

    pair = stubs[0].Pair()
    with served(interface, stubs, bad) as client:
        with pytest.raises(grpc.RpcError) as it:
            client.Slow(pair, timeout=60)
        assert it.value.code() is grpc.StatusCode.UNKNOWN
        assert client.Add(pair, timeout=60).sum == 7
    assert f"a task of a handler raised {raised!r}" in caplog.text
    assert "the handler of Shop.Slow failed" in caplog.text


def test_a_handler_cannot_stop_the_event_loop(interface: Path, stubs: Any) -> None:
    async def stops(_: dict[str, Any]) -> dict[str, Any]:
        asyncio.get_running_loop().stop()
        return {"sum": 1}

    pair = stubs[0].Pair()
    with served(interface, stubs, stops) as client:
        assert client.Slow(pair, timeout=60).sum == 1
        assert client.Add(pair, timeout=60).sum == 7


#: The threads and the event loops of coroutines.
Seen = list[tuple[threading.Thread, asyncio.AbstractEventLoop]]


def noting(seen: Seen, work: Callable[[], object]) -> Any:
    """A handler that does `work`, and notes the thread and the event loop on which it runs."""

    async def handler(_: dict[str, Any]) -> dict[str, Any]:
        seen.append((threading.current_thread(), asyncio.get_running_loop()))
        work()
        return {}

    return handler


def test_stopping_does_not_wait_for_a_coroutine_that_blocks(
    interface: Path, stubs: Any, caplog: pytest.LogCaptureFixture
) -> None:
    seen: Seen = []
    begun, free = threading.Event(), threading.Event()

    def block() -> None:
        begun.set()
        free.wait()

    server = Server(interface)
    server.handle("Shop.Slow", noting(seen, block))
    address = f"127.0.0.1:{server.start()}"
    with ThreadPoolExecutor(1) as pool, grpc.insecure_channel(address) as channel:
        called = stubs[1].ShopStub(channel).Slow.future(stubs[0].Pair())
        assert begun.wait(60)
        try:
            assert pool.submit(server.stop, 0.1).result(60) == 1
        finally:
            free.set()
        assert called.exception() is not None
    assert "a coroutine of a handler blocks its event loop" in caplog.text
    ((thread, loop),) = seen
    thread.join(60)
    assert loop.is_closed()


def test_a_server_that_nobody_stops_leaves_no_event_loop_behind(interface: Path) -> None:
    seen: Seen = []
    server = Server(interface)
    server.handle("Shop.Slow", noting(seen, lambda: None))
    connect(interface, server.start()).call("Slow")
    del server
    gc.collect()
    ((thread, loop),) = seen
    thread.join(60)
    assert loop.is_closed()


def test_coroutines_do_not_begin_after_the_server_has_stopped() -> None:
    coroutines = Coroutines(threading.current_thread())
    coroutines.stop()
    late = seven({})
    with pytest.raises(AccelflowError, match="the server has stopped"):
        coroutines.begin("Shop.Add", late, None)  # type: ignore[arg-type]
    assert late.cr_frame is None
