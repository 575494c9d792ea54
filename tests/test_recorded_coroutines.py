"""Recordings of coroutines, and of servers some of whose functions got no requests."""

import asyncio
import http.server
import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from accelflow import AccelflowError, Client, ClientTls, GrpcClient, Server, requests
from accelflow.requests import Worked
from accelflow.settings import Observability, Tls
from conftest import ROOT
from test_record import ADD, record
from test_server import add, certificate, interface  # noqa: F401 (fixtures)

#: Far longer than the work of a handler here takes a processor.
WAIT_S = 2.0


def app_ns(recording: str) -> float:
    (service,) = json.loads(recording)["services"]
    (phase,) = [phase for phase in service["phases"] if "cpu" in phase]
    return float(phase["cpu"]["app_ns"])


def recording(server: Server, services: dict[str, str]) -> str:
    """The recording, once the server has recorded a request, which it does after the response."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return server.recording(services)
        except AccelflowError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.001)


async def patient(arguments: dict[str, Any]) -> Any:
    await asyncio.sleep(WAIT_S)
    await asyncio.to_thread(time.sleep, 0.01)
    return arguments.get("a", arguments)


def test_the_waits_of_a_coroutine_are_not_its_work(
    tmp_path: Path,
    interface: Path,  # noqa: F811
    certificate: tuple[Path, Path],  # noqa: F811
) -> None:
    cert, key = certificate
    proto = tmp_path / "numbers.proto"
    proto.write_text(
        'syntax = "proto3"; message Pair { int64 a = 1; }'
        "service Numbers { rpc Slow(Pair) returns (Pair); }",
        encoding="utf-8",
    )
    recorded = Observability(record=True)
    tls, trust = Tls(certificate=cert, key=key), ClientTls(ca=cert, server_name="localhost")
    server = Server(interface, tls=tls, observability=recorded)
    server.handle("Calculator.slow", patient)
    with server:
        client = Client(interface, f"127.0.0.1:{server.port}", tls=trust)
        assert client.call("Calculator.slow", {"a": 3}) == 3
        assert 0 < app_ns(recording(server, {"Calculator.slow": "Slow"})) < WAIT_S / 2 * 1e9
    server = Server(proto, tls=tls, observability=recorded)

    async def slow(pair: dict[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(WAIT_S)
        return pair

    server.handle("Slow", slow)
    with server:
        grpc = GrpcClient(proto, f"127.0.0.1:{server.port}", tls=trust)
        assert grpc.call("Slow", {"a": "3"}) == {"a": "3"}
        assert 0 < app_ns(recording(server, {"Slow": "Slow"})) < WAIT_S / 2 * 1e9


def test_a_coroutine_is_measured_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0]
    monkeypatch.setattr(requests.time, "thread_time_ns", lambda: clock[0])

    async def work() -> list[str]:
        clock[0] += 5
        await asyncio.sleep(0)
        clock[0] += 7
        seen = []
        try:
            await asyncio.wait_for(asyncio.sleep(60), 0.001)
        except TimeoutError:
            clock[0] += 11
            seen.append("late")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            clock[0] += 13
            seen.append("cancelled")
        return seen

    async def others() -> list[str]:
        worked = Worked(work())

        async def outer() -> list[str]:
            return await worked

        task = asyncio.create_task(outer())
        for _ in range(3):
            clock[0] += 1_000  # of another task
            await asyncio.sleep(0.01)
        task.cancel()
        seen = await task
        assert worked.worked_ns == 5 + 7 + 11 + 13
        return seen

    assert asyncio.run(others()) == ["late", "cancelled"]


def test_what_a_coroutine_raises_passes() -> None:
    async def fails() -> None:
        await asyncio.sleep(0)
        raise KeyError("x")

    async def outer() -> None:
        await Worked(fails())

    with pytest.raises(KeyError):
        asyncio.run(outer())


def test_functions_without_requests_do_not_cost_the_recording(
    tmp_path: Path,
    interface: Path,  # noqa: F811
    certificate: tuple[Path, Path],  # noqa: F811
) -> None:
    cert, key = certificate
    out, base = tmp_path / "live.json", tmp_path / "base.json"
    server = Server(
        interface,
        tls=Tls(certificate=cert, key=key),
        observability=Observability(record=True, admin="127.0.0.1:0"),
    )
    server.handle("Calculator.add", add)
    server.handle("Calculator.echo", lambda arguments: arguments["value"])
    with server:
        trust = ClientTls(ca=cert, server_name="localhost")
        client = Client(interface, f"127.0.0.1:{server.port}", tls=trust)
        assert client.call("Calculator.add", {"a": 1, "b": 2}) == 3
        base.write_text(recording(server, {"Calculator.add": "Echo"}), encoding="utf-8")
        from_ = ("--from", f"http://127.0.0.1:{server.admin_port}", "--service", ADD)
        echo = ("--service", "Calculator.echo=Echo", "--out", str(out))
        done = record(*from_, *echo, "--base", str(base), folder=tmp_path)
        assert done.returncode == 0, done.stderr
        missing = (
            "accelflow: warning: --service Calculator.echo=Echo: had no request that succeeded;"
        )
        assert f"{missing} the recording has the Echo of --base {base}\n" in done.stderr
        names = [service["service"] for service in json.loads(out.read_text())["services"]]
        assert names == ["Echo", "UniqId"]
        done = record(*from_, *echo, folder=tmp_path)
        assert done.returncode == 0, done.stderr
        assert f"{missing} the recording has no Echo\n" in done.stderr
        names = [service["service"] for service in json.loads(out.read_text())["services"]]
        assert names == ["UniqId"]
        only = ("--from", from_[1], *echo, "--base", str(base))
        done = record(*only, folder=tmp_path)
        assert done.returncode == 2
        assert "function = 'Calculator.echo': must have had a request" in done.stderr


@pytest.mark.parametrize("status", [409, 400])
def test_the_status_of_a_server_not_its_words_tells_that_requests_lack(
    tmp_path: Path, status: int
) -> None:
    recording = (ROOT / "examples/cerebros/recording-thrift.json").read_text(encoding="utf-8")
    (first, *_) = [each["service"] for each in json.loads(recording)["services"]]

    class Operators(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            lacks = "Calculator.echo" in self.path
            text = "other words" if lacks else recording
            self.send_response(status if lacks else 200)
            self.end_headers()
            self.wfile.write(text.encode())

    out = tmp_path / "live.json"
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Operators) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        asked = ("--service", f"Calculator.add={first}", "--service", "Calculator.echo=Echo")
        done = record("--from", address, *asked, "--out", str(out), folder=tmp_path)
        server.shutdown()
    if status == 409:
        assert done.returncode == 0, done.stderr
        assert "Calculator.echo=Echo: had no request that succeeded" in done.stderr
    else:
        assert done.returncode == 2
        assert "answered: other words" in done.stderr
        assert not out.exists()
