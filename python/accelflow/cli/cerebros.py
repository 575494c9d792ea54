"""`accelflow cerebros`: the RPC layer in closed form and simulated, beside the paper's numbers."""

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, TypeVar

import click
from rich.console import Console

from accelflow import cerebros as model
from accelflow.cli.assignments import read_assignments
from accelflow.cli.interrupts import interruptible
from accelflow.cli.listing import Group
from accelflow.cli.output import busy
from accelflow.cli.pages import REPORT, check_report, written
from accelflow.errors import GIVEN, LEFT_OUT, refused
from accelflow.findings import Estimate, Finding, Verdict, targets
from accelflow.page import command_line
from accelflow.reports.cerebros import designs_page, figures_page, simulation_page

_Command = TypeVar("_Command", bound=Callable[..., Any])

_FILE = click.Path(path_type=Path, dir_okay=False)

_AS_JSON = click.option(
    "--json", "as_json", is_flag=True, help="Print the results as one JSON object, not as text."
)


def _parameter(name: str, meaning: str) -> Callable[[_Command], _Command]:
    option = "--" + name.replace("_", "-")
    return click.option(option, name, type=float, metavar="NUMBER", help=meaning)


@click.group("cerebros", cls=Group, invoke_without_command=True)
@_parameter(
    "rpc_cycles", "Cycles of the RPC layer for a request, if the core does all of it [4500]."
)
@_parameter("payload_share_ratio", "Payload manipulation's share of --rpc-cycles [0.60].")
@_parameter(
    "dispatch_share_ratio",
    "Dispatch's share of --rpc-cycles [0.0544]; the rest is header processing.",
)
@_parameter("header_tasks", "Header tasks of a request, nested RPCs included [4].")
@_parameter("payload_tasks", "Payload tasks of a request [4].")
@_parameter("accelerator_cycles", "Cycles of the accelerator for all tasks [90].")
@_parameter("traversals", "Traversals of the chip's network for one offload [5].")
@_parameter("traversal_cycles", "Cycles of one traversal [40].")
@_parameter(
    "coalesced_traversals", "Traversals for an offload whose request carries its input [3]."
)
@_parameter("low_diameter_cycles", "Cycles of a traversal in a low-diameter network [19.84].")
@REPORT
@_AS_JSON
@click.pass_context
def cerebros(
    context: click.Context,
    /,
    as_json: bool,
    report_file: Path | None,
    **parameters: float | None,
) -> None:
    """Compute the RPC layer's cycles under Cerebros's designs.

    Cycles are for one request, and the designs are those of the Cerebros paper's Fig. 6. Without
    options, the service is UniqueId, and the results are compared with the paper's numbers. Values
    in brackets are the defaults. The commands below simulate a whole server.
    """
    given = {name: value for name, value in parameters.items() if value is not None}
    if context.invoked_subcommand is not None:
        if given or as_json or report_file:
            raise click.UsageError(
                f"options before '{context.invoked_subcommand}' have no effect: give the options "
                f"of '{context.invoked_subcommand}' after its name"
            )
        return
    check_report(report_file)
    result = model.designs(**given)
    if report_file is not None:
        written(designs_page(result, command_line(sys.argv)), report_file)
    if as_json:
        click.echo(json.dumps(result, indent=2))
        return
    click.echo("cycles of the RPC layer for one request" + ("" if given else ", UniqueId"))
    click.echo(
        f"{'':14}{'software':>9}{'offload':>9}{'accel.':>8}{'all':>7}{'fewer':>8}{'paper':>7}"
    )
    for design in result["designs"]:
        paper = design["paper_speedup_ratio"]
        click.echo(
            f"{design['design']:14}{design['software_cycles']:9.0f}{design['offload_cycles']:9.0f}"
            f"{design['accelerator_cycles']:8.0f}{design['total_cycles']:7.0f}"
            f"{design['speedup_ratio']:7.1f}x" + (f"{paper:6g}x" if paper else f"{'-':>7}")
        )
    over = result["full_over_payload_and_header_ratio"]
    offload, coalesced = result["cycles_per_offload"], result["coalesced_cycles_per_offload"]
    ratio = _paper("full_over_payload_and_header")
    click.echo(f"Full over P+H: {over:.1f}x" + ("" if given else f" (paper {ratio}x)"))
    saved = f", {offload / coalesced:.2f} times less" if coalesced > 0 else ""
    click.echo(
        f"an offload: {offload:.0f} cycles, coalesced {coalesced:.0f}{saved}"
        + ("" if given else _PAPER_OFFLOADS)
    )


def _paper(name: str) -> str:
    """Return a figure of the Cerebros paper's section 6.1, as printed there."""
    return targets()[f"cerebros.rpc_layer_speedup.{name}"].figure.text


_PAPER_OFFLOADS: Final = (
    f" (paper {_paper('offload_cycles')}, {_paper('coalesced_offload_cycles')} and"
    f" {_paper('coalesced_overhead_reduction')})"
)


