"""Apache Thrift's Python server for benches/server_thrift.py, which echoes structs.

The server is a TThreadedServer with the framed, accelerated (C) binary protocol.

    python apache_thrift.py [CERTIFICATE KEY]

Prints its port and serves until standard input ends.
"""

import socket
import ssl
import sys
import threading
from typing import Any

from thrift.protocol.TBase import TBase
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAcceleratedFactory
from thrift.server.TServer import TThreadedServer
from thrift.Thrift import TMessageType, TProcessor, TType
from thrift.transport.TSocket import TServerSocket
from thrift.transport.TSSLSocket import TSSLServerSocket
from thrift.transport.TTransport import TFramedTransportFactory


class Item(TBase):
    thrift_spec = (
        None,
        (1, TType.STRING, "text", "UTF8", None),
        (2, TType.LIST, "numbers", (TType.I64, None, False), None),
    )

    def __init__(self, text: str | None = None, numbers: list[int] | None = None) -> None:
        self.text, self.numbers = text, numbers


class Arguments(TBase):
    thrift_spec = (None, (1, TType.STRUCT, "value", [Item, Item.thrift_spec], None))

    def __init__(self, value: Item | None = None) -> None:
        self.value = value


class Result(TBase):
    thrift_spec = ((0, TType.STRUCT, "success", [Item, Item.thrift_spec], None),)

    def __init__(self, success: Item | None = None) -> None:
        self.success = success


class Processor(TProcessor):
    """The processor that the Thrift compiler generates, for one function."""

    def process(self, iprot: Any, oprot: Any) -> bool:
        _, _, sequence = iprot.readMessageBegin()
        arguments = Arguments()
        arguments.read(iprot)
        iprot.readMessageEnd()
        result = Result(arguments.value)
        oprot.writeMessageBegin("echo", TMessageType.REPLY, sequence)
        result.write(oprot)
        oprot.writeMessageEnd()
        oprot.trans.flush()
        return True


def main() -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    if len(sys.argv) == 3:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1], sys.argv[2])
        listener: Any = TSSLServerSocket("127.0.0.1", port, ssl_context=context)
    else:
        listener = TServerSocket("127.0.0.1", port)
    server = TThreadedServer(
        Processor(),
        listener,
        TFramedTransportFactory(),
        TBinaryProtocolAcceleratedFactory(),
        daemon=True,
    )
    listener.listen()
    listener.listen = lambda: None
    print(port, flush=True)
    threading.Thread(target=server.serve, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main()
