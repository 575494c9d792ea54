"""Consoles and progress bars, shared by several commands."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

__all__ = ["Lines", "Output", "bar", "busy"]

_BETWEEN_LINES_S: Final = 30.0
#: The time in seconds before progress is shown; shorter work shows none.
SHOWN_AFTER_S: Final = 2.0


class Output(Console):
    """A console that raises BrokenPipeError if its output is closed, as by ``| head``.

    The command line turns this exception into an exit code.
    """

    def on_broken_pipe(self) -> None:
        """Raise the BrokenPipeError that rich is handling; the base class would end the process."""
        raise  # noqa: PLE0704 (rich calls this where it handles the BrokenPipeError)


@contextmanager
def bar(console: Console, title: str) -> Iterator[Callable[[int, int], None]]:
    """Show the progress of a ``with`` block, which receives a function to report the progress.

    The function takes the amount of work done and the total, in the same unit. On a terminal, a bar
    with the remaining time appears after two seconds. Elsewhere, such as in a log, a line is
    printed at most every half minute.
    """
    if not console.is_terminal:
        yield Lines(console, title).report
        return
    columns = (
        TextColumn(title),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    # The estimate uses the last minute only, as simulations of different systems differ in speed.
    progress = Progress(*columns, console=console, transient=True, speed_estimate_period=60.0)
    task = progress.add_task(title, total=None)
    with _late(progress):
        yield lambda done, total: progress.update(task, completed=done, total=total)


@contextmanager
def busy(console: Console, title: str) -> Iterator[None]:
    """Show the elapsed time of a `with` block whose duration is not known in advance.

    A terminal shows the time after two seconds; elsewhere nothing is printed.
    """
    if not console.is_terminal:
        yield
        return
    columns = (SpinnerColumn(), TextColumn(title), TimeElapsedColumn())
    progress = Progress(*columns, console=console, transient=True)
    progress.add_task(title, total=None)
    with _late(progress):
        yield


@contextmanager
def _late(progress: Progress) -> Iterator[None]:
    """Show `progress` after two seconds of work."""
    timer = threading.Timer(SHOWN_AFTER_S, progress.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()  # it may be starting what is stopped next
        if progress.live.is_started:
            progress.stop()


class Lines:
    """Prints progress for logs: at most one line each half minute."""

    def __init__(
        self, console: Console, title: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Start measuring the time. `title` begins each line; `clock` returns seconds."""
        self._console, self._title, self._clock = console, title, clock
        self._began = self._reported = clock()

    def report(self, done: int, total: int) -> None:
        """Print a line if half a minute has passed since the last line, or since the start.

        `done` is the amount of work done, and `total` the amount of all work, in the same unit.
        Nothing is printed if no work or all work is done.
        """
        now = self._clock()
        if now - self._reported < _BETWEEN_LINES_S or not 0 < done < total:
            return
        self._reported = now
        elapsed = now - self._began
        left = elapsed * (total - done) / done
        self._console.print(
            f"{self._title}: {done / total:.0%} after {_duration(elapsed)}, about "
            f"{_duration(left)} left",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
