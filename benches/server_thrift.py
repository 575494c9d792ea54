"""The server beside Apache Thrift's Python and C++ servers: same handler, same load, same run.

    .venv/bin/python benches/server_thrift.py [--rounds 7] [--depth 16] [--out results.json]

All are asked to echo structs, over framed binary Thrift, on two connections; a client has
`--depth` requests under way on each. Rounds of the servers alternate. What is compared is requests
per second of the server's own processor time (of all its threads, from the scheduler's clock),
which other load on the machine disturbs least, and the median time that a client waits for its
replies. Ratios are of medians.

Apache Thrift's servers are TThreadedServer: in Python with the accelerated (C) protocol; in C++
with Debian's libthrift, compiled here if `libthrift-dev`, `thrift-compiler`, `libboost-dev`,
`libssl-dev` and `g++` are installed and left out otherwise. The handler in Rust is
crates/serve/examples/bench_echo.rs.
"""

import argparse
import datetime
import json
import shutil
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

ROOT = Path(__file__).resolve().parent.parent
SERVERS = ROOT / "benches" / "server"
INTERFACE = SERVERS / "bench.thrift"
CONNECTIONS = 2


def frame(size: int) -> bytes:
    """A call of echo whose text has `size` bytes."""
    numbers = b"".join(number.to_bytes(8, "big") for number in range(8))
    item = b"\x0b\0\1" + size.to_bytes(4, "big") + b"x" * size
    item += b"\x0f\0\2\x0a" + (8).to_bytes(4, "big") + numbers + b"\0"
    message = b"\x80\1\0\1\0\0\0\4echo\0\0\0\1" + b"\x0c\0\1" + item + b"\0"
    return len(message).to_bytes(4, "big") + message


def reply(size: int) -> bytes:
    """What every server must answer to it: success in the place of the argument."""
    call = frame(size)
    return call[:4] + b"\x80\1\0\2" + call[8:22] + b"\0" + call[23:]


def certificate(folder: Path) -> None:
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
    private = key.private_bytes(pem, serialization.PrivateFormat.TraditionalOpenSSL, plain)
    (folder / "key.pem").write_bytes(private)


Command = Callable[[Path], list[str] | None]


def apache_python(_: Path) -> list[str]:
    return [sys.executable, str(SERVERS / "apache_thrift.py")]


def apache_cpp(folder: Path) -> list[str] | None:
    if not (shutil.which("thrift") and shutil.which("g++")):
        return None
    program = folder / "apache_thrift"
    made, source = folder / "gen-cpp", str(SERVERS / "apache_thrift.cpp")
    generate = ["thrift", "--gen", "cpp:no_skeleton,templates", "-o", str(folder), str(INTERFACE)]
    subprocess.run(generate, check=True)
    sources = [source, str(made / "Bench.cpp"), str(made / "bench_types.cpp")]
    compiler = ["g++", "-std=c++17", "-O2", "-I", str(made), "-o", str(program)]
    libraries = ["-lthrift", "-lssl", "-lcrypto", "-lpthread"]
    done = subprocess.run(compiler + sources + libraries, check=False)
    return [str(program)] if done.returncode == 0 else None


def accelflow_python(_: Path) -> list[str]:
    return [sys.executable, str(SERVERS / "accelflow_python.py"), str(INTERFACE)]


def accelflow_rust(_: Path) -> list[str]:
    build = ["cargo", "build", "--locked", "--quiet", "--profile", "extension"]
    example = [*build, "--package", "accelflow-serve", "--example", "bench_echo"]
    messages = subprocess.run(
        [*example, "--message-format", "json"], check=True, cwd=ROOT, stdout=subprocess.PIPE
    )
    artifacts = [json.loads(line) for line in messages.stdout.splitlines()]
    made = [one["executable"] for one in artifacts if one.get("executable")]
    return [made[-1], str(INTERFACE)]


#: Each makes the command that starts a server, to which certificate and key are added for TLS.
KINDS: dict[str, Command] = {
    "apache_python": apache_python,
    "apache_cpp": apache_cpp,
    "accelflow_python": accelflow_python,
    "accelflow_rust": accelflow_rust,
}


