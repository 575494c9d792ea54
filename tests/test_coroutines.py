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
from accelflow import coroutines as module
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
    interface: Path, stubs: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: Seen = []
    begun, free = threading.Event(), threading.Event()

    def block() -> None:
        begun.set()
        free.wait()

    monkeypatch.setattr("accelflow.coroutines._FAREWELL_S", 0.1)
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
    assert "the event loop of coroutine handlers has not ended in time" in caplog.text
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


class Owner:
    """Stands for the server that has the coroutines."""


class Kept:
    """Stands for the native promise, and notes its answer."""

    def __init__(self) -> None:
        self.answered = threading.Event()
        self.answer: object = None

    def when_abandoned(self, _: Callable[[], object]) -> None:
        """Nobody abandons these requests."""

    def keep(self, value: object) -> None:
        self.answer = value
        self.answered.set()

    fail = keep


def begin(coroutines: Coroutines, coroutine: Any) -> Kept:
    promise: Any = Kept()
    coroutines.begin("Shop.Slow", coroutine, promise)
    kept: Kept = promise
    return kept


async def this_thread() -> threading.Thread:
    return threading.current_thread()


@pytest.mark.parametrize("how", ["stopped", "dropped"])
def test_a_coroutine_that_begins_while_the_server_ends_is_refused(
    monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    owners = [Owner()]
    coroutines = Coroutines(owners[0])
    first = begin(coroutines, this_thread())
    assert first.answered.wait(60)
    thread: Any = first.answer
    in_scope = module.in_scope
    begun: list[Any] = []

    def end_meanwhile(*given: Any) -> Any:
        if how == "stopped":
            coroutines.stop()
        else:
            owners.clear()
            gc.collect()
        thread.join(60)
        begun.append(in_scope(*given))
        return begun[0]

    monkeypatch.setattr(module, "in_scope", end_meanwhile)
    late = seven({})
    with pytest.raises(AccelflowError, match="the server has stopped"):
        begin(coroutines, late)
    assert late.cr_frame is None
    assert begun[0].cr_frame is None


async def for_ever() -> None:
    await asyncio.Event().wait()


def cancelled_with(handler: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[Kept, Any]:
    """Stop while `handler` runs, which calls its argument once it has begun."""
    monkeypatch.setattr(module, "_FAREWELL_S", 60.0)
    owner = Owner()
    coroutines = Coroutines(owner)
    begun = threading.Event()
    kept = begin(coroutines, handler(begun.set))
    assert begun.wait(60)
    thread = coroutines._thread
    coroutines.stop()
    assert thread is not None
    assert not thread.is_alive()
    assert thread.loop.is_closed()
    return kept, thread


def test_tasks_that_begin_while_others_are_cancelled_are_cancelled_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    late: list[asyncio.Task[None]] = []

    async def handler(begun: Callable[[], None]) -> None:
        begun()
        try:
            await for_ever()
        finally:
            late.append(asyncio.create_task(for_ever()))

    kept, _ = cancelled_with(handler, monkeypatch)
    assert late[0].cancelled()
    assert isinstance(kept.answer, asyncio.CancelledError)


def test_a_handler_that_cancels_all_tasks_does_not_keep_the_event_loop(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    cleaned = threading.Event()

    async def handler(begun: Callable[[], None]) -> None:
        begun()
        try:
            await for_ever()
        finally:
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()
            await asyncio.sleep(0)
            cleaned.set()

    kept, _ = cancelled_with(handler, monkeypatch)
    assert cleaned.is_set()
    assert isinstance(kept.answer, asyncio.CancelledError)
    assert "has not ended" not in caplog.text


def test_an_event_loop_with_a_long_step_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    owner = Owner()
    coroutines = Coroutines(owner)
    begun, free = threading.Event(), threading.Event()
    waited: list[float] = []

    async def long_step() -> None:
        begun.set()
        free.wait()

    begin(coroutines, long_step())
    assert begun.wait(60)
    thread: Any = coroutines._thread
    wait = thread.ending.wait

    def waits(timeout: float) -> bool:
        waited.append(timeout)
        free.set()
        ended: bool = wait(60)
        return ended

    monkeypatch.setattr(thread.ending, "wait", waits)
    coroutines.stop()
    thread.join(60)
    assert waited == [5.0]
    assert thread.loop.is_closed()


def test_a_forked_child_neither_waits_for_the_event_loop_nor_takes_its_lock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    owners = [Owner()]
    coroutines = Coroutines(owners[0])
    first = begin(coroutines, this_thread())
    assert first.answered.wait(60)
    thread: Any = first.answer
    with coroutines._lock, monkeypatch.context() as child, ThreadPoolExecutor(1) as pool:
        child.setattr(module.os, "getpid", lambda: -1)
        pool.submit(coroutines.stop).result(60)
        owners.clear()
        gc.collect()
    assert not thread.ending.is_set()
    # The parent goes on.
    assert begin(coroutines, seven({})).answered.wait(60)
    coroutines.stop()
    assert thread.loop.is_closed()
