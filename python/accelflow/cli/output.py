"""Consoles, progress bars and places for results, as several commands need them."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from accelflow.errors import InputError

__all__ = ["Output", "bar", "check_file", "check_place"]


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
    """Show how far some work is; what is yielded is told the number done and that of all."""
    columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    quiet = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=quiet) as progress:
        task = progress.add_task(title, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
