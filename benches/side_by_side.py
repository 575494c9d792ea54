"""Shared code of the server benchmarks: several servers under the same load, in one run.

Two figures are compared. The first is requests per second of a server's own processor time (of all
its threads, from the scheduler's clock), which other load on the machine disturbs least. The second
is the median time that a client waits. Rounds of the servers alternate; ratios are those of
medians.
"""

import argparse
import datetime
import json
import shlex
import statistics
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

ROOT = Path(__file__).resolve().parent.parent
SERVERS = ROOT / "benches" / "server"
CONNECTIONS = 2

#: Takes a build folder and returns the command that starts a server; None if it is unavailable.
Command = Callable[[Path], list[str] | None]


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
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    (folder / "cert.pem").write_bytes(made.public_bytes(pem))
    # As PKCS#8, which every library reads.
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    (folder / "key.pem").write_bytes(private)


def built(*arguments: str) -> str:
    """Build with cargo and return the path of the executable."""
    command = ["cargo", "build", "--locked", "--quiet", *arguments]
    messages = subprocess.run(
        [*command, "--message-format", "json"], check=True, cwd=ROOT, stdout=subprocess.PIPE
    )
    artifacts = [json.loads(line) for line in messages.stdout.splitlines()]
    return [str(made["executable"]) for made in artifacts if made.get("executable")][-1]


def example(name: str) -> str:
    """Build an example of accelflow-serve and return its path."""
    return built("--profile", "extension", "--package", "accelflow-serve", "--example", name)


class Side(ABC):
    """A server and its client connections, which stay open from round to round."""

    def __init__(self, command: list[str], folder: Path, tls: bool) -> None:
        files = [str(folder / "cert.pem"), str(folder / "key.pem")] if tls else []
        self.process = subprocess.Popen(
            command + files, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"{shlex.join(command)} did not start"
        self.port = int(line)

    def cpu_seconds(self) -> float:
        """Return the processor time in seconds of all threads, including those that have ended."""
        # The ID of the clock of a process's processor time, as clock_getcpuclockid(3) computes it.
        return time.clock_gettime(~self.process.pid << 3 | 2)

    @abstractmethod
    def load(self, requests: int) -> float:
        """Make `requests` requests on each connection; return the median wait in seconds."""

    def round(self, requests: int) -> tuple[float, float]:
        """Run a round; return requests per second of processor time and the median wait in s."""
        before = self.cpu_seconds()
        wait = self.load(requests)
        return CONNECTIONS * requests / (self.cpu_seconds() - before), wait

    def stop(self) -> None:
        self.process.communicate("")


def compare(
    sides: Iterable[tuple[str, Callable[[], Side]]],
    pairs: Iterable[tuple[str, str]],
    rounds: int,
    requests: int,
) -> dict[str, Any]:
    """Measure the servers in turns; return medians of each, and the ratios of rates for `pairs`.

    The first round warms up the servers and is not counted.
    """
    servers: dict[str, Side] = {}
    results: dict[str, list[tuple[float, float]]] = {}
    try:
        for kind, start in sides:
            servers[kind] = start()
            results[kind] = []
        for turn in range(rounds + 1):
            for kind, server in servers.items():
                measured = server.round(requests)
                if turn > 0:  # the first warms up
                    results[kind].append(measured)
    finally:
        for server in servers.values():
            server.stop()
    row: dict[str, Any] = {}
    rates = {kind: statistics.median(rate for rate, _ in found) for kind, found in results.items()}
    for kind, rate in rates.items():
        wait = statistics.median(wait for _, wait in results[kind])
        row[kind] = {"requests_per_cpu_s": round(rate), "median_wait_us": round(wait * 1e6, 1)}
    for ours, theirs in pairs:
        if ours in rates and theirs in rates:
            row[f"{ours}/{theirs}"] = round(rates[ours] / rates[theirs], 2)
    return row


def parser(summary: str | None, kinds: Iterable[str]) -> argparse.ArgumentParser:
    """Return the argument parser of every benchmark."""
    made = argparse.ArgumentParser(description=summary)
    made.add_argument("--rounds", type=int, default=7)
    made.add_argument(
        "--requests", type=int, default=4_000, help="requests for each connection and round"
    )
    made.add_argument("--depth", type=int, default=1, help="requests under way on each connection")
    made.add_argument("--bytes", type=int, nargs="+", default=[256, 4_096, 65_536])
    made.add_argument("--kinds", nargs="*", choices=list(kinds), default=list(kinds))
    made.add_argument(
        "--also",
        nargs="+",
        default=[],
        metavar="NAME=COMMAND",
        help="further servers, such as another version, by their start commands",
    )
    made.add_argument("--transport", nargs="+", choices=["plain", "tls"], default=["plain", "tls"])
    made.add_argument("--out", type=Path)
    return made


def commands(kinds: dict[str, Command], options: Any, folder: Path) -> dict[str, list[str]]:
    """Build the chosen servers and return their start commands."""
    made = {kind: kinds[kind](folder) for kind in options.kinds}
    chosen = {kind: command for kind, command in made.items() if command is not None}
    for further in options.also:
        name, _, command = further.partition("=")
        chosen[name] = shlex.split(command)
    return chosen


Case = Callable[[dict[str, list[str]], Path, tuple[int, bool], Any], dict[str, Any]]


def run(kinds: dict[str, Command], options: Any, case: Case) -> None:
    """Measure each size over each transport, and print and write the results."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        certificate(folder)
        chosen = commands(kinds, options, folder)
        for transport in options.transport:
            for size in options.bytes:
                about = {"bytes": size, "tls": transport == "tls", "depth": options.depth}
                measured = case(chosen, folder, (size, transport == "tls"), options)
                rows.append({**about, **measured})
                print(json.dumps(rows[-1]), flush=True)
    if options.out:
        options.out.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