class Running:
    """A server and the connections to it, which stay open so that its threads do."""

    def __init__(self, command: list[str], folder: Path, tls: bool) -> None:
        files = [str(folder / "cert.pem"), str(folder / "key.pem")] if tls else []
        self.process = subprocess.Popen(
            command + files, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        port = int(self.process.stdout.readline())
        self.streams = [self.connect(port, folder if tls else None) for _ in range(CONNECTIONS)]

    @staticmethod
    def connect(port: int, folder: Path | None) -> socket.socket:
        stream = socket.create_connection(("127.0.0.1", port))
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if folder is None:
            return stream
        context = ssl.create_default_context(cafile=str(folder / "cert.pem"))
        secure = context.wrap_socket(stream, server_hostname="localhost")
        # The same cipher for all.
        assert secure.cipher() == ("TLS_AES_256_GCM_SHA384", "TLSv1.3", 256), secure.cipher()
        return secure

    def cpu_seconds(self) -> float:
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text(encoding="ascii").split()[0]) for task in tasks) / 1e9

    def round(self, size: int, depth: int, batches: int) -> tuple[float, float]:
        """Requests per second of processor time, and the median wait for a batch."""
        waits: list[float] = []
        failures: list[BaseException] = []

        def client(stream: socket.socket) -> None:
            try:
                waits.extend(talk(stream, size, depth, batches))
            except BaseException as error:
                failures.append(error)

        before = self.cpu_seconds()
        threads = [threading.Thread(target=client, args=(one,)) for one in self.streams]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        spent = self.cpu_seconds() - before
        if failures:
            raise failures[0]
        return CONNECTIONS * batches * depth / spent, statistics.median(waits)

    def stop(self) -> None:
        for stream in self.streams:
            stream.close()
        self.process.communicate("")


def talk(stream: socket.socket, size: int, depth: int, batches: int) -> list[float]:
    """Sends `depth` calls at once, `batches` times; every reply must be the right one."""
    calls, expected = frame(size) * depth, reply(size) * depth
    buffer = bytearray(len(expected))
    view = memoryview(buffer)
    waits = []
    for _ in range(batches):
        start = time.perf_counter()
        stream.sendall(calls)
        got = 0
        while got < len(buffer):
            received = stream.recv_into(view[got:])
            assert received > 0, "the server closed the connection"
            got += received
        waits.append(time.perf_counter() - start)
        assert buffer == expected
    return waits


def compare(
    commands: dict[str, list[str]], folder: Path, case: tuple[int, bool], options: Any
) -> dict[str, Any]:
    size, tls = case
    requests = options.requests // (1 if size < 32_768 else 8)
    batches = max(requests // options.depth, 1)
    servers: dict[str, Running] = {}
    results: dict[str, list[tuple[float, float]]] = {kind: [] for kind in commands}
    try:
        for kind, command in commands.items():
            servers[kind] = Running(command, folder, tls)
        for turn in range(options.rounds + 1):
            for kind, server in servers.items():
                measured = server.round(size, options.depth, batches)
                if turn > 0:  # the first warms up
                    results[kind].append(measured)
    finally:
        for server in servers.values():
            server.stop()
    row: dict[str, Any] = {"bytes": size, "tls": tls, "depth": options.depth}
    rates = {kind: statistics.median(rate for rate, _ in found) for kind, found in results.items()}
    for kind, rate in rates.items():
        wait = statistics.median(wait for _, wait in results[kind])
        row[kind] = {"requests_per_cpu_s": round(rate), "median_wait_us": round(wait * 1e6, 1)}
    for ours, theirs in (("accelflow_python", "apache_python"), ("accelflow_rust", "apache_cpp")):
        if ours in rates and theirs in rates:
            row[f"{ours}/{theirs}"] = round(rates[ours] / rates[theirs], 2)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--requests", type=int, default=4_000, help="a connection and round")
    parser.add_argument("--depth", type=int, default=1, help="requests under way a connection")
    parser.add_argument("--bytes", type=int, nargs="+", default=[256, 4_096, 65_536])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument(
        "--transport", nargs="+", choices=["plain", "tls"], default=["plain", "tls"]
    )
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        certificate(folder)
        made = {kind: KINDS[kind](folder) for kind in options.kinds}
        commands = {kind: command for kind, command in made.items() if command is not None}
        for transport in options.transport:
            for size in options.bytes:
                rows.append(compare(commands, folder, (size, transport == "tls"), options))
                print(json.dumps(rows[-1]), flush=True)
    if options.out:
        options.out.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
