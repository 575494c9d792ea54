"""Interrupts of work that does not look for them."""

import os
import sys
import threading
from collections.abc import Callable
from typing import NoReturn, TypeVar

__all__ = ["interruptible", "leave"]

_Found = TypeVar("_Found")

#: Threads whose work an interrupt has left unfinished.
_ABANDONED: list[threading.Thread] = []


def interruptible(work: Callable[[], _Found]) -> _Found:
    """Run `work` in another thread, so that Ctrl-C can end it; return its result.

    Native code without progress does not look for Ctrl-C. This thread waits in Python, so that
    KeyboardInterrupt is raised at once; :func:`leave` then ends the process without the work.
    """
    found: list[_Found] = []
    failed: list[BaseException] = []
    ended = threading.Event()

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:  # raised again by the thread that waits
            failed.append(error)
        finally:
            ended.set()

    thread = threading.Thread(target=run, daemon=True)
    try:
        thread.start()
        ended.wait()
    except KeyboardInterrupt:
        _ABANDONED.append(thread)
        raise
    if failed:
        raise failed[0]
    return found[0]


def leave(code: int) -> NoReturn:
    """End the process with `code`, at once if an interrupt has left work unfinished."""
    if any(thread.is_alive() for thread in _ABANDONED):
        # The interpreter's own end is not safe while native code runs in a thread.
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        os._exit(code)
    sys.exit(code)
