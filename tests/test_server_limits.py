"""What an operator can set: how much a message may take, and when replies are compressed."""

import gzip
import os
import re
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc
import pytest

from accelflow import (
    AccelflowError,
    CallError,
    Client,
    InputError,
    Limits,
    Observability,
    Server,
    Timeouts,
)
from thrift_client import INTERFACE as THRIFT

INTERFACE = """
syntax = "proto3";
package test;
message Node { repeated Node nodes = 1; repeated bool bits = 2; string text = 3; }
service Test { rpc Echo(Node) returns (Node); }
"""


@pytest.fixture(scope="module")
def interface(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("limits") / "test.proto"
    path.write_text(INTERFACE, encoding="utf-8")
    return path


Echo = Callable[..., bytes]


def served(interface: Path, message: bytes, compressed: bool = False, **options: Any) -> str:
    """The code that a message gets."""
    server = Server(interface, limits=Limits(**options))
    server.handle("Test.Echo", lambda arguments: arguments)
    with server, grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        call: Echo = channel.unary_unary("/test.Test/Echo")
        packed = grpc.Compression.Gzip if compressed else grpc.Compression.NoCompression
        try:
            assert call(message, timeout=60, compression=packed) == message
        except grpc.RpcError as error:
            return str(error.code().name)
        return "OK"


def bits(count: int) -> bytes:
    return b"\x12" + bytes([count]) + b"\1" * count


def nested(depth: int) -> bytes:
    message = b""
    for _ in range(depth - 1):
        message = b"\x0a" + bytes([len(message)]) + message
    return message


def text(length: int) -> bytes:
    assert 0x80 <= length < 0x4000
    return b"\x1a" + bytes([length & 0x7F | 0x80, length >> 7]) + b"x" * length


@pytest.mark.parametrize(
    ("options", "fits", "beyond", "code"),
    [
        ({"max_elements": 20}, bits(17), bits(20), "RESOURCE_EXHAUSTED"),
        ({"max_depth": 5}, nested(5), nested(6), "INTERNAL"),
        ({"max_value_bytes": 1_000}, text(1_000), text(1_001), "RESOURCE_EXHAUSTED"),
        ({"max_message_bytes": 1_003}, text(1_000), text(1_001), "RESOURCE_EXHAUSTED"),
    ],
)
def test_messages_are_bounded_as_the_operator_says(
    interface: Path, options: dict[str, int], fits: bytes, beyond: bytes, code: str
) -> None:
    assert served(interface, fits, **options) == "OK"
    assert served(interface, beyond, **options) == code
    assert served(interface, beyond) == "OK"


@pytest.mark.parametrize("options", [{"max_decompressed_bytes": 5_000}])
def test_decompression_is_bounded_as_the_operator_says(
    interface: Path, options: dict[str, int]
) -> None:
    message = text(10_000)
    assert len(gzip.compress(message)) < len(message) / 10
    assert served(interface, message, compressed=True) == "OK"
    assert served(interface, message, compressed=True, **options) == "RESOURCE_EXHAUSTED"
    assert served(interface, message, **options) == "OK"


def test_as_many_connections_may_wait_as_the_server_may_have(interface: Path) -> None:
    allowed = int(Path("/proc/sys/net/core/somaxconn").read_text(encoding="ascii"))
    for most in (1, 1024):
        with Server(interface, limits=Limits(max_connections=most)) as server:
            assert backlog(server.port) == min(max(most, 128), allowed)


def backlog(port: int) -> int:
    """The backlog of this process's socket that listens on `port`."""
    for number in Path("/proc/self/fd").iterdir():
        with suppress(OSError), socket.socket(fileno=os.dup(int(number.name))) as held:
            if (
                held.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
                and held.getsockname()[1] == port
            ):
                # tcpi_sacked of struct tcp_info (linux/tcp.h), for a listening socket.
                info = held.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 64)
                return int(struct.unpack_from("I", info, 28)[0])
    raise AssertionError(f"no socket of this process listens on {port}")


