"""`accelflow relief-suite`: coarse-grained applications under RELIEF and AccelFlow."""

import json

import click
from rich.console import Console

from accelflow import relief_suite as model
from accelflow.cli.interrupts import interruptible
from accelflow.cli.output import busy


@click.command("relief-suite")
@click.option(
    "--reading",
    default="release",
    show_default=True,
    type=click.Choice(list(model.READINGS)),
    help="What the papers leave open. release: RELIEF's manager takes 2.0 us per interrupt, as in "
    "RELIEF's released code. The others change one point of it. text: the manager takes 1.5 us per "
    "task; by_pointer: AccelFlow passes results in memory; deadline: AccelFlow's queues are in "
    "order of deadline.",
)
@click.option("--graphs", default=330, show_default=True, help="Number of task graphs in a run.")
@click.option("--seed", default=1, show_default=True, help="Seed of random arrivals.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the results as one JSON object, not as text."
)
def relief_suite(reading: str, graphs: int, seed: int, as_json: bool) -> None:
    """Compare AccelFlow's throughput with RELIEF's for RELIEF's five applications.

    This is AccelFlow's Fig. 15. Ratios are AccelFlow's maximum throughput divided by RELIEF's, for
    several definitions of the maximum (docs/relief-suite.md).
    """
    warmup = min(30, graphs // 10)
    with busy(Console(stderr=True), "simulating"):
        result = interruptible(
            lambda: model.relief_suite(reading=reading, graphs=graphs, warmup=warmup, seed=seed)
        )
    if graphs - warmup < model.LEAST_COUNTED:
        click.echo(
            f"accelflow: warning: --graphs {graphs} is too short a run: of the {graphs - warmup}"
            " graphs after the warm-up, 1 % is less than one graph, so no graph may miss its"
            " deadline, and queues hardly fill",
            err=True,
        )
    if as_json:
        click.echo(json.dumps(result, indent=2))
        return
    click.echo("one graph alone, us (RELIEF's release in brackets)")
    click.echo(f"{'':8}{'tasks':>6}{'bottleneck':>14}{'RELIEF':>16}{'FCFS':>16}{'AccelFlow':>11}")
    for app in result["applications"]:
        systems, release = app["systems"], app["release"]
        click.echo(
            f"{app['application']:8}{app['tasks']:6}"
            f"{app['bottleneck_us']:6.0f} ({release['bottleneck_us']:5.0f})"
            f"{systems['relief']['solo_us']:8.0f} ({release['relief_us']:5.0f})"
            f"{systems['fcfs']['solo_us']:8.0f} ({release['fcfs_us']:5.0f})"
            f"{systems['accelflow']['solo_us']:11.0f}"
        )
    keys = [*model.DEFINITIONS, "bound"]
    click.echo("maximum throughput, AccelFlow over RELIEF")
    click.echo(" " * 12 + "".join(f"{key:>15}" for key in keys))
    rows = [(app["application"], app["ratio"]) for app in result["applications"]]
    for mean in ("arithmetic", "geometric"):
        rows.append((mean, {key: result["means"][key][mean] for key in keys}))
    for name, ratios in rows:
        cells = (ratios[key] for key in keys)
        click.echo(
            f"{name:12}" + "".join(f"{'-':>15}" if c is None else f"{c:15.2f}" for c in cells)
        )
    click.echo(
        "bound: the bottleneck unit computes all the time, over RELIEF's with one graph at a time"
    )
    click.echo(f"paper: {result['paper_mean_ratio']} on average, definition not stated")
