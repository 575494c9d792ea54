"""End a command at Ctrl-C or SIGTERM, even while native code runs that checks for no signals."""

import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import NoReturn, TypeVar

from accelflow.files import remove_interrupted

__all__ = ["ends_at_sigterm", "interruptible", "leave", "terminated"]

_Found = TypeVar("_Found")

#: Threads whose work an interrupt has left unfinished.
_ABANDONED: list[threading.Thread] = []

#: Set once SIGTERM has come.
_TERMINATED = threading.Event()


def ends_at_sigterm() -> None:
    """Let SIGTERM end the command as Ctrl-C does, without temporary files left behind.

    Service managers, containers and batch systems send SIGTERM. An ignored SIGTERM remains ignored.
    """
    main = threading.current_thread() is threading.main_thread()
    if main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _terminate)


def terminated() -> bool:
    """Return whether SIGTERM has ended the command."""
    return _TERMINATED.is_set()


def _terminate(number: int, frame: FrameType | None) -> None:
    _TERMINATED.set()
    signal.default_int_handler(number, frame)


def interruptible(work: Callable[[], _Found]) -> _Found:
    """Call `work` so that Ctrl-C ends the call at once; return the result, or raise the exception.

    Native code that reports no progress does not check for Ctrl-C. So `work` runs in another
    thread, while the calling thread waits in Python and raises KeyboardInterrupt at once.
    :func:`leave` then ends the process although `work` still runs.
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
    """End the process with exit code `code`, even if interrupted work still runs in a thread."""
    if any(thread.is_alive() for thread in _ABANDONED):
        # The interpreter's own end is not safe while native code runs in a thread.
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        remove_interrupted()
        os._exit(code)
    sys.exit(code)
