"""`accelflow profile`: sort a measured profile into categories of accelerators."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click

from accelflow import profiles
from accelflow.cli.naming import left_out
from accelflow.cli.places import WRITTEN_FOLDER
from accelflow.cli.printed_rules import RulesCommand, print_rules
from accelflow.errors import GIVEN, refused, unwritable
from accelflow.profiles.references import compared
from accelflow.profiles.rules import DEFAULT

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("profile", cls=RulesCommand)
@click.argument("files", type=_FILE, nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--rules",
    "rules_file",
    type=_FILE,
    metavar="FILE.toml",
    help="Classification rules to use instead of the built-in ones.",
)
@print_rules(DEFAULT)
@click.option(
    "--acceleration",
    "acceleration_ratio",
    type=float,
    default=10.0,
    show_default=True,
    help="Assumed factor by which an accelerator speeds up the work of a category.",
)
@click.option(
    "--sample-type",
    "--event",
    "sample_type",
    metavar="TYPE",
    help="What weighs the samples: a sample type of pprof, such as cpu, or an event of perf, such"
    " as cycles.",
)
@click.option(
    "--details",
    is_flag=True,
    help="Also show the kinds of leaf functions, and their callers (the paper's Figs. 3 to 7).",
)
@click.option(
    "--requests",
    metavar="N,N",
    help="With several FILES: the number of requests that were served while each FILE was recorded,"
    " in the order of FILES. Default: equal numbers.",
)
@click.option(
    "--plot",
    "directory",
    type=WRITTEN_FOLDER,
    metavar="DIR",
    help="Write pictures into DIR, in the form of Accelerometer's Figs. 1 to 10, and 16 to 18 for"
    " several FILES.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print the results as one JSON object, not as text."
)
def profile(  # noqa: PLR0913  the options of the command
    files: tuple[Path, ...],
    rules_file: Path | None,
    acceleration_ratio: float,
    sample_type: str | None,
    requests: str | None,
    *,
    directory: Path | None,
    details: bool,
    as_json: bool,
) -> None:
    """Sort a profile into Accelerometer's categories.

    The categories are those of the paper's Tables 2 and 3. FILE has folded stacks, the output of
    `perf script`, or a pprof profile, gzipped or not. Shares are of the total weight. Speedups are
    upper bounds that ignore the cost of offloading; `accelflow accelerometer` includes it. Several
    FILES are compared with the first, such as profiles before and after a change, or of one service
    on several machines.
    """
    _check_files(files, sample_type, details=details)
    if as_json:
        context = click.get_current_context()
        left_out(context, " with --json, which prints all", {*context.params} - {"details"})
    if requests is not None and len(files) == 1:
        raise refused("--requests", requests, "must be left out for a single profile")
    rules = profiles.Rules.read(rules_file) if rules_file else None
    read = [profiles.read(file, sample_type=sample_type) for file in files]
    results = [
        profiles.breakdown(each, rules, acceleration_ratio=acceleration_ratio) for each in read
    ]
    by_name = dict(zip(_names(files), results, strict=True))
    together = profiles.compare(by_name, _counts(requests))
    if directory is not None:
        from accelflow.profiles.plots import write_plots  # noqa: PLC0415  matplotlib loads slowly

        try:
            for path in write_plots(together, by_name, directory):
                click.echo(f"wrote {path}", err=True)
        except OSError as error:
            raise unwritable("--plot", directory, error) from error
    if len(files) > 1:
        text = json.dumps(together, indent=2) if as_json else "\n".join(_side_by_side(together))
        click.echo(text)
    elif as_json:
        click.echo(json.dumps(results[0], indent=2))
    else:
        fast = f"{acceleration_ratio:g}x"
        click.echo("\n".join(_text(read[0], results[0], fast, details=details)))


def _check_files(files: tuple[Path, ...], sample_type: str | None, *, details: bool) -> None:
    """Raise InputError for a file that is given twice, and for options that have no effect."""
    for index, file in enumerate(files):
        if file in files[:index]:
            raise refused("FILE", str(file), "must be given only once")
    if details and len(files) > 1:
        raise refused("--details", GIVEN, "must be left out for several profiles")
    if sample_type == "":
        raise refused("--sample-type", sample_type, "must be the name of a sample type, not empty")


def _names(files: tuple[Path, ...]) -> list[str]:
    """Return the files' names, with the folders where two files have the same name."""
    names = [file.name for file in files]
    return [str(f) if names.count(f.name) > 1 else f.name for f in files]


def _counts(requests: str | None) -> list[float] | None:
    if requests is None:
        return None
    try:
        return [float(each) for each in requests.split(",")]
    except ValueError:
        raise refused(
            "--requests", requests, "must be numbers separated by commas, such as 1000,1140"
        ) from None


_VIEWS: Final = (("leaf", "leaf functions"), ("functionality", "functionalities"))


