"""Traces of one's own in Python: servers, clients, connections, owners."""

import http.client
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from thrift.Thrift import TApplicationException

from accelflow import (
    AccelflowError,
    CallError,
    Client,
    ClientTraces,
    InputError,
    Server,
    ServerTraces,
    TraceError,
)
from accelflow.operations import Pools
from accelflow.settings import Execution, Observability
from accelflow.trace import (
    Connection,
    Library,
    Trace,
    kind,
    register_body,
    run_trace,
    seq,
    tail,
)
from processes import running
from thrift_client import INTERFACE, PROTOCOLS, connect

RECEIVE = "trace my_receive:\n    TCP RPC Dser LdB\n"
#: The traces have no TLS, which Table I does not know.
pytestmark = pytest.mark.filterwarnings("ignore::accelflow.trace.TraceWarning")

RESPOND = "trace my_respond:\n    Ser RPC TCP\n"
NAMES = {"receive": "my_receive", "respond": "my_respond"}


@pytest.fixture
def interface(tmp_path: Path) -> Path:
    path = tmp_path / "calculator.thrift"
    path.write_text(INTERFACE, encoding="utf-8")
    return path


def add(arguments: dict[str, Any]) -> int:
    return int(arguments["a"] + arguments["b"])


def library(*, templates: bool = False) -> Library:
    found = Library(templates=templates)
    for name, steps in {
        "my_receive": seq("TCP", "RPC", "Dser", "LdB"),
        "my_respond": seq("Ser", "RPC", "TCP"),
        "my_call": seq("Ser", "RPC", "TCP", tail("my_answer")),
        "my_answer": seq("TCP", "RPC", "Dser", "LdB"),
    }.items():
        trace = Trace(library=found)
        trace.build(steps)
        trace.register(name)
    return found


@pytest.mark.parametrize("form", ["library", "image", "text", "file"])
@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.__name__)
def test_own_traces_serve_stock_clients(
    interface: Path, tmp_path: Path, form: str, protocol: Any
) -> None:
    path = tmp_path / "own.trace"
    if form == "text":
        path.write_text(RECEIVE + RESPOND, encoding="utf-8")
    elif form == "file":
        path.write_bytes(library().link().to_bytes())
    own = {"library": library(), "image": library().link()}.get(form, path)
    server = Server(interface, traces=ServerTraces(own, **NAMES))
    server.handle("Calculator.add", add)
    with server, connect(server.port, protocol, None) as client:
        assert client.call("add", a=40, b=2) == 42


def test_accelerators_beside_the_nine_work_on_sockets(interface: Path, tmp_path: Path) -> None:
    path = tmp_path / "own.trace"
    declared = "kind Audit yields large number\n"
    branch = "    branch large == 1\n      on true:\n        Audit\n    LdB\n"
    receive = RECEIVE.replace(" LdB\n", " Audit\n" + branch)
    path.write_text(declared + receive + RESPOND, encoding="utf-8")
    with pytest.raises(AccelflowError, match="accelerator = 'Audit': must have a body"):
        Server(interface, traces=ServerTraces(path, **NAMES))
    seen: list[bytes] = []

    def audit(payload: bytes, _: object) -> tuple[None, dict[str, int]]:
        seen.append(payload)
        if b"666" in payload:
            raise ValueError("not that number")
        return None, {"large": int(len(payload) > 20)}

    register_body(kind("Audit", yields={"large": "number"}), audit)
    for workers in (None, Pools()):
        seen.clear()
        server = Server(
            interface,
            traces=ServerTraces(path, **NAMES),
            execution=Execution(workers=workers),
        )
        server.handle("Calculator.add", add)
        with server, connect(server.port) as client:
            assert client.call("add", a=1, b=2) == 3
            assert seen == [b'{"a":1,"b":2}']
            assert client.call("add", a=10**9, b=2) == 10**9 + 2
            assert len(seen) == 3
            with pytest.raises(TApplicationException, match="body_failed") as told:
                client.call("add", a=666, b=2)
            assert told.value.type == TApplicationException.INTERNAL_ERROR
            assert client.call("add", a=40, b=2) == 42


