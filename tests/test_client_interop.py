"""Clients in Python, and servers of other projects: nginx, and Apache Thrift's in C++.

`scripts/interop build cpp nginx` makes and installs them; without them the tests are skipped.
"""

import gzip
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from accelflow import CallError, Client, ClientTls, DeclaredError, HttpClient
from accelflow.client import CallLimits
from certificates import make_certificate
from conftest import ROOT

PATIENT = CallLimits(timeout_s=60.0)
INTERFACE = ROOT / "tests" / "interop" / "interop.thrift"
CPP_SERVER = ROOT / "out" / "interop" / "cpp" / "server"
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")

CONFIGURATION = """
daemon off;
master_process off;
pid {folder}/pid;
error_log {folder}/error.log;
{user}
events {{ worker_connections 64; }}
http {{
    access_log off;
    types {{ application/json json; }}
    default_type application/json;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    keepalive_requests {requests};
    gzip_types application/json;
    gzip_min_length 1;
    server {{
        listen 127.0.0.1:{port}{tls};
        ssl_certificate {folder}/cert.pem;
        ssl_certificate_key {folder}/key.pem;
        ssl_protocols TLSv1.2 TLSv1.3;
        root {folder}/files;
        location / {{ }}
        location /gzip/ {{ alias {folder}/files/; gzip on; gzip_comp_level 1; }}
        location /stored/ {{ alias {folder}/files/; add_header content-encoding gzip; }}
        location /close/ {{ alias {folder}/files/; keepalive_timeout 0; }}
        location /made {{ return 201 '{{"made": true}}'; }}
        location /moved {{ return 302 /made; }}
        location /empty {{ return 204; }}
        location /length {{
            return 200 '{{"length": "$http_content_length", "method": "$request_method"}}';
        }}
    }}
}}
"""


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_certificate(tmp_path_factory.mktemp("certificate"))


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def await_port(port: int, process: subprocess.Popen[Any], log: Path) -> None:
    """Return once somebody listens; the process must not have ended before."""
    for _ in range(600):
        assert process.poll() is None, log.read_text(encoding="utf-8")
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    pytest.fail("nginx does not listen")


LARGE = {"text": "grüße " * 20_000, "numbers": list(range(2_000))}


@contextmanager
def nginx(folder: Path, files: tuple[Path, Path], *, secure: bool, requests: int) -> Iterator[int]:
    port = free_port()
    (folder / "files").mkdir(parents=True)
    for name in ("cert.pem", "key.pem"):
        shutil.copy(files[0].with_name(name), folder / name)
    text = json.dumps(LARGE).encode()
    (folder / "files" / "large.json").write_bytes(text)
    (folder / "files" / "packed.json").write_bytes(gzip.compress(text))
    made = CONFIGURATION.format(
        folder=folder,
        port=port,
        tls=" ssl" if secure else "",
        requests=requests,
        user="user root;" if os.getuid() == 0 else "",
    )
    (folder / "nginx.conf").write_text(made, encoding="utf-8")
    log = folder / "error.log"
    log.touch()
    command = [str(NGINX), "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(log)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        await_port(port, process, log)
        yield port
    finally:
        process.terminate()
        process.wait(timeout=30)


@pytest.mark.skipif(NGINX is None, reason="needs nginx: scripts/interop build nginx")
@pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])
def test_nginx_answers(tmp_path: Path, certificate: tuple[Path, Path], secure: bool) -> None:
    options: dict[str, Any] = {"limits": PATIENT}
    if secure:
        options["tls"] = ClientTls(ca=certificate[0], server_name="localhost")
    with nginx(tmp_path / "nginx", certificate, secure=secure, requests=1_000) as port:
        client = HttpClient(f"127.0.0.1:{port}", **options)
        # Of a known length; in chunks that nginx compresses as it goes; compressed before.
        for target in ("/large.json", "/gzip/large.json", "/stored/packed.json"):
            for _ in range(3):
                response = client.request("GET", target)
                assert (response.status, response.json()) == (200, LARGE), target
        head = client.request("HEAD", "/large.json")
        assert (head.status, head.body) == (200, b"")
        assert client.request("GET", "/made").json() == {"made": True}
        assert [client.request("GET", it).status for it in ("/moved", "/empty", "/none")] == [
            302,
            204,
            404,
        ]
        sent = client.request("PUT", "/length", {"a": 1}).json()
        assert sent == {"length": "7", "method": "PUT"}
        packed = HttpClient(f"127.0.0.1:{port}", compress=True, codec="gzip", **options)
        sent = packed.request("POST", "/length", LARGE).json()
        assert int(sent["length"]) < len(json.dumps(LARGE)) / 5
        assert client.connections == (1, 1, 0)
        assert client.request("GET", "/close/large.json").json() == LARGE
        assert client.connections.open == 0


