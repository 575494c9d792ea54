"""`accelflow profile`: sorts a measured profile into categories that accelerators could take."""

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
@click.option(
    "--rules",
    "rules_file",
    type=_FILE,
    metavar="FILE.toml",
    help="Classification rules to use instead of the built-in ones.",
)
@click.option(
    "--print-rules",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_rules,
    help="Print the built-in rules, for editing, and exit.",
)
@click.option(
    "--acceleration",
    "acceleration_ratio",
    type=float,
    default=10.0,
    show_default=True,
    help="Speedup of a category by its accelerator.",
)
@click.option(
    "--sample-type",
    "--event",
    "sample_type",
    metavar="TYPE",
    help="Sample type or event to weigh by: for pprof cpu or cpu/nanoseconds, for perf cycles.",
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
    """Sort a profile into Accelerometer's categories.

    The categories are those of the paper's Tables 2 and 3. FILE has folded stacks, the output of
    `perf script`, or a pprof profile, gzipped or not. Shares are of the total weight. Speedups are
    upper bounds that ignore the cost of offloading; `accelflow accelerometer` includes it.
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
    """The share that no rule claims and its heaviest functions, so that users can add rules."""
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
