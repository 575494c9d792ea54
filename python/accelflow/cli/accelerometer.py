"""`accelflow accelerometer`: whether an accelerator pays."""

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

import click

from accelflow import accelerometer as model
from accelflow.accelerometer.bodies import measure_bodies
from accelflow.accelerometer.decisions import (
    Found,
    Goal,
    decide,
    goal_of,
    parse_goal,
    seek,
)
from accelflow.accelerometer.files import Question, is_nine_lines, read_question
from accelflow.accelerometer.fleet import Fleet, is_fleet, plan, read_fleet
from accelflow.accelerometer.measured import measure
from accelflow.accelerometer.recorded import (
    APPLICATION_RATIO,
    Recorded,
    read_recording,
    service_of,
    to_toml,
)
from accelflow.accelerometer.service import central
from accelflow.accelerometer.simulated import Run, simulate
from accelflow.cli.deciding import (
    decision_text,
    fleet_text,
    found_text,
    measured_text,
    simulation_text,
)
from accelflow.cli.interrupts import interruptible
from accelflow.cli.naming import left_out
from accelflow.cli.pages import REPORT, check_report, written
from accelflow.cli.places import WRITTEN_FOLDER, check_apart, written_as
from accelflow.errors import LEFT_OUT, InputError, place_in, refused, unwritable
from accelflow.files import write_whole
from accelflow.page import command_line
from accelflow.reports.accelerometer import accelerometer_page
from accelflow.reports.decisions import fleet_page

_LIMITS: Final = {
    "rest_of_service": "the rest of the service (Amdahl)",
    "not_offloaded": "offloads that do not pay and stay on the host",
    "accelerator": "waiting for the accelerator's own work",
    "setup": "preparing offloads (o0)",
    "transfer": "moving data (L)",
    "queue": "waiting in the accelerator's queue (Q)",
    "thread_switches": "thread switches (o1)",
}


#: The names of the pictures that --plot writes, as a regular expression.
_PICTURES: Final = r"(alternatives|breakdown|sensitivity|(heatmap|granularity)-.*)\.png"

_FILE: Final = click.Path(path_type=Path, dir_okay=False)


