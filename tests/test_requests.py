"""What handlers in Python know of their requests, and what threads and coroutines keep of it."""

import asyncio
import functools
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import hpack
import pytest

from accelflow import (
    AccelflowError,
    Client,
    DeclaredError,
    GrpcClient,
    InputError,
    Request,
    Server,
    offload,
    within_request,
)
from accelflow.client import CallLimits
from accelflow.operations import Telemetry
from accelflow.settings import Observability, Timeouts
from test_client_grpc import connect, grpcio, interface, stubs

__all__ = ["interface", "stubs"]

THRIFT = "service Calculator { i64 add(1: i64 a, 2: i64 b) }"
TRACE = "0af7651916cd43dd8448eb211c80319c"


@contextmanager
def served(interface: Path, stubs: Any, method: str, handler: Any, **options: Any) -> Iterator[Any]:
    """A server with one handler, and gRPC's own client of it."""
    server = Server(interface, **options)
    server.handle(f"Shop.{method}", handler)
    with server, grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        stub = stubs[1].ShopStub(channel)
        stub.channel = channel
        yield stub


def eventually(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 60
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.001)
    return holds()


def test_services_are_told_what_callers_add(interface: Path, stubs: Any) -> None:
    own = f"00-{TRACE}-b7ad6b7169203331-01"
    with grpcio(stubs) as (port, shop):
        client = connect(interface, port)
        given = {"authorization": "Bearer one", "x-key-bin": b"\x00\xff", "traceparent": own}
        client.call("Add", {"first_number": 1}, metadata=given)
        seen = shop.metadata[-1]
        assert {name: seen[name] for name in given} == given
        twice = [("x-region", "a"), ("x-region", "b")]
        asyncio.run(client.call_async("Add", metadata=twice))
        assert shop.metadata[-1]["x-region"] in {"b", "a, b"}
        client.call("Add")
        assert not {"authorization", "x-region", "traceparent"} & set(shop.metadata[-1])


@pytest.mark.parametrize(
    ("metadata", "why"),
    [
        ({"X-Key": "a"}, "metadata = 'X-Key': must be a name of the characters 0"),
        ({"grpc-timeout": "1S"}, "'grpc-timeout': must be another name"),
        ({"x-key": "ü"}, "'x-key': text must be printable ASCII"),
        ({"x-key": b"a"}, "'x-key': must be text"),
        ({"x-key-bin": "a"}, "'x-key-bin': must be bytes"),
        (
            {"x-key": "a" * 9000},
            "metadata = 9037 bytes, including 32 for each field: must be at most 8192",
        ),
        ({"x-key": 5}, "type of metadata 'x-key' = 'int': must be str or bytes"),
        ([("a", "b"), ("x-key",)], "type of metadata[1] = 'tuple of 1': must be a pair of"),
        ("abc", "type of metadata[0] = 'str': must be a pair of"),
    ],
)
def test_metadata_that_cannot_be_sent_is_refused(interface: Path, metadata: Any, why: str) -> None:
    client = connect(interface, 1)
    with pytest.raises(AccelflowError) as it:
        client.call("Add", metadata=metadata)
    assert why in str(it.value)


@pytest.mark.parametrize("kind", ["function", "coroutine"])
def test_handlers_with_a_second_parameter_are_given_the_request(
    interface: Path, stubs: Any, kind: str
) -> None:
    seen: list[Request] = []

    def add(arguments: dict[str, Any], request: Request) -> dict[str, Any]:
        seen.append(request)
        return {"sum": arguments["firstNumber"]}

    async def later(arguments: dict[str, Any], request: Request) -> dict[str, Any]:
        await asyncio.sleep(0)
        return add(arguments, request)

    handler = add if kind == "function" else later
    pair = stubs[0].Pair(first_number=5)
    metadata = (("x-region", "a"), ("x-region", "b"), ("x-key-bin", b"\x00\xff"))
    with served(interface, stubs, "Add", handler) as client:
        assert client.Add(pair, metadata=metadata, timeout=300).sum == 5
        assert client.Add(pair).sum == 5
    first, second = seen
    assert (first.service, first.method) == ("shop.v2.Shop", "Add")
    assert first.peer.startswith("127.0.0.1:")
    assert sorted(first.metadata) == sorted(metadata)
    assert first.get("x-region") == "a"
    assert first.get("x-key-bin") == b"\x00\xff"
    assert first.get("none") is None
    left = first.time_left_s()
    assert left is not None
    assert 0 < left < 310  # gRPC rounds up.
    assert (second.metadata, second.time_left_s()) == ([], None)


