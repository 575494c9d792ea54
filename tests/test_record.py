"""`accelflow record`: from live requests to a recording that `accelflow compare` simulates."""

import json
import re
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import urllib.request
from pathlib import Path

import pytest
from thrift.protocol.TBinaryProtocol import TBinaryProtocol

from accelflow import ClientTls, GrpcClient, Server
from accelflow.settings import Observability, Tls
from processes import running
from test_server import add, certificate, interface  # noqa: F401 (fixtures)
from thrift_client import connect

ADD = "Calculator.add=UniqId"

HANDLERS = """
    def setup(server):
        server.handle("Calculator.add", lambda arguments: arguments["a"] + arguments["b"])
"""


def record(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "accelflow", "record", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300, cwd=folder
    )


def simulated(file: Path) -> str:
    command = [sys.executable, "-m", "accelflow", "compare", "socialnetwork", "--json"]
    command += ["--recording", str(file), "--service", "UniqId", "--requests", "200"]
    command += ["--orchestrator", "accelflow", "--out", str(file.parent / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return str(json.loads(done.stdout)["profile"])


def test_a_server_of_handlers_is_recorded_and_simulated(
    tmp_path: Path,
    interface: Path,  # noqa: F811
    certificate: tuple[Path, Path],  # noqa: F811
) -> None:
    (tmp_path / "handlers.py").write_text(textwrap.dedent(HANDLERS), encoding="utf-8")
    cert, key = certificate
    out = tmp_path / "live.json"
    command = [sys.executable, "-m", "accelflow", "record", "handlers:setup", "--service", ADD]
    command += ["--interface", str(interface), "--certificate", str(cert), "--key", str(key)]
    command += ["--seconds", "600", "--out", str(out)]
    with running(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path) as process:
        assert process.stderr is not None
        begun = process.stderr.readline()
        port = re.search(r"port (\d+) for 600 s", begun)
        assert port, begun
        with connect(int(port[1]), TBinaryProtocol, cert) as client:
            for number in range(20):
                assert client.call("add", a=number, b=1) == number + 1
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    recorded = json.loads(out.read_text(encoding="utf-8"))
    assert [service["service"] for service in recorded["services"]] == ["UniqId"]
    assert simulated(out) == "recording"


def test_a_running_server_tells_its_recording_at_the_operators_port(
    tmp_path: Path,
    interface: Path,  # noqa: F811
    certificate: tuple[Path, Path],  # noqa: F811
) -> None:
    cert, key = certificate
    out = tmp_path / "live.json"
    with Server(
        interface,
        tls=Tls(certificate=cert, key=key),
        observability=Observability(record=True, admin="127.0.0.1:0"),
    ) as server:
        address = f"http://127.0.0.1:{server.admin_port}"
        early = record("--from", address, "--service", ADD, "--out", str(out), folder=tmp_path)
        assert early.returncode == 2
        assert "function = 'Calculator.add': must have had a request" in early.stderr
        assert not out.exists()
    server = Server(
        interface,
        tls=Tls(certificate=cert, key=key),
        observability=Observability(record=True, admin="127.0.0.1:0"),
    )
    server.handle("Calculator.add", add)
    with server:
        address = f"http://127.0.0.1:{server.admin_port}"
        with connect(server.port, TBinaryProtocol, cert) as client:
            assert client.call("add", a=1, b=1) == 2
        with urllib.request.urlopen(f"{address}/metrics", timeout=60) as answer:  # noqa: S310
            assert b'function="Calculator.add",result="ok"} 1' in answer.read()
        done = record("--from", address, "--service", ADD, "--out", str(out), folder=tmp_path)
        assert done.returncode == 0, done.stderr
    assert simulated(out) == "recording"


def test_requests_of_grpc_are_recorded_and_simulated(
    tmp_path: Path,
    certificate: tuple[Path, Path],  # noqa: F811
) -> None:
    proto = tmp_path / "numbers.proto"
    proto.write_text(
        """
        syntax = "proto3";
        message Pair { int64 a = 1; int64 b = 2; }
        service Numbers { rpc Add(Pair) returns (Pair); }
        """,
        encoding="utf-8",
    )
    cert, key = certificate
    out = tmp_path / "live.json"
    server = Server(
        proto,
        tls=Tls(certificate=cert, key=key),
        observability=Observability(record=True, admin="127.0.0.1:0"),
    )
    server.handle("Add", lambda pair: {"a": int(pair["a"]) + int(pair["b"])})
    with server:
        client = GrpcClient(
            proto,
            f"127.0.0.1:{server.port}",
            tls=ClientTls(ca=cert, server_name="localhost"),
        )
        for number in range(20):
            answer = client.call("Add", {"a": number, "b": 1})
            assert answer["a"] == str(number + 1)
        address = f"http://127.0.0.1:{server.admin_port}"
        wanted = ("--service", "Numbers.Add=UniqId", "--out", str(out))
        done = record("--from", address, *wanted, folder=tmp_path)
        assert done.returncode == 0, done.stderr
    assert simulated(out) == "recording"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--service", ADD), "--from is left out: must be given, as http://HOST:PORT, unless"),
        (
            ("a:b", "--from", "http://x:1", "--service", ADD),
            "must be left out with MODULE:FUNCTION",
        ),
        (
            ("--from", "http://127.0.0.1:9", "--service", ADD),
            "must be the `admin` address of a running server",
        ),
        (("--from", "file:///etc/passwd", "--service", ADD), "must be http://HOST:PORT"),
        (
            ("a:b", "--service", ADD),
            "--interface is left out: must be given to",
        ),
        (("a:b", "--service", "x"), "--service = 'x': must be FUNCTION=NAME"),
        (
            ("a:b", "--service", "x=A", "--service", "y=A"),
            "must have a FUNCTION and a NAME that no other --service has",
        ),
        (
            ("a:b", "--service", ADD, "--base", "/no/file"),
            "--base = '/no/file': must be a file",
        ),
        (("a:b",), "--service is left out: must be FUNCTION=NAME"),
        (("own.toml",), "own.toml"),
        (("socialnetwork", "--key", "k.pem"), "--key = 'k.pem': must be left out"),
        (("socialnetwork", "--service", "UniqID"), "UniqID"),
    ],
)
def test_bad_arguments_are_one_line_and_write_nothing(
    tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    out = tmp_path / "live.json"
    done = record(*arguments, "--out", str(out), folder=tmp_path)
    assert done.returncode in {1, 2}
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert not out.exists()


@pytest.mark.parametrize(
    "address",
    [
        *("http://127.0.0.1:x", "http://127.0.0.1:99999", "http://127.0.0.1:0", "http://[::1"),
        *("http://a b:1", "http://u@a:1", "http://:1", "http://a:1?x=2"),
    ],
)
def test_an_address_of_the_wrong_form_is_refused(tmp_path: Path, address: str) -> None:
    out = str(tmp_path / "live.json")
    done = record("--from", address, "--service", ADD, "--out", out, folder=tmp_path)
    assert done.returncode == 2
    allowed = "must be http://HOST:PORT, with a port from 1 to 65535"
    assert done.stderr == f"accelflow: error: --from = '{address}': {allowed}\n"


def test_a_port_that_does_not_speak_http_is_refused(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(b"\x15\x03\x03\x00\x02\x02\x32")  # a TLS alert

        thread = threading.Thread(target=answer)
        thread.start()
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        out = str(tmp_path / "live.json")
        done = record("--from", address, "--service", ADD, "--out", out, folder=tmp_path)
        thread.join(60)
    assert done.returncode == 2
    assert "must be the `admin` address of a running server: the answer there is" in done.stderr
    assert "internal error" not in done.stderr


OWN = """
schema = "accelflow.workload/1"
name = "own"

[[services]]
name = "Identify"
method = "{method}"
rate_rps = 5000
path = [
  {{ trace = "T1", facts = {{ T1 = {{ compressed = 0 }} }} }},
  {{ cpu_us = 9 }},
  {{ trace = "T2" }},
]
"""


def test_services_of_a_file_run_on_the_messages_of_their_method(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(OWN.format(method="ComposeUniqueId"), encoding="utf-8")
    out = tmp_path / "own.json"
    done = record("own.toml", "--service", "Identify", "--out", str(out), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    (service,) = json.loads(out.read_text(encoding="utf-8"))["services"]
    assert service["service"] == "Identify"
    steps = service["phases"][0]["chains"][0]["steps"]
    assert [step["accelerator"] for step in steps] == ["TCP", "Decr", "RPC", "Dser", "LdB"]
    for step in steps:
        table = step["cost_quantiles_ns"]
        assert [table[0][0], table[-1][0]] == [0.0, 1.0]
        assert table[0][1] < table[-1][1]
    command = [sys.executable, "-m", "accelflow", "compare", "own.toml", "--recording", str(out)]
    command += ["--recorded-times", "distribution", "--requests", "200", "--out", "results"]
    compared = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300, cwd=tmp_path
    )
    assert compared.returncode == 0, compared.stderr
    assert "Identify: the recording lacks the processor time" in compared.stderr


def test_a_service_without_built_in_messages_is_refused(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(OWN.format(method="Guess"), encoding="utf-8")
    out = tmp_path / "own.json"
    done = record("own.toml", "--out", str(out), folder=tmp_path)
    assert done.returncode in {1, 2}
    words = "own.toml: service Identify: method = 'Guess': must be a method with built-in messages"
    assert words in done.stderr
    assert not out.exists()


def test_exceptions_of_a_users_module_are_reported_with_their_place(
    tmp_path: Path,
    interface: Path,  # noqa: F811
    certificate: tuple[Path, Path],  # noqa: F811
) -> None:
    cert, key = certificate
    served = ["--interface", str(interface), "--certificate", str(cert), "--key", str(key)]
    (tmp_path / "breaks.py").write_text("def setup(server):\n    raise ValueError('no database')\n")
    (tmp_path / "worse.py").write_text("1 / 0\n")
    (tmp_path / "syntax.py").write_text("def setup(:\n")
    for text, words in [
        ("breaks:setup", "breaks:setup raised ValueError: no database ("),
        ("worse:setup", "it raised ZeroDivisionError: division by zero ("),
        ("syntax:setup", "it raised SyntaxError: "),
    ]:
        done = record(
            text, "--service", ADD, *served, "--out", str(tmp_path / "x.json"), folder=tmp_path
        )
        assert done.returncode == 2
        assert words in done.stderr
        assert "line" in done.stderr
        assert "internal error" not in done.stderr
        assert "Traceback" not in done.stderr


def test_a_file_in_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "nope" / "x.json"
    done = record("a:b", "--service", ADD, "--out", str(out), folder=tmp_path)
    assert done.returncode == 2
    refusal = f"--out = '{out}': must be in a folder that exists; {out.parent} does not"
    assert refusal in done.stderr
    assert not out.parent.exists()


def test_modules_that_have_no_such_function_are_named(
    tmp_path: Path,
    interface: Path,  # noqa: F811
    certificate: tuple[Path, Path],  # noqa: F811
) -> None:
    cert, key = certificate
    served = ["--interface", str(interface), "--certificate", str(cert), "--key", str(key)]
    for text, words in [("nothing:here", "nothing"), ("json:nothing", "has no function 'nothing'")]:
        done = record(
            text, "--service", ADD, *served, "--out", str(tmp_path / "x.json"), folder=tmp_path
        )
        assert done.returncode == 2
        assert words in done.stderr


def test_a_function_that_does_not_exist_is_refused_before_the_recording(
    tmp_path: Path,
    interface: Path,  # noqa: F811
    certificate: tuple[Path, Path],  # noqa: F811
) -> None:
    cert, key = certificate
    served = ["--interface", str(interface), "--certificate", str(cert), "--key", str(key)]
    (tmp_path / "quiet.py").write_text("def setup(server):\n    pass\n")
    out = str(tmp_path / "x.json")
    done = record(
        "quiet:setup", "--service", "Calculator.ad=A", *served, "--out", out, folder=tmp_path
    )
    assert done.returncode == 2
    assert (
        "--service = 'Calculator.ad=A': must begin with a function of the interface" in done.stderr
    )
    assert "recording on" not in done.stderr
