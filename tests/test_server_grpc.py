"""gRPC's own Python client, and a server with handlers in Python."""

import asyncio
import json
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import hpack
import pytest
from google.protobuf import empty_pb2, timestamp_pb2

from accelflow import AccelflowError, DeclaredError, Server
from accelflow.settings import Execution, Observability, Tls
from certificates import make_certificate
from conftest import ROOT

INTERFACE = """
syntax = "proto3";
package shop.v1;
import "google/protobuf/empty.proto";
import "google/protobuf/timestamp.proto";

enum Colour { COLOUR_UNSPECIFIED = 0; RED = 1; }
message Item {
  string text = 1;
  bytes data = 2;
  repeated sint64 numbers = 3;
  map<string, double> shares = 4;
  Colour colour = 5;
  oneof choice { int32 small = 6; Item inner = 7; }
  google.protobuf.Timestamp made = 8;
  float ratio = 9;
}
message Pair { int64 first_number = 1; int64 second_number = 2; }
message Sum { int64 sum = 1; }
service Shop {
  rpc Add(Pair) returns (Sum);
  rpc Echo(Item) returns (Item);
  rpc Clear(google.protobuf.Empty) returns (google.protobuf.Empty);
  rpc Slow(Pair) returns (Sum);
  rpc Unhandled(Pair) returns (Sum);
  rpc Watch(Pair) returns (stream Sum);
}
"""


