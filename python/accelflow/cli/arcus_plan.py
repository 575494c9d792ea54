"""`accelflow arcus plan` and `accelflow arcus profile`: flows with promises on a platform."""

import json
import sys
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console

from accelflow import arcus
from accelflow.cli.interrupts import interruptible
from accelflow.cli.output import busy
from accelflow.cli.pages import REPORT, check_report, written
from accelflow.cli.places import written_as
from accelflow.errors import LEFT_OUT, refused, unwritable
from accelflow.files import write_whole
from accelflow.page import command_line
from accelflow.reports.arcus import plan_page, used

__all__ = ["plan", "profile"]

_AS_JSON = click.option(
    "--json", "as_json", is_flag=True, help="Print the results as one JSON object, not as text."
)
_FILE = click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))

#: The printed verdicts of a plan.
_VERDICTS: Final = {"below": "BELOW ITS SLO"}


@click.command("plan")
@_FILE
@click.option(
    "--profiles",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Take the simulated rates of mixtures of traffic from this file, which `accelflow arcus"
    " profile --out` wrote.",
)
@REPORT
@_AS_JSON
@click.pass_context
def plan(
    context: click.Context,
    file: Path,
    profiles: Path | None,
    as_json: bool,
    report_file: Path | None,
) -> None:
    """Admit the flows of FILE, set their traffic shapers, and run them with and without shaping.

    The columns refill, bucket and interval are the registers of a flow's shaper. The last columns
    are the rate promised to each flow, the flow's rates with ARCUS and without shaping, and whether
    ARCUS kept the promise. A star marks a rate below the promise. The last table is the share of
    the time in which each link, accelerator, port and SSD was in use. Exits with 1 if ARCUS broke a
    promise or admitted no flow.
    """
    check_report(report_file)
    with busy(Console(stderr=True), "simulating"):
        table = None if profiles is None else arcus.read_profiles(profiles)
        result = interruptible(lambda: arcus.plan(arcus.read_plan(file), profiles=table))
    if report_file is not None:
        written(plan_page(result, command_line(sys.argv)), report_file)
    if as_json:
        click.echo(json.dumps(result, indent=2))
    else:
        _print_plan(result)
    for warning in result["warnings"]:
        click.echo(f"accelflow: warning: {warning}", err=True)
    verdicts = [flow["verdict"]["Arcus"] for flow in result["admitted"]]
    if "below" in verdicts or not verdicts:
        context.exit(1)


def _got(flow: dict[str, Any], run: str, width: int) -> str:
    """Return a flow's rate in a run, in Gbit/s, with a star if the rate is below the promise."""
    gbit_per_s = flow["gbit_per_s"][run]
    mark = "*" if flow["rate_verdict"][run] == "below" else " "
    return f"{'-' if gbit_per_s is None else f'{gbit_per_s:.3f}':>{width}}{mark}"


def _print_plan(result: dict[str, Any]) -> None:
    click.echo(
        f"{'flow':12}{'accelerator':16}{'policy':15}{'refill':>8}{'bucket':>8}{'interval':>10}"
        f"{'SLO':>10}{'Arcus':>10} {'no shaping':>12}  Gbit/s"
    )
    for flow in result["admitted"]:
        _print_flow(flow)
    for flow in result["rejected"]:
        click.echo(
            f"{flow['name']:12}rejected: {flow['asked_gbit_per_s']:.3f} Gbit/s of "
            f"{flow['accelerator']} asked, {flow['left_gbit_per_s']:.3f} left"
        )
    resources = used(result)
    if resources:
        click.echo(f"{'in use':76}{'Arcus':>10} {'no shaping':>12}  %")
    for resource in resources:
        got, unshaped = (100 * resource["utilisation"][run] for run in ("Arcus", "Host_noTS"))
        click.echo(f"  {resource['resource']:74}{got:10.1f} {unshaped:12.1f}")


def _print_flow(flow: dict[str, Any]) -> None:
    number = "" if flow["instance"] is None else f"#{flow['instance']}"
    place = f"{flow['accelerator']}{number}" if len(flow["route"]) < 2 else "+".join(flow["route"])
    slo = "-" if flow["slo_gbit_per_s"] is None else f"{flow['slo_gbit_per_s']:.3f}"
    verdict = flow["verdict"]["Arcus"]
    got = _got(flow, "Arcus", 10) + _got(flow, "Host_noTS", 12)
    click.echo(
        f"{flow['name']:11} {place:15} {flow['policy']:14}  {flow['refill']:7,} {flow['bucket']:7,}"
        f" {flow['interval_cycles']:9,}{slo:>10}{got} {_VERDICTS.get(verdict, verdict)}"
    )
    if flow["also"]:
        also = flow["also"]
        click.echo(
            f"{'':43} {also['refill']:7,} {also['bucket']:7,} {also['interval_cycles']:9,}"
            f"  in {also['unit']}"
        )
    if flow["results"]:
        results = flow["results"]
        click.echo(
            f"{'':43} {results['refill']:7,} {results['bucket']:7,} {results['interval_cycles']:9,}"
            "  in bytes of results, before the storage"
        )
    if flow["registered_us"] or flow["released_us"] is not None:
        released = flow["released_us"]
        end = "" if released is None else f", released at {released:,.0f} us"
        click.echo(f"{'':12}registered at {flow['registered_us']:,.0f} us{end}")
    for line in _promises(flow):
        click.echo(f"{'':12}{line}")


