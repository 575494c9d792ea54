"""`accelflow predict`: the errors of forecasts of a server's response times on this machine."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console

from accelflow import prediction
from accelflow.cli import offered
from accelflow.cli.assignments import read_settings
from accelflow.cli.places import written_as
from accelflow.errors import one_of, refused, unreadable, unwritable
from accelflow.files import parse_json, read_text, write_whole
from accelflow.handlers import check_form
from accelflow.simulation import configured, services
from accelflow.workload import is_file, load_workload

_FILE: Final = click.Path(path_type=Path, dir_okay=False)
_DEFAULT: Final = prediction.Options()


def _percents(
    _context: click.Context, _parameter: click.Parameter, value: str
) -> tuple[float, ...]:
    try:
        percents = [float(each) for each in value.split(",")]
    except ValueError:
        raise refused(
            "--loads", value, "must be percentages separated by commas, such as 10,30,50,70"
        ) from None
    return tuple(_share("--loads", percent) for percent in percents)


def _share(option: str, percent: float) -> float:
    """Return the load `percent` as a ratio.

    Raises InputError for `option`, with the load in percent, if the load is not allowed.
    """
    most = 100.0 * prediction.MOST_LOAD
    if not 0.0 < percent <= most:
        raise refused(option, percent, f"must be a percentage above 0 and at most {most:g}")
    return percent / 100.0


@click.command("predict")
@click.argument("handlers", metavar="MODULE:FUNCTION")
@click.option(
    "--interface", type=_FILE, required=True, metavar="FILE", help="The server's .thrift file."
)
@click.option(
    "--certificate",
    type=_FILE,
    required=True,
    metavar="FILE.pem",
    help="Certificate chain of the server, for localhost.",
)
@click.option(
    "--key", type=_FILE, required=True, metavar="FILE.pem", help="Private key of the certificate."
)
@click.option(
    "--service",
    "named",
    required=True,
    metavar="FUNCTION=NAME",
    help="Call FUNCTION, a Service.method, and simulate it as the service NAME of the workload.",
)
@click.option(
    "--arguments",
    type=_FILE,
    metavar="FILE",
    help="Arguments of the calls: a JSON object in each line, used in turn. Default: no arguments.",
)
@click.option(
    "--workload",
    default=_DEFAULT.workload,
    show_default=True,
    metavar="WORKLOAD",
    help="The suite, or the workload's file, that has the service.",
    shell_complete=offered.workloads,
)
@click.option(
    "--loads",
    default="10,30,50,70",
    show_default=True,
    callback=_percents,
    metavar="PERCENTS",
    help="Loads, in percent of the highest rate that the server reaches on one core.",
)
@click.option(
    "--recorded-load",
    type=float,
    default=100.0 * _DEFAULT.recorded_load,
    show_default=True,
    metavar="PERCENT",
    help="The load during the recording, in percent as for --loads.",
)
@click.option(
    "--seconds",
    type=float,
    default=_DEFAULT.seconds,
    show_default=True,
    help="Duration of the measurement at each load, in seconds.",
)
@click.option(
    "--repeats", default=_DEFAULT.repeats, show_default=True, help="Measurements of each load."
)
@click.option(
    "--requests",
    default=_DEFAULT.requests,
    show_default=True,
    help="Simulated requests of each forecast.",
)
@click.option("--seed", default=_DEFAULT.seed, show_default=True, help="Seed of everything random.")
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="KEY=VALUE",
    help="Set a parameter of the simulated server; repeatable.",
)
@click.option(
    "--out",
    type=written_as(".json"),
    metavar="FILE.json",
    help="Also write the results to this file.",
)
@click.option(
    "--save-recording",
    type=written_as(".json"),
    metavar="FILE.json",
    help="Also write the recording of the live server to this file.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print the results as one JSON object, not as text."
)
def predict(handlers: str, out: Path | None, save_recording: Path | None, **options: Any) -> None:
    """Compare forecasts of a server's response times with measured ones.

    MODULE:FUNCTION receives an `accelflow.Server` and registers its handlers. The server runs in
    its own process and is recorded. Its response times at several loads are then forecast in closed
    form and by simulation, and measured (docs/prediction.md).
    """
    check_form(handlers)
    function, _, service = options["named"].partition("=")
    if not function or not service:
        raise refused(
            "--service", options["named"], "must be FUNCTION=NAME, as in Text.ComposeText=CPost"
        )
    if options["interface"].suffix == ".proto":
        raise refused(
            "--interface",
            str(options["interface"]),
            "must be a .thrift file: forecasts need the processor time between steps, which"
            " recordings of gRPC do not have",
        )
    subject = prediction.Subject(
        handlers=handlers,
        interface=options["interface"],
        certificate=options["certificate"],
        key=options["key"],
        function=function,
        service=service,
        arguments=_arguments(options["arguments"]),
    )
    workload = options["workload"]
    settings = read_settings(options["changes"])
    asked = replace(
        _DEFAULT,
        workload=load_workload(workload) if is_file(workload) else workload,
        config=settings,
        recorded_load=_share("--recorded-load", options["recorded_load"]),
        **{name: options[name] for name in ("loads", "seconds", "repeats", "requests", "seed")},
    )
    # The recording takes a while, so wrong options are refused before it.
    one_of("--service", service, services(workload))
    configured(settings, "--set ")
    console = Console(stderr=True)
    answer = prediction.predict(
        subject, asked, lambda text: console.print(text, highlight=False, markup=False)
    )
    recording = answer.pop("recording")
    shown = json.dumps(answer, indent=2, allow_nan=False) + "\n"
    _write("--out", out, shown)
    _write("--save-recording", save_recording, recording)
    click.echo(shown if options["as_json"] else prediction.text(answer), nl=not options["as_json"])


def _arguments(file: Path | None) -> list[dict[str, Any]]:
    if file is None:
        return [{}]
    try:
        lines = read_text(file).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable("--arguments", file, error) from error
    found = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            arguments = parse_json(line)
        except ValueError as error:
            raise refused(
                "--arguments", f"{file}:{number}", f"must be a JSON object: {error}"
            ) from error
        if not isinstance(arguments, dict):
            raise refused("--arguments", f"{file}:{number}", "must be a JSON object")
        found.append(arguments)
    if not found:
        raise refused("--arguments", str(file), "must have a JSON object in at least one line")
    return found


def _write(option: str, file: Path | None, text: str) -> None:
    if file is None:
        return
    try:
        write_whole(file, lambda path: path.write_text(text, encoding="utf-8"))
    except OSError as error:
        raise unwritable(option, file, error) from error
