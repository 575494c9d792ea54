"""Calls a server of interop.thrift by Apache Thrift's Python library.

Arguments: PORT binary|compact [CA_FILE].
"""

import os
import ssl
import sys
from pathlib import Path
from typing import Any

from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.protocol.TCompactProtocol import TCompactProtocolAccelerated
from thrift.protocol.TMultiplexedProtocol import TMultiplexedProtocol
from thrift.Thrift import TApplicationException
from thrift.transport.TSocket import TSocket
from thrift.transport.TSSLSocket import TSSLSocket
from thrift.transport.TTransport import TFramedTransport

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "out" / "interop" / "python"))

from interop.ttypes import Defaults, Either, Everything, Point
from shared.ttypes import Colour, Refused

from interop import Interop


def everything(size: int) -> Any:
    return Everything(
        yes=True,
        no=False,
        tiny=-128,
        small=32767,
        medium=-(2**31),
        large=2**63 - 1,
        real=-1e300,
        text='grüße "\\\n\0' + "x" * size,
        blob=bytes([0, 1, 0x80, 0xFF]),
        colour=Colour.BLUE,
        numbers=[0, -1, -(2**63), 2**63 - 1, *range(size // 64)],
        names={"", "one"},
        shares={"": 0.1, "b": 2.0},
        index={-1: ["minus"], 1 << 30: []},
        path=[Point(1.0, 2.0), Point(3.0, 4.0, "ß")],
        either=Either(path=[Point(5.0, 0.0)]),
        flags=[True, False, True],
    )


def expect(expected: object, found: object) -> None:
    if expected != found:
        message = f"expected {expected}, found {found}"
        raise AssertionError(message)


def calls(client: Any) -> None:
    for size in (0, 1 << 10, 1 << 16, 1 << 20):
        value = everything(size)
        expect(value, client.echo(value))
    total = 0
    for turn in range(1, 101):
        total = client.add(total, turn)
    expect(5050, total)
    expect(Defaults(), client.standard())
    text = client.describe(Defaults(count=5))
    expected = (
        '{"colour":7,"count":5,"numbers":[1,2],"origin":{"x":0.5,"y":-1.0},'
        '"sure":true,"text":"as \\"usual\\""}'
    )
    expect(expected, text)
    client.note(os.getpid())
    expect(True, client.noted(os.getpid()))


def failures(client: Any) -> None:
    try:
        expect("an exception", client.add(2**63 - 1, 1))
    except Refused as refused:
        expect((7, "overflow"), (refused.code, refused.why))
    try:
        expect("an exception", client.fail("on purpose"))
    except TApplicationException as failed:
        expect(TApplicationException.INTERNAL_ERROR, failed.type)
        expect("ValueError: on purpose", failed.message)
    try:
        expect("an exception", client.missing())
    except TApplicationException as failed:
        expect(TApplicationException.UNKNOWN_METHOD, failed.type)


def main(port: int, protocol: str, ca: str | None = None) -> None:
    if ca is None:
        socket = TSocket("localhost", port)
    else:
        context = ssl.create_default_context(cafile=ca)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        socket = TSSLSocket("localhost", port, ssl_context=context, server_hostname="localhost")
    transport = TFramedTransport(socket)
    transport.open()
    kind = TCompactProtocolAccelerated if protocol == "compact" else TBinaryProtocolAccelerated
    wire = kind(transport)
    for out in (wire, TMultiplexedProtocol(wire, "Interop")):
        client = Interop.Client(wire, out)
        calls(client)
        failures(client)
    transport.close()
    print("ok")


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
