"""Every client, protocol and transport against one server: `scripts/interop` calls it.

Names of clients as arguments; prints a table and fails if a cell does.
"""

import argparse
import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
BUILT = ROOT / "out" / "interop"
sys.path[:0] = [str(FOLDER), str(FOLDER.parent)]

from serve import interop_server  # noqa: E402

from accelflow.settings import Tls  # noqa: E402
from certificates import make_certificate  # noqa: E402

PROTOCOLS = ("binary", "compact")
TRANSPORTS = ("plain", "tls")

#: The libraries that the cells are about: names for the table.
LIBRARIES = {
    "python": "Apache Thrift, Python",
    "cpp": "Apache Thrift, C++",
    "go": "Apache Thrift, Go",
    "java": "Apache Thrift, Java",
    "node": "Apache Thrift, Node",
}


def command(client: str) -> list[str] | None:
    """How a client is started; None if `scripts/interop build` has not built it."""
    if not (BUILT / f"{client}.stamp").exists():
        return None
    java = BUILT / "java"
    if client == "java":
        classpath = (java / "classpath.txt").read_text(encoding="utf-8").strip()
        classes = os.pathsep.join([str(java / "target" / "classes"), classpath])
        # A short life on one thread: no time for the optimizing compiler to pay.
        return ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", classes, "Client"]
    return {
        "python": [sys.executable, str(FOLDER / "client.py")],
        "cpp": [str(BUILT / "cpp" / "client")],
        "go": [str(BUILT / "go" / "client")],
        "node": ["node", str(BUILT / "node" / "client.js")],
    }[client]


def run_cell(start: list[str], port: int, protocol: str, ca: Path | None) -> str:
    """Why a cell fails; empty if it does not."""
    arguments = [*start, str(port), protocol, *([str(ca)] if ca else [])]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=False)
    if (done.returncode, done.stdout) == (0, "ok\n"):
        return ""
    return f"exit {done.returncode}: {done.stdout}{done.stderr}".strip()


@contextmanager
def servers() -> Iterator[dict[str, tuple[int, Path | None]]]:
    """A server of each transport: its port, and the certificate to trust."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        certificate, key = make_certificate(folder)
        plain = stack.enter_context(interop_server())
        secure = stack.enter_context(interop_server(tls=Tls(certificate=certificate, key=key)))
        yield {"plain": (plain.port, None), "tls": (secure.port, certificate)}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("clients", nargs="*", choices=[*LIBRARIES, []], metavar="CLIENT")
    clients = parser.parse_args().clients or list(LIBRARIES)
    cells = [(protocol, transport) for protocol in PROTOCOLS for transport in TRANSPORTS]
    print("| client |", " | ".join(f"{one}, {other}" for one, other in cells), "|")
    print("|---|" + "---|" * len(cells))
    failures = []
    # One of the calls is to a handler that fails on purpose.
    logging.getLogger("accelflow.server").setLevel(logging.CRITICAL)
    with servers() as running:
        for client in clients:
            start, row = command(client), []
            for protocol, transport in cells:
                if start is None:
                    row.append("not built")
                    continue
                why = run_cell(start, running[transport][0], protocol, running[transport][1])
                row.append("FAILS" if why else "ok")
                if why:
                    failures.append(f"{client}, {protocol}, {transport}: {why}")
            print(f"| {LIBRARIES[client]} |", " | ".join(row), "|", flush=True)
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
