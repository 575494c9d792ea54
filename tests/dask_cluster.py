"""A scheduler and workers of Dask for tests, and waiting for the rows of a study."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path


class Dask:
    """A scheduler and workers without nannies, which stay dead when they are killed."""

    def __init__(self, folder: Path, workers: int) -> None:
        self.file = folder / "scheduler.json"
        self._folder = folder
        code = "from distributed.cli.dask_scheduler import main; main()"
        self.scheduler = self._start(code, "--port", "0", "--no-dashboard")
        self._processes = [self.scheduler]
        self.workers = [self.worker() for _ in range(workers)]

    def worker(self, before: str = "") -> subprocess.Popen[str]:
        """Start a worker, which first runs the code `before`."""
        code = f"{before}\nfrom distributed.cli.dask_worker import main; main()"
        options = ("--no-nanny", "--nthreads", "1", "--no-dashboard", "--death-timeout", "60")
        started = self._start(code, *options)
        self._processes.append(started)
        return started

    def _start(self, code: str, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", code, "--scheduler-file", str(self.file), *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self._folder,
            text=True,
        )

    @property
    def address(self) -> str:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                address: str = json.loads(self.file.read_text())["address"]
            except (OSError, ValueError):
                time.sleep(0.02)
            else:
                return address
        raise AssertionError("no scheduler")

    def stop(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()


def wait_for_rows(place: Path, count: int, process: subprocess.Popen[str]) -> None:
    while len(list(place.glob("rows/[!.]*.parquet"))) < count:
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)
