"""What the trials of job queues and clusters share: studies, expectations, and lines of results."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

PATIENCE_S = 90.0

STUDY = """
schema = "accelflow.study/1"
[scenario]
services = ["UniqId"]
profile = "paper"
requests = {requests}
slo_factor = 10
orchestrators = ["relief", "accelflow"]
[design]
seeds = 2
[axes]
"config.pes.TCP" = [2, 8]
rate_rps = {{ from = 1000, to = 20000, points = 3, scale = "log" }}
"""

QUESTION = """
schema = "accelflow.study/1"
[scenario]
services = ["Login", "UniqId"]
profile = "paper"
requests = 3000
rate_rps = 60000
slo_factor = 5
[find]
least = "config.pes.TCP"
range = { from = 1, to = 8, whole = true }
most_seeds = 4
[find.limits]
p99_us = 250
"""


class TrialError(Exception):
    """The error for a trial whose expectation is not met."""


def expect(holds: bool, what: str, *shown: object) -> None:
    """Raise TrialError unless `holds`, with the expectation `what` and the output `shown`."""
    if not holds:
        raise TrialError("\n".join([what, *map(str, shown)]))


def until(holds: Callable[[], bool], what: str, limit_s: float = PATIENCE_S) -> None:
    """Wait until `holds` returns True. Raises TrialError after `limit_s` seconds."""
    deadline_s = time.monotonic() + limit_s
    while not holds():
        expect(time.monotonic() < deadline_s, f"{what}: not within {limit_s:.0f} s")
        time.sleep(0.1)


def write_studies(work: Path) -> None:
    """Write the studies of the trials into the folder `work`."""
    (work / "study.toml").write_text(STUDY.format(requests=3_000))
    (work / "long.toml").write_text(STUDY.format(requests=60_000))
    (work / "question.toml").write_text(QUESTION)


def expect_status(running: subprocess.Popen[str], status: int, limit_s: float) -> str:
    """Wait for a command, expect its exit code `status`, and return what it wrote to stderr."""
    out, err = running.communicate(timeout=limit_s)
    expect(running.returncode == status, f"exit code {status}, not {running.returncode}", out, err)
    return err


def expect_equal_rows(*studies: Path) -> None:
    """Expect that two study folders have the same rows, and some."""
    tables = [pq.read_table(place / "results.parquet") for place in studies]
    expect(tables[0].num_rows > 0 and tables[0].equals(tables[1]), "the rows are as here")


def tried(trials: Any, name: str, end: Callable[[], None]) -> bool:
    """Run one trial, then `end`, and print a line; return False if the trial fails."""
    began_s = time.monotonic()
    try:
        said = getattr(trials, name)()
    except (TrialError, subprocess.TimeoutExpired) as error:
        print(f"FAILED {name}: {error}", flush=True)
        return False
    finally:
        end()
    print(f"ok     {name:14}{time.monotonic() - began_s:4.0f} s  {said}", flush=True)
    return True