@pytest.mark.skipif(NGINX is None, reason="needs nginx: scripts/interop build nginx")
@pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])
def test_nginx_ends_connections(
    tmp_path: Path, certificate: tuple[Path, Path], secure: bool
) -> None:
    """After each third request; the next one is on a new connection, unseen by the caller."""
    options: dict[str, Any] = {"limits": PATIENT}
    if secure:
        options["tls"] = ClientTls(ca=certificate[0], server_name="localhost")
    with nginx(tmp_path / "nginx", certificate, secure=secure, requests=3) as port:
        client = HttpClient(f"127.0.0.1:{port}", **options)
        for turn in range(10):
            assert client.request("POST", "/made", {"turn": turn}).status == 201


@contextmanager
def apache_cpp(protocol: str, files: tuple[Path, Path] | None) -> Iterator[int]:
    command = [str(CPP_SERVER), protocol, *(str(file) for file in files or ())]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait(timeout=30)
        process.stdout.close()


@pytest.mark.skipif(
    not CPP_SERVER.exists(), reason="needs the server in C++: scripts/interop build cpp"
)
@pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize("protocol", ["binary", "compact"])
def test_apache_thrift_cpp_answers(
    certificate: tuple[Path, Path], protocol: str, secure: bool
) -> None:
    with apache_cpp(protocol, certificate if secure else None) as port:
        options: dict[str, Any] = {"limits": PATIENT, "protocol": protocol}
        if secure:
            options["tls"] = ClientTls(ca=certificate[0], server_name="localhost")
        client = Client(INTERFACE, f"127.0.0.1:{port}", **options)
        total: Any = 0
        for turn in range(1, 101):
            total = client.call("add", {"a": total, "b": turn})
        assert total == 5050
        for size in (0, 1 << 10, 1 << 16, 1 << 20):
            value = {
                "yes": True,
                "no": False,
                "tiny": -128,
                "large": 2**63 - 1,
                "real": -1e300,
                "text": "grüße" + "x" * size,
                "colour": 7,
                "numbers": [0, -1, -(2**63)],
                "shares": {"": 0.1, "b": 2.0},
                "either": {"path": [{"x": 5.0, "y": 0.0}]},
                "flags": [True, False, True],
            }
            echoed: Any = client.call("echo", {"value": value})
            assert {name: echoed[name] for name in value} == value
            assert "absent" not in echoed
        standard: Any = client.call("standard")
        assert (standard["count"], standard["colour"], standard["sure"]) == (12, 7, True)
        client.call("note", {"number": 17})
        assert client.call("noted", {"number": 17}) is True
        with pytest.raises(DeclaredError) as declared:
            client.call("add", {"a": 2**63 - 1, "b": 1})
        assert declared.value.args == ("refused", {"code": 7, "why": "overflow"})
        with pytest.raises(CallError, match="on purpose") as failed:
            client.call("fail", {"why": "on purpose"})
        assert (failed.value.reason, failed.value.executed) == ("application", "yes")
        assert client.connections == (1, 1, 0)