@click.command("accelerometer")
@click.argument("file", type=_FILE, required=False)
@REPORT
@click.option(
    "--json", "as_json", is_flag=True, help="Print the results as one JSON object, not as text."
)
@click.option(
    "--plot",
    "directory",
    type=WRITTEN_FOLDER,
    metavar="DIR",
    help="Write pictures of the results into DIR: breakdown, sensitivity, heat map, granularity"
    " and, if FILE has any, alternatives.",
)
@click.option(
    "--sensitivity",
    "around_ratio",
    type=float,
    metavar="SHARE",
    help="Also show the gain with each input alone lower and higher by SHARE, such as 0.2.",
)
@click.option(
    "--seek",
    metavar="[KERNEL.]PARAMETER",
    help="Find the value of this input, such as acceleration_ratio, that reaches --goal.",
)
@click.option(
    "--goal",
    metavar="OF:GAIN",
    help="With --seek: the gain to reach, speedup:GAIN% or latency:GAIN%, such as speedup:8%; or"
    " slo, the latency that the file's [slo] allows.",
)
@click.option("--simulate", is_flag=True, help="Also simulate the offloads, event by event.")
@click.option(
    "--threads",
    type=int,
    default=64,
    show_default=True,
    help="With --simulate: number of threads of a host.",
)
@click.option(
    "--load",
    type=float,
    default=0.7,
    show_default=True,
    help="With --simulate: load of a host, as a share of its capacity.",
)
@click.option(
    "--measure",
    is_flag=True,
    help="Measure the inputs A (speedup), o0 (setup), L (transfer) and o1 (thread switch) on"
    " this machine.",
)
@click.option(
    "--bodies",
    is_flag=True,
    help="With --measure: measure accelflow's software of the nine accelerators, not the"
    " processor's instructions for AES and SHA.",
)
@click.option(
    "--recording",
    type=_FILE,
    metavar="FILE",
    help="Take the service from a recording of `accelflow record`.",
)
@click.option(
    "--service",
    "named",
    metavar="NAME",
    help="With --recording: the service to take from it. Default: its only service.",
)
@click.option(
    "--host-ghz",
    type=float,
    help="With --recording: the machine's clock in GHz. Default: the clock that the recording"
    " states.",
)
@click.option(
    "--threading",
    type=click.Choice(model.THREADINGS),
    default="sync",
    show_default=True,
    help="With --recording: what the calling thread does during an offload.",
)
@click.option(
    "--acceleration",
    type=float,
    default=10.0,
    show_default=True,
    help="With --recording: the speedup (A) of every accelerator.",
)
@click.option(
    "--out",
    type=written_as(".toml"),
    metavar="FILE",
    help="With --recording: write the service to this file, for editing.",
)
def accelerometer(file: Path | None, **options: Any) -> None:
    """Estimate the gain of offloading a service's kernels.

    FILE describes the service. It is TOML, or an input of the paper authors' program: nine lines of
    a name (C, a, n, o0, Q, L, o1, A, Threading) and a value, in any order. docs/accelerometer.md
    defines both. A FILE with [[alternatives]] compares ways to offload. A FILE with [[services]]
    describes a fleet.
    """
    check_report(options["report_file"])
    if options["directory"] is not None:
        files = {"--report": options["report_file"]}
        check_apart(files, options["directory"], _PICTURES)
    sources = [file is not None, options["recording"] is not None, options["measure"]]
    if sum(sources) != 1:
        raise click.UsageError(
            "Give one of FILE, --recording and --measure.", click.get_current_context()
        )
    _check_options(file, options)
    if options["measure"]:
        result = measure_bodies() if options["bodies"] else measure()
        _shown(result, measured_text(result), as_json=options["as_json"])
    elif options["recording"] is not None:
        _of_recording(options)
    elif file is not None and is_fleet(file):
        fleet = read_fleet(file)
        planned = plan(fleet)
        if options["report_file"] is not None:
            page = fleet_page(planned, _fleet_settings(fleet), command_line(sys.argv))
            written(page, options["report_file"])
        _shown(planned, fleet_text(fleet, planned), as_json=options["as_json"])
    elif file is not None:
        _of_file(file, options)


#: The options that each source accepts besides --json; a fleet accepts only --report.
_OF_FILE: Final = ("report_file", "directory", "around_ratio", "seek", "goal", "simulate")
_OF_SIMULATION: Final = ("threads", "load")
_OF_RECORDING: Final = ("named", "host_ghz", "threading", "acceleration", "out")


def _check_options(file: Path | None, options: dict[str, Any]) -> None:
    """Raise InputError for an option that would change nothing, and for a missing goal."""
    context = click.get_current_context()
    allowed: tuple[str, ...] = ()
    source = "--measure"
    if options["measure"]:
        allowed = ("bodies",)
    if options["recording"] is not None:
        allowed, source = ("recording", *_OF_RECORDING), "--recording"
    elif file is not None:
        source = "a fleet" if is_fleet(file) else "FILE"
        allowed = ("report_file",)
        if source == "FILE":
            allowed = (*_OF_FILE, *_OF_SIMULATION)
            if not options["simulate"]:
                useless = ", since it does nothing for FILE without --simulate"
                left_out(context, useless, {*context.params} - {*_OF_SIMULATION})
    useless = f", since it does nothing for {source}"
    left_out(context, useless, (*allowed, "file", "measure", "as_json"))
    if options["goal"] is not None and options["seek"] is None:
        raise refused("--goal", options["goal"], "must be left out unless --seek is given")
    if options["seek"] is not None and options["goal"] is None:
        raise refused("--goal", LEFT_OUT, "must be given with --seek, such as speedup:8%")


def _shown(result: dict[str, Any], text: Iterable[str], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(result, indent=2, allow_nan=False))
    else:
        click.echo("\n".join(text))


