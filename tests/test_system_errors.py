"""Errors of the operating system reach users without their numbers, wherever files are opened."""

import socket
from pathlib import Path

import pytest

from accelflow import (
    AccelflowError,
    CallError,
    Client,
    ClientTls,
    ClientTraces,
    InputError,
    Observability,
    Server,
    ServerTraces,
    Tls,
)


def test_files_of_servers_and_clients_are_named_without_numbers_of_errors(tmp_path: Path) -> None:
    interface = tmp_path / "calculator.thrift"
    interface.write_text("service Calculator { i64 add(1: i64 a) }", encoding="utf-8")
    missing, folder = tmp_path / "none.pem", tmp_path
    for make, words in [
        (lambda: Server(tmp_path / "none.thrift"), "none.thrift: No such file or directory"),
        (lambda: Server(tmp_path / "none.proto"), "none.proto: No such file or directory"),
        (lambda: Server(folder), f"{folder}: Is a directory"),
        (lambda: Server(interface, tls=Tls(certificate=missing, key=missing)), "No such file"),
        (lambda: Server(interface, tls=Tls(certificate=folder, key=missing)), "Is a directory"),
        (lambda: Server(interface, traces=ServerTraces(missing)), "No such file or directory"),
        (lambda: Client(tmp_path / "none.thrift", "h:1"), "No such file or directory"),
        (lambda: Client(interface, "h:1", tls=ClientTls(ca=missing)), "No such file"),
        (lambda: Client(interface, "h:1", traces=ClientTraces(missing)), "No such file"),
    ]:
        with pytest.raises(InputError) as caught:
            make()
        assert words in str(caught.value)
        assert "os error" not in str(caught.value)


def test_addresses_that_cannot_be_had_are_named_without_numbers_of_errors(tmp_path: Path) -> None:
    interface = tmp_path / "calculator.thrift"
    interface.write_text("service Calculator { i64 add(1: i64 a) }", encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(AccelflowError) as caught:
            Server(interface).start(port=port)
        assert str(caught.value) == f"cannot listen on 127.0.0.1:{port}: Address already in use"
        server = Server(interface, observability=Observability(admin=f"127.0.0.1:{port}"))
        with pytest.raises(AccelflowError) as caught:
            server.start()
        assert "os error" not in str(caught.value)
    # Once the port is free, the same server can be started.
    server.start()
    assert server.admin_port == port
    server.stop()
    with pytest.raises(CallError) as failed:
        Client(interface, f"127.0.0.1:{port}").call("add", {"a": 1}, timeout_s=10.0)
    assert str(failed.value).endswith("Connection refused")