def test_requests_of_thrift_have_neither_deadline_nor_metadata(tmp_path: Path) -> None:
    path = tmp_path / "calculator.thrift"
    path.write_text(THRIFT)
    seen: list[Request] = []

    def add(arguments: dict[str, Any], request: Request) -> int:
        seen.append(request)
        return int(arguments["a"])

    server = Server(path)
    server.handle("Calculator.add", add)
    with server:
        assert Client(path, f"127.0.0.1:{server.port}").call("add", {"a": 7}) == 7
    (request,) = seen
    told = (request.metadata, request.time_left_s(), request.abandoned)
    assert told == ([], None, False)


def test_what_a_handler_may_take_is_known_when_it_is_set(interface: Path) -> None:
    server = Server(interface)

    def three(_a: Any, _b: Any, _c: Any) -> None: ...
    def none() -> None: ...
    def named(_a: Any, *, _b: Any) -> None: ...

    refused: list[Any] = [three, none, named]
    for handler in refused:
        with pytest.raises(
            InputError, match=r"the handler of Shop\.Add = .*: must be callable as handler"
        ):
            server.handle("Shop.Add", handler)

    unknown = functools.partial(none, 1)  # none takes nothing, so this has no signature
    with pytest.raises(InputError, match="must have parameters that can be found: "):
        server.handle("Shop.Add", unknown)

    for handler in (None, "add", 5):
        with pytest.raises(InputError, match="must be a function"):
            server.handle("Shop.Add", handler)  # type: ignore[arg-type]


class Stored:
    """A handler of a class."""

    async def __call__(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"sum": arguments["firstNumber"]}

    def method(self, arguments: dict[str, Any], request: Request | None = None) -> dict[str, Any]:
        assert request is not None
        return {"sum": arguments["firstNumber"]}


