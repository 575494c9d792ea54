"""Benchmark of the Thrift server beside Apache Thrift's: same handler, load and machine.

    .venv/bin/python benches/server_thrift.py [--rounds 7] [--depth 16] [--out results.json]

All servers echo structs over framed binary Thrift, on two connections with `--depth` requests in
flight each. Rounds of the servers alternate; benches/side_by_side.py describes the compared
figures. A client's wait is that for the replies to all its requests in flight.

Apache Thrift's servers are TThreadedServer: in Python with the accelerated (C) protocol; in C++
with Debian's libthrift, compiled here if `libthrift-dev`, `thrift-compiler`, `libboost-dev`,
`libssl-dev` and `g++` are installed, and left out otherwise. The handler in Rust is
benches/serve/bench_echo.rs; `accelflow_wiping` is the same server with an allocator that
wipes freed memory, and `accelflow_perturbing` with glibc's overwriting of freed memory, which a
server with tenants switches on.
"""

import shutil
import socket
import ssl
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from side_by_side import CONNECTIONS, SERVERS, Command, Side, compare, example, parser, run

INTERFACE = SERVERS / "bench.thrift"
PAIRS = [
    ("accelflow_python", "apache_python"),
    ("accelflow_rust", "apache_cpp"),
    ("accelflow_wiping", "accelflow_rust"),
    ("accelflow_perturbing", "accelflow_rust"),
]


def frame(size: int) -> bytes:
    """Return a framed call of echo whose text has `size` bytes."""
    numbers = b"".join(number.to_bytes(8, "big") for number in range(8))
    item = b"\x0b\0\1" + size.to_bytes(4, "big") + b"x" * size
    item += b"\x0f\0\2\x0a" + (8).to_bytes(4, "big") + numbers + b"\0"
    message = b"\x80\1\0\1\0\0\0\4echo\0\0\0\1" + b"\x0c\0\1" + item + b"\0"
    return len(message).to_bytes(4, "big") + message


def reply(size: int) -> bytes:
    """Return the reply that every server must send: the argument as success."""
    call = frame(size)
    return call[:4] + b"\x80\1\0\2" + call[8:22] + b"\0" + call[23:]


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
    return [example("bench_echo"), str(INTERFACE)]


def accelflow_wiping(_: Path) -> list[str]:
    return [example("bench_echo_wiped"), str(INTERFACE)]


def accelflow_perturbing(_: Path) -> list[str]:
    # mallopt(3): the environment's name of M_PERTURB.
    return ["env", "MALLOC_PERTURB_=255", example("bench_echo"), str(INTERFACE)]


#: The functions that make the commands of the servers; certificate and key are appended for TLS.
KINDS: dict[str, Command] = {
    "apache_python": apache_python,
    "apache_cpp": apache_cpp,
    "accelflow_python": accelflow_python,
    "accelflow_rust": accelflow_rust,
    "accelflow_wiping": accelflow_wiping,
    "accelflow_perturbing": accelflow_perturbing,
}


class Running(Side):
    """A server and its client connections, which stay open so that the server's threads do."""

    def __init__(
        self, command: list[str], folder: Path, case: tuple[int, bool], depth: int
    ) -> None:
        self.size, tls = case
        self.depth = depth
        super().__init__(command, folder, tls)
        trusted = folder if tls else None
        self.streams = [self.connect(self.port, trusted) for _ in range(CONNECTIONS)]

    @staticmethod
    def connect(port: int, folder: Path | None) -> socket.socket:
        stream = socket.create_connection(("127.0.0.1", port))
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if folder is None:
            return stream
        context = ssl.create_default_context(cafile=str(folder / "cert.pem"))
        secure = context.wrap_socket(stream, server_hostname="localhost")
        # All servers must use the same cipher.
        assert secure.cipher() == ("TLS_AES_256_GCM_SHA384", "TLSv1.3", 256), secure.cipher()
        return secure

    def load(self, requests: int) -> float:
        batches = max(requests // self.depth, 1)
        waits: list[float] = []
        failures: list[BaseException] = []

        def client(stream: socket.socket) -> None:
            try:
                waits.extend(talk(stream, self.size, self.depth, batches))
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=client, args=(stream,)) for stream in self.streams]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
        return statistics.median(waits)

    def stop(self) -> None:
        for stream in self.streams:
            stream.close()
        super().stop()


def talk(stream: socket.socket, size: int, depth: int, batches: int) -> list[float]:
    """Send `depth` calls at once, `batches` times; check the replies and return the waits in s."""
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


def measure(
    commands: dict[str, list[str]], folder: Path, case: tuple[int, bool], options: Any
) -> dict[str, Any]:
    def start(command: list[str]) -> Any:
        return lambda: Running(command, folder, case, options.depth)

    sides = [(kind, start(command)) for kind, command in commands.items()]
    requests = options.requests // (1 if case[0] < 32_768 else 8)
    # Whole batches.
    requests = max(requests // options.depth, 1) * options.depth
    return compare(sides, PAIRS, options.rounds, requests)


def main() -> None:
    summary = __doc__.splitlines()[0] if __doc__ else None
    run(KINDS, parser(summary, KINDS).parse_args(), measure)


if __name__ == "__main__":
    main()