def _text(
    read: profiles.Profile, result: dict[str, Any], fast: str, *, details: bool
) -> Iterator[str]:
    if read.sample_type:
        others = [name for name in read.sample_types if name != read.sample_type]
        more = f"; there are also {', '.join(others)}" if others else ""
        yield f"weighed by {read.sample_type}{more}"
    if "ipc" in result:
        yield f"instructions per cycle (IPC): {result['ipc']:.2f}"
    for view, title in _VIEWS:
        ipc = f"{'instr.':>10}{'IPC':>8}" if "ipc" in result else ""
        yield f"{title:24}{'share':>9}{fast:>10}{'removed':>10}{ipc}"
        for row in result[view]:
            if row["weight"]:
                yield _line(row)
        yield _unclassified(result[view][-1])
    if details:
        yield from _details(result)


def _details(result: dict[str, Any]) -> Iterator[str]:
    around = result["orchestration"]
    bound = around["core_removed_percent"]
    removed = "" if not bound else f"; {bound:.1f} % faster at most without the core work"
    yield (
        f"core work {100 * around['core_ratio']:.1f} %, orchestration"
        f" {100 * around['orchestration_ratio']:.1f} %, unclassified"
        f" {100 * around['unknown_ratio']:.1f} %{removed}"
    )
    for leaf, parts in result["details"]["parts"].items():
        yield f"parts of {leaf}: {_list(parts)}"
    for leaf, purposes in result["details"]["by_functionality"].items():
        if leaf != profiles.OTHER:
            yield f"{leaf} by functionality: {_list(purposes)}"
    for row in compared(result):
        known = row["reference"]
        *others, last = row["parts"] or ("",)
        parts = f", {', '.join(others)}{' and ' if others else ''}{last} alone" if last else ""
        yield (
            f"{row['category']}{parts}: {100 * row['share_ratio']:.1f} % here, {known.text} in"
            f" {known.subject} (Accelerometer, {known.place})"
        )
    if "ipc" in result:
        yield (
            f"IPC: {result['ipc']:.2f} here; the paper's leaf functions use less than half of a"
            f" peak of {profiles.peak_ipc():.1f} (section 2.3.5)"
        )


def _list(shares: dict[str, float]) -> str:
    return ", ".join(f"{name} {100 * share:.1f} %" for name, share in shares.items())


def _side_by_side(together: dict[str, Any]) -> Iterator[str]:
    """Yield lines: each category's share of the first profile's total, and changes from it."""
    names = together["names"]
    width = max(*map(len, names), 9) + 2
    measured = any(each is not None for each in together["ipc"])
    for view, title in _VIEWS:
        head = "".join(f"{name:>{width}}{'change':>9}" for name in names[1:])
        ipc = "".join(f"{f'IPC {i + 1}':>8}" for i in range(len(names))) if measured else ""
        yield f"{title:24}{names[0]:>{width}}{head}{ipc}"
        for row in together[view]:
            each = row["profiles"]
            if any(profile["share_of_first_ratio"] for profile in each):
                line = f"  {row['category']:22}{_share(each[0], width)}"
                for profile in each[1:]:
                    change = profile["change_ratio"]
                    moved = "new" if change is None else f"{100 * (round(change, 6) + 0.0):+.1f} %"
                    line += f"{_share(profile, width)}{moved:>9}"
                if measured:
                    line += "".join(
                        f"{'-' if profile['ipc'] is None else format(profile['ipc'], '.2f'):>8}"
                        for profile in each
                    )
                yield line
    for name, freed, speedup in zip(
        names[1:], together["freed_ratio"][1:], together["speedup_ratio"][1:], strict=True
    ):
        yield _freed(name, names[0], freed, speedup)


def _freed(name: str, first: str, freed: float, speedup: float) -> str:
    """Return a sentence on the cycles that the profile `name` saves, or needs beyond the first."""
    more = 100 * abs(speedup - 1)
    if freed < 0:
        return (
            f"{name}: {-100 * freed:.1f} % more cycles than {first}, the same cycles serve"
            f" {more:.1f} % fewer requests"
        )
    return (
        f"{name}: {100 * freed:.1f} % of the cycles of {first} freed, the same cycles serve"
        f" {more:.1f} % more requests"
    )


def _share(profile: dict[str, Any], width: int) -> str:
    return f"{100 * profile['share_of_first_ratio']:{width - 2}.1f} %"


def _unclassified(other: dict[str, Any]) -> str:
    """Return a text on samples that no rule matches: their share and heaviest functions."""
    share = f"  unclassified: {100 * other['share_ratio']:.1f} %"
    heaviest = [
        f"{each['function']} ({100 * each['share_ratio']:.1f} %)" for each in other["functions"][:5]
    ]
    return f"{share}, mostly {', '.join(heaviest)}" if heaviest else share


def _line(row: dict[str, float | str | None]) -> str:
    ideal = row["ideal_speedup_percent"]
    bound = f"{'-':>10}" if ideal is None else f"{ideal:8.1f} %"
    ipc = ""
    if row.get("ipc") is not None:
        ipc = f"{100 * float(row['instructions_ratio'] or 0):8.1f} %{row['ipc']:8.2f}"
    return (
        f"  {row['category']:22}{100 * float(row['share_ratio'] or 0):7.1f} %"
        f"{row['speedup_percent']:8.1f} %{bound}{ipc}"
    )
