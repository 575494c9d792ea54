"""Parallel simulations end together."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from accelflow.parallel import Stop, run_all

PLAN = Path(__file__).parents[1] / "examples/sizing/socialnetwork.toml"


def until_stopped(stop: Stop) -> None:
    while True:
        stop.look(0, 1)
        time.sleep(0.001)


def test_results_are_in_the_order_of_the_calls() -> None:
    first, second = threading.Event(), threading.Event()

    def late() -> int:
        assert first.wait(60)
        second.set()
        return 0

    def early() -> int:
        first.set()
        assert second.wait(60)
        return 1

    assert run_all([late, early], threads=2, stop=Stop()) == [0, 1]


def test_a_failure_stops_the_other_calls_and_is_raised() -> None:
    begun, ran = threading.Event(), []
    stop = Stop()

    def runs() -> None:
        begun.set()
        until_stopped(stop)

    def fails() -> None:
        assert begun.wait(60)
        raise ValueError("of the second call")

    with pytest.raises(ValueError, match="of the second call"):
        run_all([runs, fails, *[lambda: ran.append(1)] * 50], threads=2, stop=stop)
    assert len(ran) < 50


def test_an_interrupt_stops_the_calls() -> None:
    stop = Stop()
    ended = threading.Event()

    def runs() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        try:
            until_stopped(stop)
        finally:
            ended.set()

    # Some packages, such as dask_jobqueue, replace the handler.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run_all([runs], threads=1, stop=stop)
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended.wait(60)


#: Searches for a server's capacity with simulations of hours. An alarm interrupts the search.
SEARCH = """
import signal, sys
from dataclasses import replace
from pathlib import Path
from accelflow.sizing import read_plan
from accelflow.sizing.simulated import search

plan = replace(read_plan(Path(sys.argv[1])), requests=10_000_000)

def ring(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, ring)
signal.setitimer(signal.ITIMER_REAL, 1.0)
try:
    search(plan, plan.systems[0], 0.1, None)
except KeyboardInterrupt:
    sys.exit(3)
"""


def test_an_interrupt_stops_the_simulations_of_a_search() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SEARCH, PLAN], check=False, timeout=120, capture_output=True
    )
    assert done.returncode == 3, done.stderr.decode()
