"""Benchmark of coroutine handlers beside grpc.aio's: many handlers that only wait, all at once.

    .venv/bin/python benches/server_coroutines.py [--coroutines 500] [--seconds 0.2] [--rounds 9]

Every handler sleeps for `--seconds`, so that no server can be faster than that. grpcio's client
sends all calls at once, over one connection and over five, and waits for all answers. Rounds of the
servers alternate. Prints a table: the median time until the last answer, with the fastest and the
slowest round, and the median ratio to grpc.aio in the same round.
"""

import argparse
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack
from typing import Any

import grpc
from side_by_side import SERVERS

KINDS = ("accelflow", "grpc_aio")
MESSAGE = b"\x0a\x05hello"


class Running:
    """A server process, and the channels to the server, which stay open between rounds."""

    def __init__(self, kind: str, seconds: float, connections: int) -> None:
        command = [sys.executable, str(SERVERS / "coroutines.py"), kind, str(seconds)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=SERVERS)
        assert self.process.stdout is not None
        port = int(self.process.stdout.readline())
        options = [("grpc.use_local_subchannel_pool", 1)]
        self.channels = [
            grpc.insecure_channel(f"127.0.0.1:{port}", options) for _ in range(connections)
        ]
        self.calls = [
            channel.unary_unary("/bench.Bench/Echo", None, None) for channel in self.channels
        ]

    def round(self, count: int) -> float:
        """Make `count` calls at once; return the time until the last answer, in seconds."""
        begun = time.perf_counter()
        calls: list[Any] = [
            self.calls[number % len(self.calls)].future(MESSAGE, timeout=120)
            for number in range(count)
        ]
        assert all(call.result() == MESSAGE for call in calls)
        return time.perf_counter() - begun

    def stop(self) -> None:
        for channel in self.channels:
            channel.close()
        self.process.communicate("")


def measure(options: argparse.Namespace, connections: int) -> dict[str, list[float]]:
    with ExitStack() as stack:
        servers = {}
        for kind in KINDS:
            servers[kind] = Running(kind, options.seconds, connections)
            stack.callback(servers[kind].stop)
        times: dict[str, list[float]] = {kind: [] for kind in KINDS}
        for turn in range(options.rounds + 1):
            for kind, server in servers.items():
                took = server.round(options.coroutines)
                if turn > 0:  # the first warms up
                    times[kind].append(took)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--coroutines", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 5])
    options = parser.parse_args()
    print("| connections | accelflow, s | grpc.aio, s | ratio |\n|---|---|---|---|")
    for connections in options.connections:
        times = measure(options, connections)
        cells = [
            f"{statistics.median(found):.2f} ({min(found):.2f} to {max(found):.2f})"
            for found in times.values()
        ]
        ratios = [ours / theirs for ours, theirs in zip(*times.values(), strict=True)]
        ratio = statistics.median(ratios)
        print(f"| {connections} | {' | '.join(cells)} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