def _of_recording(options: dict[str, Any]) -> None:
    recorded = read_recording(options["recording"], options["named"])
    service = service_of(
        recorded,
        host_ghz=options["host_ghz"],
        threading=options["threading"],
        acceleration_ratio=options["acceleration"],
    )
    remarks = [
        f"{recorded.name} on {recorded.machine}: {recorded.request_ns / 1e3:,.1f} us of core time"
        " a request"
    ]
    if recorded.assumed_application:
        remarks.append(
            f"application logic was not measured: {100 * APPLICATION_RATIO:.1f} % of the request"
            " are assumed"
        )
    if options["out"] is not None:
        text = to_toml(service, remarks)
        try:
            write_whole(options["out"], lambda file: file.write_text(text, encoding="utf-8"))
        except OSError as error:
            raise unwritable("--out", options["out"], error) from error
        click.echo(f"wrote {options['out']}", err=True)
    result = model.evaluate(service)
    lines = [*remarks, *_bodies(recorded), "", *_text(result, service)]
    _shown(result, lines, as_json=options["as_json"])


def _bodies(recorded: Recorded) -> list[str]:
    """Return a table of each operation's cost, fixed and per byte, as lines of text."""
    lines = [f"{'':12}{'operations':>12}{'ns each':>12}{'fixed ns':>12}{'ns/B':>12}"]
    for each in recorded.operations:
        fixed = "-" if each.fixed_ns is None else f"{each.fixed_ns:,.0f}"
        slope = "-" if each.ns_per_byte is None else f"{each.ns_per_byte:.3f}"
        mean = each.cost_ns / each.operations
        lines.append(
            f"{each.accelerator:12}{each.operations:12,}{mean:12,.0f}{fixed:>12}{slope:>12}"
        )
    return lines


def _of_file(file: Path, options: dict[str, Any]) -> None:
    around_ratio = options["around_ratio"]
    if around_ratio is not None and not 0 < around_ratio < 1:
        raise refused("--sensitivity", around_ratio, "must be above 0 and below 1")
    question = read_question(file)
    service = question.service
    try:
        result = model.evaluate(service, around_ratio=around_ratio)
        lines, sought = [], None
        if is_nine_lines(file):
            result |= _authors(service)
        lines += _text(result, service)
        if question.alternatives or question.slo:
            result["decision"] = decide(question)
            lines += ["", *decision_text(result["decision"])]
    except InputError as error:
        raise InputError(f"{file}: {error}") from error
    try:
        if options["seek"] is not None:
            goal, found = _sought(question, options)
            result["sought"] = asdict(found)
            sought = found_text(found, goal, question.slo if options["goal"] == _SLO else None)
            lines += ["", sought]
        if options["simulate"]:
            run = Run(threads=options["threads"], load_ratio=options["load"])
            result["simulation"] = interruptible(lambda: simulate(service, run))
            lines += simulation_text(result["simulation"])
    except InputError as error:
        raise _placed(error, file) from error
    if options["directory"] is not None:
        drawn = result.get("decision") if question.alternatives else None
        _write_plots(service, options["directory"], drawn)
    if options["report_file"] is not None:
        command = command_line(sys.argv)
        page = accelerometer_page(result, _settings(service), command, sought=sought)
        written(page, options["report_file"])
    _shown(result, lines, as_json=options["as_json"])


#: The option that sets each field which a search or a simulation may refuse, by the field's name.
_SETTINGS: Final = {
    "goal": "--goal",
    "kernel": "--seek",
    "load_ratio": "--load",
    "parameter": "--seek",
    "threads": "--threads",
}


def _placed(error: InputError, file: Path) -> InputError:
    """Return `error` with the option at fault as its place, or `file` if no option is at fault."""
    place = error.place or place_in(str(error))
    option = _SETTINGS.get(place) if place is not None else None
    if place is None or option is None:
        return InputError(f"{file}: {error}")
    return InputError(str(error), place).at(option)


def _write_plots(service: model.Service, directory: Path, decision: dict[str, Any] | None) -> None:
    """Write the pictures of `service`, and print the path of each on standard error."""
    try:
        for path in model.write_plots(service, directory, decision=decision):
            click.echo(f"wrote {path}", err=True)
    except OSError as error:
        raise unwritable("--plot", directory, error) from error


#: The goal that stands for the SLO of the file.
_SLO: Final = "slo"