@pytest.mark.parametrize("workers", [None, Pools()])
def test_failures_of_custom_accelerators_are_logged_as_the_operators(
    interface: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, workers: Pools | None
) -> None:
    path = tmp_path / "own.trace"
    receive = RECEIVE.replace(" LdB\n", " Blunder LdB\n")
    path.write_text("kind Blunder yields large number\n" + receive + RESPOND, encoding="utf-8")

    def blunder(payload: bytes, _: object) -> tuple[None, dict[str, int]]:
        if b"666" in payload:
            raise ValueError("a bug")
        return None, {}

    register_body(kind("Blunder", yields={"large": "number"}), blunder)
    server = Server(
        interface, traces=ServerTraces(path, **NAMES), execution=Execution(workers=workers)
    )
    server.handle("Calculator.add", add)
    with server, connect(server.port) as client:
        for number, code in ((666, "body_failed"), (1, "wrong_facts")):
            with pytest.raises(TApplicationException, match=code):
                client.call("add", a=number, b=2)
            counted = f'{{function="Calculator.add",result="{code}"}} 1'
            assert counted in server.metrics()
    logged = [entry for entry in caplog.records if entry.levelname == "ERROR"]
    raised, failed, wrong = (entry.getMessage() for entry in logged)
    assert raised == "the body of Blunder failed: a bug"
    assert logged[0].exc_text is not None
    assert logged[0].exc_text.endswith('raise ValueError("a bug")\nValueError: a bug')
    assert "body_failed, add from" in failed
    assert "wrong_facts, add from" in wrong


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"library": 5}, r"library = 5: must be a trace Library, a trace Image, or the path"),
        ({"library": "LIBRARY", "receive": 5}, r"receive = 5: must be the name of a trace"),
        ({"library": "LIBRARY", "receive": "my_recieve"}, "did you mean my_receive"),
        ({"library": "LIBRARY", "receive": "my_respond"}, "Ser: must be TCP at this place"),
        ({"library": "nowhere.trace"}, r"nowhere\.trace: No such file"),
    ],
)
def test_what_does_not_fit_is_refused(interface: Path, given: dict[str, Any], why: str) -> None:
    if given.get("library") == "LIBRARY":
        given = {**given, "library": library()}
    with pytest.raises((AccelflowError, InputError), match=why):
        Server(interface, traces=ServerTraces(**given))
    server = Server(interface)
    server.handle("Calculator.add", add)
    with server, connect(server.port, PROTOCOLS[0], None) as client:
        with pytest.raises((AccelflowError, InputError), match=why):
            server.set_traces(ServerTraces(**given))
        assert client.call("add", a=1, b=2) == 3


def test_traces_are_replaced_by_calls_and_by_the_operators_port(
    interface: Path, tmp_path: Path
) -> None:
    path = tmp_path / "own.trace"
    path.write_text(RECEIVE + RESPOND, encoding="utf-8")
    observed = Observability(admin="127.0.0.1:0")
    server = Server(interface, traces=ServerTraces(path, **NAMES), observability=observed)
    server.handle("Calculator.add", add)
    with server, connect(server.port, PROTOCOLS[0], None) as client:
        assert server.set_traces(ServerTraces(library(), **NAMES)) == 1
        assert client.call("add", a=1, b=2) == 3
        with pytest.raises(AccelflowError, match="not read from a file"):
            server.reload_traces()
        assert server.set_traces(ServerTraces(path, **NAMES)) == 2
        port = server.admin_port
        operators = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        operators.request("POST", "/traces/reload")
        assert b'"generation":3' in operators.getresponse().read()
        assert server.remove_traces() == 4
        assert client.call("add", a=20, b=22) == 42


