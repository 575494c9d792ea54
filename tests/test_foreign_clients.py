"""Clients of a Thrift server that speak something else, or call services that it does not have."""

import logging
import socket
import ssl
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.protocol.TCompactProtocol import TCompactProtocol
from thrift.protocol.TJSONProtocol import TJSONProtocol
from thrift.Thrift import TApplicationException
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TFramedTransport

from accelflow import Client, Server
from accelflow.settings import Tls
from certificates import make_certificate
from thrift_client import INTERFACE, connect
from thrift_client import Client as ApacheClient


@pytest.fixture
def server(tmp_path: Path) -> Server:
    path = tmp_path / "calculator.thrift"
    path.write_text(INTERFACE, encoding="utf-8")
    server = Server(path)
    server.handle("Calculator.add", lambda arguments: arguments["a"] + arguments["b"])
    return server


def unversioned(transport: TBufferedTransport) -> TBinaryProtocol:
    return TBinaryProtocol(transport, strictRead=False, strictWrite=False)


def call(port: int, transport_of: type, protocol_of: object) -> None:
    """Call as Apache's library does with this transport and protocol, without an answer."""
    transport = transport_of(TSocket("127.0.0.1", port))
    transport.open()
    try:
        client = ApacheClient(protocol_of(transport), transport)  # type: ignore[operator]
        with pytest.raises(Exception, match=r"read|closed|EOF|reset"):
            client.call("add", a=1, b=2)
    finally:
        transport.close()


@pytest.mark.parametrize(
    ("transport", "protocol", "seems"),
    [
        (TBufferedTransport, TBinaryProtocol, "Thrift without frames, in the binary protocol: "),
        (TBufferedTransport, TCompactProtocol, "Thrift without frames, in the compact protocol: "),
        (TBufferedTransport, TJSONProtocol, "Thrift without frames, in the JSON protocol: "),
        (TBufferedTransport, unversioned, "Thrift without frames, in the binary protocol without"),
        (TFramedTransport, unversioned, "framed Thrift in the binary protocol without a version"),
        (TFramedTransport, TJSONProtocol, "framed Thrift in the JSON protocol"),
    ],
)
def test_other_forms_of_thrift_are_named_in_the_log(
    server: Server,
    transport: type,
    protocol: object,
    seems: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO, "accelflow.server"), server:
        call(server.port, transport, protocol)
        with connect(server.port) as client:
            assert client.call("add", a=1, b=2) == 3
    (entry,) = [record for record in caplog.records if "seems to speak" in record.getMessage()]
    assert f"the client seems to speak {seems}" in entry.getMessage()
    assert "must be framed Thrift in the binary or compact protocol" in entry.getMessage()
    assert entry.levelno == logging.INFO


@pytest.mark.parametrize(
    ("sent", "seems"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/2, as gRPC does"),
        (b"\x16\x03\x01\x02\x00" + bytes(512), "TLS, and this port has none"),
    ],
)
def test_other_protocols_are_named_in_the_log_and_closed(
    server: Server, sent: bytes, seems: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "accelflow.server"), server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
            client.sendall(sent)
            assert client.recv(100) == b""  # the end, and no reset
        with pytest.raises((urllib.error.URLError, ConnectionError, OSError)):
            urllib.request.urlopen(f"http://127.0.0.1:{server.port}/", timeout=60)
    entries = [record.getMessage() for record in caplog.records]
    assert any(f"the client seems to speak {seems}: must be framed Thrift" in it for it in entries)


def test_other_forms_are_named_behind_tls_too(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    certificate, key = make_certificate(tmp_path)
    path = tmp_path / "calculator.thrift"
    path.write_text(INTERFACE, encoding="utf-8")
    context = ssl.create_default_context(cafile=str(certificate))
    server = Server(path, tls=Tls(certificate=certificate, key=key))
    with caplog.at_level(logging.INFO, "accelflow.server"), server:
        hello = b"\x16\x03\x01\x02\x00" + bytes(512)
        for sent in (b"GET / HTTP/1.1\r\n\r\n", b"\x80\x01\x00\x01\x00\x00\x00\x03add", hello):
            plain = socket.create_connection(("127.0.0.1", server.port), timeout=60)
            with context.wrap_socket(plain, server_hostname="localhost") as client:
                client.sendall(sent)
                assert client.recv(100) == b""
    entries = [record.getMessage() for record in caplog.records]
    assert "seems to speak HTTP/1: must be framed" in entries[0]
    assert "seems to speak Thrift without frames, in the binary protocol: " in entries[1]
    assert "seems to speak TLS within TLS: must be framed Thrift" in entries[2]
    assert len(entries) == 3


def test_services_of_included_files_are_not_served(tmp_path: Path) -> None:
    (tmp_path / "shared.thrift").write_text("service Root { i64 slow(1: i64 a) }")
    path = tmp_path / "own.thrift"
    path.write_text(
        'include "shared.thrift"\n'
        "service First extends shared.Root { i64 add(1: i64 a, 2: i64 b) }\n"
        "service Second extends shared.Root {}\n"
    )
    server = Server(path)
    server.handle("slow", lambda arguments: arguments["a"] + 1)
    with server:
        for name in ("shared.Root", "Root"):
            with connect(server.port) as client:
                client.multiplexed(name)
                with pytest.raises(TApplicationException) as raised:
                    client.call("slow", a=1)
                assert raised.value.type == TApplicationException.UNKNOWN_METHOD
        with connect(server.port) as client:
            client.multiplexed("Second")
            assert client.call("slow", a=1) == 2
        own = Client(path, f"127.0.0.1:{server.port}", multiplexed=True)
        for method in ("slow", "First.slow", "Second.slow"):
            assert own.call(method, {"a": 1}) == 2