def _promises(flow: dict[str, Any]) -> list[str]:
    """Return lines on a flow: its other path, promises beyond a mean rate, predicted violation."""
    lines = []
    if flow["path"] != flow["asked_path"]:
        lines.append(f"on {flow['path']}, which has capacity, instead of {flow['asked_path']}")
    periods, latency = flow["slo"]["periods"], flow["slo"]["latency"]
    if periods is not None:
        kept = {
            run: "-" if share is None else f"{share:.2f} %"
            for run, share in periods["kept_percent"].items()
        }
        verdict = periods["verdict"]["Arcus"]
        lines.append(
            f"rate in {periods['percent']:g} % of periods of {periods['period_us']:,g} us: "
            f"{kept['Arcus']} (no shaping {kept['Host_noTS']}) {_VERDICTS.get(verdict, verdict)}"
        )
    if latency is not None:
        got = {
            run: "-" if value is None else f"{value:,.2f} us"
            for run, value in latency["got_us"].items()
        }
        verdict = latency["verdict"]["Arcus"]
        lines.append(
            f"P{latency['percentile']:g} within {latency['latency_us']:,g} us: {got['Arcus']} "
            f"(no shaping {got['Host_noTS']}) {_VERDICTS.get(verdict, verdict)}"
        )
    predicted, slo = flow["predicted_gbit_per_s"], flow["slo_gbit_per_s"]
    if predicted is not None and predicted < 0.99 * slo:
        lines.append(f"predicted violation: {predicted:.3f} Gbit/s while all use their promises")
    return lines


@click.command("profile")
@_FILE
@click.option(
    "--size",
    "sizes",
    type=int,
    multiple=True,
    metavar="BYTES",
    help="Also profile messages of this size, for tenants that come later; repeatable.",
)
@click.option(
    "--path",
    "paths",
    multiple=True,
    metavar="PATH",
    help="With --size: a path of these messages, such as inline_tx; repeatable. Default: all.",
)
@click.option(
    "--most",
    type=int,
    default=2,
    show_default=True,
    help="Mix up to this many kinds of traffic (a route and a message size), and combine up to this"
    " many flows.",
)
@click.option(
    "--threads",
    type=int,
    default=1,
    show_default=True,
    help="Number of parallel simulations; does not change results.",
)
@click.option(
    "--out",
    type=written_as(".json"),
    metavar="FILE.json",
    help="Write the table to this file, for `accelflow arcus plan --profiles`.",
)
@_AS_JSON
def profile(file: Path, out: Path | None, as_json: bool, **options: Any) -> None:
    """Simulate the mixtures of traffic (contexts) that FILE's flows can form, on all their routes.

    A combination of flows is SLO-Friendly if the platform meets the SLOs of all of them at once,
    and otherwise SLO-Violating. With --size, FILE may have no flows: the results then serve tenants
    that come later.
    """
    if options["paths"] and not options["sizes"]:
        raise refused("--size", LEFT_OUT, "must be given together with --path")
    with busy(Console(stderr=True), "simulating"):
        table = interruptible(lambda: arcus.profile(arcus.read_plan(file), **options))
    text = json.dumps(table, indent=2) + "\n"
    if out is not None:
        try:
            write_whole(out, lambda path: path.write_text(text, encoding="utf-8"))
        except OSError as error:
            raise unwritable("--out", out, error) from error
    if as_json:
        click.echo(text, nl=False)
        return
    contexts = len(table["entries"])
    click.echo(f"{contexts:,} contexts of messages of {', '.join(map(str, table['sizes']))} bytes")
    click.echo(f"{'SLOs':>10}{'capacity':>10}  {'Gbit/s':14}flows")
    for row in table["combinations"]:
        flows = " + ".join(_route(flow) for flow in row["flows"])
        click.echo(
            f"{row['asked_gbit_per_s']:10.3f}{row['gbit_per_s']:10.3f}  {row['tag']:14}{flows}"
        )


def _route(flow: dict[str, Any]) -> str:
    places = [flow["path"], *flow["accelerators"]]
    engine = f" by engine {flow['engine']}" if flow["engine"] else ""
    return f"{flow['flow']} ({' '.join(places)}{engine})"
