"""Print warnings about a workload's file and about measured costs as single lines."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TextIO

import click

from accelflow.calibration import calibration_of, noted_costs
from accelflow.cli.failure import plain
from accelflow.workload import WorkloadWarning

__all__ = ["cost_doubts", "each_once", "plain_warnings"]

#: The warnings that the running command has printed.
_PRINTED: Final[set[str]] = set()


@contextmanager
def each_once() -> Iterator[None]:
    """Print each warning about a workload file once, as a single line on standard error.

    This context manager encloses a whole command. A warning that :func:`plain_warnings` prints
    inside it is printed only once, too.
    """
    _PRINTED.clear()
    with _given_to(_say):
        yield


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Print warnings about workload files that arise in a ``with`` block, one line each.

    They appear on standard error when the block has ended without an exception.
    """
    doubts: list[str] = []
    with _given_to(doubts.append):
        yield
    for doubt in doubts:
        _say(doubt)


@contextmanager
def cost_doubts() -> Iterator[None]:
    """Print the doubts about this machine's measured costs if the ``with`` block uses them.

    Each doubt is a line on standard error. They appear when the block has ended without an
    exception.
    """
    with noted_costs() as recordings:
        yield
    for recording in recordings:
        known = calibration_of(recording)
        for doubt in known.doubts if known else ():
            _say(f"{doubt}; accelflow compare --recalibrate measures again")


@contextmanager
def _given_to(take: Callable[[str], object]) -> Iterator[None]:
    """Call `take` with the text of each warning about a workload file; show others as before."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", WorkloadWarning)
        other = warnings.showwarning

        def show(  # noqa: PLR0913, PLR0917 (the signature of warnings.showwarning)
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, WorkloadWarning):
                take(str(message))
            else:
                other(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        yield


def _say(text: str) -> None:
    if text not in _PRINTED:
        _PRINTED.add(text)
        click.echo(f"accelflow: warning: {plain(text)}", err=True)
