"""`accelflow arcus`: traffic shaping for tenants who share accelerators."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console

from accelflow import arcus as shaping
from accelflow.cli.arcus_plan import plan, profile
from accelflow.cli.interrupts import interruptible
from accelflow.cli.listing import Group
from accelflow.cli.output import busy
from accelflow.cli.pages import REPORT, check_report, written
from accelflow.page import command_line
from accelflow.reports.arcus import experiment_page

#: The option ``--json`` of the commands.
AS_JSON = click.option(
    "--json", "as_json", is_flag=True, help="Print the results as one JSON object, not as text."
)


@click.group("arcus", cls=Group, no_args_is_help=True)
def arcus() -> None:
    """Shape the traffic of tenants who share accelerators.

    The commands cover ARCUS's mechanism, control plane and experiments. `plan` admits flows with
    SLOs and chooses the registers of their shapers. `shape` shows the rate and burst that registers
    allow. The experiments compare our results with the paper's; --json adds the curves.
    """


@arcus.command("table2")
@AS_JSON
def table2(as_json: bool) -> None:
    """Print ARCUS's Table 2: the registers for 1 to 1,000 Gbit/s, and the rates they give."""
    result = shaping.table2()
    if as_json:
        click.echo(json.dumps(result, indent=2))
        return
    click.echo(f"{'paper':>10}{'ours':>10}{'ratio':>7}{'refill':>9}{'bucket':>11}{'interval':>10}")
    click.echo(f"{'Gbit/s':>10}{'Gbit/s':>10}{'':7}{'bytes':>9}{'bytes':>11}{'cycles':>10}")
    for row in result["rows"]:
        paper, ours = row["paper_gbit_per_s"], row["gbit_per_s"]
        capped = row["bytes_per_interval"] < row["refill_bytes"]
        line = (
            f"{paper:10,.0f}{ours:10,.2f}{ours / paper:7.3f}{row['refill_bytes']:9,}"
            f"{row['bucket_bytes']:11,}{row['interval_cycles']:10,}"
        )
        click.echo(line + ("  the bucket caps the refill" if capped else ""))


_Command = TypeVar("_Command", bound=Callable[..., Any])


def _number(name: str, meaning: str) -> Callable[[_Command], _Command]:
    return click.option(name, type=int, required=True, metavar="N", help=meaning)


@arcus.command("shape")
@_number("--refill", "Tokens that are added after each interval.")
@_number("--bucket", "Largest number of tokens in the bucket.")
@_number("--interval", "Cycles from one refill to the next.")
@click.option(
    "--clock-mhz",
    type=float,
    default=shaping.CLOCK_MHZ,
    show_default=True,
    help="Rate of the clock that counts the cycles, in MHz.",
)
@click.option(
    "--unit",
    type=click.Choice(shaping.UNITS),
    default="bytes",
    show_default=True,
    help="What one token stands for: a byte or an operation.",
)
@AS_JSON
def shape(as_json: bool, **registers: Any) -> None:
    """Print the rate and the burst that the registers of a traffic shaper allow."""
    limiter = shaping.RateLimiter(**registers)
    result = shaping.shape(limiter)
    if as_json:
        click.echo(json.dumps(result, indent=2))
        return
    unit, each = result["unit"], result["tokens_per_interval"]
    if unit == "bytes":
        rate = f"{result['gbit_per_s']:,.6g} Gbit/s"
    else:
        rate = f"{result['tokens_per_s']:,.6g} operations/s"
    click.echo(f"rate   {rate}: {each:,} {unit} every {result['interval_ns']:,.6g} ns")
    if each < limiter.refill:
        click.echo(f"       the bucket caps the refill of {limiter.refill:,}")
    most = result["most_tokens_within_an_interval"]
    click.echo(
        f"burst  {limiter.bucket:,} {unit} at once, at most {most:,} within any "
        f"{limiter.interval:,} cycles"
    )


@arcus.command("parameters")
@AS_JSON
def parameters(as_json: bool) -> None:
    """List the parameters of traffic shaper and simulated platform, with their origins."""
    table = shaping.parameters()
    if as_json:
        click.echo(json.dumps(table, indent=2))
        return
    for row in table:
        value = f"{row['value']:g} {row['unit']}".rstrip()
        click.echo(f"{row['key']:26} {value:17} {row['provenance']:8} {row['source']}")


def _paper(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, dict):
        (kind, end), *_ = value.items()
        return f"{kind.replace('_', ' ')} {end:g}"
    if isinstance(value, list):
        return f"{value[0]:g} to {value[1]:g}"
    return f"{value:,.4g}"


def _print_report(report: dict[str, Any]) -> None:
    click.echo(report["title"])
    width = max(len(row["what"]) for row in report["rows"]) + 2
    systems = max(len(row["system"]) for row in report["rows"])
    if systems:
        width += systems + 2
    seeds = [report["seed"] + number for number in range(report["replications"])]
    if len(seeds) > 1:
        click.echo(f"means over seeds {seeds[0]} to {seeds[-1]}, +/- half of the 95 % interval")
    click.echo(f"{'':{width}}{'ours':>10}{'+/-':>9}{'paper':>14}{'difference':>12}")
    reasons: dict[str, None] = {}
    for row in report["rows"]:
        name = f"{row['system']:{systems}}  {row['what']}" if systems else row["what"]
        difference = "" if row["difference"] is None else f"{row['difference']:+.1%}"
        mark = ""
        if row["why"]:
            reasons.setdefault(row["why"])
            mark = f"  [{list(reasons).index(row['why']) + 1}]"
        paper = _paper(row["paper"])
        sure = "" if row["half_width"] is None else f"{row['half_width']:.2g}"
        line = f"{name:{width}}{row['ours']:10,.4g}{sure:>9}{paper:>14}{difference:>12}"
        click.echo(f"{line}  {row['unit']}{mark}".rstrip())
    for number, why in enumerate(reasons, start=1):
        click.echo(f"[{number}] {why}")


def _experiment(name: str, title: str) -> click.Command:
    @click.command(name, help=f"{title}.", short_help=title)
    @click.option(
        "--seed", type=int, default=1, show_default=True, help="First seed of the simulations."
    )
    @click.option(
        "--replications",
        type=int,
        help="Number of seeds, from --seed on. Default: the experiment's own.",
    )
    @click.option(
        "--threads",
        type=int,
        default=1,
        show_default=True,
        help="Number of parallel simulations; does not change results.",
    )
    @REPORT
    @AS_JSON
    def command(
        seed: int,
        replications: int | None,
        threads: int,
        as_json: bool,
        report_file: Path | None,
    ) -> None:
        check_report(report_file)
        with busy(Console(stderr=True), "simulating"):
            report = interruptible(
                lambda: shaping.experiment(
                    name, seed=seed, replications=replications, threads=threads
                )
            )
        if report_file is not None:
            written(experiment_page(report, command_line(sys.argv)), report_file)
        if as_json:
            click.echo(json.dumps(report, indent=2))
        else:
            _print_report(report)

    return command


for _name, _title in shaping.experiments().items():
    arcus.add_command(_experiment(_name, _title))


arcus.add_command(plan)
arcus.add_command(profile)