@pytest.mark.parametrize(
    ("compression", "expected"),
    [("never", [0, 0]), ("like_request", [0, 1]), ("always", [1, 2])],
)
def test_replies_are_compressed_as_the_operator_says(
    interface: Path, compression: Any, expected: list[int]
) -> None:
    server = Server(interface, compression=compression)
    server.handle("Test.Echo", lambda arguments: arguments)
    steps = re.compile(r'accelflow_step_seconds_count\{[^}]*accelerator="Cmp"[^}]*\} (\d+)')
    found = []
    with server, grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        for packed in (grpc.Compression.NoCompression, grpc.Compression.Gzip):
            call: Echo = channel.unary_unary("/test.Test/Echo")
            assert call(text(1_000), timeout=60, compression=packed) == text(1_000)
            found.append(sum(int(count) for count in steps.findall(server.metrics())))
    assert found == expected


def configured(interface: Path, option: str, value: Any) -> Server:
    """A server with one setting."""
    options: dict[str, Any] = {option: value}
    match option:
        case "compression":
            return Server(interface, **options)
        case "write_timeout_s":
            return Server(interface, timeouts=Timeouts(**options))
        case _:
            return Server(interface, limits=Limits(**options))


@pytest.mark.parametrize(
    ("option", "value", "allowed"),
    [
        ("max_elements", 0, "a whole number from 1 to 8589934588"),
        ("max_elements", 1.5, "a whole number"),
        ("max_value_bytes", "many", "a whole number"),
        ("max_unsent_bytes", -1, "a whole number"),
        ("max_decompressed_bytes", True, "a whole number"),
        ("max_decompression_ratio", 0, "a whole number"),
        ("max_depth", 101, "a whole number from 1 to 100"),
        ("compression", "sometimes", "never, like_request or always"),
        ("compression", None, "never, like_request or always"),
        ("write_timeout_s", 0, "a number from 1e-9 to 1e9 s"),
        ("write_timeout_s", float("nan"), "a number from 1e-9"),
        ("write_timeout_s", "soon", "must be a number"),
    ],
)
def test_settings_that_cannot_be_are_named(
    interface: Path, option: str, value: Any, allowed: str
) -> None:
    with pytest.raises((InputError, AccelflowError)) as refused:
        configured(interface, option, value)
    assert option in str(refused.value)
    assert allowed in str(refused.value)


def test_a_client_that_does_not_take_its_reply_is_cut_off_in_time(tmp_path: Path) -> None:
    """After `write_timeout_s`: the other limits are far longer than this test may take."""
    path = tmp_path / "calculator.thrift"
    path.write_text(THRIFT, encoding="utf-8")
    timeouts = Timeouts(write_timeout_s=0.2, message_timeout_s=3_600.0)
    server = Server(path, timeouts=timeouts)
    # More than the system keeps for a client that does not read.
    server.handle("unhandled", lambda _: "x" * (12 << 20))
    with server, socket.create_connection(("127.0.0.1", server.port)) as client:
        call = b"\x80\1\0\1\0\0\0\x09unhandled\0\0\0\1\0"
        client.sendall(len(call).to_bytes(4, "big") + call)
        for _ in range(1_200):
            if 'accelflow_connections_total{end="slow"} 1\n' in server.metrics():
                break
            time.sleep(0.05)
        else:
            pytest.fail("the connection is still open")


def answer_to_compressed(tmp_path: Path, body: bytes, **options: Any) -> int | None:
    """The exception's type in the reply to a compressed call of Thrift; None for a result."""
    (tmp_path / "echo.thrift").write_text("service S { string text(1: string s) }")
    server = Server(tmp_path / "echo.thrift", limits=Limits(**options))
    server.handle("text", lambda arguments: arguments["s"])
    packed = gzip.compress(body)
    fields = (
        b"\x03" + struct.pack(">hB", 32000, 3) + b"\x0b" + struct.pack(">hI", 32001, len(packed))
    )
    head = struct.pack(">II", 0x80010001, 4) + b"text" + struct.pack(">i", 1)
    message = head + fields + packed + b"\0"
    with server, socket.create_connection(("127.0.0.1", server.port)) as line:
        line.settimeout(60)
        line.sendall(struct.pack(">I", len(message)) + message)
        reply = b""
        while len(reply) < 4 or len(reply) < 4 + struct.unpack(">I", reply[:4])[0]:
            more = line.recv(65536)
            assert more, "the server closed the connection"
            reply += more
    if reply[7] == 2:
        return None
    assert reply[7] == 3
    at = reply.index(b"\x08\0\2") + 3
    return int(struct.unpack(">i", reply[at : at + 4])[0])


