"""Clients that prove who they are: OpenSSL's by Apache Thrift, BoringSSL's by gRPC, and our own."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pytest
from thrift.transport.TTransport import TTransportException

import thrift_client
from accelflow import (
    AccelflowError,
    CallError,
    Client,
    ClientTls,
    GrpcClient,
    InputError,
    Request,
    Server,
    Tenant,
)
from accelflow.client import CallLimits
from accelflow.settings import Tls
from certificates import Files, make_certificate, make_clients
from test_client_grpc import interface, stubs

__all__ = ["interface", "stubs"]

NAMES = ["batch.internal", "spiffe://internal/batch"]
TENANTS = [Tenant(name="batch", identities=["spiffe://internal/batch"])]
ONCE = CallLimits(timeout_s=60.0, max_attempts=1)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Files, Path, Files]:
    """The server's own certificate and key, the clients' authority, and a client's."""
    own = make_certificate(tmp_path_factory.mktemp("server"))
    authority, clients = make_clients(tmp_path_factory.mktemp("clients"), {"batch": NAMES})
    return own, authority, clients[0]


def noting(seen: list[list[str]], answer: Any) -> Any:
    def handler(_: dict[str, Any], request: Request) -> Any:
        seen.append(request.peer_identities)
        return answer

    return handler


def served(path: Path, name: str, handler: Any, files: tuple[Files, Path, Files]) -> Server:
    (certificate, key), authority, _ = files
    server = Server(
        path, tls=Tls(certificate=certificate, key=key, client_ca=authority), tenants=TENANTS
    )
    server.handle(name, handler)
    return server


def test_clients_of_thrift(tmp_path: Path, files: tuple[Files, Path, Files]) -> None:
    path = tmp_path / "calculator.thrift"
    path.write_text(thrift_client.INTERFACE)
    seen: list[list[str]] = []
    (certificate, _), _, own = files
    with served(path, "Calculator.add", noting(seen, 7), files) as server:
        with thrift_client.connect(server.port, ca=certificate, own=own) as client:
            assert client.call("add", a=1, b=2) == 7
        with (
            pytest.raises((TTransportException, OSError)),
            thrift_client.connect(server.port, ca=certificate) as client,
        ):
            client.call("add", a=1, b=2)
        tls = ClientTls(ca=certificate, server_name="localhost")
        known = replace(tls, certificate=own[0], key=own[1])
        address = f"127.0.0.1:{server.port}"
        ours = Client(path, address, tls=known, limits=ONCE)
        assert ours.call("add", {"a": 1, "b": 2}) == 7
        with pytest.raises(CallError, match=r"alert 116|the connection was lost"):
            Client(path, address, tls=tls, limits=ONCE).call("add", {"a": 1, "b": 2})
        assert 'accelflow_tenant_requests_total{tenant=""} 0' in server.metrics()
    assert seen == [NAMES, NAMES]


def test_clients_of_grpc(interface: Path, stubs: Any, files: tuple[Files, Path, Files]) -> None:
    messages, services = stubs
    seen: list[list[str]] = []
    (certificate, _), _, own = files
    root = certificate.read_bytes()
    with served(interface, "Shop.Add", noting(seen, {"sum": 7}), files) as server:
        address = f"localhost:{server.port}"
        known = grpc.ssl_channel_credentials(root, own[1].read_bytes(), own[0].read_bytes())
        with grpc.secure_channel(address, known) as channel:
            assert services.ShopStub(channel).Add(messages.Pair(), timeout=60).sum == 7
        with grpc.secure_channel(address, grpc.ssl_channel_credentials(root)) as channel:
            with pytest.raises(grpc.RpcError) as it:
                services.ShopStub(channel).Add(messages.Pair(), timeout=60)
            assert it.value.code() is grpc.StatusCode.UNAVAILABLE
        tls = ClientTls(ca=certificate, certificate=own[0], key=own[1])
        ours = GrpcClient(interface, address, tls=tls)
        assert ours.call("Add") == {"sum": "7"}
        assert 'accelflow_tenant_requests_total{tenant=""} 0' in server.metrics()
    assert seen == [NAMES, NAMES]


def test_settings_that_prove_nothing_are_refused(
    interface: Path, tmp_path: Path, files: tuple[Files, Path, Files]
) -> None:
    (certificate, key), authority, _ = files
    with pytest.raises(TypeError, match="'certificate' and 'key'"):
        Tls(client_ca=authority)  # type: ignore[call-arg]
    empty = tmp_path / "empty.pem"
    empty.touch()
    with pytest.raises(
        AccelflowError, match=r"empty\.pem: must have at least one certificate in PEM form"
    ):
        Server(interface, tls=Tls(certificate=certificate, key=key, client_ca=empty))
    why = r"tenant 'batch': identities = \[.*\]: must be empty, since the server does not require"
    with pytest.raises(InputError, match=why):
        Server(interface, tls=Tls(certificate=certificate, key=key), tenants=TENANTS)
    with pytest.raises(InputError, match=why):
        Server(interface, tenants=TENANTS)
    with pytest.raises(AccelflowError, match="must have at least one network or identity"):
        Server(interface, tenants=[Tenant(name="batch")])