@pytest.fixture(scope="module")
def interface(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("grpc_interface") / "accelflow_shop.proto"
    path.write_text(INTERFACE, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def stubs(interface: Path) -> Iterator[tuple[Any, Any]]:
    """What gRPC's compiler makes of the interface: messages, and clients."""
    sys.path.insert(0, str(interface.parent))
    try:
        yield grpc.protos_and_services(interface.name)
    finally:
        sys.path.remove(str(interface.parent))


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_certificate(tmp_path_factory.mktemp("grpc_certificate"))


def add(arguments: dict[str, Any]) -> dict[str, Any]:
    total = int(arguments["firstNumber"]) + int(arguments["secondNumber"])
    if total >= 2**63:
        raise DeclaredError("OUT_OF_RANGE", {"message": f"{total} is 100 % too much ü"})
    return {"sum": total}


async def slow(arguments: dict[str, Any]) -> dict[str, Any]:
    await asyncio.sleep(int(arguments["firstNumber"]) / 1000)
    if int(arguments["secondNumber"]) < 0:
        message = "no such thing"
        raise ValueError(message)
    return {"sum": arguments["secondNumber"]}


def shop(interface: Path, **options: Any) -> Server:
    server = Server(interface, **options)
    server.handle("shop.v1.Shop.Add", add)
    server.handle("Shop.Echo", lambda arguments: arguments)
    server.handle("Clear", lambda _: None)
    server.handle("Shop.Slow", slow)
    return server


@pytest.fixture(scope="module", params=["plain", "tls"])
def served(
    request: pytest.FixtureRequest, interface: Path, certificate: tuple[Path, Path]
) -> Iterator[Callable[..., grpc.Channel]]:
    """Connect to the server, with the options of a channel."""
    cert, key = certificate
    tls = Tls(certificate=cert, key=key) if request.param == "tls" else None
    with shop(interface, observability=Observability(verbose_errors=True), tls=tls) as server:

        def connect(**channel: Any) -> grpc.Channel:
            if request.param == "plain":
                return grpc.insecure_channel(f"127.0.0.1:{server.port}", **channel)
            trusted = grpc.ssl_channel_credentials(cert.read_bytes())
            return grpc.secure_channel(f"localhost:{server.port}", trusted, **channel)

        yield connect


@pytest.mark.parametrize(("handler_threads", "count"), [(0, 1), (4, 4)])
def test_handlers_run_on_as_many_threads_as_there_are_for_them(
    interface: Path, stubs: tuple[Any, Any], handler_threads: int, count: int
) -> None:
    # As many calls are under way as have threads; they end when all have begun.
    together, seen = threading.Barrier(count), set()

    def note(_: dict[str, Any]) -> None:
        together.wait(60)
        seen.add(threading.get_native_id())

    server = Server(interface, execution=Execution(handler_threads=handler_threads))
    server.handle("Clear", note)
    messages = empty_pb2.Empty()
    with server, grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        client = stubs[1].ShopStub(channel)
        for call in [client.Clear.future(messages) for _ in range(3 * count)]:
            assert call.result(60) == messages
    assert len(seen) == count


@pytest.mark.parametrize("compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
def test_grpcio_is_answered(
    served: Callable[..., grpc.Channel], stubs: tuple[Any, Any], compression: grpc.Compression
) -> None:
    messages, services = stubs
    with served(compression=compression) as channel:
        client = services.ShopStub(channel)
        assert client.Add(messages.Pair(first_number=40, second_number=2)).sum == 42
        assert client.Add(messages.Pair(first_number=-(2**63))).sum == -(2**63)
        assert client.Clear(empty_pb2.Empty()) == empty_pb2.Empty()
        item = messages.Item(
            text='grüße "\\\n\x00',
            data=bytes(range(256)),
            numbers=[0, -1, 2**63 - 1],
            shares={"a": 0.1, "": -1e300},
            colour="RED",
            inner=messages.Item(small=-7),
            made=timestamp_pb2.Timestamp(seconds=1_795_000_000, nanos=500_000_000),
            ratio=0.1,
        )
        assert client.Echo(item) == item
        for size in (1_000, 16_384, 65_536, 3_000_000):
            large = messages.Item(text="x" * size, numbers=range(size // 100))
            assert client.Echo(large) == large


def test_failures_reach_the_client(
    served: Callable[..., grpc.Channel], stubs: tuple[Any, Any]
) -> None:
    messages, services = stubs
    with served() as channel:
        client = services.ShopStub(channel)

        def failure(call: Any, *arguments: int, **options: Any) -> tuple[grpc.StatusCode, str]:
            pair = messages.Pair(first_number=arguments[0], second_number=arguments[1])
            with pytest.raises(grpc.RpcError) as it:
                call(pair, **options)
            return it.value.code(), it.value.details()

        code, why = failure(client.Add, 2**63 - 1, 1)
        assert code == grpc.StatusCode.OUT_OF_RANGE
        assert why == "9223372036854775808 is 100 % too much ü"
        assert failure(client.Slow, 0, -1) == (
            grpc.StatusCode.UNKNOWN,
            "ValueError: no such thing",
        )
        code, why = failure(client.Unhandled, 0, 0)
        assert (code, why) == (
            grpc.StatusCode.UNIMPLEMENTED,
            "no handler for shop.v1.Shop.Unhandled",
        )
        code, _ = failure(client.Slow, 60_000, 0, timeout=0.2)
        assert code == grpc.StatusCode.DEADLINE_EXCEEDED
        code, _ = failure(lambda pair: list(client.Watch(pair)), 0, 0)
        assert code == grpc.StatusCode.UNIMPLEMENTED
        assert client.Add(messages.Pair(first_number=1)).sum == 1


def test_calls_on_one_channel_run_at_once(
    served: Callable[..., grpc.Channel], stubs: tuple[Any, Any]
) -> None:
    messages, services = stubs
    with served() as channel, ThreadPoolExecutor(16) as pool:
        client = services.ShopStub(channel)
        pairs = [messages.Pair(first_number=1, second_number=n) for n in range(200)]
        assert [reply.sum for reply in pool.map(client.Slow, pairs)] == list(range(200))


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_node_is_answered(interface: Path, certificate: tuple[Path, Path], tls: bool) -> None:
    folder = ROOT / "out" / "interop" / "grpc"
    if shutil.which("node") is None or not (folder / "node_modules").is_dir():
        pytest.skip("not built: scripts/interop build grpc")
    cert, key = certificate
    settings = Tls(certificate=cert, key=key) if tls else None
    with shop(interface, tls=settings) as server:
        address = f"{'localhost' if tls else '127.0.0.1'}:{server.port}"
        command = ["node", str(folder / "client.js"), address, str(interface)]
        done = subprocess.run(
            command + [str(cert)] * tls, capture_output=True, text=True, timeout=60, check=False
        )
    assert done.returncode == 0, done.stderr
    overflow = [11, "9223372036854775808 is 100 % too much ü"]
    each = ["42", 500_000, overflow, 4]
    assert [json.loads(line) for line in done.stdout.splitlines()] == each * 2


def grpcurl(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = ROOT / "out" / "interop" / "grpcurl" / "grpcurl"
    if not program.exists():
        pytest.skip("needs grpcurl: scripts/interop build grpcurl")
    command = [str(program), "-max-time", "60", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_grpcurl_is_answered(interface: Path, certificate: tuple[Path, Path], tls: bool) -> None:
    cert, key = certificate
    settings = Tls(certificate=cert, key=key) if tls else None
    with shop(interface, tls=settings) as server:
        where = ["-cacert", str(cert)] if tls else ["-plaintext"]
        where += ["-import-path", str(interface.parent), "-proto", interface.name]

        def ask(method: str, message: dict[str, Any], *more: str) -> tuple[int, str, str]:
            name = f"shop.v1.Shop/{method}"
            address = f"{'localhost' if tls else '127.0.0.1'}:{server.port}"
            done = grpcurl(*where, *more, "-d", json.dumps(message), address, name)
            return done.returncode, done.stdout, done.stderr

        code, out, err = ask("Add", {"firstNumber": "40", "secondNumber": "2"})
        assert (code, json.loads(out or "null")) == (0, {"sum": "42"}), err
        item = {
            "text": 'grüße "',
            "data": "AAECAw==",
            "numbers": ["-1", "9223372036854775807"],
            "shares": {"a": 0.1},
            "colour": "RED",
            "inner": {"small": 7},
            "made": "2026-11-22T03:04:05.500Z",
        }
        for size in (0, 100_000):
            large = item | {"text": item["text"] + "x" * size}  # type: ignore[operator]
            code, out, err = ask("Echo", large)
            assert (code, json.loads(out or "null")) == (0, large), err
        # grpcurl's exit code is 64 more than gRPC's.
        code, _, err = ask("Add", {"firstNumber": str(2**63 - 1), "secondNumber": "1"})
        assert code == 64 + 11
        assert "OutOfRange" in err
        assert "9223372036854775808 is 100 % too much ü" in err
        assert ask("Unhandled", {})[0] == 64 + 12
        assert ask("Slow", {"firstNumber": "60000"}, "-max-time", "0.2")[0] == 64 + 4
        # Reflection is off, and grpcurl says so.
        done = grpcurl(*where[: 2 if tls else 1], f"localhost:{server.port}", "list")
        assert done.returncode != 0
        assert "reflection" in done.stderr


def test_grpcurl_needs_no_interface_with_reflection(interface: Path) -> None:
    with shop(interface, observability=Observability(reflection=True)) as server:
        address = f"127.0.0.1:{server.port}"
        done = grpcurl("-plaintext", address, "list", "shop.v1.Shop")
        assert "shop.v1.Shop.Add" in done.stdout.splitlines(), done.stderr
        done = grpcurl("-plaintext", address, "describe", "shop.v1.Shop.Add")
        assert "rpc Add (" in done.stdout, done.stderr
        message = json.dumps({"firstNumber": "40", "secondNumber": "2"})
        done = grpcurl("-plaintext", "-d", message, address, "shop.v1.Shop/Add")
        assert json.loads(done.stdout or "null") == {"sum": "42"}, done.stderr


@pytest.mark.parametrize("wrong", ["authority", "name", "plain"])
def test_grpcurl_does_not_call_whom_it_does_not_trust(
    interface: Path, certificate: tuple[Path, Path], tmp_path: Path, wrong: str
) -> None:
    cert, key = certificate
    arguments = ["-cacert", str(cert)]
    if wrong == "authority":
        arguments = ["-cacert", str(make_certificate(tmp_path)[0])]
    elif wrong == "name":
        arguments += ["-servername", "example.org"]
    elif wrong == "plain":
        arguments = ["-plaintext"]
    with shop(interface, tls=Tls(certificate=cert, key=key)) as server:
        address = f"localhost:{server.port}"
        proto = ["-import-path", str(interface.parent), "-proto", interface.name]
        done = grpcurl("-connect-timeout", "5", *arguments, *proto, address, "shop.v1.Shop/Clear")
        assert done.returncode != 0
        assert done.stdout == ""
        text = server.metrics()
        assert 'accelflow_requests_total{function="shop.v1.Shop.Clear"' not in text


def test_stopping_tells_the_client(interface: Path, stubs: tuple[Any, Any]) -> None:
    messages, services = stubs
    begun = threading.Event()

    async def begin(arguments: dict[str, Any]) -> dict[str, Any]:
        begun.set()
        return await slow(arguments)

    server = Server(interface)
    server.handle("Shop.Slow", begin)
    with grpc.insecure_channel(f"127.0.0.1:{server.start()}") as channel:
        client = services.ShopStub(channel)
        late = client.Slow.future(messages.Pair(first_number=300, second_number=5))
        assert begun.wait(60)
        assert server.stop(20.0) == 0
        assert late.result().sum == 5


def test_interfaces_that_are_none_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "broken.proto"
    for text, why in [
        (
            'syntax = "proto3";\nmessage Item {\n  strin text = 1;\n}\n',
            ":3:3: name 'strin' is not defined",
        ),
        ('syntax = "proto3";\nimport "nowhere.proto";\n', ":2:1: import 'nowhere.proto' not found"),
        ('syntax = "proto3";\nmessage Item {}\n', ": declares no service with a method"),
        ("message {", ":1:9: expected an identifier, but found '{'"),
    ]:
        path.write_text(text, encoding="utf-8")
        with pytest.raises(AccelflowError) as it:
            Server(path)
        assert str(it.value) == f"{path}{why}"
    absent = tmp_path / "absent.proto"
    with pytest.raises(AccelflowError) as it:
        Server(absent)
    assert str(it.value) == f"{absent}: No such file or directory"
    path.write_text(INTERFACE, encoding="utf-8")
    server = Server(path)
    with pytest.raises(AccelflowError, match="method = 'Sell': must be"):
        server.handle("Sell", lambda _: None)


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    head = struct.pack(">I", len(payload))[1:] + bytes([kind, flags])
    return head + struct.pack(">I", stream) + payload


def send_add(line: socket.socket, *more: tuple[str, str]) -> None:
    """Call Shop.Add on a new connection, with `more` headers."""
    heads = [(":method", "POST"), (":scheme", "http"), (":path", "/shop.v1.Shop/Add")]
    heads += [(":authority", "x"), ("content-type", "application/grpc"), ("te", "trailers"), *more]
    message = b"\x08\x01"
    line.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0))
    line.sendall(frame(1, 4, 1, hpack.Encoder().encode(heads)))
    line.sendall(frame(0, 1, 1, b"\0" + struct.pack(">I", len(message)) + message))


def await_result(server: Server, result: str) -> None:
    wanted = f'accelflow_requests_total{{function="shop.v1.Shop.Add",result="{result}"}} 1'
    while wanted not in server.metrics():
        time.sleep(0.01)


@pytest.mark.timeout(60)
def test_an_answer_after_the_deadline_is_late(interface: Path) -> None:
    server = Server(interface, execution=Execution(handler_threads=0))

    def add_late(arguments: dict[str, Any]) -> dict[str, Any]:
        time.sleep(0.2)  # longer than the deadline
        return {"sum": arguments["firstNumber"]}

    server.handle("Shop.Add", add_late)
    with server, socket.create_connection(("127.0.0.1", server.port)) as line:
        send_add(line, ("grpc-timeout", "50m"))
        await_result(server, "deadline")


@pytest.mark.timeout(60)
def test_a_request_whose_connection_ends_is_counted(interface: Path) -> None:
    server = Server(interface)
    begun, goes_on = threading.Event(), threading.Event()

    def add_later(arguments: dict[str, Any]) -> dict[str, Any]:
        begun.set()
        assert goes_on.wait(60)
        return {"sum": arguments["firstNumber"]}

    server.handle("Shop.Add", add_later)
    with server:
        with socket.create_connection(("127.0.0.1", server.port)) as line:
            send_add(line)
            assert begun.wait(60)
        await_result(server, "cancelled")
        goes_on.set()


def test_requests_that_share_records_share_their_costs(
    interface: Path, stubs: tuple[Any, Any], certificate: tuple[Path, Path]
) -> None:
    """The first request of a burst was charged for the whole burst, and the others for nothing."""
    messages, services = stubs
    cert, key = certificate
    tls = Tls(certificate=cert, key=key)
    with shop(interface, tls=tls, observability=Observability(record=True)) as server:
        trust = grpc.ssl_channel_credentials(cert.read_bytes())
        with grpc.secure_channel(f"localhost:{server.port}", trust) as channel:
            stub = services.ShopStub(channel)
            for _ in range(32):
                calls = [stub.Add.future(messages.Pair(first_number=1)) for _ in range(16)]
                assert [call.result(timeout=60).sum for call in calls] == [1] * 16
        recorded = json.loads(server.recording({"shop.v1.Shop.Add": "Add"}))
    receiving = recorded["services"][0]["phases"][0]["chains"][0]["steps"][:2]
    assert [step["accelerator"] for step in receiving] == ["TCP", "Decr"]
    for step in receiving:
        free = sum(group["calls"] for group in step["by_size"] if group["input_bytes"] == 0)
        assert free < step["samples"] / 20