def test_sighup_reads_the_file_again(interface: Path, tmp_path: Path) -> None:
    path = tmp_path / "own.trace"
    path.write_text(RECEIVE + RESPOND, encoding="utf-8")
    program = f"""
        import logging, sys
        from accelflow import Server, ServerTraces
        logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s")
        traces = ServerTraces({str(path)!r}, receive="my_receive", respond="my_respond")
        server = Server({str(interface)!r}, traces=traces)
        server.serve()
    """
    command = [sys.executable, "-u", "-c", textwrap.dedent(program)]
    with running(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert "serving on" in child.stdout.readline()
        os.kill(child.pid, signal.SIGHUP)
        assert "read again; replacements so far: 1" in child.stdout.readline()
        path.write_text(RESPOND, encoding="utf-8")
        os.kill(child.pid, signal.SIGHUP)
        assert (
            "the traces were not reloaded, and the old ones stay: receive = 'my_receive'"
            in child.stdout.readline()
        )
        os.kill(child.pid, signal.SIGTERM)
        assert child.wait(60) == 0


def test_a_client_calls_with_own_traces_and_workers(interface: Path) -> None:
    server = Server(interface)
    server.handle("Calculator.add", add, due_within_s=10.0)
    with server:
        client = Client(
            interface,
            f"127.0.0.1:{server.port}",
            traces=ClientTraces(library(), call="my_call", answer="my_answer"),
            workers=Pools(policy="edf"),
        )
        assert client.call("Calculator.add", {"a": 1, "b": 2}) == 3
        assert 'pool_steps_total{peer="127.0.0.1:' in client.metrics()
        with pytest.raises(AccelflowError, match="must continue with tail 'my_answer'"):
            client.set_traces(ClientTraces(library(), call="my_respond", answer="my_answer"))
        assert client.set_traces(None) == 2
        assert client.call("Calculator.add", {"a": 1, "b": 2}) == 3


def test_clients_are_told_of_exceptions_by_a_trace(interface: Path) -> None:
    def overflow(_arguments: dict[str, Any]) -> int:
        raise ValueError("not for clients")

    inner = Server(interface, observability=Observability(verbose_errors=True))
    inner.handle("Calculator.add", overflow)
    with inner:
        calls = Client(interface, f"127.0.0.1:{inner.port}")
        seen: list[str] = []
        returned = threading.Event()

        def pass_on(arguments: dict[str, Any]) -> Any:
            try:
                return calls.call("Calculator.add", arguments)
            except CallError as error:
                seen.append(error.reason)
                returned.set()
                raise

        outer = Server(interface, errors_to_caller=True)
        outer.handle("Calculator.add", pass_on)
        with outer, connect(outer.port, PROTOCOLS[0], None) as client:
            with pytest.raises(Exception, match="not for clients"):
                client.call("add", a=1, b=2)
            # The trace answers the client before the handler's call returns.
            assert returned.wait(60)
            assert seen == ["answered"]
            while 'result="error_by_trace"} 1' not in outer.metrics():
                time.sleep(0.01)  # it is counted after the handler has returned


def test_run_trace_takes_a_connection_of_ones_own(interface: Path) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        own = library()
        client = Connection(interface)
        sent = run_trace(
            "my_respond", b'{"a":40,"b":2}', call=("rpc", "add"), library=own, connection=client
        )
        ours.sendall(sent.sent[0][1])
        received = run_trace(
            "my_receive", theirs.recv(65536), library=own, connection=Connection(interface)
        )
        assert received.arrivals[0].data == b'{"a":40,"b":2}'
        assert received.arrivals[0].texts["method"] == "add"


def test_run_trace_takes_the_secrets_of_a_key_log(interface: Path) -> None:
    own = library(templates=True)
    up, down = bytes(range(32)), bytes(range(32, 64))
    client = Connection(interface, write_secret=up, read_secret=down)
    server = Connection(interface, write_secret=down, read_secret=up)
    for number in range(3):
        arguments = f'{{"a":{number},"b":2}}'.encode()
        sent = run_trace("T2", arguments, call=("rpc", "add"), library=own, connection=client)
        packets = sent.sent[0][1]
        assert arguments not in packets
        received = run_trace("T1", packets, library=own, connection=server)
        assert received.arrivals[0].data == arguments
    assert client.records == (0, 3)
    assert server.records == (3, 0)
    with pytest.raises(TraceError):
        run_trace("T1", packets, library=own, connection=server)
    assert server.records == (3, 0)
    fallen = run_trace("T1", b"", cpu_fallback=len, library=own, connection=server)
    assert fallen == 0


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (
            {"read_secret": b"x" * 32},
            "write_secret is left out: must be given together with read_secret",
        ),
        ({"read_secret": b"x", "write_secret": b"y"}, "secret"),
        ({"suite": "TLS_NULL"}, "suite = 'TLS_NULL': must be TLS_AES_128_GCM_SHA256"),
        ({"local": "here", "peer": "10.0.0.1:80"}, "local = 'here': must be an IPv4 address"),
        ({"local": "10.0.0.1:80"}, "peer is left out: must be given together with local"),
    ],
)
def test_connections_that_cannot_be_are_refused(
    interface: Path, given: dict[str, Any], why: str
) -> None:
    with pytest.raises(TraceError, match=why):
        Connection(interface, **given)


def test_a_trace_belongs_to_its_service(interface: Path) -> None:
    everybodys = library()
    shop, billing = everybodys.of_service("shop"), everybodys.of_service("billing")
    trace = Trace(library=billing)
    trace.build(seq("Ser", "RPC", "TCP"))
    trace.register("charge")
    assert everybodys.owner("charge") == "billing"
    assert "charge" in billing
    assert "charge" not in shop
    assert "my_receive" in shop
    for refused in (
        lambda: shop.remove("charge"),
        lambda: shop.remove("my_receive"),
        lambda: shop.register("charge", seq("Ser", "TCP"), replace=True),
        lambda: shop.register("my_respond", seq("Ser", "TCP"), replace=True),
        lambda: shop.link_from("charge"),
        lambda: run_trace("charge", b"{}", call=("rpc", "add"), library=shop),
        lambda: shop.of_service("billing"),
    ):
        with pytest.raises(TraceError) as caught:
            refused()
        assert caught.value.reason == "not_the_owner"
    with pytest.raises(AccelflowError, match="'charge' belongs to the service 'billing'"):
        Server(interface, traces=ServerTraces(shop, receive="my_receive", respond="charge"))
    Server(interface, traces=ServerTraces(billing, receive="my_receive", respond="charge"))
    # The operator may do everything, and the trace stays the service's.
    everybodys.register("charge", seq("Cmp", "Ser", "RPC", "TCP"), replace=True)
    assert everybodys.owner("charge") == "billing"
    assert billing.remove("charge")
    assert not billing.remove("charge")
