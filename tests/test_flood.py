"""What a flood costs a server in memory: a process of its own, measured by the system."""

import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.request import urlopen

import pytest

from thrift_client import INTERFACE, connect

MIB = 1 << 20
CONNECTIONS = 48
MESSAGE_BYTES = 2 * MIB

#: How many times the largest message a connection may cost: docs/server-limits.md.
COPIES = 4

SERVER = f"""
import sys
from accelflow import Limits, Server, Timeouts
server = Server(
    sys.argv[1],
    limits=Limits(max_connections={CONNECTIONS}, max_message_bytes={MESSAGE_BYTES}),
    timeouts=Timeouts(message_timeout_s=600.0),
)
server.handle("Calculator.add", lambda arguments: arguments["a"] + arguments["b"])
server.handle("Calculator.note", lambda _: None)
print(server.start(), flush=True)
sys.stdin.read()
server.stop(0.0)
"""


class Flooded:
    """A server process."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process = process
        self.port = port

    def peak_bytes(self) -> int:
        """The most memory that it ever had resident (proc_pid_status(5): VmHWM)."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) * 1024


@contextmanager
def server_process(interface: Path, program: str = SERVER) -> Iterator[Flooded]:
    command = [sys.executable, "-c", program, str(interface)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield Flooded(process, int(process.stdout.readline()))
        finally:
            process.kill()


def frame(length: int, body: bytes) -> bytes:
    return length.to_bytes(4, "big") + body


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_memory_is_bounded_under_a_flood(tmp_path: Path) -> None:
    """A connection costs at most 4 messages of the largest size that is allowed.

    A receive buffer doubles, of which only what has come is resident, and is there twice while it
    grows. A message that runs is there as bytes, as the payload of a trace and as JSON.
    """
    interface = tmp_path / "calculator.thrift"
    interface.write_text(INTERFACE, encoding="utf-8")
    with server_process(interface) as server:
        with connect(server.port) as client:
            assert client.call("add", a=1, b=1) == 2
        before = server.peak_bytes()

        # All connections hold all but the last byte of a message, while more are turned away.
        almost = frame(MESSAGE_BYTES, bytes(MESSAGE_BYTES - 1))
        with ExitStack() as stack:

            def hold(_: int) -> None:
                flooding = stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
                flooding.settimeout(60)
                # Those that are one too many are reset, at once or later.
                with suppress(ConnectionError):
                    flooding.sendall(almost)

            with ThreadPoolExecutor(8) as threads:
                list(threads.map(hold, range(2 * CONNECTIONS)))
            for _ in range(600):
                held = server.peak_bytes() - before
                if held >= CONNECTIONS * MESSAGE_BYTES:
                    break
                time.sleep(0.05)

        # Lengths that promise much cost nothing, and messages that are run are given back.
        def promise(_: int) -> None:
            with socket.create_connection(("127.0.0.1", server.port)) as flooding:
                flooding.sendall(frame(MESSAGE_BYTES, b"\x80\x01\x00\x01"))

        def send(_: int) -> None:
            with connect(server.port) as client:
                for _ in range(6):
                    client.send("note", text="x" * (MESSAGE_BYTES - 100))
                assert client.call("add", a=1, b=1) == 2

        with ThreadPoolExecutor(16) as threads:
            list(threads.map(promise, range(400)))
            list(threads.map(send, range(32)))
        flooded = server.peak_bytes() - before
        with connect(server.port) as client:
            assert client.call("add", a=2, b=2) == 4
    print(f"held {held / MIB:.1f} MiB, in all {flooded / MIB:.1f} MiB above {before / MIB:.1f} MiB")
    assert CONNECTIONS * MESSAGE_BYTES <= held <= CONNECTIONS * COPIES * MESSAGE_BYTES
    assert flooded <= CONNECTIONS * COPIES * MESSAGE_BYTES


HUNGRY = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (192, 192))
from accelflow import Observability, Server, Timeouts
server = Server(
    sys.argv[1],
    observability=Observability(admin="127.0.0.1:0"),
    timeouts=Timeouts(first_byte_timeout_s=600.0, message_timeout_s=600.0),
)
server.handle("Calculator.add", lambda arguments: arguments["a"] + arguments["b"])
server.start()
print(server.port, server.admin_port, flush=True)
sys.stdin.read()
server.stop(0.0)
"""

PROTO = """
syntax = "proto3";
message Pair { int64 a = 1; int64 b = 2; }
message Sum { int64 sum = 1; }
service Calculator { rpc add(Pair) returns (Sum); }
"""


def counted(metrics: str, series: str) -> int:
    found = re.search(rf"^{re.escape(series)} (\d+)$", metrics, re.MULTILINE)
    return int(found[1]) if found else 0


IDLE = HUNGRY.replace(
    "first_byte_timeout_s=600.0", "first_byte_timeout_s=600.0, evict_after_s=0.001"
)


def test_connections_that_spoke_once_lock_nobody_out(tmp_path: Path) -> None:
    """Neither for want of places nor for want of descriptors."""
    interface = tmp_path / "c.thrift"
    interface.write_text(INTERFACE, encoding="utf-8")
    command = [sys.executable, "-c", IDLE, str(interface)]
    with (
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process,
        ExitStack() as stack,
    ):
        stack.callback(process.kill)
        assert process.stdout is not None
        port, admin = map(int, process.stdout.readline().split())
        for number in range(400):
            client = stack.enter_context(connect(port))
            assert client.call("add", a=number, b=1) == number + 1
        metrics = urlopen(f"http://127.0.0.1:{admin}/metrics", timeout=60).read().decode()
        assert counted(metrics, 'accelflow_connections_total{end="evicted"}') > 200
        assert counted(metrics, 'accelflow_connections_total{end="no_descriptors"}') == 0


@pytest.mark.parametrize(("name", "text"), [("c.thrift", INTERFACE), ("c.proto", PROTO)])
def test_operators_are_answered_when_connections_have_taken_all_descriptors(
    tmp_path: Path, name: str, text: str
) -> None:
    interface = tmp_path / name
    interface.write_text(text, encoding="utf-8")
    command = [sys.executable, "-c", HUNGRY, str(interface)]
    with (
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process,
        ExitStack() as stack,
    ):
        stack.callback(process.kill)
        assert process.stdout is not None
        port, admin = map(int, process.stdout.readline().split())

        def metrics() -> str:
            return urlopen(f"http://127.0.0.1:{admin}/metrics", timeout=60).read().decode()

        for _ in range(200):
            stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        refused = 'accelflow_connections_total{end="no_descriptors"}'
        open_now = "accelflow_connections_open"
        for _ in range(600):
            seen = metrics()
            if counted(seen, refused) + counted(seen, open_now) == 200:
                break
            time.sleep(0.05)
        assert counted(seen, refused) > 0
        assert counted(seen, open_now) > 10
        assert counted(seen, 'accelflow_connections_total{end="accept_failed"}') == 0


#: With the default limits.
BUDGET_SERVER = """
import sys
from accelflow import Server
server = Server(sys.argv[1])
server.handle("Lists.count", lambda arguments: len(arguments["lists"]))
print(server.start(), flush=True)
sys.stdin.read()
server.stop(0.0)
"""

LISTS = "struct Empty {} service Lists { i64 count(1: list<list<Empty>> lists) }"


def lists(outer: int, inner: int) -> bytes:
    """A call of `count` with so many lists of so many empty structs."""
    one = b"\x0c" + inner.to_bytes(4, "big") + bytes(inner)
    arguments = b"\x0f\0\1\x0f" + outer.to_bytes(4, "big") + one * outer + b"\0"
    message = b"\x80\1\0\1" + (5).to_bytes(4, "big") + b"count" + bytes(4) + arguments
    return frame(len(message), message)


def answer(stream: socket.socket) -> bytes:
    with stream.makefile("rb") as replies:
        return replies.read(int.from_bytes(replies.read(4), "big"))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_what_is_in_a_message_is_bounded(tmp_path: Path) -> None:
    """A message of 15 MiB with as many empty structs costs no more than its bytes do."""
    interface = tmp_path / "lists.thrift"
    interface.write_text(LISTS, encoding="utf-8")
    largest = 16 * MIB
    with (
        server_process(interface, BUDGET_SERVER) as server,
        socket.create_connection(("127.0.0.1", server.port)) as client,
    ):
        client.settimeout(60)
        client.sendall(lists(8, 100))
        assert answer(client).endswith(b"\0\0\0\0\0\0\0\x08\0")
        before = server.peak_bytes()
        for _ in range(3):
            client.sendall(lists(15, MIB))
            refused = answer(client)
            assert b"too_large" in refused or b"must be at most 131072" in refused
        # A message with the most elements allowed must stay within the bound, too.
        client.sendall(lists(8, 16_000))
        assert answer(client).endswith(b"\0\0\0\0\0\0\0\x08\0")
        cost = server.peak_bytes() - before
    assert cost <= COPIES * largest
