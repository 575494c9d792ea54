"""Processes that tests start."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any


@contextmanager
def running(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Run a process that exchanges text, and kill it at the end if it still runs.

    A failed test thus reports its failure; with :class:`subprocess.Popen` alone it would wait for
    the process.
    """
    with subprocess.Popen(command, text=True, **options) as process:
        try:
            yield process
        finally:
            process.kill()
