"""Runs accelflow for profile-guided optimization: `maturin build --pgo` calls this script.

The instrumented extension module records which branches are taken. What it does not see here is
optimised for size, so the runs cover what users do most: simulations under every orchestrator, with
small and large messages, bursts and saturation; the services' operations on real bytes; servers and
clients of Thrift and gRPC, with and without TLS and compression.
"""

# ruff: noqa: S603 (it runs openssl)

import itertools
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import accelflow
from accelflow.calibration import measure
from accelflow.simulation import systems

WORKLOADS = ("hotelreservation", "mediaservices", "trainticket", "serverless", "usuite")
SIZES = ("socialnetwork", "fleet")
LOADS: tuple[dict[str, Any], ...] = ({}, {"arrivals": "alibaba"}, {"rate_rps": 60_000})
CALLS = 300
THRIFT = "service Echo { string echo(1: string text) }"
PROTO = """
syntax = "proto3";
message Text { string text = 1; }
service Echo { rpc echo(Text) returns (Text); }
"""


def main() -> None:
    """Run everything; the results are not of interest."""
    simulate()
    measure()
    with tempfile.TemporaryDirectory() as folder:
        serve(Path(folder))


def simulate() -> None:
    """Simulate all suites under all orchestrators."""
    every = [identifier for identifier, _ in systems()]
    for workload in WORKLOADS:
        accelflow.compare(workload=workload, orchestrators=every, requests=100)
    for sizes, load in itertools.product(SIZES, LOADS):
        accelflow.compare(orchestrators=every, profile="paper", sizes=sizes, requests=200, **load)


def serve(folder: Path) -> None:
    """Call servers of Thrift and gRPC with small and large messages."""
    (folder / "echo.thrift").write_text(THRIFT)
    (folder / "echo.proto").write_text(PROTO)
    server_tls, client_tls = certified(folder)
    texts = ["text", "text " * 2_000]
    for tls, trusted in ((None, None), (server_tls, client_tls)):
        thrift = accelflow.Server(folder / "echo.thrift", tls=tls)
        thrift.handle("Echo.echo", lambda arguments: arguments["text"])
        grpc = accelflow.Server(folder / "echo.proto", tls=tls)
        grpc.handle("Echo.echo", lambda request: request)
        for server, client, file in (
            (thrift, accelflow.Client, "echo.thrift"),
            (grpc, accelflow.GrpcClient, "echo.proto"),
        ):
            with server:
                address = f"127.0.0.1:{server.port}"
                for compress in (False, True):
                    caller = client(folder / file, address, tls=trusted, compress=compress)
                    for text in texts * CALLS:
                        caller.call("Echo.echo", {"text": text})


def certified(folder: Path) -> tuple[accelflow.Tls, accelflow.ClientTls]:
    """Return settings of TLS for a server on this machine, and for its clients."""
    certificate, key = folder / "cert.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-days", "1", "-subj", "/CN=127.0.0.1"]
    for extension in ("subjectAltName=IP:127.0.0.1", "basicConstraints=critical,CA:FALSE"):
        command += ["-addext", extension]
    command += ["-keyout", key, "-out", certificate]
    subprocess.run(command, check=True, capture_output=True)
    return accelflow.Tls(certificate=certificate, key=key), accelflow.ClientTls(ca=certificate)


if __name__ == "__main__":
    main()