def _sought(question: Question, options: dict[str, Any]) -> tuple[Goal, Found]:
    service = question.service
    kernel, _, parameter = options["seek"].rpartition(".")
    if parameter == "hosts":  # the parameter is queue.hosts, and has the queue before its dot
        kernel, _, queue = kernel.rpartition(".")
        parameter = f"{queue}.{parameter}" if queue else parameter
    if options["goal"] == _SLO and question.slo is None:
        raise refused("--goal", _SLO, "must be speedup:GAIN% or latency:GAIN%: there is no [slo]")
    chosen = question.slo if options["goal"] == _SLO else None
    goal = parse_goal(options["goal"]) if chosen is None else goal_of(chosen)
    names = [each.name for each in service.kernels]
    if not kernel and len(names) > 1:
        allowed = "must be KERNEL.PARAMETER for a service with several kernels; KERNEL is one of"
        raise refused("--seek", options["seek"], f"{allowed} {', '.join(names)}")
    return goal, seek(service, parameter, goal, kernel=kernel or None)


def _settings(service: model.Service) -> dict[str, Any]:
    """Return the service's settings as in its file, with the kernels' by kernel name."""
    given = asdict(service)
    kernels = {kernel["name"]: kernel for kernel in given.pop("kernels")}
    return given | {
        f"kernel {name}" if name in given else name: kernel for name, kernel in kernels.items()
    }


def _fleet_settings(fleet: Fleet) -> dict[str, Any]:
    """Return the fleet's settings as in its file, with the servers by name of the service."""
    given = asdict(replace(fleet, members=[]))
    del given["members"]
    return {member.name: {"servers": member.servers} for member in fleet.members} | given


def _authors(service: model.Service) -> dict[str, Any]:
    """Return the result of the authors' program, which counts one thread switch in Sync-OS."""
    one_switch = [
        replace(k, threading="async_distinct_thread") if k.threading == "sync_os" else k
        for k in service.kernels
    ]
    ratio = model.evaluate(replace(service, kernels=one_switch))["speedup_percent"]
    return {"authors_program_speedup_percent": ratio}


def _text(result: dict[str, Any], service: model.Service) -> list[str]:
    rows = [(f"{row['name']} alone", row) for row in result["kernels"]]
    rows = [*(rows if len(rows) > 1 else []), ("service", result)]
    width = max(28, *(len(name) + 1 for name, _ in rows))
    lines = [f"{'':{width}}{'speedup':>10}{'latency reduction':>20}{'ideal':>10}"]
    lines += [_row(name, row, width) for name, row in rows]
    if "authors_program_speedup_percent" in result and (
        result["authors_program_speedup_percent"] != result["speedup_percent"]
    ):
        authors = result["authors_program_speedup_percent"]
        row = {"speedup_ratio": 1 + authors / 100}
        lines.append(_row("with one thread switch, as", row, width))
        lines.append("the authors' program has it")
    if "latency_reduction_two_switches_percent" in result:
        two = result["latency_reduction_two_switches_percent"]
        if two is not None:
            lines.append(f"{'two switches (Fig. 20)':{width}}{'':10}{two:18.2f} %")
    betas = [float(kernel.complexity_exponent) for kernel in central(service).kernels]  # type: ignore[arg-type]
    for row, beta in zip(result["kernels"], betas, strict=True):
        lines += _kernel(row, beta)
    if "intervals" in result:
        lines += _intervals(result["intervals"])
    if "sensitivity" in result:
        lines += _sensitivity(result)
    return lines


def _row(name: str, row: dict[str, Any], width: int) -> str:
    def cell(key: str, width: int) -> str:
        ratio = row.get(key)
        return f"{'-':>{width}}" if ratio is None else f"{100 * (ratio - 1):z{width - 2}.2f} %"

    return (
        f"{name:{width}}{cell('speedup_ratio', 10)}{cell('latency_reduction_ratio', 20)}"
        f"{cell('ideal_speedup_ratio', 10)}"
    ).rstrip(" -")


