"""The signals that end a program, of which none is missed."""

from __future__ import annotations

import selectors
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from types import FrameType, TracebackType
from typing import Self

__all__ = ["Interrupt", "StopSignals"]


class StopSignals:
    """Waits for SIGINT or SIGTERM, as a context of the main thread.

    Locks and events can miss a signal: one that arrives after the interpreter last looked for
    signals and before the lock blocks is handled only when the next signal comes. :meth:`wait`
    reads a socket that the signal itself writes to, so it misses none.
    """

    def __init__(self, on: Mapping[int, Callable[[], None]] | None = None) -> None:
        """Take the actions for other signals; they run in the main thread."""
        self._actions = {signal.SIGINT: self._stop, signal.SIGTERM: self._stop, **(on or {})}
        self._stopped = False
        self._undo = ExitStack()

    def __enter__(self) -> Self:
        """Install the handlers."""
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
        """Restore the handlers of before."""
        self._undo.close()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for SIGINT or SIGTERM for at most `timeout_s`; return whether one came."""
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


class Interrupt:
    """An interrupt (Ctrl-C) that a destructor cannot swallow, as a context.

    Python drops an exception that leaves a ``__del__``, and KeyboardInterrupt with it.
    :meth:`check` raises it again. Outside the main thread, or if SIGINT does not raise
    KeyboardInterrupt, the context changes nothing.
    """

    def __init__(self) -> None:
        """Nothing has come yet."""
        self._came = False
        self._installed = False

    def __enter__(self) -> Self:
        """Install a handler that notes the interrupt and raises it."""
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._note)
            self._installed = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Restore the handler of before."""
        if self._installed:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            self._installed = False

    def check(self) -> None:
        """Raise KeyboardInterrupt if an interrupt has come since the context was entered."""
        if self._came:
            raise KeyboardInterrupt

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._came = True
        signal.default_int_handler(number, frame)


def _handler(action: Callable[[], None]) -> Callable[[int, FrameType | None], None]:
    def handle(_number: int, _frame: FrameType | None) -> None:
        action()

    return handle
