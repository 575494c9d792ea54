"""`accelflow profile`: a measured profile in categories that accelerators could take."""

import json
from pathlib import Path
from typing import Any

import click

from accelflow import profiles
from accelflow.profiles.rules import DEFAULT

_FILE = click.Path(path_type=Path, dir_okay=False)


def _print_rules(context: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked:
        click.echo(DEFAULT, nl=False)
        context.exit()


@click.command("profile")
@click.argument("file", type=_FILE, required=False)
@click.option("--rules", "rules_file", type=_FILE, metavar="FILE.toml", help="Rules of your own.")
@click.option(
    "--print-rules",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_rules,
    help="Print the built-in rules, to edit, and end.",
)
@click.option(
    "--acceleration",
    "acceleration_ratio",
    type=float,
    default=10.0,
    show_default=True,
    help="How many times as fast an accelerator of each category is.",
)
@click.option(
    "--sample-type",
    "--event",
    "sample_type",
    metavar="TYPE",
    help="What to weigh by: of pprof, cpu or cpu/nanoseconds; of perf script, cycles.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")
def profile(
    file: Path | None,
    rules_file: Path | None,
    acceleration_ratio: float,
    sample_type: str | None,
    *,
    as_json: bool,
) -> None:
    """Put the profile in FILE into the categories of the Accelerometer paper.

    FILE has folded stacks, what `perf script` prints, or a profile of pprof, gzipped or not. Shares
    are of all weight; speedups are bounds without any cost of offloading, which `accelflow
    accelerometer` takes into account.
    """
    if file is None:
        raise click.UsageError("Missing argument 'FILE'.", click.get_current_context())
    rules = profiles.Rules.read(rules_file) if rules_file else None
    read = profiles.read(file, sample_type=sample_type)
    result = profiles.breakdown(read, rules, acceleration_ratio=acceleration_ratio)
    if as_json:
        click.echo(json.dumps(result, indent=2))
        return
    if read.sample_type:
        others = [name for name in read.sample_types if name != read.sample_type]
        more = f"; there are also {', '.join(others)}" if others else ""
        click.echo(f"weighed by {read.sample_type}{more}")
    if "ipc" in result:
        click.echo(f"instructions per cycle (IPC): {result['ipc']:.2f}")
    for view, title in (("leaf", "leaf functions"), ("functionality", "functionalities")):
        fast = f"{acceleration_ratio:g}x"
        ipc = f"{'IPC':>8}" if "ipc" in result else ""
        click.echo(f"{title:24}{'share':>9}{fast:>10}{'removed':>10}{ipc}")
        for row in result[view]:
            if row["weight"]:
                click.echo(_line(row))
        click.echo(_unclassified(result[view][-1]))


def _unclassified(other: dict[str, Any]) -> str:
    """Say how much no rule claims, and what, so that rules can be added until it is small."""
    share = f"  unclassified: {100 * other['share_ratio']:.1f} %"
    heaviest = [
        f"{each['function']} ({100 * each['share_ratio']:.1f} %)" for each in other["functions"][:5]
    ]
    return f"{share}, mostly {', '.join(heaviest)}" if heaviest else share


def _line(row: dict[str, float | str | None]) -> str:
    ideal = row["ideal_speedup_percent"]
    bound = f"{'-':>10}" if ideal is None else f"{ideal:8.1f} %"
    ipc = f"{row['ipc']:8.2f}" if row.get("ipc") is not None else ""
    return (
        f"  {row['category']:22}{100 * float(row['share_ratio'] or 0):7.1f} %"
        f"{row['speedup_percent']:8.1f} %{bound}{ipc}"
    )
