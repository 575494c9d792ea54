"""What an interrupt leaves of work in another thread."""

import subprocess
import sys
from pathlib import Path

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