def _kernel(row: dict[str, Any], beta: float) -> list[str]:
    waits = "" if row["driver_waits"] else ", driver does not wait"
    equations = row["equations"]
    lines = [
        "",
        f"{row['name']}: {row['threading']}, {row['placement']}{waits}",
        f"  equations      {equations['speedup']}, latency {equations['latency_reduction']}",
        f"  offloaded      {_offloaded(row)}",
    ]
    if row["cycles_per_byte"] is not None:
        sizes = [
            f"{goal} {_size(row[f'break_even_{goal}'])}"
            for goal in ("speedup", "latency")
            if row[f"break_even_{goal}"] is not None
        ]
        cost = f"{row['cycles_per_byte']:.4g} cycles/B{'' if beta == 1 else f'^{beta:g}'}"
        lines.append(f"  pays           {'; '.join(sizes)} ({cost})")
    paying = row["paying_offloads_ratio"]
    if paying is not None and paying < 1 and row["lucrative_offloads_ratio"] == 1:
        lines.append(
            f"  loses          {100 * (1 - paying):.2f} % of the offloads, which are made although"
            " their size does not pay"
        )
    if row["accelerator_utilization_ratio"] is not None:
        lines.append(
            f"  queue          {row['queue_cycles']:,.0f} cycles, accelerator"
            f" {100 * row['accelerator_utilization_ratio']:.1f} % in use"
        )
    if row["outside_service_ratio"] is not None:
        lines.append(
            f"  elsewhere      {100 * row['outside_service_ratio']:.2f} % of the time before is now"
            " latency outside the service"
        )
    ideal = row["ideal_speedup_ratio"]
    bound = "none" if ideal is None else f"{100 * (ideal - 1):.2f} %"
    lines.append(f"  Amdahl's bound {bound}; limited by {_LIMITS[row['limit']]}")
    return lines


def _offloaded(row: dict[str, Any]) -> str:
    """Return the rate of offloads and the cycles that they take off the host."""
    share = f"{100 * row['offloaded_share_ratio']:.2f} % of the host's cycles"
    if row["offloads_per_s"] == 0 and row["offloaded_share_ratio"] > 0:
        return f"{share}, at no cost: offloads_per_s is 0, so that no offload has overhead"
    of_all = f"{100 * row['lucrative_offloads_ratio']:.2f} % of all"
    return f"{row['offloads_per_s']:,.0f} a second ({of_all}), {share}"


def _size(even: dict[str, Any]) -> str:
    if not even["pays"]:
        return "never"
    below = "" if even["below_bytes"] is None else f" and below {even['below_bytes']:,.0f} B"
    return f"above {even['above_bytes']:,.1f} B{below}"


def _intervals(intervals: dict[str, Any]) -> list[str]:
    lines = ["", f"{intervals['draws']:,} draws: 5 %, median, 95 %"]
    for key, name in (
        ("speedup_ratio", "speedup"),
        ("latency_reduction_ratio", "latency reduction"),
    ):
        at = intervals[key]
        if at["p50"] is not None:
            cells = "".join(f"{100 * (at[p] - 1):z10.2f} %" for p in ("p5", "p50", "p95"))
            lines.append(f"  {name:18}{cells}")
    if intervals["rejected"]:
        lines.append(f"  {intervals['rejected']:,} draws rejected: {intervals['why_rejected']}")
    return lines


def _sensitivity(result: dict[str, Any]) -> list[str]:
    lines = ["", "speedup with one input at its low and its high value"]
    swings = []
    for swing in result["sensitivity"]:
        name = swing["parameter"]
        if swing["kernel"] and len(result["kernels"]) > 1:
            name = f"{swing['kernel']}.{name}"
        low, high = (swing[side]["speedup_ratio"] for side in ("low", "high"))
        # Both ends may be impossible, as for a normal distribution that is wide.
        if low is None or low != high:
            swings.append((name, swing))
    if not swings:
        return ["", "no input alone changes the speedup"]
    width = max(32, *(len(name) for name, _ in swings))
    for name, swing in swings:
        cells = [f"{name:{width}}"]
        for side in ("low", "high"):
            ratio = swing[side]["speedup_ratio"]
            gain = "impossible" if ratio is None else f"{100 * (ratio - 1):z.2f} %"
            cells.append(f"{swing[side]['value']:>14,.6g} {gain:>10}")
        lines.append("  " + "  ".join(cells))
    return lines