PROTOCOL_ERROR = 7


@pytest.mark.parametrize(
    ("body", "options"),
    [
        (b'{"s":' + b"[" * 50_000 + b"]" * 50_000 + b"}", {}),
        (b'{"s":' + b"[" * 18 + b"]" * 18 + b"}", {"max_depth": 9}),
        (b'{"s":[' + b"1," * 29 + b"1]}", {"max_elements": 20}),
        (b'{"s":"' + b"x" * 101 + b'"}', {"max_value_bytes": 100}),
        (b'{"s":', {}),
        (b"not JSON", {}),
    ],
)
def test_limits_hold_in_compressed_bodies(
    tmp_path: Path, body: bytes, options: dict[str, int]
) -> None:
    assert answer_to_compressed(tmp_path, body, **options) == PROTOCOL_ERROR


def test_compressed_bodies_within_the_limits_are_answered(tmp_path: Path) -> None:
    options = {"max_depth": 1, "max_elements": 20, "max_value_bytes": 100}
    for text in (b"x" * 100, b"\\u0078" * 50 + b"\\n" * 50):
        assert answer_to_compressed(tmp_path, b'{"s":"' + text + b'"}', **options) is None


def test_what_a_plain_message_may_hold_a_compressed_one_may_hold_too(tmp_path: Path) -> None:
    interface = tmp_path / "maps.thrift"
    interface.write_text("service S { i32 size(1: map<i64, i64> entries) }")
    server = Server(interface)
    server.handle("size", lambda arguments: len(arguments["entries"]))
    # Two elements an entry, of 131,072.
    entries = [[number, number] for number in range(65_000)]
    with server:
        for compress in (False, True):
            client = Client(interface, f"127.0.0.1:{server.port}", compress=compress)
            assert client.call("size", {"entries": entries}) == 65_000


FEW_DESCRIPTORS = """
import os, resource, sys
from accelflow import Limits, Server

resource.setrlimit(resource.RLIMIT_NOFILE, (120, 120))
server = Server(sys.argv[1], limits=Limits(reserved_descriptors=20))
server.handle("text", lambda arguments: arguments["s"])
with server:
    print(server.port, flush=True)
    for _ in sys.stdin:
        refused = 'end="no_descriptors"' in server.metrics()
        print(len(os.listdir("/proc/self/fd")), refused, flush=True)
"""


@pytest.mark.timeout(120)
def test_connections_are_taken_again_when_descriptors_are_free(tmp_path: Path) -> None:
    (tmp_path / "echo.thrift").write_text("service S { string text(1: string s) }")
    command = [sys.executable, "-c", FEW_DESCRIPTORS, str(tmp_path / "echo.thrift")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        port = int(process.stdout.readline())

        def state() -> tuple[int, bool]:
            process.stdin.write("\n")
            process.stdin.flush()
            count, refused = process.stdout.readline().split()
            return int(count), refused == "True"

        idle, _ = state()
        lines = [socket.create_connection(("127.0.0.1", port)) for _ in range(105)]
        while not state()[1]:
            time.sleep(0.01)
        for line in lines:
            line.close()
        while state()[0] > idle:
            time.sleep(0.01)
        body = b"\x0b\0\1\0\0\0\1x\0"
        message = struct.pack(">II", 0x80010001, 4) + b"text" + struct.pack(">i", 1) + body
        with socket.create_connection(("127.0.0.1", port), timeout=60) as line:
            line.sendall(struct.pack(">I", len(message)) + message)
            assert line.recv(1) == b"\0"
        process.stdin.close()
        assert process.wait(timeout=60) == 0


@pytest.mark.parametrize("record", [False, True])
@pytest.mark.parametrize("compress", [False, True])
def test_a_void_function_returns_no_value(tmp_path: Path, record: bool, compress: bool) -> None:
    """Servers with a recording, and those of compressed requests, dropped the value."""
    path = tmp_path / "void.thrift"
    path.write_text("service Test { void quiet(), void loud() }", encoding="utf-8")
    server = Server(path, observability=Observability(record=record))
    server.handle("quiet", lambda _: None)
    server.handle("loud", lambda _: 5)
    with server:
        client = Client(path, f"127.0.0.1:{server.port}", compress=compress)
        assert client.call("quiet") is None
        with pytest.raises(CallError, match="bad_result"):
            client.call("loud")
