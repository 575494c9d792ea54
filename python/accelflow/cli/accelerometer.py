"""`accelflow accelerometer`: whether an accelerator pays."""

import json
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

import click

from accelflow import accelerometer as model
from accelflow.accelerometer.files import is_nine_lines
from accelflow.cli.pages import REPORT, check_report, written
from accelflow.errors import InputError
from accelflow.page import command_line
from accelflow.reports.accelerometer import accelerometer_page

_LIMITS: Final = {
    "rest_of_service": "the rest of the service (Amdahl)",
    "not_offloaded": "offloads that do not pay and stay on the host",
    "accelerator": "waiting for the accelerator's own work",
    "setup": "preparing offloads (o0)",
    "transfer": "moving data (L)",
    "queue": "waiting in the accelerator's queue (Q)",
    "thread_switches": "thread switches (o1)",
}


@click.command("accelerometer")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@REPORT
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")
@click.option(
    "--plot",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write pictures into DIR: breakdown, sensitivity, heat map, granularity.",
)
@click.option(
    "--sensitivity",
    "around_ratio",
    type=float,
    metavar="SHARE",
    help="Also vary each input by this share, such as 0.2.",
)
def accelerometer(
    file: Path,
    as_json: bool,
    directory: Path | None,
    around_ratio: float | None,
    report_file: Path | None,
) -> None:
    """Estimate the gain of offloading a service's kernels.

    FILE describes the service. It is TOML (docs/accelerometer.md) or an input of the paper authors'
    program: nine lines of a name (C, a, n, o0, Q, L, o1, A, Threading) and a value, in any order;
    docs/accelerometer.md defines the names.
    """
    check_report(report_file)
    service = model.read(file)
    if around_ratio is not None and not 0 < around_ratio < 1:
        raise InputError(f"--sensitivity {around_ratio}: must be above 0 and below 1")
    try:
        result = model.evaluate(service, around_ratio=around_ratio)
    except InputError as error:
        raise InputError(f"{file}: {error}") from error
    if is_nine_lines(file):
        result |= _authors(service)
    if directory is not None:
        for path in model.write_plots(service, directory):
            click.echo(f"wrote {path}", err=True)
    if report_file is not None:
        page = accelerometer_page(result, _settings(service), command_line(sys.argv))
        written(page, report_file)
    if as_json:
        click.echo(json.dumps(result, indent=2, allow_nan=False))
    else:
        click.echo("\n".join(_text(result)))


def _settings(service: model.Service) -> dict[str, Any]:
    """The service as its file describes it, each kernel by name."""
    given = asdict(service)
    kernels = given.pop("kernels")
    return given | {kernel["name"]: kernel for kernel in kernels}


def _authors(service: model.Service) -> dict[str, Any]:
    """Return the result of the authors' program, which counts one thread switch in Sync-OS."""
    one_switch = [
        replace(k, threading="async_distinct_thread") if k.threading == "sync_os" else k
        for k in service.kernels
    ]
    ratio = model.evaluate(replace(service, kernels=one_switch))["speedup_percent"]
    return {"authors_program_speedup_percent": ratio}


def _text(result: dict[str, Any]) -> list[str]:
    lines = [f"{'':28}{'speedup':>10}{'latency reduction':>20}{'ideal':>10}"]
    rows = result["kernels"] if len(result["kernels"]) > 1 else []
    for row in rows:
        lines.append(_row(f"{row['name']} alone", row))
    lines.append(_row("service", result))
    if "authors_program_speedup_percent" in result and (
        result["authors_program_speedup_percent"] != result["speedup_percent"]
    ):
        authors = result["authors_program_speedup_percent"]
        lines.append(_row("with one thread switch, as", {"speedup_ratio": 1 + authors / 100}))
        lines.append("the authors' program has it")
    if "latency_reduction_two_switches_percent" in result:
        two = result["latency_reduction_two_switches_percent"]
        if two is not None:
            lines.append(f"{'two switches (Fig. 20)':28}{'':10}{two:18.2f} %")
    for row in result["kernels"]:
        lines += _kernel(row)
    if "intervals" in result:
        lines += _intervals(result["intervals"])
    if "sensitivity" in result:
        lines += _sensitivity(result)
    return lines


def _row(name: str, row: dict[str, Any]) -> str:
    def cell(key: str, width: int) -> str:
        ratio = row.get(key)
        return f"{'-':>{width}}" if ratio is None else f"{100 * (ratio - 1):{width - 2}.2f} %"

    return (
        f"{name:28}{cell('speedup_ratio', 10)}{cell('latency_reduction_ratio', 20)}"
        f"{cell('ideal_speedup_ratio', 10)}"
    ).rstrip(" -")


def _kernel(row: dict[str, Any]) -> list[str]:
    waits = "" if row["driver_waits"] else ", driver does not wait"
    equations = row["equations"]
    lines = [
        "",
        f"{row['name']}: {row['threading']}, {row['placement']}{waits}",
        f"  equations      {equations['speedup']}, latency {equations['latency_reduction']}",
        f"  offloaded      {row['offloads_per_s']:,.0f} a second"
        f" ({100 * row['lucrative_offloads_ratio']:.2f} % of all),"
        f" {100 * row['offloaded_share_ratio']:.2f} % of the host's cycles",
    ]
    if row["cycles_per_byte"] is not None:
        sizes = [
            f"{goal} {_size(row[f'break_even_{goal}'])}"
            for goal in ("speedup", "latency")
            if row[f"break_even_{goal}"] is not None
        ]
        lines.append(f"  pays           {'; '.join(sizes)} ({row['cycles_per_byte']:.4g} cycles/B)")
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
            cells = "".join(f"{100 * (at[p] - 1):10.2f} %" for p in ("p5", "p50", "p95"))
            lines.append(f"  {name:18}{cells}")
    if intervals["rejected"]:
        lines.append(f"  {intervals['rejected']:,} draws rejected: {intervals['why_rejected']}")
    return lines


def _sensitivity(result: dict[str, Any]) -> list[str]:
    lines = ["", "speedup with one input at its low and its high value"]
    for swing in result["sensitivity"]:
        if swing["low"]["speedup_ratio"] == swing["high"]["speedup_ratio"]:
            continue
        name = swing["parameter"]
        if swing["kernel"] and len(result["kernels"]) > 1:
            name = f"{swing['kernel']}.{name}"
        cells = [f"{name:32}"]
        for side in ("low", "high"):
            ratio = swing[side]["speedup_ratio"]
            gain = "impossible" if ratio is None else f"{100 * (ratio - 1):.2f} %"
            cells.append(f"{swing[side]['value']:>14,.6g} {gain:>10}")
        lines.append("  " + "  ".join(cells))
    return lines
