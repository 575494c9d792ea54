"""Tenants of `accelflow.Server`: told apart by address, shaped, and shaped anew while it runs."""

import re
import socket
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accelflow import AccelflowError, Control, InputError, Server, Shaping, Slo, Tenant

INTERFACE = "service Calculator { i32 next(1: i32 value) }"


def _frame(value: int) -> bytes:
    """Return a call of `next` in Thrift's binary protocol."""
    name = b"next"
    body = struct.pack(">I I", 0x80010001, len(name)) + name + struct.pack(">I", 7)
    body += struct.pack(">B h i B", 8, 1, value, 0)
    return struct.pack(">I", len(body)) + body


def _answer(stream: socket.socket) -> int:
    length = struct.unpack(">I", stream.recv(4, socket.MSG_WAITALL))[0]
    reply = stream.recv(length, socket.MSG_WAITALL)
    return int(struct.unpack(">i", reply[-5:-1])[0])


def _connect(port: int, address: str) -> socket.socket:
    stream = socket.create_connection(("127.0.0.1", port), 60, (address, 0))
    stream.settimeout(60)
    return stream


def _count(server: Server, series: str) -> int:
    found = re.search(rf"^{re.escape(series)} (\d+)$", server.metrics(), re.MULTILINE)
    return int(found[1]) if found else 0


@pytest.fixture
def interface(tmp_path: Path) -> Path:
    file = tmp_path / "calculator.thrift"
    file.write_text(INTERFACE, encoding="utf-8")
    return file


def test_a_flood_waits_for_its_own_tokens_and_is_let_pass_later(interface: Path) -> None:
    # A token in a thousand seconds: whoever has none waits for reshape.
    slow = Shaping(requests_per_s=0.001, burst_requests=3)
    tenants = [
        Tenant(name="flood", networks=["127.0.0.2"], shaping=slow),
        Tenant(name="other", networks=["127.0.0.0/29"], priority="high", max_traces=1),
    ]
    server = Server(interface, tenants=tenants)
    server.handle("next", lambda arguments: arguments["value"] + 1)
    with server, _connect(server.port, "127.0.0.2") as flood:
        flood.sendall(b"".join(_frame(value) for value in range(50)))
        assert [_answer(flood) for _ in range(3)] == [1, 2, 3]
        with _connect(server.port, "127.0.0.3") as other:
            for value in range(100):
                other.sendall(_frame(value))
                assert _answer(other) == value + 1
        assert _count(server, 'accelflow_tenant_requests_total{tenant="flood"}') == 3
        assert _count(server, 'accelflow_tenant_requests_total{tenant="other"}') == 100
        with pytest.raises(AccelflowError, match="tenant = 'none': must be one of flood, other"):
            server.reshape("none", Shaping())
        server.reshape("flood", Shaping())
        assert [_answer(flood) for _ in range(47)] == list(range(4, 51))


def test_a_tenant_can_be_shaped_in_requests_and_in_bytes(interface: Path) -> None:
    size = len(_frame(0))
    # Tokens come once in a thousand seconds; either limit ends before the other.
    few = Shaping(requests_per_s=0.001, burst_requests=2, bytes_per_s=0.001, burst_bytes=100 * size)
    little = Shaping(
        requests_per_s=0.001, burst_requests=100, bytes_per_s=0.001, burst_bytes=3 * size
    )
    tenants = [
        Tenant(name="few", networks=["127.0.0.2"], shaping=few),
        Tenant(name="little", networks=["127.0.0.3"], shaping=little),
    ]
    server = Server(interface, tenants=tenants)
    server.handle("next", lambda arguments: arguments["value"] + 1)
    with server:
        for tenant, address, passing in (("few", "127.0.0.2", 2), ("little", "127.0.0.3", 3)):
            with _connect(server.port, address) as stream:
                stream.sendall(b"".join(_frame(value) for value in range(5)))
                assert [_answer(stream) for _ in range(passing)] == list(range(1, passing + 1))
                total = f'accelflow_tenant_requests_total{{tenant="{tenant}"}}'
                assert _count(server, total) == passing
                server.reshape(tenant, Shaping())
                rest = [_answer(stream) for _ in range(5 - passing)]
                assert rest == list(range(passing + 1, 6))


def test_a_promise_needs_a_control_plane(interface: Path) -> None:
    slo = Slo(requests_per_s=1, request_us=1)
    words = "tenant 'a': slo is given: must be None, since the server has no control plane"
    with pytest.raises(InputError, match=words):
        Server(interface, tenants=[Tenant(name="a", networks=["::1"], slo=slo)])


def test_a_control_plane_sets_limits_in_accelerator_time_itself(interface: Path) -> None:
    shaping = Shaping(accelerator_s_per_s=0.5)
    tenants = [Tenant(name="a", networks=["::1"], shaping=shaping)]
    words = "tenant 'a': accelerator_s_per_s = 0.5: must be None, since the control plane sets it"
    with pytest.raises(InputError, match=words):
        Server(interface, tenants=tenants, control=Control())
    Server(interface, tenants=tenants)


