"""What clients and services say cannot forge entries of a server's log."""

import logging
from pathlib import Path
from typing import Any

import pytest

from accelflow import CallError, Client, Server
from accelflow.log_lines import PrintableLines
from accelflow.settings import Observability

FORGED = "bob\nERROR forged \x1b[31m\u2028red"
ESCAPED = r"bob\nERROR forged \x1b[31m\u2028red"


@pytest.fixture
def interface(tmp_path: Path) -> Path:
    path = tmp_path / "shop.thrift"
    path.write_text(
        "service Shop { i64 direct(1: string who) i64 cause(1: string who) i64 later(1: string who)"
        " i64 group(1: string who) i64 nested(1: string who) }",
        encoding="utf-8",
    )
    return path


def direct(arguments: dict[str, Any]) -> int:
    message = f"no user {arguments['who']}"
    raise ValueError(message)


def cause(arguments: dict[str, Any]) -> int:
    try:
        return direct(arguments)
    except ValueError as error:
        error.add_note(f"a note of {arguments['who']}")
        message = "not now"
        raise RuntimeError(message) from error


async def later(arguments: dict[str, Any]) -> int:
    return direct(arguments)


def group(arguments: dict[str, Any]) -> int:
    message = f"several of {arguments['who']}"
    raise ExceptionGroup(message, [ValueError(arguments["who"])])


@pytest.mark.parametrize("function", ["direct", "cause", "later", "group", "nested"])
def test_texts_of_clients_are_escaped(
    function: str, interface: Path, caplog: pytest.LogCaptureFixture
) -> None:
    inner = Server(interface, observability=Observability(verbose_errors=True))
    inner.handle("direct", direct)
    server = Server(interface)
    for handler in (direct, cause, later, group):
        server.handle(handler.__name__, handler)
    with inner, caplog.at_level(logging.INFO):
        called = Client(interface, f"127.0.0.1:{inner.port}")
        server.handle("nested", lambda arguments: called.call("direct", arguments))
        server.start()
        client = Client(interface, f"127.0.0.1:{server.port}")
        with pytest.raises(CallError):
            client.call(function, {"who": FORGED})
        server.stop()
    assert ESCAPED in caplog.text
    lines = caplog.text.splitlines()
    assert not any(line.startswith("ERROR forged") for line in lines), caplog.text
    assert all(line.expandtabs().isprintable() for line in lines), caplog.text


def test_what_is_printable_is_not_changed() -> None:
    try:
        direct({"who": "grüße"})
    except ValueError as error:
        raised = error
    said = (type(raised), raised, raised.__traceback__)
    record = logging.LogRecord("a", logging.ERROR, "b", 1, "%s failed", ("c",), said)
    assert PrintableLines().filter(record)
    assert (record.msg, record.args, record.exc_text) == ("%s failed", ("c",), None)
