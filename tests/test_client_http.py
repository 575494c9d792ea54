"""Clients of JSON over HTTP in Python, and a server that no one here wrote."""

import asyncio
import gzip
import http.server
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from accelflow import CallError, ClientTls, HttpClient
from accelflow.client import CallLimits
from certificates import make_certificate

PATIENT = CallLimits(timeout_s=60.0)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_certificate(tmp_path_factory.mktemp("certificate"))


class Handler(http.server.BaseHTTPRequestHandler):
    """Echoes JSON in the way that the target says."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        length = int(self.headers["content-length"])
        body = self.rfile.read(length)
        if self.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        elif "content-encoding" in self.headers:
            self.send_error(415)
            return
        status = 418 if self.path == "/teapot" else 200
        self.send_response(status)
        if self.path == "/gzip":
            assert "gzip" in self.headers["accept-encoding"]
            body = gzip.compress(body)
            self.send_header("Content-Encoding", "gzip")
        if self.path == "/chunked":
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for start in range(0, len(body), 1000):
                piece = body[start : start + 1000]
                self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            self.wfile.write(b"0\r\n\r\n")
        elif self.path == "/close":
            self.close_connection = True
            self.end_headers()
            self.wfile.write(body)
        else:
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Tests are quiet."""


@contextmanager
def http_server(files: tuple[Path, Path] | None) -> Iterator[int]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        if files is not None:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(*files)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])
def test_json_over_http_comes_back(certificate: tuple[Path, Path], secure: bool) -> None:
    with http_server(certificate if secure else None) as port:
        tls = ClientTls(ca=certificate[0], server_name="localhost") if secure else None
        make = lambda **more: HttpClient(  # noqa: E731
            f"127.0.0.1:{port}", tls=tls, limits=PATIENT, **more
        )
        client = make()
        values: list[Any] = [{}, [1, "ü", None], {"text": "x" * 100_000}]
        for value in values:
            for target in ("/length", "/chunked", "/gzip", "/length"):
                response = client.request("POST", target, value)
                assert (response.status, response.json()) == (200, value), target
        assert client.connections == (1, 1, 0)
        if not secure:
            # Python's server ends a TLS connection without a goodbye: see the next test.
            assert client.request("POST", "/close", values[1]).json() == values[1]
            assert client.connections.open == 0
        assert client.request("POST", "/teapot", [1]).status == 418
        packed = make(compress=True, codec="gzip")
        assert packed.request("POST", "/length", values[2]).json() == values[2]

        async def work() -> int:
            return (await client.request_async("POST", "/length", 7)).status

        assert asyncio.run(work()) == 200


def test_a_response_that_anyone_may_have_cut_is_refused(certificate: tuple[Path, Path]) -> None:
    with http_server(certificate) as port:
        client = HttpClient(
            f"127.0.0.1:{port}",
            tls=ClientTls(ca=certificate[0], server_name="localhost"),
            limits=PATIENT,
        )
        with pytest.raises(CallError) as it:
            client.request("POST", "/close", {"a": 1})
        assert it.value.reason == "lost"


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        ({"headers": {"authorization": "Bearer secret\n"}}, "header 'authorization': character 14"),
        ({"headers": {"a b": "secret"}}, "header name = 'a b': must be"),
        ({"headers": {"Host": "secret"}}, "header name = 'Host': must be none of host, "),
        ({"target": "x"}, "target = 'x': must begin with /"),
    ],
)
def test_what_http_cannot_send_is_named_without_its_secrets(
    request_: dict[str, Any], says: str
) -> None:
    with http_server(None) as port:
        client = HttpClient(f"127.0.0.1:{port}", limits=PATIENT)
        with pytest.raises(CallError) as it:
            client.request("GET", **{"target": "/", **request_})
    assert says in str(it.value)
    assert "secret" not in str(it.value)
