"""Record the service of notes.thrift and of notes.proto.

Writes recording-thrift.json and recording-proto.json beside this file. Two servers run in this
process: Notes, which is recorded, and Words, which it calls.
"""

import json
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from accelflow import Client, GrpcClient, Server
from accelflow.settings import Observability, Tls

HERE = Path(__file__).resolve().parent
CALLS = 400
TEXT = "Buy bread, milk and a pound of apples on the way home. " * 4
TAGS = [{"name": "shopping", "weight": 3}, {"name": "today", "weight": 1}]

Call = Callable[[str, dict[str, Any]], Any]


def certificate(folder: Path) -> Tls:
    """A certificate for localhost."""
    made = Tls(certificate=folder / "cert.pem", key=folder / "key.pem")
    subprocess.run(  # noqa: S603 (no part of it comes from outside)
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "1", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost"),
            *("-addext", "basicConstraints=critical,CA:FALSE"),
            *("-keyout", str(made.key), "-out", str(made.certificate)),
        ],
        check=True,
        capture_output=True,
    )
    return made


def handlers(server: Server, call: Call, *, grpc: bool) -> None:
    """Register Notes: a note is counted by Words, kept, and found again."""
    notes: dict[int, str] = {}

    def save(note: dict[str, Any]) -> Any:
        counted = call("Words.Count", {"text": note["text"]})
        identity = len(notes) << 20 | (counted["number"] if grpc else counted)
        notes[identity] = note["text"]
        return {"id": identity} if grpc else identity

    def find(asked: dict[str, Any]) -> Any:
        # In JSON, an int64 of Protocol Buffers is a string.
        text = notes.get(int(asked["id"]), "")
        return {"text": text} if grpc else text

    server.handle("Notes.Save", save)
    server.handle("Notes.Find", find)


def count(asked: dict[str, Any]) -> int:
    """The number of words."""
    return len(asked["text"].split())


def record(ending: str, folder: Path) -> Path:
    """Record both functions, called from one client, and return the file."""
    grpc, interface, tls = ending == "proto", HERE / f"notes.{ending}", certificate(folder)
    connect = GrpcClient if grpc else Client
    words = Server(interface, tls=tls)
    words.handle("Words.Count", lambda asked: {"number": count(asked)} if grpc else count(asked))
    notes = Server(interface, tls=tls, observability=Observability(record=True))
    with words:
        nested = connect(
            interface, f"127.0.0.1:{words.port}", ca=tls.certificate, server_name="localhost"
        )
        handlers(notes, nested.call, grpc=grpc)
        with notes:
            client = connect(
                interface, f"127.0.0.1:{notes.port}", ca=tls.certificate, server_name="localhost"
            )
            for number in range(CALLS):
                note = {"owner": number, "text": TEXT, "tags": TAGS}
                saved = client.call("Notes.Save", note)
                client.call("Notes.Find", saved if grpc else {"id": saved})
            package = "notes." if grpc else ""
            functions = [f"{package}Notes.{name}" for name in ("Save", "Find")]
            text = notes.recording({name: name for name in functions})
    out = HERE / f"recording-{ending}.json"
    out.write_text(json.dumps(medians(json.loads(text)), indent=1) + "\n", encoding="utf-8")
    return out


def medians(recording: dict[str, Any]) -> dict[str, Any]:
    """Leave out distributions, which make files large: Cerebros's server takes medians."""
    for service in recording["services"]:
        service.pop("outside", None)
        for phase in service["phases"]:
            phase.get("cpu", {}).pop("app_quantiles_ns", None)
            for chain in phase.get("chains", []):
                for step in chain["steps"]:
                    step.pop("cost_quantiles_ns", None)
    return recording


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        for kind in ("thrift", "proto"):
            print(record(kind, Path(scratch)))
