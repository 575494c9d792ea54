"""What an interrupt leaves of work in another thread."""

import subprocess
import sys
from pathlib import Path

import pytest

#: The work goes on after the interrupt, and creates its file anew once that has been removed.
LATE = """
import os, signal, sys, threading, time
from pathlib import Path
from accelflow.cli.interrupts import interruptible, leave
from accelflow.files import write_whole

signal.signal(signal.SIGINT, signal.default_int_handler)
again = threading.Event()

def work(path):
    os.kill(os.getpid(), signal.SIGINT)
    while path.exists():
        time.sleep(0.001)
    path.write_text("late")
    again.set()
    time.sleep(600)

try:
    write_whole(Path(sys.argv[1]), lambda path: interruptible(lambda: work(path)))
except KeyboardInterrupt:
    again.wait()
    leave(130)
"""


def test_work_that_goes_on_after_an_interrupt_leaves_no_file(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LATE, str(tmp_path / "result.txt")], check=False, timeout=120
    )
    assert done.returncode == 130
    assert list(tmp_path.iterdir()) == []


#: A call that takes minutes is interrupted by an alarm. The process ends while the work still
#: continues in the background.
RUNG = """
import os, signal, sys
from accelflow import arcus, cerebros, relief_suite

class Rung(Exception):
    pass

def ring(*_):
    raise Rung

signal.signal(signal.SIGALRM, ring)
signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
try:
    while True:
        CALL
except Rung:
    signal.setitimer(signal.ITIMER_REAL, 0)
    os._exit(3)
"""


@pytest.mark.parametrize(
    "call",
    [
        "relief_suite.relief_suite(graphs=100_000_000)",
        "cerebros.simulate(load=cerebros.Load(requests=100_000_000))",
        "arcus.experiment('fig11', replications=60, threads=1)",
    ],
)
def test_library_calls_that_take_minutes_are_interrupted(call: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", RUNG.replace("CALL", call)], check=False, timeout=60
    )
    assert done.returncode == 3
