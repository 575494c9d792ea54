"""Clients that no one here wrote, and a server with handlers in Python."""

import asyncio
import base64
import json
import logging
import re
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

import pytest
from thrift.protocol.TProtocol import TProtocolBase
from thrift.Thrift import TApplicationException

from accelflow import AccelflowError, DeclaredError, InputError, Server, simulation
from accelflow.settings import Execution, Limits, Observability, Timeouts, Tls
from certificates import make_certificate
from conftest import ROOT
from thrift_client import INTERFACE, PROTOCOLS, Client, Item, Refused, connect


@pytest.fixture(scope="module")
def interface(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("interface") / "calculator.thrift"
    path.write_text(INTERFACE, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_certificate(tmp_path_factory.mktemp("certificate"))


def add(arguments: dict[str, Any]) -> int:
    total = arguments["a"] + arguments["b"]
    if total >= 2**63:
        raise DeclaredError("refused", {"code": 7, "why": "overflow"})
    return int(total)


async def slow(arguments: dict[str, Any]) -> int:
    await asyncio.sleep(0.001)
    if arguments["a"] < 0:
        message = f"no root of {arguments['a']}"
        raise ValueError(message)
    return int(arguments["a"])


def calculator(interface: Path, **options: Any) -> Server:
    server = Server(interface, **options)
    server.handle("Calculator.add", add)
    server.handle("Calculator.echo", lambda arguments: arguments["value"])
    server.handle("Calculator.nothing", lambda _: None)
    server.handle("Calculator.note", lambda _: None)
    server.handle("Calculator.slow", slow)
    return server


@pytest.fixture(scope="module", params=["plain", "tls"])
def served(
    request: pytest.FixtureRequest, interface: Path, certificate: tuple[Path, Path]
) -> Iterator[tuple[Server, Path | None]]:
    cert, key = certificate
    if request.param == "tls":
        with calculator(
            interface,
            tls=Tls(certificate=cert, key=key),
            observability=Observability(verbose_errors=True),
        ) as server:
            yield server, cert
    else:
        with calculator(interface, observability=Observability(verbose_errors=True)) as server:
            yield server, None


@pytest.fixture(params=PROTOCOLS, ids=lambda protocol: protocol.__name__)
def client(request: pytest.FixtureRequest, served: tuple[Server, Path | None]) -> Iterator[Client]:
    server, ca = served
    protocol: type[TProtocolBase] = request.param
    with connect(server.port, protocol, ca) as connected:
        yield connected


def test_apache_thrift_clients_are_answered(client: Client) -> None:
    assert client.call("add", a=40, b=2) == 42
    assert client.call("add", a=-(2**63), b=0) == -(2**63)
    assert client.call("nothing") is None
    item = Item(
        text='grüße "\\\n\x00',
        data=bytes(range(256)),
        numbers=[0, -1, 2**63 - 1],
        shares={"a": 0.1, "": -1e300},
    )
    assert client.call("echo", value=item) == item
    client.multiplexed("Calculator")
    assert client.call("add", a=1, b=1) == 2


def test_large_messages_pass(client: Client) -> None:
    for size in (1_000, 16_384, 65_536, 1_000_000):
        item = Item(text="x" * size, numbers=list(range(size // 100)))
        assert client.call("echo", value=item) == item


def test_failures_reach_the_client(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    refused = client.call("add", a=2**63 - 1, b=1)
    assert refused == Refused(code=7, why="overflow")
    with pytest.raises(TApplicationException, match=r"no handler for Calculator\.unhandled") as it:
        client.call("unhandled")
    assert it.value.type == TApplicationException.UNKNOWN_METHOD
    with pytest.raises(TApplicationException, match="subtract") as it:
        client.call("subtract", a=1)
    assert it.value.type == TApplicationException.UNKNOWN_METHOD
    with caplog.at_level(logging.ERROR), pytest.raises(TApplicationException) as it:
        client.call("slow", a=-1)
    assert it.value.type == TApplicationException.INTERNAL_ERROR
    assert it.value.message == "ValueError: no root of -1"
    assert "Calculator.slow" in caplog.text
    assert client.call("add", a=1, b=1) == 2


def test_clients_are_told_codes_and_ids(interface: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What else there is to say is in the log, under the id."""

    def told(client: Client, method: str, **arguments: Any) -> tuple[str, str]:
        caplog.clear()
        with pytest.raises(TApplicationException) as it:
            client.call(method, **arguments)
        found = re.fullmatch(r"(\w+) \(error ([0-9a-f]{16})\)", it.value.message or "")
        assert found is not None, it.value.message
        logged = [record for record in caplog.records if found[2] in record.getMessage()]
        assert len(logged) == 1
        return found[1], logging.getLevelName(logged[0].levelno) + ": " + caplog.text

    server = calculator(interface)
    server.handle("Calculator.echo", lambda _: {"text": 5})
    with caplog.at_level(logging.INFO), server, connect(server.port) as client:
        code, log = told(client, "slow", a=-1)
        assert code == "handler_failed"
        assert log.startswith("ERROR")
        assert "no root of -1" in log
        assert "Traceback" in log
        code, log = told(client, "echo", value=Item())
        assert code == "bad_result"
        assert log.startswith("ERROR")
        assert "cannot be sent" in log
        code, log = told(client, "unhandled")
        assert code == "no_handler"
        assert "Calculator.unhandled" in log
        code, log = told(client, "subtract", a=1)
        assert code == "unknown_method"
        assert log.startswith("INFO")
        assert "must be" in log
        assert client.call("add", a=1, b=1) == 2


def test_calls_in_flight_are_answered_in_order(client: Client) -> None:
    for number in range(20):
        client.send("note", text="no reply")
        client.send("add", a=number, b=number)
    for number in range(20):
        assert getattr(client.receive("add", 2 * number + 2), "success") == 2 * number  # noqa: B009


def test_connections_are_served_at_once(served: tuple[Server, Path | None]) -> None:
    server, ca = served

    def work(number: int) -> None:
        with connect(server.port, PROTOCOLS[number % 4], ca) as client:
            for turn in range(30):
                text = f"{number}/{turn}"
                assert client.call("echo", value=Item(text=text)) == Item(text=text)
                assert client.call("slow", a=turn) == turn

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(8)))


def test_metrics_count_what_was_done(interface: Path) -> None:
    with calculator(interface) as server, connect(server.port) as client:
        client.call("add", a=1, b=1)
        text = server.metrics()
    assert 'accelflow_requests_total{function="Calculator.add",result="ok"} 1\n' in text
    assert 'accelflow_step_seconds_count{accelerator="LdB"} 1\n' in text
    assert "accelflow_connections_open 1\n" in text
    assert server.metrics() == ""


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"text": {1}}, r"TypeError: \$\.text: a value of type set cannot be expressed in JSON"),
        (
            {"numbers": [float("nan")]},
            "'numbers' is the float NaN: must be i64",
        ),
        ({"numbers": [2**63]}, "'numbers' = 9223372036854775808: must be at most"),
        ({1: 2}, "TypeError: .*a key is of type int"),
        ({"text": "\ud800"}, r"ValueError: \$\.text: a str with an unpaired surrogate"),
        ({"text": 5}, "the handler's result cannot be sent"),
        ({"data": base64.b64encode(b"x").decode() + "!"}, "cannot be sent"),
        (None, "the handler returned nothing"),
    ],
)
def test_results_that_do_not_fit_are_named(interface: Path, value: Any, message: str) -> None:
    server = Server(interface, observability=Observability(verbose_errors=True))
    server.handle("echo", lambda _: value)
    with server, connect(server.port) as client:
        with pytest.raises(TApplicationException, match=message) as it:
            client.call("echo", value=Item())
        assert it.value.type == TApplicationException.INTERNAL_ERROR


def test_no_client_sees_what_another_said(interface: Path) -> None:
    """Cut messages of one client, then short ones of others, whose replies hold nothing else."""
    secret = b"SECRET-OF-ANOTHER-TENANT"
    with calculator(interface) as server:
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", server.port)) as rude:
                rude.sendall(b"\0\0\x40\0\x80\1\0\1\0\0\0\4echo" + secret * 400)
            with connect(server.port) as client:
                long = Item(text=secret.decode() * 100)
                assert client.call("echo", value=long) == long
            with socket.create_connection(("127.0.0.1", server.port)) as other:
                other.sendall(b"\0\0\0\x14\x80\1\0\1\0\0\0\7nothing\0\0\0\1\0"[:23] + b"\0")
                other.shutdown(socket.SHUT_WR)
                reply = b""
                while piece := other.recv(65536):
                    reply += piece
            assert secret not in reply


def test_a_recording_of_live_requests_is_simulated(certificate: tuple[Path, Path]) -> None:
    cert, key = certificate
    social_network = ROOT / "crates" / "accel" / "idl" / "social_network.thrift"
    names = {"UniqueIdService.ComposeUniqueId": "UniqId"}
    server = Server(
        social_network, tls=Tls(certificate=cert, key=key), observability=Observability(record=True)
    )
    server.handle("UniqueIdService.ComposeUniqueId", lambda arguments: arguments["req_id"])
    with server, connect(server.port, ca=cert) as client:
        with pytest.raises(AccelflowError, match="must have had a request"):
            server.recording(names)
        for number in range(50):
            assert client.call("ComposeUniqueId", req_id=number, post_type=1, carrier={}) == number
        for wrong, said in (
            ({**names, "Other.f": "UniqId"}, "must differ from the name for"),
            (dict.fromkeys(names, ""), "'': must be a name of printable characters"),
            (dict.fromkeys(names, "e\n"), "must be a name of printable characters"),
        ):
            with pytest.raises(InputError, match=said):
                server.recording(wrong)
        recording = server.recording(names)
        merged = json.loads(server.recording(names, base=recording))
        assert [service["service"] for service in merged["services"]] == ["UniqId"]
    service = json.loads(recording)["services"][0]
    received, handler, sent = service["phases"]
    steps = [step["accelerator"] for step in received["chains"][0]["steps"]]
    assert steps == ["TCP", "Decr", "RPC", "Dser", "LdB"]
    assert [step["trace"] for step in sent["chains"][0]["steps"]] == ["T2"] * 4
    assert handler["cpu"]["app_ns"] > 0
    results = simulation.run(
        simulation.Scenario(services=["UniqId"], recording=recording, requests=200)
    )
    assert results["schema"] == "accelflow.compare/1"


def test_worker_pools_answer_alike(interface: Path) -> None:
    with calculator(interface, execution=Execution(workers=2)) as server:
        with connect(server.port) as client:
            assert client.call("add", a=40, b=2) == 42
            assert client.call("slow", a=3) == 3
        text = server.metrics()
    assert 'accelflow_pool_steps_total{accelerator="Dser",result="done"} 2\n' in text


def test_stopping_lets_requests_end(interface: Path) -> None:
    entered, release = threading.Event(), threading.Event()

    def wait(_: dict[str, Any]) -> str:
        entered.set()
        release.wait(60)
        return "at last"

    server = Server(interface)
    server.handle("unhandled", wait)
    port = server.start()
    assert server.port == port
    with connect(port) as client, ThreadPoolExecutor(1) as threads:
        client.send("unhandled")
        assert entered.wait(60)
        stopping = threads.submit(server.stop, 60.0)
        release.set()
        assert getattr(client.receive("unhandled", 1), "success") == "at last"  # noqa: B009
        assert stopping.result() == 0
    assert server.stop() == 0


def test_mistakes_of_set_up_are_named(
    interface: Path, certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    _, key = certificate
    bad = tmp_path / "bad.thrift"
    bad.write_text("service X { strin y() }")
    for make, message in [
        (lambda: Server(tmp_path / "none.thrift"), r"none\.thrift: No such file"),
        (lambda: Server(bad), r"bad\.thrift:1:13: type 'strin'"),
        (
            lambda: Server(interface, tls=Tls(certificate=key, key=key)),
            r"key\.pem: must have at least one certificate",
        ),
        (
            lambda: Server(interface, timeouts=Timeouts(idle_timeout_s=0.0)),
            "idle_timeout_s = 0: must be a number from 1e-9 to 1e9 s",
        ),
        (lambda: Server(interface).handle("Calculator.sub", add), "method = 'sub': must be"),
        (lambda: Server(interface).handle("Sums.add", add), "service = 'Sums': must be"),
        (
            lambda: Server(interface).start("x" * 300),
            "xxx': must be an IP address, or a host name instead of the address",
        ),
        (lambda: Server(interface).port, "has not been started"),
    ]:
        with pytest.raises(AccelflowError, match=message):
            make()
    with calculator(interface) as server:
        with pytest.raises(AccelflowError, match="before the server is started"):
            server.handle("add", add)
        with pytest.raises(AccelflowError, match="a server can be started only once"):
            server.start()
        with connect(server.port) as client:
            assert client.call("add", a=1, b=1) == 2
        with pytest.raises(AccelflowError, match="cannot listen on"):
            calculator(interface).start(port=server.port)
    with pytest.raises(AccelflowError, match="not after it was stopped"), server:
        pass


def test_serving_until_a_signal_is_for_the_main_thread(interface: Path) -> None:
    server = calculator(interface)
    with ThreadPoolExecutor(1) as threads:
        serving = threads.submit(server.serve)
        with pytest.raises(AccelflowError, match=r"call start\(\) and later stop\(\)"):
            serving.result(60)
    with server, connect(server.port) as client:
        assert client.call("add", a=1, b=1) == 2


def test_names_are_looked_up(interface: Path) -> None:
    server = calculator(interface, observability=Observability(admin="localhost:0"))
    server.start("localhost")
    try:
        with connect(server.port) as client:  # to 127.0.0.1
            assert client.call("add", a=1, b=2) == 3
        assert server.admin_port
    finally:
        server.stop()


needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")


def s_client(port: int, *options: str) -> list[str]:
    return ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", *options]


@needs_openssl
@pytest.mark.parametrize(
    ("options", "said", "counted"),
    [
        ("-tls1_3", "Verification: OK", None),
        ("-tls1_2", "alert protocol version", "handshake"),
        # Debian's library lets TLS 1.1 through at this level alone.
        ("-tls1_1 -cipher DEFAULT:@SECLEVEL=0", "alert handshake failure", "handshake"),
        ("-ciphersuites TLS_AES_256_GCM_SHA384", "Cipher is TLS_AES_256_GCM_SHA384", None),
        ("-ciphersuites TLS_CHACHA20_POLY1305_SHA256", "alert handshake failure", "handshake"),
        ("-groups P-521", "alert handshake failure", "handshake"),
        ("-verify_hostname example.org -verify_return_error", "hostname mismatch", "handshake"),
    ],
)
def test_openssl_agrees_about_the_handshake(
    interface: Path, certificate: tuple[Path, Path], options: str, said: str, counted: str | None
) -> None:
    cert, key = certificate
    with calculator(interface, tls=Tls(certificate=cert, key=key)) as server:
        command = s_client(server.port, "-CAfile", str(cert), *options.split())
        command += ["-servername", "localhost"]
        done = subprocess.run(
            command, input="", capture_output=True, text=True, timeout=60, check=False
        )
        assert said in done.stdout + done.stderr
        if counted:
            await_metric(server, f'accelflow_connections_total{{end="{counted}"}} 1')


def await_metric(server: Server, line: str) -> None:
    """Connections end on threads of their own."""
    for _ in range(600):
        if line in server.metrics():
            return
        time.sleep(0.05)
    pytest.fail(f"no '{line}' in\n{server.metrics()}")


@needs_openssl
def test_openssl_does_not_trust_another_certificate(
    interface: Path, certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    other, _ = make_certificate(tmp_path)
    cert, key = certificate
    with calculator(interface, tls=Tls(certificate=cert, key=key)) as server:
        options = ["-CAfile", str(other), "-verify_return_error"]
        done = subprocess.run(
            s_client(server.port, *options),
            input="",
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode != 0
        assert "certificate verify failed" in done.stdout + done.stderr
        await_metric(server, 'accelflow_connections_total{end="handshake"} 1')
        # Whoever trusts the right one is served all the same.
        with connect(server.port, ca=cert) as client:
            assert client.call("add", a=1, b=1) == 2


@needs_openssl
def test_openssl_carries_calls(interface: Path, certificate: tuple[Path, Path]) -> None:
    cert, key = certificate
    with calculator(interface, tls=Tls(certificate=cert, key=key)) as server:
        options = ["-CAfile", str(cert), "-servername", "localhost", "-quiet"]
        process = subprocess.Popen(
            s_client(server.port, *options, "-verify_return_error"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            for sequence in range(3):
                # add(40, 2) in the strict binary protocol, written out.
                call = struct.pack(">HBBI3sI", 0x8001, 0, 1, 3, b"add", sequence)
                call += struct.pack(">BhqBhqB", 10, 1, 40, 10, 2, 2, 0)
                process.stdin.write(struct.pack(">I", len(call)) + call)
                process.stdin.flush()
                (length,) = struct.unpack(">I", process.stdout.read(4))
                reply = struct.pack(">HBBI3sI", 0x8001, 0, 2, 3, b"add", sequence)
                assert process.stdout.read(length) == reply + struct.pack(">BhqB", 10, 0, 42, 0)
        finally:
            process.kill()
            process.wait(timeout=30)
            process.stdin.close()
            process.stdout.close()
        await_metric(server, 'function="Calculator.add",result="ok"} 3')


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Tls(certificate=None, key="key.pem"), "certificate = None: must be a path"),
        (lambda: Tls(certificate="a", key="b", client_ca=3), "client_ca = 3: must be a path or"),
        (lambda: Timeouts(idle_timeout_s="1"), "idle_timeout_s = '1': must be a number from"),
        (lambda: Timeouts(write_timeout_s=10**400), "write_timeout_s = 1000"),
        (lambda: Execution(workers="1"), "workers = '1': must be a whole number, Pools or None"),
        (lambda: Execution(workers=1.5), "workers = 1.5: must be a whole number, Pools or None"),
        (lambda: Execution(steering=0), "steering = 0: must be one of "),
        (lambda: Execution(steering="afinity"), "steering = 'afinity': must be .* affinity"),
        (lambda: Execution(faults=None), "faults = None: must be a list of accelflow.Fault"),
        (lambda: Observability(record=1), "record = 1: must be True or False"),
        (lambda: Observability(admin=9100), "admin = 9100: must be an address such as"),
        (lambda: Observability(telemetry="x"), "telemetry = 'x': must be a Telemetry or None"),
        (lambda: Server("x.thrift", tls="cert.pem"), "tls = 'cert.pem': must be a Tls or None"),
        (lambda: Server("x.thrift", limits={}), "limits = {}: must be a Limits"),
        (lambda: Server("x.thrift", limits=Limits), "limits = .*: must be a Limits"),
        (lambda: Server("x.thrift", timeouts=1.5), "timeouts = 1.5: must be a Timeouts"),
        (lambda: Server("x.thrift", execution="1"), "execution = '1': must be an Execution"),
        (lambda: Server("x.thrift", observability=1), "observability = 1: must be an Obs"),
        (
            lambda: Server("x.thrift", tenants="x"),
            "tenants = 'x': must be a list of accelflow.Tenant",
        ),
    ],
)
def test_settings_of_another_type_are_refused_by_name(
    make: Callable[[], object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        make()


FORKED = """
import os, sys, threading
from accelflow import Client, Server

async def text(arguments):
    return arguments["s"]

server = Server(sys.argv[1])
server.handle("text", text)
with server:
    client = Client(sys.argv[1], f"127.0.0.1:{server.port}")
    assert client.call("text", {"s": "before"}) == "before"
    child = os.fork()
    if child == 0:
        del client
        # There is no other thread here that the child could wait for.
        threading.Event.wait = lambda *_: os._exit(1)
        sys.exit(7)  # leaves the block
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert client.call("text", {"s": "after"}) == "after"
    other = Client(sys.argv[1], f"127.0.0.1:{server.port}")
    assert other.call("text", {"s": "new"}) == "new"
"""


def test_a_forked_child_does_not_stop_the_server(tmp_path: Path) -> None:
    (tmp_path / "echo.thrift").write_text("service S { string text(1: string s) }")
    command = [sys.executable, "-c", FORKED, str(tmp_path / "echo.thrift")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stderr) == (0, "")


STOPPED = """
import asyncio, os, signal, socket, sys, threading
from accelflow import Client, Server

started = threading.Semaphore(0)
busy, cancelled, never = (threading.Event() for _ in range(3))

async def coroutine(_):
    started.release()
    try:
        await asyncio.sleep(1e6)
    finally:
        cancelled.set()

def thread(_):
    started.release()
    never.wait()

server = Server(sys.argv[1])
server.handle("coroutine", coroutine)
server.handle("thread", thread)
signal.signal(signal.SIGINT, signal.default_int_handler)

def interrupt():
    for name in ("coroutine", "thread"):
        client = Client(sys.argv[1], f"127.0.0.1:{server.port}")
        threading.Thread(target=client.call, args=(name, {}), daemon=True).start()
        started.acquire()
    busy.set()
    if sys.argv[2] == "serve":
        os.kill(os.getpid(), signal.SIGINT)
    try:
        while True:
            socket.create_connection(("127.0.0.1", server.port)).close()
    except OSError:  # The grace period has begun.
        os.kill(os.getpid(), signal.SIGINT)

other = threading.Thread(target=interrupt, daemon=True)
try:
    if sys.argv[2] == "serve":
        start = server.start
        server.start = lambda *given: (start(*given), other.start())[0]
        server.serve(grace_s=1e6)
    else:
        server.start()
        other.start()
        busy.wait()
        server.stop(grace_s=1e6)
except KeyboardInterrupt:
    print("interrupted", cancelled.is_set(), server.metrics() == "", flush=True)
    os._exit(0)
"""


@pytest.mark.parametrize("way", ["serve", "stop"])
def test_an_interrupt_ends_the_grace_period_and_coroutines(tmp_path: Path, way: str) -> None:
    (tmp_path / "wait.thrift").write_text("service S { void coroutine(), void thread() }")
    command = [sys.executable, "-c", STOPPED, str(tmp_path / "wait.thrift"), way]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stdout) == (0, "interrupted True True\n"), done.stderr
