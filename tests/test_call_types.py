"""Arguments of methods of servers and clients that are not allowed are refused by name."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accelflow import (
    AccelflowError,
    CallError,
    Client,
    GrpcClient,
    HttpClient,
    InputError,
    Server,
    Shaping,
    Slo,
)

THRIFT = "service Calculator { i64 add(1: i64 a, 2: i64 b) }"
PROTO = """
syntax = "proto3";
message Pair { int64 a = 1; }
service Calculator { rpc Add(Pair) returns (Pair); }
"""
NAN = float("nan")
HUGE = 10**400
TIME = "must be a number from 1e-9 to 1,000,000,000"
SLO = Slo(requests_per_s=1, request_us=1)
GRACE = "must be a number from 0 to 1,000,000,000"


@pytest.fixture(scope="module")
def thrift(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("thrift") / "calculator.thrift"
    path.write_text(THRIFT, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def proto(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("proto") / "calculator.proto"
    path.write_text(PROTO, encoding="utf-8")
    return path


def add(arguments: dict[str, Any]) -> int:
    return int(arguments["a"] + arguments["b"])


Use = Callable[[Any], object]

#: Wrong uses of a server, each with the beginning of its message.
OF_SERVER: list[tuple[Use, str]] = [
    (lambda server: server.handle(5, add), "name = 5: must be the name of a function"),
    (lambda server: server.handle("add", add, due_within_s="1"), f"due_within_s = '1': {TIME}"),
    (lambda server: server.handle("add", add, due_within_s=0), f"due_within_s = 0: {TIME}"),
    (lambda server: server.handle("add", add, due_within_s=1e-12), f"due_within_s = 1e-12: {TIME}"),
    (lambda server: server.handle("add", add, due_within_s=True), f"due_within_s = True: {TIME}"),
    (lambda server: server.handle("add", add, due_within_s=HUGE), "due_within_s = 1000"),
    (lambda server: server.start(None), "host = None: must be an IP address or a name"),
    (lambda server: server.start("x" * 300), "host = 'xxx"),
    (lambda server: server.start(port=-1), "port = -1: must be a whole number"),
    (lambda server: server.stop(None), f"grace_s = None: {GRACE}"),
    (lambda server: server.stop("1"), f"grace_s = '1': {GRACE}"),
    (lambda server: server.stop(-1), f"grace_s = -1: {GRACE}"),
    (lambda server: server.stop(True), f"grace_s = True: {GRACE}"),
    (lambda server: server.stop(HUGE), "grace_s = 1000"),
    (lambda server: server.serve(grace_s=NAN), f"grace_s = nan: {GRACE}"),
    (lambda server: server.reshape(1, Shaping()), "tenant = 1: must be the name of a tenant"),
    (lambda server: server.reshape("a", None), "shaping = None: must be a Shaping"),
    (lambda server: server.set_slo(1, SLO), "tenant = 1: must be the name"),
    (lambda server: server.set_slo("a", None), "slo = None: must be an Slo"),
    (lambda server: server.remove_slo(1), "tenant = 1: must be the name of a tenant"),
    (lambda server: server.recording(["x"]), "services = ['x']: must be a mapping of functions"),
    (lambda server: server.recording({"x": 1}), "name in services = 1: must be a text"),
    (lambda server: server.recording({}, base=5), "base = 5: must be the text of a recording"),
]

#: Wrong settings of calls by each client.
OF_CALLS: list[tuple[dict[str, Any], str]] = [
    ({"timeout_s": "1"}, f"timeout_s = '1': {TIME}"),
    ({"timeout_s": 0}, f"timeout_s = 0: {TIME}"),
    ({"timeout_s": 1e-12}, f"timeout_s = 1e-12: {TIME}"),
    ({"timeout_s": -1}, f"timeout_s = -1: {TIME}"),
    ({"timeout_s": NAN}, f"timeout_s = nan: {TIME}"),
    ({"timeout_s": True}, f"timeout_s = True: {TIME}"),
    ({"timeout_s": HUGE}, "timeout_s = 1000"),
    ({"cancel": 1}, "cancel = 1: must be a Cancel or None"),
    ({"idempotent": 1}, "idempotent = 1: must be True or False"),
]

#: Wrong uses of each client.
OF_CLIENTS: list[tuple[str, Use, str]] = [
    ("thrift", lambda client: client.call(5), "method = 5: must be the name of a method"),
    ("thrift", lambda client: client.call("add", 0), "type of arguments = 'int': must be a map"),
    ("thrift", lambda client: client.call("add", []), "type of arguments = 'list': must be a"),
    ("grpc", lambda client: client.call(None), "method = None: must be the name of a method"),
    ("grpc", lambda client: client.call("Add", []), "type of request = 'list': must be a map"),
    ("grpc", lambda client: client.call("Add", 0), "type of request = 'int': must be a mapping"),
    ("grpc", lambda client: client.call("Add", metadata=5), "type of metadata = 'int': must be"),
    ("http", lambda client: client.request(5, "/"), "method = 5: must be the name of a method"),
    ("http", lambda client: client.request("GET", None), "target = None: must be a path"),
    ("http", lambda client: client.request("GET", "/", headers=0), "type of headers = 'int': mu"),
    ("http", lambda client: client.request("GET", "/", headers=""), "type of headers = 'str': mu"),
    (
        "http",
        lambda client: client.request("GET", "/", headers={"authorization": None}),
        "type of header 'authorization' = 'NoneType': must be str",
    ),
    (
        "http",
        lambda client: client.request("GET", "/", headers={5: "x"}),
        "type of a header's name = 'int': must be str",
    ),
]


@pytest.mark.parametrize(("use", "message"), OF_SERVER, ids=[row[1][:32] for row in OF_SERVER])
def test_a_wrong_argument_of_a_server_is_refused_by_name(
    thrift: Path, use: Use, message: str
) -> None:
    with pytest.raises(InputError) as refused:
        use(Server(thrift))
    assert str(refused.value).startswith(message)


def test_a_handler_whose_time_is_refused_is_not_registered(
    thrift: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server(thrift)
    with pytest.raises(InputError, match="due_within_s = -1: must be a number from 1e-9"):
        server.handle("add", add, due_within_s=-1)
    with server, pytest.raises(CallError):
        Client(thrift, f"127.0.0.1:{server.port}").call("add", {"a": 1, "b": 2}, timeout_s=60)
    assert "no handler for Calculator.add" in caplog.text


def test_an_address_that_is_taken_is_no_wrong_argument(thrift: Path) -> None:
    with Server(thrift) as server, pytest.raises(AccelflowError) as refused:
        Server(thrift).start(port=server.port)
    assert not isinstance(refused.value, InputError)


@pytest.fixture
def clients(thrift: Path, proto: Path) -> dict[str, Any]:
    """Clients of a port at which nobody listens: a refused call does not get that far."""
    return {
        "thrift": Client(thrift, "127.0.0.1:1"),
        "grpc": GrpcClient(proto, "127.0.0.1:1"),
        "http": HttpClient("127.0.0.1:1"),
    }


@pytest.mark.parametrize(("settings", "message"), OF_CALLS, ids=[row[1] for row in OF_CALLS])
def test_a_wrong_setting_of_a_call_is_refused_by_name(
    clients: dict[str, Any], settings: dict[str, Any], message: str
) -> None:
    calls: list[Callable[[], object]] = [
        lambda: clients["thrift"].call("add", **settings),
        lambda: clients["grpc"].call("Add", **settings),
        lambda: clients["http"].request("GET", "/", **settings),
    ]
    if "cancel" not in settings:
        calls += [
            lambda: asyncio.run(clients["thrift"].call_async("add", **settings)),
            lambda: asyncio.run(clients["grpc"].call_async("Add", **settings)),
            lambda: asyncio.run(clients["http"].request_async("GET", "/", **settings)),
        ]
    for call in calls:
        with pytest.raises(InputError) as refused:
            call()
        assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("client", "use", "message"), OF_CLIENTS, ids=[f"{row[0]}-{row[2][:32]}" for row in OF_CLIENTS]
)
def test_a_wrong_argument_of_a_call_is_refused_by_name(
    clients: dict[str, Any], client: str, use: Use, message: str
) -> None:
    with pytest.raises(InputError) as refused:
        use(clients[client])
    assert str(refused.value).startswith(message)
