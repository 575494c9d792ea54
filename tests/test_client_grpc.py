"""Clients of gRPC in Python, and servers that no one here wrote."""

import asyncio
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from accelflow import (
    CallError,
    Cancel,
    ClientTls,
    DeclaredError,
    GrpcClient,
    InputError,
    Server,
)
from accelflow.client import CallLimits
from accelflow.operations import Fault
from accelflow.settings import Execution, Limits, Tls
from certificates import make_certificate
from processes import running
from test_server_grpc import INTERFACE

PATIENT = CallLimits(timeout_s=60.0)
ONCE = CallLimits(timeout_s=60.0, max_attempts=1)


@pytest.fixture(scope="module")
def interface(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("grpc_client") / "accelflow_client_shop.proto"
    text = INTERFACE.replace("shop.v1", "shop.v2")
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def stubs(interface: Path) -> Iterator[tuple[Any, Any]]:
    """What gRPC's compiler makes of the interface: messages, and services."""
    sys.path.insert(0, str(interface.parent))
    try:
        yield grpc.protos_and_services(interface.name)
    finally:
        sys.path.remove(str(interface.parent))


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_certificate(tmp_path_factory.mktemp("certificate"))


class Shop:
    """The service, and what it has seen of calls."""

    def __init__(self, messages: Any) -> None:
        self.messages = messages
        self.remaining: list[float] = []
        self.metadata: list[dict[str, str]] = []
        self.begun = threading.Event()
        self.cancelled = threading.Event()
        self.release = threading.Event()

    def Add(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        self.remaining.append(context.time_remaining())
        self.metadata.append(dict(context.invocation_metadata()))
        total = request.first_number + request.second_number
        if total >= 2**63:
            context.abort(grpc.StatusCode.OUT_OF_RANGE, f"{total} is 100 % too much ü")
        return self.messages.Sum(sum=total)

    @staticmethod
    def Echo(request: Any, _: grpc.ServicerContext) -> Any:  # noqa: N802
        return request

    @staticmethod
    def Clear(request: Any, _: grpc.ServicerContext) -> Any:  # noqa: N802
        return request

    def Slow(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        if request.first_number < 0:
            context.add_callback(self.cancelled.set)
            self.begun.set()
            self.release.wait(60)
        time.sleep(max(request.first_number, 0) / 1000)
        return self.messages.Sum(sum=request.second_number)


def serviced(kind: type[Shop], stubs: tuple[Any, Any]) -> Any:
    """A service of `kind`, with what gRPC's compiler has made for its other methods."""
    messages, services = stubs
    return type("Service", (kind, services.ShopServicer), {})(messages)


@contextmanager
def grpcio(
    stubs: tuple[Any, Any],
    files: tuple[Path, Path] | None = None,
    *,
    threads: int = 16,
    **options: Any,
) -> Iterator[tuple[int, Shop]]:
    """gRPC's own server for Python: its port, and the service."""
    shop = serviced(Shop, stubs)
    services = stubs[1]
    server = grpc.server(ThreadPoolExecutor(threads), **options)
    services.add_ShopServicer_to_server(shop, server)
    if files is None:
        port = server.add_insecure_port("127.0.0.1:0")
    else:
        pair = (files[1].read_bytes(), files[0].read_bytes())
        port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([pair]))
    server.start()
    try:
        yield port, shop
    finally:
        shop.release.set()
        server.stop(None).wait()


def connect(interface: Path, port: int, files: tuple[Path, Path] | None = None, **more: Any) -> Any:
    options: dict[str, Any] = {"limits": PATIENT} | more
    if files is not None:
        options["tls"] = ClientTls(ca=files[0], server_name="localhost")
    return GrpcClient(interface, f"127.0.0.1:{port}", **options)


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize("compress", [False, True], ids=["identity", "gzip"])
def test_grpcio_servers_answer(
    interface: Path,
    stubs: tuple[Any, Any],
    certificate: tuple[Path, Path],
    secure: bool,
    compress: bool,
) -> None:
    files = certificate if secure else None
    packed = {"compression": grpc.Compression.Gzip} if compress else {}
    with grpcio(stubs, files, **packed) as (port, shop):
        client = connect(interface, port, files, compress=compress)
        pair = {"firstNumber": 40, "secondNumber": "2"}
        assert client.call("shop.v2.Shop.Add", pair) == {"sum": "42"}
        assert client.call("Clear") == {}
        item = {
            "text": 'grüße "\\\n\x00',
            "data": "AAEC/w==",
            "numbers": ["0", "-1", str(2**63 - 1)],
            "shares": {"a": 0.1, "": -1e300, "b": 2.0},
            "colour": "RED",
            "inner": {"small": -7},
            "made": "2026-11-22T06:00:00.500Z",
            "ratio": 0.1,
        }
        echoed = client.call("Shop.Echo", item)
        assert {name: echoed[name] for name in item if name != "inner"} == {
            name: value for name, value in item.items() if name != "inner"
        }
        assert echoed["inner"]["small"] == -7
        for size in (1_000, 16_384, 65_536, 3_000_000):
            large = {"text": "x" * size, "numbers": [str(n) for n in range(size // 100)]}
            echoed = client.call("Echo", large)
            assert {name: echoed[name] for name in large} == large
        with pytest.raises(CallError, match="OUT_OF_RANGE") as it:
            client.call("Add", {"firstNumber": 2**63 - 1, "secondNumber": 1})
        assert (it.value.reason, it.value.executed) == ("status", "yes")
        assert it.value.code == "OUT_OF_RANGE"
        assert it.value.details == "9223372036854775808 is 100 % too much ü"
        with pytest.raises(CallError) as it:
            client.call("Unhandled")
        assert (it.value.code, it.value.executed) == ("UNIMPLEMENTED", "perhaps")
        with pytest.raises(CallError) as it:
            client.call("Add", {"firstNumber": "x"})
        assert (it.value.executed, it.value.details) == ("no", None)
        assert client.connections == (1, 1, 0)
        assert 'calls_total{peer="127.0.0.1' in client.metrics()
        assert 50 < shop.remaining[0] <= 60
        assert shop.metadata[0]["user-agent"].startswith("grpc-accelflow/")


def test_many_calls_share_a_connection(interface: Path, stubs: tuple[Any, Any]) -> None:
    with grpcio(stubs) as (port, _):
        client = connect(interface, port)

        async def work() -> list[str]:
            pairs = [{"firstNumber": 1, "secondNumber": n} for n in range(300)]
            sums = await asyncio.gather(*(client.call_async("Slow", pair) for pair in pairs))
            return [answer["sum"] for answer in sums]

        assert asyncio.run(work()) == [str(n) for n in range(300)]
        assert client.connections == (1, 1, 0)


def test_a_servers_limit_of_streams_is_kept(interface: Path, stubs: tuple[Any, Any]) -> None:
    few = [("grpc.max_concurrent_streams", 3)]
    with grpcio(stubs, options=few) as (port, _), ThreadPoolExecutor(16) as threads:
        limits = CallLimits(timeout_s=60.0, max_connections=2)
        client = connect(interface, port, limits=limits)

        def call(number: int) -> str:
            pair = {"firstNumber": 1, "secondNumber": number}
            answer: str = client.call("Slow", pair)["sum"]
            return answer

        assert list(threads.map(call, range(200))) == [str(n) for n in range(200)]
        assert client.connections.open <= 2


#: A call that the handler of a signal ends. Its own handle cancels no other calls.
SIGNALLED = """
import signal, sys
from accelflow import Cancel, GrpcClient
from accelflow.client import CallLimits

class Signalled(Exception):
    pass

def handle(*_):
    raise Signalled

signal.signal(signal.SIGUSR1, handle)
client = GrpcClient(sys.argv[1], sys.argv[2], limits=CallLimits(timeout_s=600.0))
cancel = Cancel()
try:
    client.call("Slow", {"firstNumber": -1}, cancel=cancel)
except Signalled:
    assert not cancel.cancelled
    print(client.call("Add", {"firstNumber": 1}, cancel=cancel))
"""


def test_a_signal_ends_a_call_that_waits(interface: Path, stubs: tuple[Any, Any]) -> None:
    with grpcio(stubs) as (port, shop):
        command = [sys.executable, "-c", SIGNALLED, str(interface), f"127.0.0.1:{port}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert shop.begun.wait(60)
            process.send_signal(signal.SIGUSR1)
            assert process.communicate(timeout=60) == ("{'sum': '1'}\n", None)
        assert shop.cancelled.wait(60)


def test_deadlines_and_cancelling_reach_the_server(interface: Path, stubs: tuple[Any, Any]) -> None:
    forever = {"firstNumber": -1}
    with grpcio(stubs) as (port, shop):
        client = connect(interface, port)
        with pytest.raises(CallError) as it:
            client.call("Slow", forever, timeout_s=1.0)
        assert (it.value.reason, it.value.executed) == ("timeout", "perhaps")
        assert it.value.code == "DEADLINE_EXCEEDED"
        assert shop.cancelled.wait(60)
        shop.begun.clear()
        shop.cancelled.clear()
        cancel = Cancel()
        with ThreadPoolExecutor(1) as threads:
            waiting = threads.submit(client.call, "Slow", forever, cancel=cancel)
            assert shop.begun.wait(60)
            cancel.cancel()
            with pytest.raises(CallError) as it:
                waiting.result()
        assert (it.value.reason, it.value.code) == ("cancelled", "CANCELLED")
        assert shop.cancelled.wait(60)
        shop.begun.clear()
        shop.cancelled.clear()

        async def work() -> None:
            slow = asyncio.create_task(client.call_async("Slow", forever))
            assert await asyncio.to_thread(shop.begun.wait, 60)
            slow.cancel()
            with pytest.raises(asyncio.CancelledError):
                await slow

        asyncio.run(work())
        assert shop.cancelled.wait(60)
        # Its later calls reach no service.
        for _ in range(50):
            with pytest.raises(CallError) as it:
                client.call("Slow", {"firstNumber": 1}, cancel=cancel)
            assert (it.value.reason, it.value.executed) == ("cancelled", "no")
        # The connection is as good as before.
        assert client.call("Add", {"firstNumber": 1}) == {"sum": "1"}
        assert client.connections.open == 1


def test_a_server_that_stops_says_goaway_and_another_is_found(
    interface: Path, stubs: tuple[Any, Any]
) -> None:
    with grpcio(stubs) as (port, _):
        client = connect(interface, port)
        assert client.call("Add") == {"sum": "0"}
    with pytest.raises(CallError) as it:
        client.call("Add")
    assert (it.value.code, it.value.executed) == ("UNAVAILABLE", "no")
    again = grpc.server(ThreadPoolExecutor(2))
    stubs[1].add_ShopServicer_to_server(serviced(Shop, stubs), again)
    assert again.add_insecure_port(f"127.0.0.1:{port}") == port
    again.start()
    try:
        assert client.call("Add", {"firstNumber": 7}) == {"sum": "7"}
    finally:
        again.stop(None).wait()


#: gRPC's server in a process of its own, whose methods never end.
DOOMED = """
import sys, threading, time
from concurrent.futures import ThreadPoolExecutor
import grpc

class Any(grpc.GenericRpcHandler):
    def service(self, details):
        def wait(request, context):
            sys.stdout.write("called\\n")
            sys.stdout.flush()
            time.sleep(60)
            return b""
        return grpc.unary_unary_rpc_method_handler(wait)

server = grpc.server(ThreadPoolExecutor(4), handlers=[Any()])
print(server.add_insecure_port("127.0.0.1:0"), flush=True)
server.start()
sys.stdin.read()
"""


def test_a_server_that_dies_in_mid_call(interface: Path) -> None:
    command = [sys.executable, "-c", DOOMED]
    pipe = subprocess.PIPE
    with running(command, stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        client = connect(interface, port)
        with ThreadPoolExecutor(2) as threads:
            calls = [threads.submit(client.call, "Add") for _ in range(2)]
            for _ in calls:
                assert process.stdout.readline() == "called\n"
            process.kill()
            for call in calls:
                with pytest.raises(CallError) as it:
                    call.result()
                assert (it.value.reason, it.value.executed) == ("lost", "perhaps")
                assert it.value.code == "UNAVAILABLE"
        with pytest.raises(CallError) as it:
            client.call("Add", idempotent=True)
        assert it.value.reason == "connect"


def test_responses_beyond_the_limits_are_refused(interface: Path, stubs: tuple[Any, Any]) -> None:
    large = [("grpc.max_send_message_length", 64 << 20), ("grpc.max_receive_message_length", -1)]

    class Large(Shop):
        def Add(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
            del request
            context.send_initial_metadata((("big", "x" * 30_000),))
            return self.messages.Sum(sum=1)

        def Echo(self, request: Any, _: grpc.ServicerContext) -> Any:  # type: ignore[override]  # noqa: N802
            return self.messages.Item(text="x" * int(request.text))

    for compression in (grpc.Compression.NoCompression, grpc.Compression.Gzip):
        server = grpc.server(ThreadPoolExecutor(2), options=large, compression=compression)
        stubs[1].add_ShopServicer_to_server(serviced(Large, stubs), server)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            client = connect(interface, port, limits=ONCE)
            with pytest.raises(CallError) as it:
                client.call("Echo", {"text": str(40 << 20)})
            assert it.value.code == "RESOURCE_EXHAUSTED"
            with pytest.raises(CallError) as it:
                client.call("Add")
            assert it.value.code in {"INTERNAL", "RESOURCE_EXHAUSTED", "UNAVAILABLE"}
            assert len(client.call("Echo", {"text": "1000"})["text"]) == 1000
        finally:
            server.stop(None).wait()


def test_a_server_that_never_answers(interface: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        client = connect(interface, port, limits=ONCE)
        with pytest.raises(CallError, match="deadline exceeded") as it:
            client.call("Add", timeout_s=0.2)
        assert it.value.code == "DEADLINE_EXCEEDED"
    with pytest.raises(CallError) as it:
        connect(interface, port).call("Add")
    assert (it.value.reason, it.value.executed) == ("connect", "no")
    assert it.value.code == "UNAVAILABLE"


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])
def test_handlers_call_services(
    interface: Path, certificate: tuple[Path, Path], secure: bool
) -> None:
    cert, key = certificate
    files = (cert, key) if secure else None
    tls = Tls(certificate=cert, key=key) if secure else None

    def add(arguments: dict[str, Any]) -> dict[str, Any]:
        total = int(arguments["firstNumber"]) + int(arguments["secondNumber"])
        if total >= 2**63:
            raise DeclaredError("OUT_OF_RANGE", {"message": "too much"})
        return {"sum": total}

    inner = Server(
        interface,
        limits=Limits(max_concurrent_streams=7),
        execution=Execution(handler_threads=3),
        tls=tls,
    )
    inner.handle("Shop.Add", add)
    with inner:
        onward = connect(interface, inner.port, files)

        def passed(arguments: dict[str, Any]) -> dict[str, Any]:
            try:
                response: dict[str, Any] = onward.call("Add", arguments)
            except CallError as error:
                raise DeclaredError(str(error.code), {"message": error.details}) from error
            return response

        outer = Server(interface, tls=tls)
        outer.handle("Shop.Add", passed)
        with outer, ThreadPoolExecutor(16) as threads:
            client = connect(interface, outer.port, files)

            def call(number: int) -> str:
                pair = {"firstNumber": number, "secondNumber": 1}
                answer: str = client.call("Add", pair)["sum"]
                return answer

            assert list(threads.map(call, range(100))) == [str(n + 1) for n in range(100)]
            with pytest.raises(CallError) as it:
                client.call("Add", {"firstNumber": 2**63 - 1, "secondNumber": 1})
            assert (it.value.code, it.value.details) == ("OUT_OF_RANGE", "too much")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda i: GrpcClient(i, "localhost"), "address = 'localhost': must be host:port"),
        (lambda i: GrpcClient(i, "h:1", tls=i), "tls = .*: must be a ClientTls or None"),
        (
            lambda i: GrpcClient(i, "h:1", idempotent=["Sub"]),
            "idempotent: .*method = 'Sub': must be",
        ),
        (
            lambda i: GrpcClient(i, "h:1", async_threads=0),
            "async_threads = 0: must be a whole number from 1 to",
        ),
        (
            lambda i: GrpcClient(i, "h:1", limits=CallLimits(calls_per_connection=0)),
            "calls_per_connection = 0",
        ),
        (
            lambda i: GrpcClient(i.parent / "none.proto", "h:1"),
            "none.proto: No such file or directory$",
        ),
        (
            lambda i: Server(i, limits=Limits(max_concurrent_streams=0)),
            "max_concurrent_streams = 0: must be a",
        ),
        (
            lambda i: Server(i, limits=Limits(max_connections=-1)),
            "max_connections = -1: must be a whole number",
        ),
        (
            lambda i: Server(i, limits=Limits(max_message_bytes=0)),
            "max_message_bytes = 0: must be a whole number",
        ),
        (
            lambda i: Server(i, execution=Execution(handler_threads=1.5)),
            "handler_threads = 1.5: must be a whole number",
        ),
        (
            lambda i: Server(i, execution=Execution(workers=-1)),
            "workers = -1: must be a whole number from 1",
        ),
        (lambda _: Fault(accelerator="RPC", kind="fail", nth=0), "nth = 0: must be a whole"),
        (lambda _: CallLimits(max_attempts=-1), "max_attempts = -1: must be a whole number from 1"),
    ],
)
def test_mistakes_of_set_up_are_named(
    interface: Path, make: Callable[[Path], Any], said: str
) -> None:
    with pytest.raises(InputError, match=said) as it:
        make(interface)
    assert "os error" not in str(it.value)


def test_well_known_types_are_requests_and_responses(tmp_path: Path) -> None:
    """Methods whose requests are no objects in JSON could not be called."""
    sent: dict[str, list[Any]] = {
        "StringValue": ["", "é"],
        "Int64Value": ["9223372036854775807"],
        "BoolValue": [False],
        "Timestamp": ["1970-01-01T00:00:01.500Z"],
        "ListValue": [[], [1.0, None]],
        "Struct": [{}, {"a": "b"}],
        "Value": ["x", 1.5, {"a": [True]}],
    }
    files = ["empty", "struct", "timestamp", "wrappers"]
    imports = "".join(f'import "google/protobuf/{name}.proto";\n' for name in files)
    types = [(name, f"google.protobuf.{name}") for name in sent]
    methods = "".join(f"rpc {name}({kind}) returns ({kind});\n" for name, kind in types)
    path = tmp_path / "known.proto"
    path.write_text(f'syntax = "proto3";\n{imports}service Known {{\n{methods}}}\n')
    server = Server(path)
    for name in sent:
        server.handle(name, lambda value: value)
    with server:
        client = GrpcClient(path, f"127.0.0.1:{server.port}", limits=PATIENT)
        for name, values in sent.items():
            assert [client.call(name, value) for value in values] == values
        assert asyncio.run(client.call_async("StringValue", "later")) == "later"
        with pytest.raises(
            InputError, match="type of request = 'int': must be a mapping, None, or"
        ):
            client.call("StringValue", 5)
        with pytest.raises(TypeError, match="type bytes cannot be expressed in JSON"):
            client.call("StringValue", b"text")  # type: ignore[arg-type]