@cerebros.command("simulate")
@click.argument("service", default=None, required=False, type=click.Choice(model.SERVICES))
@click.option(
    "--interface",
    type=_FILE,
    metavar="FILE",
    help="Your own service instead of SERVICE: its .thrift or .proto file.",
)
@click.option(
    "--recording",
    type=_FILE,
    metavar="FILE",
    help="With --interface: a recording of your service, written by `accelflow record`.",
)
@click.option(
    "--include-dir",
    "include_dirs",
    type=click.Path(path_type=Path, file_okay=False),
    multiple=True,
    metavar="FOLDER",
    help="Folder of the interface's included files; repeatable.",
)
@click.option(
    "--design",
    "designs",
    multiple=True,
    type=click.Choice(model.DESIGNS),
    help="Simulate only this design; repeatable.",
)
@click.option(
    "--affinity",
    is_flag=True,
    help="Send each request to a core that last ran the request's function; needs --design Full.",
)
@click.option(
    "--load", "load_ratio", type=float, help="Random arrivals at this share of the cores' capacity."
)
@click.option(
    "--rate", "rate_rps", type=float, help="Random arrivals at this many requests a second."
)
@click.option(
    "--senders",
    type=int,
    help="Number of senders; each waits for a response before it sends again [1].",
)
@click.option(
    "--requests",
    default=4_000,
    show_default=True,
    help="Number of requests; the first tenth is warm-up.",
)
@click.option("--seed", default=1, show_default=True, help="Seed of arrivals and functions.")
@click.option(
    "--unknown", "unknown_ratio", default=0.0, help="Share of requests for unknown functions [0]."
)
@click.option(
    "--malformed",
    "malformed_ratio",
    default=0.0,
    help="Share of requests whose content matches no schema [0].",
)
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="NAME=NUMBER",
    help="Set a parameter of the simulated server; repeatable.",
)
@REPORT
@_AS_JSON
def simulate(
    *,
    service: str | None,
    affinity: bool,
    as_json: bool,
    changes: tuple[str, ...],
    report_file: Path | None,
    **given: Any,
) -> None:
    """Serve requests of SERVICE (UID, USR, URL, SG or CP) on a simulated server.

    With --interface and --recording, the service is your own. The interface has the types of its
    messages. The recording, written by `accelflow record`, has their sizes, their costs and the
    nested calls.

    The columns are mean cycles per request: the RPC layer, simulated and by the analytic model;
    waits for pipelines; the layer's part on a core; the function; the function's instruction
    stalls; and the whole request. The last two columns are the P99 of the latency in us, and the
    share of requests that went to a core that last ran their function. `accelflow cerebros
    parameters` lists the parameters that --set can change. A design that cannot keep up with random
    arrivals is marked, and the queue that grows is named.
    """
    check_report(report_file)
    designs = given.pop("designs") or model.DESIGNS
    twice = next((name for name in designs if designs.count(name) > 1), None)
    if twice is not None:
        raise refused("--design", twice, "must be given only once")
    if affinity and tuple(designs) != ("Full",):
        allowed = (
            "must be left out unless --design Full is the only design: "
            "the others do not know which function a request calls"
        )
        raise refused("--affinity", GIVEN, allowed)
    files = [given.pop(name) for name in ("interface", "recording", "include_dirs")]
    served = _served(service, *files)
    with busy(Console(stderr=True), "simulating"):
        result = interruptible(
            lambda: model.simulate(
                served,
                model.Load(**given),
                designs=designs,
                affinity=affinity,
                parameters=read_assignments(changes),
            )
        )
    if report_file is not None:
        written(simulation_page(result, command_line(sys.argv)), report_file)
    if as_json:
        click.echo(json.dumps(result, indent=2))
        return
    _show(result)


def _show(result: dict[str, Any]) -> None:
    click.echo(f"{result['service']}: cycles for one request")
    click.echo(
        f"{'':14}{'RPC':>8}{'model':>8}{'waits':>7}{'on core':>8}{'function':>9}{'stall':>8}"
        f"{'all':>8}{'p99 us':>8}{'steered':>8}"
    )
    for run in result["runs"]:
        click.echo(f"{run['design']:14}{_columns(run)}")
        if run["nacks"] or run["fallbacks"]:
            click.echo(
                f"{'':14}{run['nacks']} NACKs, {run['refused']} requests refused, "
                f"{run['fallbacks']} left to a core"
            )
        left_out = run["registration"]["left_out"]
        if left_out and run["design"] == "Full":
            entries = run["registration"]["schema_map_entries"]
            click.echo(f"{'':14}schema map of {entries}, without {', '.join(left_out)}")
        if run["saturated"]:
            click.echo(_saturated(run, result["requests"]))