def injected(handler: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a handler something more, as decorators do."""

    @functools.wraps(handler)
    def within(arguments: dict[str, Any]) -> Any:
        return handler(arguments, 0, 0)

    return within


def passed_on(handler: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(handler)
    def within(*args: Any, **kwargs: Any) -> Any:
        return handler(*args, **kwargs)

    return within


def plain(arguments: dict[str, Any], _one: int = 0, _two: int = 0) -> dict[str, Any]:
    return {"sum": arguments["firstNumber"]}


async def coroutine(arguments: dict[str, Any], request: Request) -> dict[str, Any]:
    assert request.method == "Add"
    return {"sum": arguments["firstNumber"]}


class Bindable:
    """A decorator's object that takes the arguments alone, and can be a method."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, injected(function))

    def __call__(self, arguments: dict[str, Any]) -> Any:
        return plain(arguments)

    def __get__(self, owner: object, kind: type | None = None) -> Any:
        return functools.partial(self)


@offload
def recorded(arguments: dict[str, Any], request: Request) -> dict[str, Any]:
    assert request.method == "Add"
    return {"sum": arguments["firstNumber"]}


recorded_coroutine = offload(coroutine)


class Recorded:
    """Handlers with `offload` in a class."""

    @offload
    def method(self, arguments: dict[str, Any], request: Request) -> dict[str, Any]:
        return recorded(arguments, request)

    @classmethod
    @offload
    def of_class(cls, arguments: dict[str, Any], request: Request) -> dict[str, Any]:
        return recorded(arguments, request)

    @staticmethod
    @offload
    def static(arguments: dict[str, Any], request: Request) -> dict[str, Any]:
        return recorded(arguments, request)


@pytest.mark.parametrize(
    "handler",
    [
        plain,
        injected(plain),
        passed_on(plain),
        coroutine,
        passed_on(coroutine),
        Stored(),
        Stored().method,
        lambda arguments: Stored()(arguments),  # noqa: PLW0108 (that it is one counts)
        lambda *given: plain(*given),  # noqa: PLW0108
        functools.partial(plain, _two=5),
        Bindable(plain),
        recorded,
        recorded_coroutine,
        passed_on(recorded),
        functools.partial(recorded),
        Recorded().method,
        Recorded.of_class,
        Recorded.static,
    ],
)
def test_what_can_be_called_with_arguments_is_a_handler(
    interface: Path, stubs: Any, handler: Any
) -> None:
    with served(interface, stubs, "Add", handler) as client:
        assert client.Add(stubs[0].Pair(first_number=5), timeout=60).sum == 5


def test_a_handler_learns_that_its_client_has_left(interface: Path, stubs: Any) -> None:
    begun, learned = threading.Event(), threading.Event()

    def slow(_: dict[str, Any], request: Request) -> dict[str, Any]:
        assert not request.abandoned
        begun.set()
        if eventually(lambda: request.abandoned):
            learned.set()
        return {}

    with served(interface, stubs, "Slow", slow) as client:
        called = client.Slow.future(stubs[0].Pair(), timeout=60)
        assert begun.wait(60)
        called.cancel()
        assert learned.wait(60)


def test_coroutines_are_cancelled_when_nobody_waits_for_them(interface: Path, stubs: Any) -> None:
    begun, cancelled, within = threading.Event(), threading.Event(), threading.Event()

    async def slow(_: dict[str, Any]) -> dict[str, Any]:
        begun.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return {}

    async def own(_: dict[str, Any]) -> dict[str, Any]:
        within.set()
        raise TimeoutError("the handler's own")

    pair = stubs[0].Pair()
    with served(interface, stubs, "Slow", slow) as client:
        grpc.channel_ready_future(client.channel).result(60)
        with pytest.raises(grpc.RpcError) as it:
            client.Slow(pair, timeout=2)
        assert it.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        assert cancelled.wait(60)
        cancelled.clear()
        begun.clear()
        left = client.Slow.future(pair)
        assert begun.wait(60)
        left.cancel()
        assert cancelled.wait(60)
    with served(
        interface, stubs, "Slow", own, observability=Observability(verbose_errors=True)
    ) as client:
        with pytest.raises(grpc.RpcError, match="the handler's own") as it:
            client.Slow(pair, timeout=60)
        assert it.value.code() is grpc.StatusCode.UNKNOWN
        assert within.is_set()


def test_coroutines_may_have_more_time_than_threads_can_wait(interface: Path) -> None:
    async def slow(_: dict[str, Any]) -> dict[str, Any]:
        return {}

    def frame(kind: int, flags: int, stream: int, body: bytes) -> bytes:
        return len(body).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + body

    head = {
        ":method": "POST",
        ":scheme": "http",
        ":authority": "localhost",
        ":path": "/shop.v2.Shop/Slow",
        "content-type": "application/grpc",
        "te": "trailers",
        "grpc-timeout": "99999999H",
    }
    fields = hpack.Encoder().encode(head.items())
    message = b"\0" + bytes(4)
    server = Server(interface)
    server.handle("Shop.Slow", slow)
    answered = 'accelflow_requests_total{function="shop.v2.Shop.Slow",result="ok"} 1'
    with server, socket.create_connection(("127.0.0.1", server.port)) as stream:
        settings = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b"")
        stream.sendall(settings + frame(1, 4, 1, fields) + frame(0, 1, 1, message))
        assert eventually(lambda: answered in server.metrics())


@pytest.mark.parametrize("seconds", [0, -1, 1e10, 1.5e19, float("inf"), float("nan")])
def test_time_limits_that_cannot_be_are_refused(interface: Path, seconds: float) -> None:
    why = "must be a number from 1e-9 to 1e9 s"
    with pytest.raises(AccelflowError, match=f"idle_timeout_s = .*: {why}"):
        Server(interface, timeouts=Timeouts(idle_timeout_s=seconds))
    with pytest.raises(AccelflowError, match=f"^timeout_s = .*: {why}"):
        connect(interface, 1, limits=CallLimits(timeout_s=seconds))
    with pytest.raises(InputError, match=r"^timeout_s = .*: must be a number from 1e-9"):
        connect(interface, 1).call("Add", timeout_s=seconds)