def test_one_limit_in_accelerator_time_holds_for_requests_of_any_size(interface: Path) -> None:
    # A nanosecond in a second: the first request takes more, and the next ones wait for its debt.
    slow = Shaping(accelerator_s_per_s=1e-9, burst_accelerator_s=1e-9)
    server = Server(interface, tenants=[Tenant(name="a", networks=["127.0.0.2"], shaping=slow)])
    server.handle("next", lambda arguments: arguments["value"] + 1)
    with server, _connect(server.port, "127.0.0.2") as stream:
        stream.sendall(b"".join(_frame(value) for value in range(20)))
        assert _answer(stream) == 1
        while not _count(server, 'accelflow_tenant_waiting{tenant="a"}'):
            time.sleep(0.01)
        assert _count(server, 'accelflow_tenant_requests_total{tenant="a"}') == 1
        server.reshape("a", Shaping())
        assert [_answer(stream) for _ in range(19)] == list(range(2, 21))


def test_a_control_plane_gives_promises_and_watches_them(interface: Path) -> None:
    tenants = [
        Tenant(name="web", networks=["127.0.0.2"], slo=Slo(requests_per_s=100, request_us=1_000)),
        Tenant(name="batch", networks=["127.0.0.3"]),
    ]
    control = Control(capacity_s_per_s=1, period_s=0.01)
    server = Server(interface, tenants=tenants, control=control)
    server.handle("next", lambda arguments: arguments["value"] + 1)
    with server, _connect(server.port, "127.0.0.3") as stream:
        words = "must be at most 1400 for requests of 500 us"
        with pytest.raises(AccelflowError, match=re.escape(words)):
            server.set_slo("batch", Slo(requests_per_s=2_000, request_us=500))
        sized = Slo(requests_per_s=1, request_bytes=50, latency_percentile=99, latency_us=1_000_000)
        with pytest.raises(AccelflowError, match="50 bytes is left out: must be given"):
            server.set_slo("batch", sized)
        for value in range(5):
            stream.sendall(_frame(value))
            assert _answer(stream) == value + 1
        while not _count(server, 'accelflow_tenant_charged_total{tenant="batch"}'):
            time.sleep(0.01)
        server.set_slo("batch", sized)
        while not all(row["periods"] for row in server.slo_status()["tenants"][:2]):
            time.sleep(0.01)
        status = server.slo_status()
        assert status["promised_s_per_s"] > 0.1
        assert status["tenants"][1]["promise"]["latency"] == {
            "percentile": 99.0,
            "within_us": 1_000_000.0,
        }
        assert status["tenants"][0]["verdict"] in {"too short", "kept"}
        assert (server.remove_slo("web"), server.remove_slo("web")) == (True, False)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"networks": "127.0.0.0/8"}, "tenant 'a': networks = '127.0.0.0/8': must be a list"),
        ({"identities": "a.internal"}, "tenant 'a': identities = 'a.internal': must be a list"),
        ({"max_connections": 0}, "tenant 'a': max_connections = 0: must be a whole number from 1"),
        ({"max_traces": -1}, "tenant 'a': max_traces = -1: must be a whole number from 1"),
    ],
)
def test_settings_of_tenants_are_looked_at(
    interface: Path, settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        Server(interface, tenants=[Tenant(name="a", **settings)])


def untyped(**given: Any) -> Tenant:
    """Create a tenant from values of any type."""
    return Tenant(**given)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: Tenant(name="a", networks=["10.0.0.0/33"]),
            "tenant 'a': network = '10.0.0.0/33': must be",
        ),
        (lambda: Tenant(name="a", networks=[]), "at least one network"),
        (lambda: Tenant(name="", networks=["::1"]), "name = ''"),
        (lambda: Tenant(name="a", due_within_s=0), "tenant 'a': due_within_s = 0: must be a"),
        (
            lambda: Tenant(name="a", networks=["::1"], due_within_s=1e10),
            "due_within_s = 1e10: must be a number from 1e-9 to 1,000,000,000",
        ),
        (
            lambda: Tenant(name="a", networks=["::1"], shaping=Shaping(requests_per_s=1e-5)),
            "requests_per_s = 1e-05: must be a number from 0.00012 to",
        ),
        (
            lambda: untyped(name="a", priority="urgent"),
            "tenant 'a': priority = 'urgent': must be low, normal or high",
        ),
        (
            lambda: untyped(name="a", networks={}),
            "tenant 'a': networks = {}: must be a list of strings",
        ),
        (
            lambda: untyped(name="a", identities={}),
            "tenant 'a': identities = {}: must be a list of strings",
        ),
        (
            lambda: untyped(name="a", shaping=None),
            "tenant 'a': shaping = None: must be a Shaping",
        ),
        (lambda: untyped(name=1), "name of a tenant = 1: must be a text"),
    ],
)
def test_tenants_that_cannot_be_are_refused(
    interface: Path, make: Callable[[], Tenant], words: str
) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        Server(interface, tenants=[make()])
