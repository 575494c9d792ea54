"""Consoles, progress bars and places for results, as several commands need them."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from accelflow.errors import InputError

__all__ = ["Lines", "Output", "bar", "check_file", "check_place"]

_BETWEEN_LINES_S: Final = 30.0


class Output(Console):
    """Leaves a reader that is gone to the command line, which has an exit code for it."""

    def on_broken_pipe(self) -> None:
        """Pass on the BrokenPipeError that rich is about to swallow."""
        raise  # noqa: PLE0704 (rich calls this where it handles the BrokenPipeError)


def check_place(out: Path) -> None:
    """Refuse a place that cannot be written before anything is simulated."""
    existing = next(place for place in (out, *out.absolute().parents) if place.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        raise InputError(f"--out {out}: {existing} is not a folder that can be written")


def check_file(out: Path) -> None:
    """Refuse a file whose folder is not there, or cannot be written, before any work is done.

    A folder for results is made where it is missing; that of one file is more likely misspelt.
    """
    folder = out.absolute().parent
    if not folder.exists():
        raise InputError(f"--out {out}: there is no folder {folder}")
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise InputError(f"--out {out}: {folder} is not a folder that can be written")


@contextmanager
def bar(console: Console, title: str) -> Iterator[Callable[[int, int], None]]:
    """Show how far some work is; what is yielded is told the amount done and that of all.

    A terminal has one line that is replaced, with the time that is left. Elsewhere there is a line
    now and then, so that a log says that something goes on; work of seconds writes none.
    """
    if not console.is_terminal:
        yield Lines(console, title).tell
        return
    columns = (
        TextColumn(title),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    # A minute of speed: simulations of different systems take different times.
    with Progress(
        *columns, console=console, transient=True, speed_estimate_period=60.0
    ) as progress:
        task = progress.add_task(title, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


class Lines:
    """How far some work is, in a line each half minute."""

    def __init__(
        self, console: Console, title: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Begin now; `clock` tells seconds."""
        self._console, self._title, self._clock = console, title, clock
        self._began = self._told = clock()

    def tell(self, done: int, total: int) -> None:
        """Write a line if the last one is long ago."""
        now = self._clock()
        if now - self._told < _BETWEEN_LINES_S or not 0 < done < total:
            return
        self._told = now
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
