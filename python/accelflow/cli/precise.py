"""Options for the length of a comparison's simulations, and for exact percentiles."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
from click.core import ParameterSource
from rich.console import Console

from accelflow.cli.places import written_as
from accelflow.cli.running import TIME_LIMIT
from accelflow.errors import AccelflowError, refused, unwritable
from accelflow.files import write_whole
from accelflow.kept_runs import UNFINISHED
from accelflow.precision import Precision, Reached, parse_precision
from accelflow.report import Comparison
from accelflow.time_limit import seconds_text

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "asked_precision",
    "check_reached",
    "check_samples_file",
    "kept_in",
    "length_options",
    "rounds_shown",
    "warmup_of",
    "with_samples",
]

_Command = TypeVar("_Command", bound=Callable[..., Any])
_MSER5: Final = "mser5"
#: The options that `--precision` excludes, by their parameters.
_OTHERS: Final = ("requests", "samples_file", "spans_file", "timeline_file")


class _Warmup(click.ParamType[int | str]):
    """The type of `--warmup`: a number of requests, or ``mser5``, the rule that finds one."""

    name = "N|mser5"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value of the option: a number of requests, or ``mser5``."""
        if value == _MSER5 or isinstance(value, int):
            return value
        if isinstance(value, str) and value.isdecimal():
            return int(value)
        allowed = f"must be a number of requests, or {_MSER5}, a test that finds this number"
        raise refused("--warmup", value, allowed)


def length_options(command: _Command) -> _Command:
    """Add `--precision`, `--time-limit`, `--warmup`, `--percentiles` and `--samples`."""
    precision = click.option(
        "--precision",
        metavar="MEASURE:SHARE",
        help="Lengthen the runs until half the 95 % interval of p99, p999 or mean is at most this"
        " share of the value, for every service and system, such as p99:2%. Uses ten seeds, or"
        " --seeds.",
    )
    warmup = click.option(
        "--warmup",
        type=_Warmup(),
        help="Number of warm-up requests of a service with the mean rate, which are not counted, or"
        " mser5: the MSER-5 test chooses the number. Default: a tenth of the requests.",
    )
    percentiles = click.option(
        "--percentiles",
        type=click.Choice(["exact", "binned"]),
        help="How percentiles are computed. binned: within 0.05 %, in memory that does not grow"
        " with the requests. Default: exact up to 10,000,000 requests of a service.",
    )
    samples = click.option(
        "--samples",
        "samples_file",
        type=written_as(".parquet"),
        metavar="FILE.parquet",
        help="Write a row for each counted request: arrival, response time and its parts. More than"
        " 2,000,000 rows per seed are refused.",
    )
    return precision(TIME_LIMIT(warmup(percentiles(samples(command)))))


def asked_precision(context: click.Context) -> Precision | None:
    """Return the precision that ``--precision`` asks for; None without it.

    Raises InputError for a text that is not a precision, for options that exclude
    ``--precision``, and for ``--time-limit`` without it.
    """
    text, seconds = context.params["precision"], context.params["time_limit_s"]
    if text is None:
        if seconds is not None:
            allowed = "must be given together with --precision"
            raise refused("--time-limit", seconds_text(seconds), allowed)
        return None
    for name in _OTHERS:
        typed = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if typed and context.params[name] is not None:
            option = f"--{name.removesuffix('_file')}"
            raise refused(
                option,
                context.params[name],
                "must be left out with --precision, which finds the number of requests",
            )
    return parse_precision(text)


def kept_in(context: click.Context) -> Path | None:
    """Return the folder in which the command saves finished simulations to resume later, or None.

    ``--time-limit`` may stop the command; only with this option are simulations saved. Without it,
    the result is the folder of an earlier command that its time limit has stopped, if there is such
    a folder. The result is None without ``--precision``, and with ``--report``, since the report's
    page needs single requests, which are not saved.
    """
    options = context.params
    if options["precision"] is None or options["report_file"] is not None:
        return None
    out: Path = options["out"]
    place = out / UNFINISHED
    return place if options["time_limit_s"] is not None or place.is_dir() else None


def check_reached(comparison: Comparison, context: click.Context) -> None:
    """Raise AccelflowError if the time limit ended `comparison` before it was precise enough."""
    said = comparison.source.get("precision")
    if said is None or said["reached_ratio"] <= said["asked_ratio"]:
        return
    seconds, again = context.params["time_limit_s"], ""
    if kept_in(context) is not None:
        again = "; the same command resumes the run"
    raise AccelflowError(
        f"--precision {context.params['precision']}: not reached in {seconds_text(seconds)}, but"
        f" runs of {comparison.requests:,} requests a service on average reached"
        f" {said['reached_ratio']:.2%}{again}"
    )


def warmup_of(context: click.Context) -> tuple[int | None, bool]:
    """Return the number of warm-up requests, and whether the MSER-5 test is to choose this number.

    The number is None if MSER-5 chooses it, and without ``--warmup``: it is then a tenth of all
    requests.
    """
    given = context.params["warmup"]
    return (None, True) if given == _MSER5 else (given, False)


def check_samples_file(file: Path | None, report_file: Path | None) -> None:
    """Raise InputError if both --samples (`file`) and --report (`report_file`) are given."""
    if file is None:
        return
    if report_file is not None:
        raise refused(
            "--samples", str(file), "must be left out with --report, which keeps its own samples"
        )


def with_samples(file: Path, run: Callable[[Callable[[pa.Table], None]], Comparison]) -> Comparison:
    """Make a comparison with `run`, return it, and write its samples to the Parquet file `file`.

    The file has a row for each counted request. `run` receives a function that it must call once
    for each seed, with that seed's table of samples. Raises InputError if the file cannot be
    written; the file is then unchanged.
    """
    import pyarrow.parquet as pq  # noqa: PLC0415 (slow to load)

    found: list[Comparison] = []

    def write(scratch: Path) -> None:
        # A stream, as pyarrow cannot open names that are not UTF-8.
        with scratch.open("wb") as stream, ExitStack() as stack:
            writers: list[pq.ParquetWriter] = []

            def add(table: pa.Table) -> None:
                if not writers:
                    writer = pq.ParquetWriter(stream, table.schema, compression="zstd")
                    writers.append(stack.enter_context(writer))
                writers[0].write_table(table)

            found.append(run(add))

    try:
        write_whole(file, write)
    except OSError as error:
        raise unwritable("--samples", file, error) from error
    return found[0]


def rounds_shown(
    console: Console, asked: Precision | None
) -> Callable[[int, Reached], None] | None:
    """Return a function that prints the precision that the runs have reached.

    The function is called after each prolongation of the runs, with the mean number of requests of
    a service and the precision reached. Without a requested precision (`asked`), returns None.
    """
    if asked is None:
        return None

    def say(requests: int, found: Reached) -> None:
        console.print(
            f"{requests:,} requests a service on average: {asked.measure} within {found.ratio:.2%} "
            f"({found.name}), asked {asked.ratio:.2%}",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )

    return say