def _columns(run: dict[str, Any]) -> str:
    """Return a run's mean cycles of a request, dashes if no counted request was answered."""
    group = run["all"]
    cells = [
        (group["rpc_cycles"], 8, 0),
        (run["analytic_rpc_cycles"], 8, 0),
        (group["queued_cycles"], 7, 1),
        (group["rpc_on_core_cycles"], 8, 0),
        (group["function_cycles"], 9, 0),
        (group["stall_cycles"], 8, 0),
        (group["total_cycles"], 8, 0),
        (group["latency_p99_us"], 8, 2),
        (group["steered_ratio"], 8, 2),
    ]
    if not group["requests"]:
        return "".join(f"{'-':>{width}}" for _, width, _ in cells)
    return "".join(
        f"{'-' if value is None else f'{value:.{digits}f}':>{width}}"
        for value, width, digits in cells
    )


def _served(
    service: str | None,
    interface: Path | None,
    recording: Path | None,
    include_dirs: tuple[Path, ...],
) -> str | model.OwnService:
    """Return the service that the arguments name: one of the paper's five, or the user's own."""
    if interface is None and recording is None and not include_dirs:
        return service or "UID"
    if service is not None:
        raise refused("SERVICE", service, "must be left out with --interface")
    if interface is None:
        given = "--include-dir" if recording is None else "--recording"
        raise refused("--interface", LEFT_OUT, f"must be given together with {given}")
    if recording is None:
        raise refused("--recording", LEFT_OUT, "must be given together with --interface")
    missing = next((folder for folder in include_dirs if not folder.is_dir()), None)
    if missing is not None:
        raise refused("--include-dir", str(missing), "must be a folder that exists")
    return model.OwnService(interface, recording, include_dirs)


def _saturated(run: dict[str, Any], requests: int) -> str:
    """Return the warning that requests arrive faster than the design answers them."""
    waiting = run["saturated"]
    return (
        f"{'':14}CANNOT KEEP UP: {run['offered_rps']:,.0f} requests a second arrive,"
        f" {run['throughput_rps']:,.0f} are answered; when the last of {requests:,} arrives,"
        f" {waiting['waiting']:,} wait, mostly for {waiting['queue']}"
    )


_ROLES: Final = {"input": "in", "fit": "fit"}


@cerebros.command("figures")
@click.option(
    "--requests",
    default=model.REQUESTS,
    show_default=True,
    help="Requests of each run; runs of the service USR have ten times as many.",
)
@click.option(
    "--seed",
    default=1,
    show_default=True,
    help="First seed of arrivals and of the choice of functions.",
)
@click.option(
    "--replications",
    default=model.REPLICATIONS,
    show_default=True,
    help="Number of seeds, from --seed on.",
)
@REPORT
@_AS_JSON
def figures(
    requests: int, seed: int, replications: int, as_json: bool, report_file: Path | None
) -> None:
    """Compare simulated results with the numbers in the Cerebros paper's text.

    The numbers belong to Figs. 2 and 6 to 9. `in` marks a number of the paper that our simulated
    services are built from, and `fit` one that was used to choose parameters. All other rows are
    predictions. Ours are means over the seeds, with half the width of their 95 % intervals. A row
    that is off by more than a quarter is explained below it, unless the interval is too wide to
    decide.
    """
    check_report(report_file)
    settings = {"requests": requests, "seed": seed, "replications": replications}
    with busy(Console(stderr=True), "simulating"):
        result = interruptible(lambda: model.figures(**settings))
    if report_file is not None:
        written(figures_page(result.findings, settings, command_line(sys.argv)), report_file)
    if as_json:
        click.echo(json.dumps(result.to_dict(), indent=2))
        return
    click.echo(f"{'':55}{'paper':>13}{'ours':>12}{'+/-':>9}{'off by':>8}")
    for finding in result.findings:
        for line in _lines(finding):
            click.echo(line)


def _lines(finding: Finding) -> Iterator[str]:
    """Yield a row of the table, our result by other definitions, and the reason if it is off."""
    place = finding.experiment.removeprefix("Fig. ").removesuffix("services")
    paper = "-" if finding.paper is None else finding.paper.text
    off = "" if finding.difference is None else f"{abs(finding.difference):8.0%}"
    role = _ROLES.get(finding.use or "", "")
    yield f"{place:5}{finding.label:50}{paper:>13}{_ours(finding.ours)}{off} {role}".rstrip()
    for says, ours in finding.also:
        yield f"{'':7}{says:48}{'':13}{_ours(ours)}".rstrip()
    if finding.verdict is Verdict.OFF and finding.why is not None:
        yield f"     because: {finding.why.text}"


def _ours(ours: Estimate | None) -> str:
    """Return our figure and half of its confidence interval, in columns."""
    if ours is None:
        return f"{'-':>12}{'':9}"
    sure = "" if ours.half_width is None else f"{ours.half_width:.2g}"
    return f"{ours.mean:12.4g}{sure:>9}"


@cerebros.command("parameters")
@_AS_JSON
def parameters(as_json: bool) -> None:
    """List the simulated server's parameters with default, provenance and source."""
    rows = model.parameters()
    if as_json:
        click.echo(json.dumps([asdict(row) for row in rows], indent=2))
        return
    for row in rows:
        click.echo(f"{row.key:28}{row.default:>12g}  {row.provenance:8} {row.source}")
