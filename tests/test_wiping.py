"""What the memory of a server's process still holds of messages whose connections are closed."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import grpc
import pytest
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TApplicationException

from certificates import make_certificate
from thrift_client import INTERFACE, Client, Item, connect

#: Serves the interface, and says when all connections have ended each time that it is asked.
SERVER = """
import sys, time
from accelflow import Execution, Server, Tls

interface, overwrites, *tls = sys.argv[1:]
kept = []
tls = Tls(certificate=tls[0], key=tls[1]) if tls else None
# The default, except in the test that shows what it is for.
execution = Execution() if overwrites == "yes" else Execution(overwrites_freed_memory=False)
server = Server(interface, tls=tls, execution=execution)
if interface.endswith("wiping.proto"):
    server.handle("Echo", lambda arguments: {"text": arguments["text"]})
elif interface.endswith("wiping.thrift"):
    server.handle("Echo", lambda arguments: {"text": arguments["value"]["text"]})
else:
    server.handle("add", lambda arguments: arguments["a"] + arguments["b"])
    server.handle("note", lambda arguments: kept.append(arguments["text"]))
with server:
    print(server.port, flush=True)
    for _ in sys.stdin:
        while "accelflow_connections_open 0\\n" not in server.metrics():
            time.sleep(0.005)
        print("quiet", flush=True)
"""


class Served:
    """A server in a process of its own."""

    def __init__(self, process: subprocess.Popen[str], given: IO[str], said: IO[str]) -> None:
        self._process, self._given, self._said = process, given, said
        self.port = int(said.readline())

    def copies_of(self, marker: bytes) -> int:
        """Count a marker in all memory that the process can write, with no connection open."""
        self._given.write("quiet\n")
        self._given.flush()
        assert self._said.readline() == "quiet\n"
        copies = 0
        folder = Path("/proc") / str(self._process.pid)
        with (folder / "mem").open("rb", buffering=0) as memory:
            for line in (folder / "maps").read_text(encoding="utf-8").splitlines():
                place, access = line.split()[:2]
                start, end = (int(number, 16) for number in place.split("-"))
                if not access.startswith("rw"):
                    continue
                copies += everything(memory, start, end).count(marker)
        return copies


def everything(memory: IO[bytes], start: int, end: int) -> bytes:
    """Return what can be read between two addresses: of what is mapped, not all need be there."""
    parts = []
    memory.seek(start)
    while start < end:
        try:
            part = memory.read(end - start)
        except OSError:
            break
        if not part:
            break
        parts.append(part)
        start += len(part)
    return b"".join(parts)


@contextmanager
def serving(interface: Path, *files: Path, overwrites: bool = True) -> Iterator[Served]:
    """Run the server, with TLS if there are files of a certificate and its key."""
    arguments = [interface, "yes" if overwrites else "no", *files]
    command = [sys.executable, "-c", SERVER, *map(str, arguments)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield Served(process, process.stdin, process.stdout)
        finally:
            process.kill()


def marked(size: int) -> tuple[bytes, str]:
    """Return a marker that nothing else has, and a text full of it."""
    marker = f"~marker-{time.time_ns():x}~"
    return marker.encode(), marker * (size // len(marker))


@pytest.fixture(scope="module")
def interface(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("interface") / "calculator.thrift"
    path.write_text(INTERFACE, encoding="utf-8")
    return path


PROTO = """
syntax = "proto3";
package wiping;
message Text { string text = 1; }
service Wiping { rpc Echo(Text) returns (Text); }
"""


@pytest.fixture(scope="module")
def proto(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("interface") / "wiping.proto"
    path.write_text(PROTO, encoding="utf-8")
    return path


def refused(client: Client, text: str) -> None:
    """Make a call that all of T1 runs on, and no handler in Python sees."""
    with pytest.raises(TApplicationException):
        client.call("echo", value=Item(text=text))


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize("size", [300, 200_000])
def test_what_no_handler_has_seen_is_gone(
    interface: Path, tmp_path: Path, secure: bool, size: int
) -> None:
    files = make_certificate(tmp_path) if secure else ()
    with serving(interface, *files) as served:
        marker, text = marked(size)
        ca = files[0] if files else None
        with connect(served.port, TBinaryProtocol, ca) as client:
            for _ in range(20):
                refused(client, text)
            assert client.call("add", a=1, b=1) == 2
        assert served.copies_of(marker) == 0


def test_the_search_finds_what_a_handler_keeps(interface: Path) -> None:
    with serving(interface) as served:
        marker, text = marked(300)
        with connect(served.port, TBinaryProtocol, None) as client:
            client.send("note", text=text)
            assert client.call("add", a=1, b=1) == 2
        assert served.copies_of(marker) >= text.count(marker.decode())


ECHO = """
struct Text { 1: string text }
service Wiping { Text Echo(1: Text value) }
"""


def echo_thrift(port: int, text: str) -> None:
    """Call Echo twenty times, with a client for bytes."""
    data = text.encode()
    item = b"\x0b\0\1" + len(data).to_bytes(4, "big") + data + b"\0"
    message = b"\x80\1\0\1\0\0\0\4Echo\0\0\0\1\x0c\0\1" + item + b"\0"
    reply = b"\x80\1\0\2\0\0\0\4Echo\0\0\0\1\x0c\0\0" + item + b"\0"
    with socket.create_connection(("127.0.0.1", port)) as client, client.makefile("rb") as replies:
        for _ in range(20):
            client.sendall(len(message).to_bytes(4, "big") + message)
            assert replies.read(4) == len(reply).to_bytes(4, "big")
            assert replies.read(len(reply)) == reply


def echo_grpc(port: int, text: str, compression: grpc.Compression) -> None:
    """Call Echo ten times."""
    data, length = text.encode(), len(text)
    size = bytes([length & 0x7F | 0x80, length >> 7 & 0x7F | 0x80, length >> 14])
    message = b"\x0a" + size + data
    options = [("grpc.use_local_subchannel_pool", 1)]
    with grpc.insecure_channel(f"127.0.0.1:{port}", options) as channel:
        call = channel.unary_unary("/wiping.Wiping/Echo")
        for _ in range(10):
            assert call(message, timeout=60, compression=compression) == message


def test_what_a_handler_has_echoed_over_thrift_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "wiping.thrift"
    path.write_text(ECHO, encoding="utf-8")
    with serving(path) as served:
        marker, text = marked(200_000)
        echo_thrift(served.port, text)
        assert served.copies_of(marker) == 0


@pytest.mark.parametrize(
    "compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip], ids=["plain", "gzip"]
)
def test_what_a_handler_has_echoed_over_grpc_is_gone(
    proto: Path, compression: grpc.Compression
) -> None:
    with serving(proto) as served:
        marker, text = marked(100_000)
        echo_grpc(served.port, text, compression)
        # One or two copies remain (docs/server-reasons.md); without overwriting, thousands.
        assert served.copies_of(marker) <= 4


def test_without_overwriting_the_interpreter_leaves_texts_behind(proto: Path) -> None:
    with serving(proto, overwrites=False) as served:
        marker, text = marked(100_000)
        echo_grpc(served.port, text, grpc.Compression.NoCompression)
        assert served.copies_of(marker) > 1_000
