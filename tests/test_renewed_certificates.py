"""Servers whose certificates are renewed while they serve."""

from pathlib import Path
from typing import Any

import pytest

from accelflow import AccelflowError, CallError, Client, GrpcClient, InputError, Server
from accelflow.settings import ClientTls, Tls
from certificates import make_certificate, make_clients

Clients = type[Client] | type[GrpcClient]


@pytest.fixture(params=["thrift", "grpc"])
def kind(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Clients]:
    """An interface with a function `look`, and the class of its clients."""
    interface = tmp_path / f"shop.{request.param}"
    if request.param == "thrift":
        interface.write_text("service Shop { void look() }", encoding="utf-8")
        return interface, Client
    interface = interface.with_suffix(".proto")
    text = 'syntax = "proto3"; message Empty {} service Shop { rpc look(Empty) returns (Empty); }'
    interface.write_text(text, encoding="utf-8")
    return interface, GrpcClient


def certificate(folder: Path, name: str) -> dict[str, Path]:
    (folder / name).mkdir()
    files = make_certificate(folder / name)
    return dict(zip(("certificate", "key"), files, strict=True))


def served(interface: Path, tls: Tls | None) -> Server:
    server = Server(interface, tls=tls)
    server.handle("look", lambda _: None)
    return server


def test_later_connections_get_the_new_certificate(
    kind: tuple[Path, Clients], tmp_path: Path
) -> None:
    interface, clients = kind
    old, new = (certificate(tmp_path, name) for name in ("old", "new"))
    with served(interface, Tls(**old)) as server:

        def client(trusted: dict[str, Path]) -> Any:
            tls = ClientTls(ca=trusted["certificate"])
            return clients(interface, f"localhost:{server.port}", tls=tls)

        before = client(old)
        before.call("look", {})
        # Renewing replaces the files.
        for part, path in old.items():
            path.with_suffix(".old").write_bytes(path.read_bytes())
            path.write_bytes(new[part].read_bytes())
        with pytest.raises(CallError, match="not signed by a trusted authority"):
            client(new).call("look", {})
        server.set_tls(Tls(**old))
        client(new).call("look", {})
        # The open connection goes on.
        before.call("look", {})
        old_one = {"certificate": old["certificate"].with_suffix(".old")}
        with pytest.raises(CallError, match="not signed by a trusted authority"):
            client(old_one).call("look", {})


def test_authorities_of_clients_are_replaced_and_not_added_or_left_out(tmp_path: Path) -> None:
    interface = tmp_path / "shop.thrift"
    interface.write_text("service Shop { void look() }", encoding="utf-8")
    own = certificate(tmp_path, "own")
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
    made = [make_clients(folder, {"ada": ["ada.example"]}) for folder in folders]
    with served(interface, Tls(**own, client_ca=made[0][0])) as server:

        def call(turn: int) -> None:
            chain, key = made[turn][1][0]
            tls = ClientTls(ca=own["certificate"], certificate=chain, key=key)
            Client(interface, f"localhost:{server.port}", tls=tls).call("look", {})

        call(0)
        with pytest.raises(AccelflowError, match="tls = without authorities of clients: must have"):
            server.set_tls(Tls(**own))
        with pytest.raises(AccelflowError, match=r"missing\.pem"):
            server.set_tls(Tls(**own, client_ca=tmp_path / "missing.pem"))
        call(0)
        server.set_tls(Tls(**own, client_ca=made[1][0]))
        call(1)
        with pytest.raises(CallError):
            call(0)
    with pytest.raises(AccelflowError, match="not running"):
        server.set_tls(Tls(**own))
    with served(interface, Tls(**own)) as server:
        with pytest.raises(AccelflowError, match="tls = with authorities of clients: must have no"):
            server.set_tls(Tls(**own, client_ca=made[1][0]))
        with pytest.raises(InputError, match="must be a Tls"):
            server.set_tls(None)  # type: ignore[arg-type]
    with served(interface, None) as server, pytest.raises(AccelflowError, match="without TLS"):
        server.set_tls(Tls(**own))
