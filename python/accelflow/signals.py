"""Wait for the signals that end a program, without missing one."""

from __future__ import annotations

import selectors
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import FrameType, TracebackType
from typing import Self

__all__ = ["StopSignals", "interrupt_check"]


class StopSignals:
    """A context manager in which the main thread can wait for SIGINT or SIGTERM and misses none.

    A wait with Python's locks or events can miss a signal: if it arrives just before the lock
    blocks, it is handled only when the next signal comes. :meth:`wait` instead reads a socket to
    which the signal itself writes.
    """

    def __init__(self, on: Mapping[int, Callable[[], None]] | None = None) -> None:
        """Take `on`, the actions for other signals by number; they run in the main thread."""
        self._actions = {signal.SIGINT: self._stop, signal.SIGTERM: self._stop, **(on or {})}
        self._stopped = False
        self._undo = ExitStack()

    def __enter__(self) -> Self:
        """Install the signal handlers."""
        with ExitStack() as undo:
            self._reader, writer = (undo.enter_context(end) for end in socket.socketpair())
            writer.setblocking(False)
            undo.callback(
                signal.set_wakeup_fd,
                signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False),
            )
            for number, action in self._actions.items():
                undo.callback(signal.signal, number, signal.signal(number, _handler(action)))
            self._undo = undo.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Restore the earlier signal handlers."""
        self._undo.close()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for SIGINT or SIGTERM, at most `timeout_s` seconds; return whether one came.

        None sets no limit. A signal that came earlier in this context counts, too.
        """
        end_s = None if timeout_s is None else time.monotonic() + timeout_s
        with selectors.DefaultSelector() as selector:
            selector.register(self._reader, selectors.EVENT_READ)
            while not self._stopped:
                left_s = None if end_s is None else max(0.0, end_s - time.monotonic())
                if not selector.select(left_s):
                    break
                self._reader.recv(4096)
        return self._stopped

    def _stop(self) -> None:
        self._stopped = True


@contextmanager
def interrupt_check() -> Iterator[Callable[[], None]]:
    """Yield a function that raises KeyboardInterrupt if Ctrl-C was pressed in this context.

    This is needed since Python drops a KeyboardInterrupt that arrives while a ``__del__`` method
    runs. Outside the main thread, or if SIGINT does not raise KeyboardInterrupt, the function never
    raises.
    """
    came = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = True
        signal.default_int_handler(number, frame)

    def check() -> None:
        if came:
            raise KeyboardInterrupt

    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield check
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _handler(action: Callable[[], None]) -> Callable[[int, FrameType | None], None]:
    def handle(_number: int, _frame: FrameType | None) -> None:
        action()

    return handle
