"""Print warnings about a workload's file as single lines."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import click

from accelflow.cli.failure import plain
from accelflow.workload import WorkloadWarning

__all__ = ["plain_warnings"]


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Print the block's warnings about workload files on standard error, one line each."""
    with warnings.catch_warnings(record=True) as doubts:
        warnings.simplefilter("always", WorkloadWarning)
        yield
    for doubt in dict.fromkeys(str(doubt.message) for doubt in doubts):
        click.echo(f"accelflow: warning: {plain(doubt)}", err=True)
