"""The server beside Apache Thrift's Python server: same handler, same load, same run.

    .venv/bin/python benches/server_thrift.py [--rounds 7] [--out results.json]

Both are asked to echo structs, over framed binary Thrift, by a client that has one request at a
time on each of two connections: with more, Apache Thrift's server waits for acknowledgements
between replies (it leaves Nagle's algorithm on). Rounds of the servers alternate. What is compared
is requests per second of the server's own processor time (user and system, from the kernel), which
other load on the machine disturbs least; the ratio is that of the medians. Apache Thrift runs
TThreadedServer with its accelerated (C) binary protocol.
"""

import argparse
import datetime
import json
import os
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from thrift.protocol.TBase import TBase
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAcceleratedFactory
from thrift.server.TServer import TThreadedServer
from thrift.Thrift import TMessageType, TProcessor, TType
from thrift.transport.TSocket import TServerSocket
from thrift.transport.TSSLSocket import TSSLServerSocket
from thrift.transport.TTransport import TFramedTransportFactory

from accelflow import Server

INTERFACE = """
struct Item { 1: string text, 2: list<i64> numbers }
service Bench { Item echo(1: Item value) }
"""
CONNECTIONS = 2


def frame(size: int) -> bytes:
    """A call of echo whose text has `size` bytes."""
    numbers = b"".join(number.to_bytes(8, "big") for number in range(8))
    item = b"\x0b\0\1" + size.to_bytes(4, "big") + b"x" * size
    item += b"\x0f\0\2\x0a" + (8).to_bytes(4, "big") + numbers + b"\0"
    message = b"\x80\1\0\1\0\0\0\4echo\0\0\0\1" + b"\x0c\0\1" + item + b"\0"
    return len(message).to_bytes(4, "big") + message


def certificate(folder: Path) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    (folder / "key.pem").write_bytes(private)
    return folder / "cert.pem", folder / "key.pem"


def serve_accelflow(folder: Path, tls: bool) -> None:
    (folder / "bench.thrift").write_text(INTERFACE, encoding="utf-8")
    options: dict[str, Any] = {}
    if tls:
        options = {"certificate": folder / "cert.pem", "key": folder / "key.pem"}
    server = Server(folder / "bench.thrift", **options)
    server.handle("Bench.echo", lambda arguments: arguments["value"])
    print(server.start(), flush=True)
    sys.stdin.read()
    server.stop(1.0)


def serve_thrift(folder: Path, tls: bool) -> None:
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
        """What the compiler generates, for one function."""

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

    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
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


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def load(port: int, size: int, requests: int, ca: Path | None) -> None:
    """Have `requests` answered on each connection, and check the first and last reply."""

    def connection() -> None:
        stream: socket.socket = socket.create_connection(("127.0.0.1", port))
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if ca is not None:
            context = ssl.create_default_context(cafile=str(ca))
            stream = context.wrap_socket(stream, server_hostname="localhost")
        call = frame(size)
        stream.sendall(call)
        first = stream.recv(4, socket.MSG_WAITALL if ca is None else 0)
        reply = int.from_bytes(first, "big")
        buffer = bytearray(reply + 4)
        view = memoryview(buffer)

        def receive(count: int) -> None:
            got = 0
            while got < count:
                got += stream.recv_into(view[got:count])

        receive(reply)
        body = bytes(view[:reply])
        assert b"x" * size in body
        for _ in range(requests):
            stream.sendall(call)
            receive(len(buffer))
        assert bytes(view[4 : 4 + reply]) == body
        stream.close()

    threads = [threading.Thread(target=connection) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def start(kind: str, folder: Path, tls: bool) -> tuple[subprocess.Popen[str], int]:
    command = [sys.executable, __file__, "--serve", kind, "--folder", str(folder)]
    process = subprocess.Popen(
        command + ["--tls"] * tls, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def compare(folder: Path, size: int, tls: bool, rounds: int, requests: int) -> dict[str, Any]:
    servers = {kind: start(kind, folder, tls) for kind in ("accelflow", "thrift")}
    ca = folder / "cert.pem" if tls else None
    rates: dict[str, list[float]] = {kind: [] for kind in servers}
    try:
        for turn in range(rounds + 1):
            for kind, (process, port) in servers.items():
                before = cpu_seconds(process.pid)
                load(port, size, requests, ca)
                spent = cpu_seconds(process.pid) - before
                if turn > 0:  # the first warms up
                    rates[kind].append(CONNECTIONS * (requests + 1) / spent)
    finally:
        for process, _ in servers.values():
            process.communicate("")
    ours, theirs = (statistics.median(rates[kind]) for kind in ("accelflow", "thrift"))
    return {
        "bytes": size,
        "tls": tls,
        "accelflow_per_core_s": round(ours),
        "thrift_per_core_s": round(theirs),
        "ratio": round(ours / theirs, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--serve", choices=["accelflow", "thrift"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--tls", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve = {"accelflow": serve_accelflow, "thrift": serve_thrift}[options.serve]
        serve(options.folder, options.tls)
        return
    rows = []
    with tempfile.TemporaryDirectory() as name:
        certificate(Path(name))
        for tls in (False, True):
            for size, requests in ((256, 3_000), (4_096, 3_000), (65_536, 600)):
                rows.append(compare(Path(name), size, tls, options.rounds, requests))
                print(json.dumps(rows[-1]), flush=True)
    if options.out:
        options.out.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
