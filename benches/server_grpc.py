"""The server beside grpcio's servers and tonic's: same handler, same load, same run.

    .venv/bin/python benches/server_grpc.py [--rounds 7] [--depth 16] [--out results.json]

All are asked to echo messages, by unary calls on two connections that have `--depth` of them under
way each. Rounds of the servers alternate, and what is compared is what benches/side_by_side.py
says. The load is crates/serve/examples/grpc_load.rs, a program of its own that writes frames of
HTTP/2 as they are, so that it can keep any of the servers busy.

grpcio's are `grpc.server` with ten threads, as in its examples, and `grpc.aio.server`, with what
protoc generates. tonic's is in benches/tonic, on tokio's runtime of several threads; building it
for the first time takes minutes, mostly for its own copy of the cryptographic library. The handler
in Rust is crates/serve/examples/bench_echo.rs. What ends in `_0` has no threads for handlers.
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
#: Handlers on the threads of connections, where tonic and grpc.aio have theirs in their loops.
NO_THREADS = ["env", "BENCH_HANDLER_THREADS=0"]


def python() -> list[str]:
    return [sys.executable, str(SERVERS / "accelflow_python.py"), str(INTERFACE)]


def rust() -> list[str]:
    return [example("bench_echo"), str(INTERFACE)]


#: Each makes the command that starts a server, to which certificate and key are added for TLS.
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
    """A server and the program that loads it."""

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
        assert line, "the load has failed"
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
    options.add_argument("--load", help="the program that makes the load; built unless given")
    run(KINDS, options.parse_args(), measure)


if __name__ == "__main__":
    main()
