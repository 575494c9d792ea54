"""Options for where simulations run, and for how long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from accelflow.errors import refused
from accelflow.studies.sweep import Runner
from accelflow.time_limit import parse_time_limit

__all__ = ["TIME_LIMIT", "runner_at", "worker_options"]

_Command = TypeVar("_Command", bound=Callable[..., Any])


class _Duration(click.ParamType[float]):
    """The type of an option for a time with its unit, such as 90s; the value is in seconds."""

    name = "TIME"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the time in seconds. Raises InputError for a text that is not a time."""
        return value if isinstance(value, float) else parse_time_limit(value)


#: The option ``--time-limit``.
TIME_LIMIT = click.option(
    "--time-limit",
    "time_limit_s",
    type=_Duration(),
    help="Stop cleanly after this time, such as 90s, 10m or 2h, and report the progress.",
)


def worker_options(command: _Command) -> _Command:
    """Add the options `--workers` and `--cluster` to a command."""
    workers = click.option(
        "--workers", type=click.IntRange(1, 4_096), help="Worker threads. Default: one per core."
    )
    cluster = click.option(
        "--cluster",
        help="Simulate on a cluster of Dask: a scheduler's address, or N workers that the command"
        " starts (local:N, slurm:N or kubernetes:N).",
    )
    return workers(cluster(command))


@contextmanager
def runner_at(cluster: str | None, workers: int | None) -> Iterator[Runner | None]:
    """Yield a runner, which simulates on the machines of `cluster`.

    If `cluster` is None, yields None instead: the study then simulates in threads of this process.
    Raises InputError if `cluster` and `workers` are both given, and as
    :func:`accelflow.studies.cluster.on_cluster` does.
    """
    if cluster is None:
        yield None
        return
    if workers is not None:
        raise refused(
            "--workers", workers, "must be left out with --cluster, which has workers of its own"
        )
    from accelflow.studies.cluster import on_cluster  # noqa: PLC0415 (an extra)

    with on_cluster(cluster, say=_say) as runner:
        yield runner


def _say(line: str) -> None:
    click.echo(f"accelflow: {line}", err=True)
