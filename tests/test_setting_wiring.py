"""Settings from Python reach what they are named after, and nothing else."""

import asyncio
import random
import re
import socket
import ssl
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from accelflow import (
    CallError,
    Client,
    Execution,
    Fault,
    HttpClient,
    Limits,
    Server,
    Tenant,
    Timeouts,
    Tls,
)
from accelflow.client import CallLimits
from certificates import make_certificate

INTERFACE = "service Calculator { i32 next(1: i32 value), string echo(1: string text) }"
PROTO = """
syntax = "proto3";
message Text { string text = 1; }
service Test { rpc Echo(Text) returns (Text); }
"""

#: So long that a test that waits for it fails.
NEVER_S = 600.0
SHORT_S = 0.3
NEVER = {
    "idle_timeout_s": NEVER_S,
    "evict_after_s": NEVER_S,
    "first_byte_timeout_s": NEVER_S,
    "message_timeout_s": NEVER_S,
    "write_timeout_s": NEVER_S,
}


@pytest.fixture(scope="module")
def interface(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("interface") / "calculator.thrift"
    path.write_text(INTERFACE, encoding="utf-8")
    return path


def serving(interface: Path, short: dict[str, float] | None = None, **options: Any) -> Server:
    """A server with long timeouts except for those of `short`."""
    server = Server(interface, timeouts=Timeouts(**NEVER | (short or {})), **options)
    server.handle("next", lambda arguments: arguments["value"] + 1)
    server.handle("echo", lambda arguments: arguments["text"])
    return server


def call_of(value: int) -> bytes:
    """A call of `next` in Thrift's binary protocol."""
    name = b"next"
    body = struct.pack(">I I", 0x80010001, len(name)) + name + struct.pack(">I", 7)
    body += struct.pack(">B h i B", 8, 1, value, 0)
    return struct.pack(">I", len(body)) + body


def connected(port: int, address: str = "127.0.0.1") -> socket.socket:
    stream = socket.create_connection(("127.0.0.1", port), 60, (address, 0))
    stream.settimeout(60)
    return stream


def answered(stream: socket.socket) -> bool:
    """Whether the server answers a call; otherwise it has closed the connection."""
    try:
        stream.sendall(call_of(41))
        length = stream.recv(4, socket.MSG_WAITALL)
        if len(length) < 4:
            return False
        reply = stream.recv(struct.unpack(">I", length)[0], socket.MSG_WAITALL)
    except ConnectionError:
        return False
    return reply.endswith(struct.pack(">i", 42) + b"\0")


def ended(stream: socket.socket) -> bool:
    """Whether the server closes the connection before the socket's own timeout."""
    try:
        while stream.recv(4096):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        pass
    return True


def ends(server: Server) -> dict[str, int]:
    """How many connections have ended, by the reason."""
    found = re.findall(r'accelflow_connections_total\{end="(\w+)"\} (\d+)', server.metrics())
    return {end: int(count) for end, count in found if int(count)}


def await_ends(server: Server, **counts: int) -> None:
    """Wait until so many connections have ended: they do on threads of their own."""
    for _ in range(1_200):
        if ends(server).items() >= counts.items():
            return
        time.sleep(0.05)
    pytest.fail(f"connections have ended so: {ends(server)}")


def test_first_byte_timeout_ends_a_connection_that_sends_nothing(interface: Path) -> None:
    with serving(interface, {"first_byte_timeout_s": SHORT_S}) as server:
        with connected(server.port) as stream:
            assert ended(stream)
        await_ends(server, silent=1)


def test_idle_timeout_ends_a_connection_that_has_made_a_call(interface: Path) -> None:
    with serving(interface, {"idle_timeout_s": SHORT_S}) as server:
        # It also ends one whose first call is late, as may happen on a loaded machine.
        for _ in range(100):
            with connected(server.port) as stream:
                if answered(stream):
                    assert ended(stream)
                    break
        await_ends(server, idle=1)


def test_message_timeout_ends_a_connection_within_a_message(interface: Path) -> None:
    with serving(interface, {"message_timeout_s": SHORT_S}) as server:
        with connected(server.port) as stream:
            stream.sendall(call_of(1)[:9])
            assert ended(stream)
        await_ends(server, slow=1)


def test_message_timeout_ends_a_tls_handshake_that_does_not_begin(
    interface: Path, tmp_path: Path
) -> None:
    certificate, key = make_certificate(tmp_path)
    tls = Tls(certificate=certificate, key=key)
    server = serving(interface, {"message_timeout_s": SHORT_S}, tls=tls)
    with server, connected(server.port) as stream:
        assert ended(stream)
    context = ssl.create_default_context(cafile=str(certificate))
    with (
        serving(interface, {"first_byte_timeout_s": SHORT_S}, tls=tls) as server,
        connected(server.port) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as stream,
    ):
        assert ended(stream)
        await_ends(server, silent=1)


def test_message_timeout_ends_a_grpc_connection_without_a_preface(tmp_path: Path) -> None:
    path = tmp_path / "test.proto"
    path.write_text(PROTO, encoding="utf-8")
    server = Server(path, timeouts=Timeouts(**NEVER | {"message_timeout_s": SHORT_S}))
    with server, connected(server.port) as stream:
        assert ended(stream)


def test_an_idle_connection_is_evicted_after_its_time_and_not_before(interface: Path) -> None:
    for evict_after_s, evicts in ((0.1, True), (NEVER_S, False)):
        limits = Limits(max_connections=2)
        server = serving(interface, {"evict_after_s": evict_after_s}, limits=limits)
        with server, connected(server.port) as first, connected(server.port) as second:
            assert answered(first)
            assert answered(second)
            for _ in range(600):
                with connected(server.port) as third:
                    if answered(third):
                        break
                if not evicts:
                    break
                time.sleep(0.1)
            # Either may have been idle longest: the server notes when an answer has gone.
            assert (answered(first) and answered(second)) is not evicts
            assert evicts or "evicted" not in ends(server)


def test_an_address_has_at_most_its_connections(interface: Path) -> None:
    server = serving(interface, limits=Limits(max_connections_per_address=3))
    with server, ExitStack() as streams:
        for address in ("127.0.0.1", "127.0.0.2"):
            for _ in range(3):
                assert answered(streams.enter_context(connected(server.port, address)))
            assert not answered(streams.enter_context(connected(server.port, address)))
        await_ends(server, too_many_of_address=2)


def test_a_tenant_has_at_most_its_connections(interface: Path) -> None:
    tenants = [
        Tenant(name="two", networks=["127.0.0.2"], max_connections=2),
        Tenant(name="four", networks=["127.0.0.3"], max_connections=4),
    ]
    with serving(interface, tenants=tenants) as server, ExitStack() as streams:
        for address, most in (("127.0.0.2", 2), ("127.0.0.3", 4)):
            for _ in range(most):
                assert answered(streams.enter_context(connected(server.port, address)))
            assert not answered(streams.enter_context(connected(server.port, address)))
        await_ends(server, too_many_of_tenant=2)


def test_a_text_is_decompressed_to_at_most_its_ratio(interface: Path) -> None:
    # Nine letters are 3.2 bits each: zstd compresses them by 2.5.
    text = "".join(random.Random(1).choices("abcdefghi", k=200_000))  # noqa: S311 (no secret)
    for ratio, fits in ((2, False), (5, True)):
        with serving(interface, limits=Limits(max_decompression_ratio=ratio)) as server:
            limits = CallLimits(timeout_s=60.0)
            client = Client(interface, f"127.0.0.1:{server.port}", compress=True, limits=limits)
            if fits:
                assert client.call("echo", {"text": text}) == text
            else:
                with pytest.raises(CallError):
                    client.call("echo", {"text": text})


def test_uniform_text_is_compressed_so_that_the_other_end_reads_it(interface: Path) -> None:
    text = "x" * 70_000
    with serving(interface, compression="always") as server:
        for compress in (False, True):
            limits = CallLimits(timeout_s=60.0)
            client = Client(interface, f"127.0.0.1:{server.port}", compress=compress, limits=limits)
            assert client.call("echo", {"text": text}) == text


def fallen(interface: Path, fault: Fault, calls: int = 8) -> list[int]:
    """How many traces a core has taken over after each call to a server with a fault."""
    server = serving(interface, execution=Execution(faults=[fault]))
    counts = []
    with server, connected(server.port) as stream:
        for _ in range(calls):
            assert answered(stream)
            found = re.findall(r"accelflow_fallbacks_total\{[^}]*\} (\d+)", server.metrics())
            counts.append(sum(int(count) for count in found))
    return counts


def test_a_fault_meets_the_steps_that_it_is_set_for(interface: Path) -> None:
    third = fallen(interface, Fault(accelerator="Ser", kind="fail", nth=3))
    assert third == [0, 0, 1, 1, 1, 1, 1, 1]
    none = fallen(interface, Fault(accelerator="Ser", kind="fail", share=0))
    assert none == [0] * 8
    every = fallen(interface, Fault(accelerator="Ser", kind="fail", share=1))
    assert every == list(range(1, 9))


def test_the_seed_of_a_fault_chooses_its_steps(interface: Path) -> None:
    def drawn(seed: int) -> list[int]:
        fault = Fault(accelerator="Ser", kind="fail", share=0.5, seed=seed)
        return fallen(interface, fault, calls=32)

    first = drawn(1)
    assert 0 < first[-1] < 32
    assert drawn(1) == first
    assert drawn(2) != first


def test_a_server_stops_after_its_grace_while_a_handler_runs(interface: Path) -> None:
    begun, go = threading.Event(), threading.Event()

    def wait(arguments: dict[str, Any]) -> Any:
        begun.set()
        assert go.wait(60)
        return arguments["value"]

    server = Server(interface)
    server.handle("next", wait)
    server.start()
    with connected(server.port) as stream:
        stream.sendall(call_of(1))
        assert begun.wait(60)
        assert server.stop(0.05) == 1
        go.set()


@contextmanager
def closing() -> Iterator[tuple[int, list[None]]]:
    """A service that reads a request and closes the connection: its port and its requests."""
    requests: list[None] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                stream, _ = listener.accept()
                with stream:
                    if not stream.recv(1 << 16):
                        return
                    requests.append(None)

        thread = threading.Thread(target=serve)
        thread.start()
        port = listener.getsockname()[1]
        try:
            yield port, requests
        finally:
            # A connection without a request ends the service.
            socket.create_connection(("127.0.0.1", port)).close()
            thread.join()


@pytest.mark.parametrize("attempts", [1, 2, 3, 7])
def test_a_call_that_may_be_repeated_has_its_attempts(interface: Path, attempts: int) -> None:
    limits = CallLimits(timeout_s=60.0, max_attempts=attempts)
    with closing() as (port, requests):
        client = Client(interface, f"127.0.0.1:{port}", limits=limits)
        with pytest.raises(CallError):
            client.call("next", {"value": 1}, idempotent=True)
        assert len(requests) == attempts
        with pytest.raises(CallError):
            client.call("next", {"value": 1})
        assert len(requests) == attempts + 1


@pytest.mark.parametrize(("idempotent", "attempts"), [(False, 1), (True, 3)])
def test_a_request_of_a_coroutine_may_be_repeated(idempotent: bool, attempts: int) -> None:
    with closing() as (port, requests):
        client = HttpClient(f"127.0.0.1:{port}", limits=CallLimits(timeout_s=60.0, max_attempts=3))
        with pytest.raises(CallError):
            asyncio.run(client.request_async("POST", "/", {}, idempotent=idempotent))
        assert len(requests) == attempts
