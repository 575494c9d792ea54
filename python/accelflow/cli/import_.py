"""`accelflow import`: workloads from existing data.

Each kind of data has a command in the group :func:`import_command`. Such a command has the options
of :func:`_common`. A command that makes a workload reads its files into an
:class:`accelflow.importing.Imported`, writes this object, and shows the report.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from accelflow import importing, simulation
from accelflow.cli import offered
from accelflow.cli.import_coverage import coverage_lines, coverage_warnings
from accelflow.cli.import_times import times_lines
from accelflow.cli.listing import Group
from accelflow.cli.places import WRITTEN
from accelflow.cli.printed_rules import RulesCommand, print_rules
from accelflow.errors import LEFT_OUT, refused
from accelflow.importing import Imported, Report

_Command = TypeVar("_Command", bound=Callable[..., None])

#: The number of places in input files that a line of the report names; the JSON has more.
_PLACES: Final = 2
_FILE: Final = click.Path(path_type=Path, dir_okay=False)


@click.group("import", cls=Group, no_args_is_help=True)
def import_command() -> None:
    """Make workloads from traces, tables and profiles.

    Each command reports which data it understood, guessed or dropped, how often, and where in the
    files.
    """


def _common(command: _Command) -> _Command:
    """Add the arguments and options that every command of `accelflow import` has."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print the report as JSON."),
        click.option(
            "--strict",
            is_flag=True,
            help="Exit with an error where data would be guessed or dropped.",
        ),
        click.argument("files", nargs=-1, required=True, type=_FILE, metavar="FILE..."),
    ):
        command = option(command)
    return command


_OUT: Final = click.option(
    "--out",
    type=WRITTEN,
    required=True,
    metavar="FILE.toml",
    help="Write the workload to this file.",
)
_NAME: Final = click.option(
    "--name", metavar="NAME", help="Name of the workload. Default: the file name of --out."
)
_INTO: Final = click.option(
    "--into", type=_FILE, metavar="FILE", help="Update a service of this workload."
)
_SERVICE: Final = click.option(
    "--service",
    metavar="NAME",
    help="With --into: the service to update.",
    shell_complete=offered.services,
)


def _checked(_context: click.Context, _option: click.Parameter, requests: int | None) -> int | None:
    """Return the value of --check-requests; refuse it before the files are read."""
    importing.check_requests("--check-requests", requests)
    return requests


_CHECK: Final = click.option(
    "--check-requests",
    type=int,
    callback=_checked,
    metavar="NUMBER",
    help="Requests of each service to simulate, to compare response times with those in the files:"
    " 100 at least, or 0 for none. Default: 1,000, and fewer for many services or long application"
    " times.",
)
_TOP: Final = click.option(
    "--top",
    type=int,
    default=20,
    show_default=True,
    help="Number of services to take, the busiest first.",
)


@import_command.command("arrivals")
@_common
@_INTO
@_SERVICE
@click.option("--column", metavar="NAME", help="Name of the column of times.")
@click.option(
    "--unit",
    metavar="UNIT",
    help="Unit of the times, if the name of their column does not state it:"
    f" {', '.join(importing.UNITS)}.",
)
@click.option(
    "--window",
    "window_s",
    type=float,
    metavar="SECONDS",
    help="Length in seconds of the windows whose requests were counted. Default: the most common"
    " distance from one window to the next.",
)
@click.option(
    "--zone", metavar="ZONE", help="Time zone of dates without one, such as Europe/Berlin."
)
@click.option(
    "--out",
    type=WRITTEN,
    required=True,
    metavar="FILE",
    help="File to write: with --into, the changed workload; else the arrivals, as CSV.",
)
def arrivals(files: Sequence[Path], out: Path, strict: bool, as_json: bool, **options: Any) -> None:
    """Take arrivals from tables of times, counts or rates.

    FILE is CSV, gzipped or not. The name of the time column declares its unit: time_s, time_ms,
    time_us, or timestamp for dates. A column named count has the number of requests in each window,
    and a column named rate_rps or rate_rpm has rates. Without these columns, each row is a request.
    """
    into, service = options.pop("into"), options.pop("service")
    unit = options["unit"]
    if unit is not None and unit not in importing.UNITS:
        raise refused("--unit", unit, known=importing.UNITS)
    if (into is None) != (service is None):
        left_out, given = ("--service", "--into") if service is None else ("--into", "--service")
        raise refused(left_out, LEFT_OUT, f"must be given together with {given}")
    report = Report("arrivals", strict=strict)
    if into is None:
        _check_csv(out)
    else:
        _check_update(into, out)
    with importing.read_arrivals(files, report, importing.ArrivalsOptions(**options)) as found:
        if into is None:
            importing.write_lines(found.lines(), out)
            place: dict[str, Any] = {}
            found.place(place, out.name)
            _show(report.as_json() | {"service": place}, as_json, [out])
            return
        tree = importing.read_workload(into)
        companion = f"{importing.OWNER}-{importing.plain_name(service)}.{found.process}.csv"
        found.place(importing.service_of(tree, service), companion)
        made = Imported(tree, {companion: found.lines()})
        _finish(made, report, out, as_json, [*files, into])


