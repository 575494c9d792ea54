"""What Apache Thrift's compiler would generate for the interface below, and clients over it.

The encoding, the transports and TLS are those of the Apache Thrift library and of OpenSSL.
"""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from thrift.protocol.TBase import TBase
from thrift.protocol.TBinaryProtocol import TBinaryProtocol, TBinaryProtocolAccelerated
from thrift.protocol.TCompactProtocol import TCompactProtocol, TCompactProtocolAccelerated
from thrift.protocol.TMultiplexedProtocol import TMultiplexedProtocol
from thrift.protocol.TProtocol import TProtocolBase
from thrift.Thrift import TApplicationException, TMessageType, TType
from thrift.transport.TSocket import TSocket
from thrift.transport.TSSLSocket import TSSLSocket
from thrift.transport.TTransport import TFramedTransport

INTERFACE = """
exception Refused { 1: i32 code, 2: string why }
struct Item { 1: string text, 2: binary data, 3: list<i64> numbers, 4: map<string, double> shares }
service Calculator {
    i64 add(1: i64 a, 2: i64 b) throws (1: Refused refused)
    Item echo(1: Item value)
    void nothing()
    oneway void note(1: string text)
    i64 slow(1: i64 a)
    string unhandled()
}
"""

PROTOCOLS = [
    TBinaryProtocol,
    TBinaryProtocolAccelerated,
    TCompactProtocol,
    TCompactProtocolAccelerated,
]


class Record(TBase):
    """A struct whose fields are those of its `thrift_spec`."""

    thrift_spec: tuple[Any, ...] = ()

    def __init__(self, **fields: Any) -> None:
        for spec in filter(None, self.thrift_spec):
            setattr(self, spec[2], fields.get(spec[2]))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]


class Refused(Record):
    thrift_spec = (
        None,
        (1, TType.I32, "code", None, None),
        (2, TType.STRING, "why", "UTF8", None),
    )


class Item(Record):
    thrift_spec = (
        None,
        (1, TType.STRING, "text", "UTF8", None),
        (2, TType.STRING, "data", "BINARY", None),
        (3, TType.LIST, "numbers", (TType.I64, None, False), None),
        (4, TType.MAP, "shares", (TType.STRING, "UTF8", TType.DOUBLE, None, False), None),
    )


def record(name: str, *fields: tuple[int, int, str, Any]) -> type[Record]:
    """A struct of consecutive fields."""
    spec = tuple((*field, None) for field in fields)
    start = fields[0][0] if fields else 0
    return type(name, (Record,), {"thrift_spec": (None,) * start + spec})


_ITEM = [Item, Item.thrift_spec]
_REFUSED = [Refused, Refused.thrift_spec]
ARGUMENTS = {
    "add": record("add_args", (1, TType.I64, "a", None), (2, TType.I64, "b", None)),
    "subtract": record("subtract_args", (1, TType.I64, "a", None)),
    "echo": record("echo_args", (1, TType.STRUCT, "value", _ITEM)),
    "nothing": record("nothing_args"),
    "note": record("note_args", (1, TType.STRING, "text", "UTF8")),
    "slow": record("slow_args", (1, TType.I64, "a", None)),
    "unhandled": record("unhandled_args"),
    "ComposeUniqueId": record(
        "ComposeUniqueId_args",
        (1, TType.I64, "req_id", None),
        (2, TType.I32, "post_type", None),
        (3, TType.MAP, "carrier", (TType.STRING, "UTF8", TType.STRING, "UTF8", False)),
    ),
}
RESULTS = {
    "add": record(
        "add_result", (0, TType.I64, "success", None), (1, TType.STRUCT, "refused", _REFUSED)
    ),
    "echo": record("echo_result", (0, TType.STRUCT, "success", _ITEM)),
    "nothing": record("nothing_result"),
    "slow": record("slow_result", (0, TType.I64, "success", None)),
    "unhandled": record("unhandled_result", (0, TType.STRING, "success", "UTF8")),
    "ComposeUniqueId": record("ComposeUniqueId_result", (0, TType.I64, "success", None)),
}


class Client:
    """Calls functions as generated code does."""

    def __init__(self, protocol: TProtocolBase, transport: TFramedTransport) -> None:
        self.protocol = protocol
        self.reader = protocol
        self.transport = transport
        self.sequence = 0

    def multiplexed(self, service: str) -> None:
        self.protocol = TMultiplexedProtocol(self.protocol, service)

    def send(self, method: str, **arguments: Any) -> None:
        self.sequence += 1
        kind = TMessageType.ONEWAY if method == "note" else TMessageType.CALL
        self.protocol.writeMessageBegin(method, kind, self.sequence)
        ARGUMENTS[method](**arguments).write(self.protocol)
        self.protocol.writeMessageEnd()
        self.transport.flush()

    def receive(self, method: str, sequence: int) -> Record:
        name, kind, found = self.reader.readMessageBegin()
        assert (name, found) == (method, sequence)
        if kind == TMessageType.EXCEPTION:
            error = TApplicationException()
            error.read(self.reader)
            self.reader.readMessageEnd()
            raise error
        result = RESULTS[method]()
        result.read(self.reader)
        self.reader.readMessageEnd()
        return result

    def call(self, method: str, **arguments: Any) -> Any:
        self.send(method, **arguments)
        result = self.receive(method, self.sequence)
        refused = getattr(result, "refused", None)
        return refused if refused is not None else getattr(result, "success", None)


@contextmanager
def connect(
    port: int,
    protocol: type[TProtocolBase] = TBinaryProtocolAccelerated,
    ca: Path | None = None,
    own: tuple[Path, Path] | None = None,
) -> Iterator[Client]:
    if ca is None:
        plain = TSocket("127.0.0.1", port)
    else:
        context = ssl.create_default_context(cafile=str(ca))
        if own is not None:
            context.load_cert_chain(*own)
        plain = TSSLSocket("127.0.0.1", port, ssl_context=context, server_hostname="localhost")
    plain.setTimeout(60_000)
    transport = TFramedTransport(plain)
    transport.open()
    try:
        yield Client(protocol(transport), transport)
    finally:
        transport.close()