def handlers(inner: GrpcClient) -> dict[str, Any]:
    """Ways in which a handler can have another thread call a service."""
    pool = ThreadPoolExecutor(2)
    pair = {"first_number": 1}

    def directly(_: dict[str, Any]) -> dict[str, Any]:
        return inner.call("Add", pair)

    def on_a_thread(_: dict[str, Any]) -> dict[str, Any]:
        return pool.submit(within_request(inner.call), "Add", pair).result()

    def in_its_own_loop(_: dict[str, Any]) -> dict[str, Any]:
        return asyncio.run(inner.call_async("Add", pair))

    async def coroutine(_: dict[str, Any]) -> dict[str, Any]:
        return await inner.call_async("Add", pair)

    async def coroutine_to_thread(_: dict[str, Any]) -> dict[str, Any]:
        return await asyncio.to_thread(inner.call, "Add", pair)

    async def coroutine_in_pool(_: dict[str, Any]) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(pool, within_request(inner.call), "Add", pair)

    def coroutine_on_a_thread(_: dict[str, Any]) -> dict[str, Any]:
        ask = within_request(inner.call_async)
        return pool.submit(lambda: asyncio.run(ask("Add", pair))).result()

    async def task(_: dict[str, Any]) -> dict[str, Any]:
        (answer,) = await asyncio.gather(asyncio.create_task(inner.call_async("Add", pair)))
        return answer

    made = (
        directly,
        on_a_thread,
        in_its_own_loop,
        coroutine,
        coroutine_to_thread,
        coroutine_in_pool,
        coroutine_on_a_thread,
        task,
    )
    return {it.__name__: it for it in made}


@pytest.mark.parametrize("name", list(handlers(None)))  # type: ignore[arg-type]
def test_calls_keep_the_requests_deadline_and_trace(interface: Path, stubs: Any, name: str) -> None:
    with socket.socket() as nobody:
        # Spans go nowhere; that a request has one is enough.
        nobody.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{nobody.getsockname()[1]}/v1/traces"
        telemetry = Telemetry(endpoint=endpoint, service="test")
        with grpcio(stubs) as (port, shop):
            inner = connect(interface, port, limits=CallLimits(timeout_s=3600))
            handler = handlers(inner)[name]
            with served(
                interface, stubs, "Slow", handler, observability=Observability(telemetry=telemetry)
            ) as client:
                sent = (("traceparent", f"00-{TRACE}-b7ad6b7169203331-01"),)
                pair = stubs[0].Pair()
                assert client.Slow(pair, timeout=300, metadata=sent).sum == 1
                assert shop.remaining[-1] < 310
                assert shop.metadata[-1]["traceparent"].split("-")[1] == TRACE
                # What a request had, the next one has not.
                assert client.Slow(pair).sum == 1
                assert shop.remaining[-1] > 3000
                assert TRACE not in shop.metadata[-1]["traceparent"]


def test_outside_of_requests_there_is_nothing_to_keep() -> None:
    assert within_request(len) is len

    def generator() -> Iterator[int]:
        yield 1

    with pytest.raises(InputError, match="must not be a generator function"):
        within_request(generator)