@import_command.command("alibaba-v2021")
@_common
@_OUT
@_NAME
@_CHECK
@_TOP
@click.option(
    "--sampled",
    "sampled_share",
    type=float,
    default=importing.SAMPLED_SHARE,
    show_default=True,
    metavar="SHARE",
    help="Share of all call graphs that the table contains, above 0 and at most 1.",
)
def alibaba(
    files: Sequence[Path],
    out: Path,
    name: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Take services from Alibaba's traces of 2021.

    FILE is a table MSCallGraph, and may be followed by tables MSRTQps, which have the rates. A
    service is an interface that is called by RPC or HTTP.
    """
    importing.check_out(out)
    report = Report("alibaba-v2021", strict=options.pop("strict"))
    check_requests = options.pop("check_requests")
    asked = importing.AlibabaOptions(name=_name_of(name, out), **options)
    imported = importing.import_alibaba(files, report, asked)
    report.times = importing.timed(imported.tree, imported.traced, check_requests)
    _finish(imported, report, out, as_json, files)


@import_command.command("azure-functions")
@_common
@_OUT
@_NAME
@_CHECK
@_TOP
@click.option(
    "--duration",
    default="median",
    show_default=True,
    metavar="KIND",
    help="A function's application time: the median or the mean of its durations.",
)
def azure(
    files: Sequence[Path],
    out: Path,
    name: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Take functions from Azure's traces of 2019 or 2021.

    FILE is a table of 2019 (invocations per minute of consecutive days, durations, memory) or of
    2021 (a row for each invocation). Each function becomes a service with a rate per minute.
    """
    importing.check_out(out)
    report = Report("azure-functions", strict=options.pop("strict"))
    check_requests = options.pop("check_requests")
    asked = importing.AzureOptions(name=_name_of(name, out), **options)
    imported = importing.import_azure(files, report, asked)
    report.times = importing.timed(imported.tree, imported.traced, check_requests)
    _finish(imported, report, out, as_json, files)


def _profile(command: _Command) -> _Command:
    """Add the options of the commands that read profiles."""
    for option in (
        print_rules(importing.OPERATION_RULES),
        click.option(
            "--rules",
            type=_FILE,
            metavar="FILE.toml",
            help="Rules that assign function names to operations, instead of the built-in ones.",
        ),
        click.option(
            "--cores",
            type=float,
            metavar="NUMBER",
            help="Mean number of busy cores; leave it out if the profile states the time of its"
            " samples.",
        ),
        click.option(
            "--duration",
            "duration_s",
            type=float,
            metavar="NUMBER",
            help="Duration of the profile in seconds.",
        ),
        click.option(
            "--rate",
            "rate_rps",
            type=float,
            metavar="NUMBER",
            help="Mean requests per second during --duration; instead of --requests.",
        ),
        click.option(
            "--requests",
            type=float,
            metavar="NUMBER",
            help="Number of requests that were served during the profile.",
        ),
        click.option(
            "--out",
            type=WRITTEN,
            required=True,
            metavar="FILE.toml",
            help="Write the workload to this file.",
        ),
        click.option(
            "--service",
            required=True,
            metavar="NAME",
            help="The service that was profiled.",
            shell_complete=offered.services,
        ),
        click.option(
            "--into", type=_FILE, required=True, metavar="FILE", help="The workload to update."
        ),
    ):
        command = option(command)
    return _common(command)


_EVENT: Final = click.option(
    "--event",
    "sample_type",
    metavar="TYPE",
    help="The event (perf) or sample type (pprof) that weighs the samples.",
)
_PROCESS: Final = click.option(
    "--process",
    metavar="NAME",
    help="Count only samples of this command (perf), or of this first frame (folded).",
)


@import_command.command("perf", cls=RulesCommand)
@_profile
@_EVENT
@_PROCESS
def perf(**options: Any) -> None:
    """Take costs from the output of `perf script`.

    Sets the costs of the nine operations and the application time of a service. Rules find the
    operation of a sample by the names of its functions (--print-rules).
    """
    _import_costs("perf", options)


@import_command.command("pprof", cls=RulesCommand)
@_profile
@_EVENT
@click.option("--label", metavar="KEY=TEXT", help="Count only samples with this label.")
def pprof(label: str | None, **options: Any) -> None:
    """Take costs from profiles of pprof.

    Sets the costs of the nine operations and the application time of a service. Rules find the
    operation of a sample by the names of its functions (--print-rules).
    """
    if label is not None:
        key, equals, text = label.partition("=")
        if not (key and equals):
            raise refused("--label", label, "must be KEY=TEXT")
        options["label"] = key, text
    _import_costs("pprof", options)


@import_command.command("folded", cls=RulesCommand)
@_profile
@_PROCESS
def folded(**options: Any) -> None:
    """Take costs from folded stacks, whose counts are samples.

    Sets the costs of the nine operations and the application time of a service. Rules find the
    operation of a sample by the names of its functions (--print-rules).
    """
    _import_costs("folded", options)


def _import_costs(kind: str, options: dict[str, Any]) -> None:
    files, out = options.pop("files"), options.pop("out")
    strict, as_json = options.pop("strict"), options.pop("as_json")
    which = {key: options.pop(key, None) for key in ("process", "label", "sample_type")}
    _check_update(options["into"], out)
    report = Report(kind, strict=strict)
    asked = importing.CostsOptions(asked=importing.Asked(**which), **options)
    _finish(importing.import_costs(kind, files, report, asked), report, out, as_json, files)


def _spans(command: _Command) -> _Command:
    """Add the options of the commands that read spans."""
    for option in (
        click.option(
            "--sampling",
            type=float,
            metavar="SHARE",
            help="Share of requests that was sampled. Default: as recorded in the spans, else 1.",
        ),
        click.option(
            "--app-share",
            type=float,
            metavar="SHARE",
            help="Share of a service's own time that is application logic. Default: 1.",
        ),
        click.option(
            "--shapes",
            type=int,
            metavar="NUMBER",
            help="Largest number of services made from one operation: one for each call pattern,"
            " the most frequent first. Default: 3.",
        ),
        click.option(
            "--rates",
            metavar="KIND",
            help="Rates of an operation's call patterns. shapes (default): each has its own, and"
            " those beyond --shapes are left out; operation: the kept ones share the rate of all.",
        ),
        click.option(
            "--waits",
            metavar="KIND",
            help="How the workload describes waits for other parties: quantiles (default),"
            " log-normal or constant.",
        ),
        click.option(
            "--calls",
            metavar="KIND",
            help="Calls between services of the spans. simulate (default): they become simulated"
            " calls; fit: they become waits.",
        ),
        click.option(
            "--servers",
            metavar="KIND",
            help="Simulated servers. one (default): one for all services; by-service: one for each"
            " service of the spans.",
        ),
        click.option(
            "--window-spans",
            type=int,
            metavar="NUMBER",
            help="The largest number of spans of unfinished traces in memory. Default: 200,000.",
        ),
        _CHECK,
        _NAME,
        _OUT,
    ):
        command = option(command)
    return _common(command)


@import_command.command("jaeger")
@_spans
def jaeger(**options: Any) -> None:
    """Take services from spans of Jaeger.

    FILE is JSON of Jaeger's user interface or API, or lines of spans; gzipped or not. The report
    has the coverage of operations: which share of their requests is in the workload. With --json,
    it has the coverage of all operations, and the traces added to the workload
    (docs/import-spans.md).
    """
    _import_spans("jaeger", options)


@import_command.command("otlp")
@_spans
def otlp(**options: Any) -> None:
    """Take services from spans of OpenTelemetry.

    FILE is OTLP as protocol buffers or as JSON (one document, or one per line), gzipped or not. The
    report has the coverage of operations: which share of their requests is in the workload. With
    --json, it has the coverage of all operations, and the traces added to the workload
    (docs/import-spans.md).
    """
    _import_spans("otlp", options)


def _import_spans(kind: str, options: dict[str, Any]) -> None:
    files, out, as_json = options.pop("files"), options.pop("out"), options.pop("as_json")
    importing.check_out(out)
    name, check_requests = _name_of(options.pop("name"), out), options.pop("check_requests")
    imported, found = importing.import_spans(kind, files, {"name": name, **options})
    found["times"] = importing.timed(imported.tree, imported.traced, check_requests)
    written = importing.write_imported(imported, None, out, files)
    _show(found, as_json, written)


@import_command.command("deathstarbench")
@_common
@click.option(
    "--against",
    type=_FILE,
    metavar="RESULTS.json",
    help="Compare with the simulated response times in this file, results of `accelflow compare`.",
)
@click.option(
    "--service",
    metavar="NAME",
    help="With --against: the service in RESULTS.json to compare with. Default: the one with the"
    " measurement's name, or the only one.",
)
def deathstarbench(
    files: Sequence[Path],
    against: Path | None,
    service: str | None,
    strict: bool,
    as_json: bool,
) -> None:
    """Read response times of wrk2 or locust.

    This does not create a workload: --against RESULTS.json compares the response times with
    simulated ones. RESULTS.json is the output of `accelflow compare --json`.
    """
    if service is not None and against is None:
        raise refused("--service", service, "must be given together with --against")
    report = Report("deathstarbench", strict=strict)
    measured = importing.read_latencies(files, report)
    rows = importing.compared(measured, against, service) if against else []
    found = [each.as_json() for each in measured]
    _show(report.as_json() | {"measured": found, "compared": rows}, as_json)
    if not as_json:
        _print_rows(found, rows)


def _print_rows(found: Sequence[dict[str, Any]], rows: Sequence[dict[str, Any]]) -> None:
    """Print measured response times, and simulated ones if there are any."""
    if not rows:
        click.echo(json.dumps(found, indent=2))
        return
    wide = max(len("measurement"), *(len(row["measured"]) for row in rows))
    width = max(len("service"), *(len(row["service"]) for row in rows))
    head = f"{'orchestrator':20}{'figure':8}{'measured us':>14}{'simulated us':>14}{'ratio':>8}"
    click.echo(f"{'measurement':{wide}}  {'service':{width}}  {head}")
    for row in rows:
        ratio = "-" if row["ratio"] is None else f"{row['ratio']:.3f}"
        click.echo(
            f"{row['measured']:{wide}}  {row['service']:{width}}"
            f"  {row['orchestrator']:20}{row['figure']:8}"
            f"{row['measured_us']:14.1f}{row['simulated_us']:14.1f}{ratio:>8}"
        )


def _name_of(name: str | None, out: Path) -> str:
    """Return the name of the workload: `name`, or that of the file `out` if `name` is None."""
    if name is None:
        name = importing.plain_name(out.stem)
        if name in simulation.WORKLOADS:
            allowed = f"must not have the name of the suite {name}; set another name with --name"
            raise refused("--out", str(out), allowed)
        return name
    if name in simulation.WORKLOADS:
        raise refused("--name", name, "must differ from the names of the suites")
    if importing.plain_name(name, "") != name:
        raise refused("--name", name, "must be 1 to 64 letters, digits, - and _")
    return name


def _check_csv(out: Path) -> None:
    if out.suffix != ".csv":
        raise refused("--out", str(out), "must end in .csv, unless --into and --service are given")


def _check_update(into: Path, out: Path) -> None:
    """Refuse an update in another folder, since a workload refers to files beside it."""
    importing.check_out(out)
    if into.absolute().parent.resolve() != out.absolute().parent.resolve():
        allowed = f"must be in {into.parent}, the folder of the file of --into"
        raise refused("--out", str(out), allowed)


def _finish(
    imported: Imported, report: Report, out: Path, as_json: bool, inputs: Sequence[Path]
) -> None:
    """Write a workload, but over none of the files `inputs`, and show the report."""
    written = importing.write_imported(imported, report, out, inputs)
    _show(report.as_json(), as_json, written)


def _without_folders(place: str) -> str:
    """Return a place in a file without the folders: ``calls.csv:7``, ``spans.json, trace 8c1``."""
    file, separator, rest = place.partition(", ") if ", " in place else place.rpartition(":")
    return Path(file).name + separator + rest if "/" in file else place


def _show(found: dict[str, Any], as_json: bool, written: Sequence[Path] = ()) -> None:
    """Print the report `found`, as a table or as JSON; name written files on standard error."""
    if as_json:
        files = [str(path) for path in written]
        click.echo(json.dumps(found | {"written": files}, indent=2))
    else:
        for section in ("understood", "guessed", "dropped"):
            for line in found[section]:
                done = f": {line['done']}" if line["done"] else ""
                click.echo(f"{section:10}{line['count']:>12,}  {line['what']}{done}")
                if line["places"]:
                    # Folders are in the JSON.
                    places = [_without_folders(each) for each in line["places"][:_PLACES]]
                    click.echo(f"{'':24}{', '.join(places)}")
        for line in (*coverage_lines(found.get("coverage", [])), *times_lines(found.get("times"))):
            click.echo(line)
        if "service" in found:
            click.echo(f"service: {json.dumps(found['service'])}")
    for lack in coverage_warnings(found.get("coverage", [])):
        click.echo(f"accelflow: warning: {lack}", err=True)
    for path in written:
        click.echo(f"wrote {path}", err=True)
