"""Benchmark of the gRPC server beside grpcio's and tonic's: same handler, load and machine.

    .venv/bin/python benches/server_grpc.py [--rounds 7] [--depth 16] [--out results.json]

All servers echo messages of unary calls, on two connections with `--depth` calls in flight each.
Rounds of the servers alternate; benches/side_by_side.py describes the compared figures. The load is
benches/serve/grpc_load.rs, a separate program that writes HTTP/2 frames itself, so that it
can keep any of the servers busy.

grpcio's servers are `grpc.server` with ten threads, as in its examples, and `grpc.aio.server`, with
code that protoc generates. tonic's is in benches/tonic, on tokio's multi-threaded runtime; its
first build takes minutes, mostly for its own copy of the cryptographic library. The handler in Rust
is benches/serve/bench_echo.rs. Kinds that end in `_0` have no handler threads.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

from side_by_side import (
    CONNECTIONS,
    ROOT,
    SERVERS,
    Command,
    Side,
    built,
    compare,
    example,
    parser,
    run,
)

INTERFACE = SERVERS / "bench.proto"
TONIC = ROOT / "benches" / "tonic" / "Cargo.toml"
PAIRS = [
    ("accelflow_python", "grpcio"),
    ("accelflow_python", "grpcio_aio"),
    ("accelflow_python_0", "grpcio_aio"),
    ("accelflow_rust", "tonic"),
    ("accelflow_rust_0", "tonic"),
]
#: Runs handlers on the connections' threads, as tonic and grpc.aio run theirs in their loops.
NO_THREADS = ["env", "BENCH_HANDLER_THREADS=0"]


def python() -> list[str]:
    return [sys.executable, str(SERVERS / "accelflow_python.py"), str(INTERFACE)]


def rust() -> list[str]:
    return [example("bench_echo"), str(INTERFACE)]


#: The functions that make the commands of the servers; certificate and key are appended for TLS.
KINDS: dict[str, Command] = {
    "grpcio": lambda _: [sys.executable, str(SERVERS / "grpcio_python.py"), "sync"],
    "grpcio_aio": lambda _: [sys.executable, str(SERVERS / "grpcio_python.py"), "aio"],
    "tonic": lambda _: [built("--release", "--manifest-path", str(TONIC))],
    "accelflow_python": lambda _: python(),
    "accelflow_python_0": lambda _: NO_THREADS + python(),
    "accelflow_rust": lambda _: rust(),
    "accelflow_rust_0": lambda _: NO_THREADS + rust(),
}


class Running(Side):
    """A server, and the program that sends it requests."""

    def __init__(self, command: list[str], folder: Path, case: tuple[int, bool], load: Any) -> None:
        size, tls = case
        super().__init__(command, folder, tls)
        program, depth = load
        arguments = [program, str(self.port), str(size), str(CONNECTIONS), str(depth)]
        arguments += [str(folder / "cert.pem")] if tls else []
        self.client = subprocess.Popen(
            arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def load(self, requests: int) -> float:
        assert self.client.stdin is not None
        assert self.client.stdout is not None
        self.client.stdin.write(f"{requests}\n")
        self.client.stdin.flush()
        line = self.client.stdout.readline()
        assert line, "the load generator failed"
        return float(line) / 1e6

    def stop(self) -> None:
        self.client.communicate()
        super().stop()


def measure(
    commands: dict[str, list[str]], folder: Path, case: tuple[int, bool], options: Any
) -> dict[str, Any]:
    load = (options.load or example("grpc_load"), options.depth)

    def start(command: list[str]) -> Any:
        return lambda: Running(command, folder, case, load)

    sides = [(kind, start(command)) for kind, command in commands.items()]
    requests = max(options.requests // (1 if case[0] < 32_768 else 8), options.depth)
    return compare(sides, PAIRS, options.rounds, requests)


def main() -> None:
    summary = __doc__.splitlines()[0] if __doc__ else None
    options = parser(summary, KINDS)
    options.add_argument("--load", help="load generator to use; built unless given")
    run(KINDS, options.parse_args(), measure)


if __name__ == "__main__":
    main()
