"""Clients of Thrift in Python, and servers that no one here wrote."""

import asyncio
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAcceleratedFactory
from thrift.protocol.TCompactProtocol import TCompactProtocolFactory
from thrift.protocol.TProtocol import TProtocolBase, TProtocolFactory
from thrift.server.TServer import TThreadedServer
from thrift.Thrift import TApplicationException, TMessageType, TProcessor, TType
from thrift.TMultiplexedProcessor import TMultiplexedProcessor
from thrift.transport.TSocket import TServerSocket
from thrift.transport.TSSLSocket import TSSLServerSocket
from thrift.transport.TTransport import TFramedTransportFactory

from accelflow import (
    AccelflowError,
    CallError,
    Cancel,
    Client,
    ClientTls,
    DeclaredError,
    HttpClient,
    InputError,
    Server,
)
from accelflow.client import CallLimits
from certificates import make_certificate
from thrift_client import ARGUMENTS, INTERFACE, RESULTS, Refused

PATIENT = CallLimits(timeout_s=60.0)


@pytest.fixture(scope="module")
def interface(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("interface") / "calculator.thrift"
    path.write_text(INTERFACE, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_certificate(tmp_path_factory.mktemp("certificate"))


class Calculator(TProcessor):  # type: ignore[misc]
    """What Apache Thrift's compiler would generate, around a few functions."""

    def process(self, iprot: TProtocolBase, oprot: TProtocolBase) -> bool:
        name, _, sequence = iprot.readMessageBegin()
        if not hasattr(self, name):
            iprot.skip(TType.STRUCT)
            iprot.readMessageEnd()
            error = TApplicationException(TApplicationException.UNKNOWN_METHOD, f"no {name}")
            self.answer(oprot, name, TMessageType.EXCEPTION, sequence, error)
            return True
        arguments = ARGUMENTS[name]()
        arguments.read(iprot)
        iprot.readMessageEnd()
        result = RESULTS[name]()
        getattr(self, name)(arguments, result)
        self.answer(oprot, name, TMessageType.REPLY, sequence, result)
        return True

    @staticmethod
    def answer(oprot: TProtocolBase, name: str, kind: int, sequence: int, body: Any) -> None:
        oprot.writeMessageBegin(name, kind, sequence)
        body.write(oprot)
        oprot.writeMessageEnd()
        oprot.trans.flush()

    @staticmethod
    def add(arguments: Any, result: Any) -> None:
        total = arguments.a + arguments.b
        if total >= 2**63:
            result.refused = Refused(code=7, why="overflow")
        else:
            result.success = total

    @staticmethod
    def echo(arguments: Any, result: Any) -> None:
        result.success = arguments.value

    @staticmethod
    def nothing(arguments: Any, result: Any) -> None:
        pass

    @staticmethod
    def slow(arguments: Any, result: Any) -> None:
        time.sleep(arguments.a / 1000)
        result.success = arguments.a


class Stoppable(TThreadedServer):  # type: ignore[misc]
    """Apache Thrift's threaded server, but for its loop, which has no end."""

    def serve(self) -> None:
        while client := self.serverTransport.accept():
            threading.Thread(target=self.handle, args=(client,), daemon=True).start()


@contextmanager
def apache_thrift(
    protocols: TProtocolFactory,
    files: tuple[Path, Path] | None = None,
    processor: TProcessor | None = None,
    **options: Any,
) -> Iterator[int]:
    """Apache Thrift's threaded server; its port."""
    if files is None:
        listener = TServerSocket("127.0.0.1", 0)
    else:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(*files)
        for name, value in options.items():
            setattr(context, name, value)
        if options.get("verify_mode"):
            context.load_verify_locations(files[0])
        listener = TSSLServerSocket(
            "127.0.0.1", 0, ssl_context=context, validate_callback=lambda *_: None
        )
    listener.listen()
    port = listener.handle.getsockname()[1]
    server = Stoppable(processor or Calculator(), listener, TFramedTransportFactory(), protocols)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield port
    finally:
        listener.accept = lambda: None
        socket.create_connection(("127.0.0.1", port)).close()
        thread.join()
        listener.close()


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize("protocol", ["binary", "compact"])
def test_apache_thrift_servers_answer(
    interface: Path, certificate: tuple[Path, Path], protocol: str, secure: bool
) -> None:
    compact = protocol == "compact"
    factory = TCompactProtocolFactory() if compact else TBinaryProtocolAcceleratedFactory()
    files = certificate if secure else None
    with apache_thrift(factory, files) as port:
        client = Client(
            interface,
            f"127.0.0.1:{port}",
            protocol=protocol,
            tls=ClientTls(ca=certificate[0], server_name="localhost") if secure else None,
            limits=PATIENT,
        )
        assert client.call("Calculator.add", {"a": 40, "b": 2}) == 42
        assert client.call("nothing") is None
        for size in (1, 16_384, 300_000):
            item = {"text": "ü" * size, "numbers": [0, -(2**63)], "shares": {"a": 0.5}}
            echoed = client.call("echo", {"value": item})
            assert isinstance(echoed, dict)
            assert {name: echoed[name] for name in item} == item
        with pytest.raises(DeclaredError) as declared:
            client.call("add", {"a": 2**63 - 1, "b": 1})
        assert declared.value.args == ("refused", {"code": 7, "why": "overflow"})
        with pytest.raises(CallError, match="no unhandled") as it:
            client.call("unhandled")
        assert (it.value.reason, it.value.executed) == ("application", "no")
        with pytest.raises(CallError, match=r"\$?.*string") as it:
            client.call("add", {"a": "x"})
        assert it.value.executed == "no"
        assert client.connections == (1, 1, 0)
        assert 'accelflow_client_calls_total{peer="127.0.0.1' in client.metrics()


def test_an_unknown_method_does_not_close_the_connection(interface: Path) -> None:
    with Server(interface) as server:
        client = Client(interface, f"127.0.0.1:{server.port}", limits=PATIENT)
        for _ in range(3):
            with pytest.raises(CallError) as it:
                client.call("unhandled")
            assert (it.value.reason, it.value.executed) == ("application", "no")
            assert client.connections == (1, 1, 0)


def test_calls_share_connections_and_wait_in_turn(interface: Path) -> None:
    with apache_thrift(TBinaryProtocolAcceleratedFactory()) as port:
        limits = CallLimits(timeout_s=60.0, max_connections=2)
        client = Client(interface, f"127.0.0.1:{port}", limits=limits)

        def work(number: int) -> list[Any]:
            return [client.call("add", {"a": number, "b": turn}) for turn in range(20)]

        with ThreadPoolExecutor(6) as threads:
            for number, sums in enumerate(threads.map(work, range(6))):
                assert sums == [number + turn for turn in range(20)]
        assert client.connections.open <= 2


def test_a_slow_service_is_given_up(interface: Path) -> None:
    with apache_thrift(TBinaryProtocolAcceleratedFactory()) as port:
        limits = CallLimits(timeout_s=60.0, max_connections=1, max_waiting=0)
        client = Client(interface, f"127.0.0.1:{port}", limits=limits)
        with pytest.raises(CallError, match="deadline exceeded") as it:
            client.call("slow", {"a": 60_000}, timeout_s=1.0)
        assert (it.value.reason, it.value.executed) == ("timeout", "perhaps")
        # The interpreter is free while a call waits; another thread ends it.
        cancel = Cancel()
        with ThreadPoolExecutor(1) as threads:
            waiting = threads.submit(client.call, "slow", {"a": 60_000}, cancel=cancel)
            while client.connections.open - client.connections.idle == 0:
                time.sleep(0.001)
            with pytest.raises(CallError) as it:
                client.call("add", {"a": 1, "b": 1})
            assert (it.value.reason, it.value.executed) == ("pool_full", "no")
            cancel.cancel()
            with pytest.raises(CallError) as it:
                waiting.result()
            assert it.value.reason == "cancelled"
        assert client.call("add", {"a": 1, "b": 1}) == 2


@pytest.mark.parametrize("compress", [False, True])
def test_functions_of_several_services_may_have_one_name(tmp_path: Path, compress: bool) -> None:
    first, second = "service A { string ping(1: string x) }\n", "service B { i64 ping(1: i64 x) }\n"
    theirs, ours = tmp_path / "theirs.thrift", tmp_path / "ours.thrift"
    theirs.write_text(first + second, encoding="utf-8")
    ours.write_text(second + first, encoding="utf-8")  # functions have other numbers there
    server = Server(theirs)
    server.handle("A.ping", lambda arguments: f"A{arguments['x']}")
    server.handle("B.ping", lambda arguments: arguments["x"] + 1)
    with server:
        client = Client(
            ours, f"127.0.0.1:{server.port}", multiplexed=True, compress=compress, limits=PATIENT
        )
        assert client.call("A.ping", {"x": "a"}) == "Aa"
        assert client.call("B.ping", {"x": 4}) == 5


def test_an_answer_is_of_the_function_that_was_called(tmp_path: Path) -> None:
    path = tmp_path / "two.thrift"
    path.write_text(f"service Other {{ string add(1: i64 a) }}\n{INTERFACE}", encoding="utf-8")
    with apache_thrift(TBinaryProtocolAcceleratedFactory()) as port:
        client = Client(path, f"127.0.0.1:{port}", limits=PATIENT)
        assert client.call("Calculator.add", {"a": 1, "b": 2}) == 3


def test_a_multiplexed_call_names_the_service_that_inherits_the_function(tmp_path: Path) -> None:
    path = tmp_path / "derived.thrift"
    path.write_text(f"{INTERFACE}\nservice Derived extends Calculator {{}}\n", encoding="utf-8")
    processor = TMultiplexedProcessor()
    processor.registerProcessor("Derived", Calculator())
    with apache_thrift(TBinaryProtocolAcceleratedFactory(), processor=processor) as port:
        client = Client(path, f"127.0.0.1:{port}", multiplexed=True, limits=PATIENT)
        assert client.call("Derived.add", {"a": 1, "b": 2}) == 3


#: The main thread makes a call, and Ctrl-C is pressed once the call waits in the given state.
CTRL_C = """
import os, signal, sys, threading, time
from accelflow import Client
from accelflow.client import CallLimits

signal.signal(signal.SIGINT, signal.default_int_handler)
state, interface, address = sys.argv[1:]
client = Client(interface, address, limits=CallLimits(timeout_s=600.0, max_connections=1))

def slow():
    client.call("slow", {"a": 600_000})

def press():
    while getattr(client.connections, state) < 1 or client.connections.idle > 0:
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGINT)

if state == "waiting":
    threading.Thread(target=slow).start()
    while client.connections.open < 1:
        time.sleep(0.001)
threading.Thread(target=press).start()
try:
    slow()
except KeyboardInterrupt:
    state == "waiting" or print(client.call("add", {"a": 1, "b": 1}))
    sys.stdout.flush()
    os._exit(3)
"""


@pytest.mark.parametrize("state", ["open", "waiting"])
def test_ctrl_c_ends_a_call_that_waits(state: str, interface: Path) -> None:
    with apache_thrift(TBinaryProtocolAcceleratedFactory()) as port:
        command = [sys.executable, "-c", CTRL_C, state, str(interface), f"127.0.0.1:{port}"]
        done = subprocess.run(command, check=False, timeout=60, stdout=subprocess.PIPE, text=True)
    assert (done.returncode, done.stdout) == (3, {"open": "2\n", "waiting": ""}[state])


def test_a_load_ends_when_it_is_to(interface: Path) -> None:
    """A service that keeps calls waiting does not make a load longer than it is to be."""
    with apache_thrift(TBinaryProtocolAcceleratedFactory()) as port:
        native = Client(interface, f"127.0.0.1:{port}", limits=PATIENT)._native
        slow = "Calculator.slow", [{"a": 2_000}]
        made = native.drive(*slow, [0.0] * 50, 1, until_s=3.0)
        assert 1 <= len(made) <= 2
        assert all(good for _, _, good in made)
        add = "Calculator.add", [{"a": 1, "b": 1}]
        assert len(native.drive(*add, [0.0, 0.1, 3_600.0], 2, until_s=5.0)) == 2
        assert len(native.drive(*add, [0.0] * 50, 2)) == 50
        with pytest.raises(AccelflowError, match=r"^until_s = -1: must be from 0 to 1000000$"):
            native.drive(*add, [0.0], 1, until_s=-1.0)
        with pytest.raises(AccelflowError, match=r"^due_s = NaN: must be from 0 to 1000000$"):
            native.drive(*add, [float("nan")], 1)


def test_the_progress_of_a_load_counts_finished_calls(interface: Path) -> None:
    seen: list[tuple[int, int]] = []
    with apache_thrift(TBinaryProtocolAcceleratedFactory()) as port:
        native = Client(interface, f"127.0.0.1:{port}", limits=PATIENT)._native
        slow = "Calculator.slow", [{"a": 500}]
        native.drive(*slow, [0.0], 1, lambda done, wanted: seen.append((done, wanted)))
    assert set(seen) == {(0, 1), (1, 1)}
    assert seen[-1] == (1, 1)
    # Nearly all of the load is the wait for its only call.
    assert seen.count((0, 1)) > seen.count((1, 1))


def test_coroutines_call_and_are_cancelled(interface: Path) -> None:
    with apache_thrift(TBinaryProtocolAcceleratedFactory()) as port:
        client = Client(interface, f"127.0.0.1:{port}", limits=PATIENT)

        async def work() -> list[Any]:
            calls = [client.call_async("add", {"a": n, "b": 1}) for n in range(5)]
            sums = await asyncio.gather(*calls)
            slow = asyncio.create_task(client.call_async("slow", {"a": 60_000}))
            while client.connections.open == client.connections.idle:
                await asyncio.sleep(0.001)
            slow.cancel()
            with pytest.raises(asyncio.CancelledError):
                await slow
            return sums

        assert asyncio.run(work()) == [1, 2, 3, 4, 5]


def test_handlers_call_services(interface: Path) -> None:
    with apache_thrift(TBinaryProtocolAcceleratedFactory()) as port:
        inner = Client(interface, f"127.0.0.1:{port}", limits=PATIENT)

        async def slow(arguments: dict[str, Any]) -> Any:
            return await inner.call_async("Calculator.slow", arguments)

        outer = Server(interface)
        outer.handle("Calculator.add", lambda arguments: inner.call("add", arguments))
        outer.handle("Calculator.slow", slow)
        with outer:
            client = Client(interface, f"127.0.0.1:{outer.port}", limits=PATIENT)
            assert client.call("add", {"a": 1, "b": 2}) == 3
            assert client.call("slow", {"a": 2}) == 2
            with pytest.raises(DeclaredError):
                client.call("add", {"a": 2**63 - 1, "b": 1})


def test_interfaces_are_in_more_than_one_file(interface: Path, tmp_path: Path) -> None:
    path = tmp_path / "outer.thrift"
    path.write_text('include "calculator.thrift"\nservice Outer extends calculator.Calculator {}')
    with apache_thrift(TBinaryProtocolAcceleratedFactory()) as port:
        address = f"127.0.0.1:{port}"
        with pytest.raises(InputError, match="calculator"):
            Client(path, address)
        client = Client(path, address, include_dirs=[interface.parent], limits=PATIENT)
        assert client.call("Outer.add", {"a": 1, "b": 2}) == 3


@pytest.mark.parametrize(
    ("options", "client_options", "said"),
    [
        ({"maximum_version": ssl.TLSVersion.TLSv1_2}, {}, "ProtocolVersion"),
        ({}, {"server_name": "example.org"}, "not valid for name"),
        ({"verify_mode": ssl.CERT_REQUIRED}, {}, "alert 116|the connection was lost"),
    ],
    ids=["version", "name", "no client certificate"],
)
def test_tls_that_is_wrong_is_named(
    interface: Path,
    certificate: tuple[Path, Path],
    options: dict[str, Any],
    client_options: dict[str, Any],
    said: str,
) -> None:
    with apache_thrift(TBinaryProtocolAcceleratedFactory(), certificate, **options) as port:
        tls = ClientTls(**{"ca": certificate[0], "server_name": "localhost"} | client_options)
        client = Client(interface, f"127.0.0.1:{port}", limits=PATIENT, tls=tls)
        with pytest.raises(CallError, match=said):
            client.call("nothing")


def test_openssl_takes_the_clients_certificate(
    interface: Path, certificate: tuple[Path, Path]
) -> None:
    wanted = {"verify_mode": ssl.CERT_REQUIRED}
    with apache_thrift(TBinaryProtocolAcceleratedFactory(), certificate, **wanted) as port:
        cert, key = certificate
        client = Client(
            interface,
            f"127.0.0.1:{port}",
            tls=ClientTls(ca=cert, server_name="localhost", certificate=cert, key=key),
            limits=PATIENT,
        )
        assert client.call("add", {"a": 1, "b": 1}) == 2


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda i: Client(i, "localhost"), "address = 'localhost': must be host:port"),
        (lambda i: Client(i, 7), "address = 7: must be host:port"),
        (lambda i: Client(7, "h:1"), "interface = 7: must be a path"),
        (lambda i: Client(i, "h:1", protocol="json"), "protocol = 'json': must be binary or"),
        (lambda i: Client(i, "h:1", tls=i), "tls = .*: must be a ClientTls or None"),
        (lambda i: Client(i, "h:1", limits=5), "limits = 5: must be a CallLimits"),
        (lambda i: Client(i, "h:1", workers=5), "workers = 5: must be a Pools or None"),
        (lambda i: Client(i, "h:1", traces=i), "traces = .*: must be a ClientTraces or None"),
        (lambda i: Client(i, "h:1", compress=1), "compress = 1: must be True or False"),
        (lambda i: Client(i, "h:1", tls=ClientTls(ca=i)), "must have at least one certificate"),
        (lambda i: Client(i, "h:1", tls=ClientTls(ca=i / "no")), "no: .*Not a directory$"),
        (lambda i: Client(i, "h:1", tls=ClientTls(ca=i.parent)), "Is a directory$"),
        (
            lambda i: ClientTls(ca=i, key=i),
            "certificate is left out: must be given, since key is given",
        ),
        (
            lambda i: Client(i, "h:1", tls=ClientTls(ca=i, server_name="no name")),
            "server_name = 'no name': must be a DNS name",
        ),
        (
            lambda i: Client(i, "h:1", idempotent=["sub"]),
            "idempotent: .*method = 'sub': must be",
        ),
        (
            lambda i: Client(i, "h:1", limits=CallLimits(timeout_s=0.0)),
            "timeout_s = 0: must be a number from 1e-9 to 1e9 s",
        ),
        (lambda i: Client(i, "h:1", limits=CallLimits(max_connections=0)), "max_connections = 0"),
        (lambda i: Client(i, "h:1", limits=CallLimits(idle_timeout_s="x")), "idle_timeout_s = 'x'"),
        (lambda i: Client(i.parent / "none", "h:1"), "none: No such file or directory$"),
        (lambda _: HttpClient("h:1", codec="br", compress=True), "codec = 'br': must be"),
    ],
)
def test_mistakes_of_set_up_are_named(
    interface: Path, make: Callable[[Path], Any], said: str
) -> None:
    with pytest.raises(InputError, match=said) as it:
        make(interface)
    assert "os error" not in str(it.value)


def test_a_service_that_is_not_there_is_named(interface: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    client = Client(interface, f"127.0.0.1:{port}")
    with pytest.raises(CallError, match=f"cannot connect to 127.0.0.1:{port}") as it:
        client.call("nothing")
    assert (it.value.reason, it.value.executed) == ("connect", "no")
    assert str(it.value).endswith("Connection refused")


def test_an_earlier_attempt_that_may_have_been_executed_is_told(interface: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def read_and_leave() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1)
                listener.close()

        threading.Thread(target=read_and_leave, daemon=True).start()
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        client = Client(interface, address, limits=PATIENT)
        with pytest.raises(CallError) as it:
            client.call("add", {"a": 1, "b": 2}, idempotent=True)
    assert (it.value.reason, it.value.executed) == ("connect", "perhaps")
    assert str(it.value).startswith(f"cannot connect to {address}: ")
    told = f"; an earlier attempt of the call may have been executed: {address}: the connection"
    assert told in str(it.value)