@pytest.mark.parametrize("raised", [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError()])
def test_whatever_a_coroutine_raises_others_go_on(
    interface: Path, stubs: Any, raised: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    async def bad(_: dict[str, Any]) -> dict[str, Any]:
        raise raised

    async def fine(_: dict[str, Any]) -> dict[str, Any]:
        return {"sum": 7}

    server = Server(interface)
    server.handle("Shop.Slow", bad)
    server.handle("Shop.Add", fine)
    with server, grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        stub = stubs[1].ShopStub(channel)
        with pytest.raises(grpc.RpcError) as it:
            stub.Slow(stubs[0].Pair(), timeout=60)
        assert it.value.code() is grpc.StatusCode.UNKNOWN
        assert stub.Add(stubs[0].Pair(), timeout=60).sum == 7
    assert "the handler of Shop.Slow failed" in caplog.text


def test_stopping_cancels_coroutines_and_is_for_other_threads(interface: Path, stubs: Any) -> None:
    begun, ended = threading.Event(), threading.Event()
    said: list[str] = []

    async def endless(_: dict[str, Any]) -> dict[str, Any]:
        try:
            server.stop()
        except AccelflowError as error:
            said.append(str(error))
        begun.set()
        try:
            await asyncio.sleep(600)
        finally:
            ended.set()
        return {}

    server = Server(interface)
    server.handle("Shop.Slow", endless)
    with grpc.insecure_channel(f"127.0.0.1:{server.start()}") as channel:
        called = stubs[1].ShopStub(channel).Slow.future(stubs[0].Pair())
        assert begun.wait(60)
        server.stop(0.1)
        assert ended.wait(60)
        assert called.exception() is not None
    assert said == ["a coroutine handler cannot stop its server; call stop from another thread"]


def test_a_port_that_is_not_to_be_had_leaves_the_server_for_another(interface: Path) -> None:
    server = Server(interface)
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(AccelflowError, match="cannot listen on"),
    ):
        server.start(port=taken.getsockname()[1])
    with pytest.raises(InputError, match="port = 70000: must be a whole number from 0 to 65535"):
        server.start(port=70000)
    with server:
        assert server.port > 0
    with pytest.raises(AccelflowError, match="a server can be started only once"):
        server.start()


def test_a_text_is_no_list_of_texts(interface: Path) -> None:
    with pytest.raises(InputError, match="idempotent = 'Add': must be a list of strings"):
        GrpcClient(interface, "127.0.0.1:1", idempotent="Add")
    with pytest.raises(InputError, match="include_dirs = 'more': must be a list of strings"):
        Server(interface, include_dirs="more")


def test_results_that_do_not_fit_are_internal_errors(interface: Path, stubs: Any) -> None:
    for result, why in [
        ({"sum": {1}}, "a value of type set cannot be expressed in JSON"),
        ({"sum": "x"}, "invalid digit"),
        ({"none": 1}, "none"),
        ({"sum": 2**64}, "is not a 64-bit integer"),
    ]:
        with served(
            interface,
            stubs,
            "Add",
            lambda _, result=result: result,
            observability=Observability(verbose_errors=True),
        ) as client:
            with pytest.raises(grpc.RpcError) as it:
                client.Add(stubs[0].Pair(), timeout=60)
            assert it.value.code() is grpc.StatusCode.INTERNAL, result
            assert "the handler's result cannot be sent" in it.value.details()
            assert why in it.value.details()


def test_declared_errors_that_say_too_little_are_named(interface: Path, stubs: Any) -> None:
    def bad(_: dict[str, Any]) -> dict[str, Any]:
        raise DeclaredError("NOT_FOUND")

    with served(
        interface, stubs, "Add", bad, observability=Observability(verbose_errors=True)
    ) as client:
        with pytest.raises(grpc.RpcError) as it:
            client.Add(stubs[0].Pair(), timeout=60)
        assert "DeclaredError('NOT_FOUND',): must be a name and a dict" in it.value.details()


def test_integers_of_64_bits_without_sign(tmp_path: Path) -> None:
    path = tmp_path / "big.proto"
    text = 'syntax = "proto3"; message M { uint64 n = 1; } service S { rpc F(M) returns (M); }'
    path.write_text(text)
    server = Server(path)
    server.handle("S.F", lambda arguments: {"n": int(arguments["n"])})
    with server:
        client = GrpcClient(path, f"127.0.0.1:{server.port}")
        assert client.call("F", {"n": 2**64 - 1}) == {"n": str(2**64 - 1)}


def test_declared_errors_of_coroutines_are_told(interface: Path, stubs: Any) -> None:
    async def slow(_: dict[str, Any]) -> dict[str, Any]:
        raise DeclaredError("NOT_FOUND", {"message": "gone"})

    with served(interface, stubs, "Slow", slow) as client:
        with pytest.raises(grpc.RpcError) as it:
            client.Slow(stubs[0].Pair(), timeout=60)
        assert (it.value.code(), it.value.details()) == (grpc.StatusCode.NOT_FOUND, "gone")
