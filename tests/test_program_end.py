"""Programs that end while handlers and bodies in Python still run."""

import subprocess
import sys
from pathlib import Path

import pytest

#: A handler runs when the program ends, with the server as its argument says.
SERVING = """
import sys, threading, time
from accelflow import Client, Execution, Server

begun = threading.Event()


def handler(_):
    begun.set()
    while True:
        time.sleep(0.0001)


server = Server(sys.argv[1], execution=Execution(workers=1 if sys.argv[2] == "ensemble" else None))
server.handle("Shop.wait", handler)
server.start()
client = Client(sys.argv[1], f"127.0.0.1:{server.port}")
threading.Thread(target=client.call, args=("wait", {}), daemon=True).start()
begun.wait()
if sys.argv[2] == "stopped":
    server.stop(grace_s=0)
sys.exit(3)
"""

#: A body runs when the program ends, which waits for it until Ctrl-C.
BODY = """
import atexit, os, signal, threading, time
from accelflow.trace import Ensemble, Library, Trace, kind, register_body, seq

begun, ending = threading.Event(), threading.Event()


def body(payload, facts):
    begun.set()
    while True:
        time.sleep(0.0001)


def interrupt():
    ending.wait()
    while True:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)


signal.signal(signal.SIGINT, signal.default_int_handler)
register_body(kind("Slow"), body)
library = Library(templates=False)
trace = Trace(library=library)
trace.build(seq("Cmp", kind("Slow")))
trace.register("slow")
ensemble = Ensemble()
handle = ensemble.enqueue("slow", b"abc", library=library)
begun.wait()
threading.Thread(target=interrupt, daemon=True).start()
atexit.register(ending.set)
"""


def ended(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("way", ["running", "ensemble", "stopped"])
def test_a_program_ends_while_a_handler_runs(way: str, tmp_path: Path) -> None:
    interface = tmp_path / "shop.thrift"
    interface.write_text("service Shop { void wait() }", encoding="utf-8")
    program = ended(SERVING, str(interface), way)
    assert program.returncode == 3, program.stderr


def test_interrupts_end_a_program_that_waits_for_a_body() -> None:
    program = ended(BODY)
    assert program.returncode == 0, program.stderr
    assert "KeyboardInterrupt" in program.stderr
