"""`accelflow power`: maximum power of a server, and the energy of simulated runs."""

import json
from pathlib import Path
from typing import Any, Final

import click

from accelflow import chip
from accelflow.cli import offered
from accelflow.cli.assignments import read_assignments
from accelflow.cli.chosen import is_size, sized
from accelflow.cli.naming import left_out
from accelflow.errors import GIVEN, refused, unreadable
from accelflow.files import parse_json, read_text
from accelflow.report.paper import EXPERIMENT, other_experiment
from accelflow.report.results import Comparison

#: Half of the last digit of a share that is printed in percent with one decimal, as a ratio.
_HALF_A_DIGIT: Final = 0.0005
#: The energies of a request, by their keys in the results of :func:`accelflow.chip.energy`.
_ENERGIES: Final = {
    "joules_per_request": "all, with rest and leakage",
    "dynamic_joules_per_request": "beyond rest and leakage",
}


@click.command("power")
@click.argument("results", required=False, type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--chip",
    "place",
    metavar="FILE",
    help="The chip: a file, or a name that `accelflow chip list` shows.",
    shell_complete=offered.chips,
)
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="NAME=NUMBER",
    help="Change an input of the power or area model, or a parameter of the chip; repeatable.",
)
@click.option(
    "--inputs", "show_inputs", is_flag=True, help="List the model's inputs and their origins."
)
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON, not as text.")
def power(
    results: Path | None,
    place: str | None,
    changes: tuple[str, ...],
    show_inputs: bool,
    as_json: bool,
) -> None:
    """Print maximum power, or the energy of simulated runs.

    Without RESULTS, print the maximum power of accelerators and orchestration, compared with the
    paper's section VII.B.5. RESULTS is a JSON file of `accelflow compare`; its systems' energy is
    then printed, for each chip that the file names.
    """
    if as_json and results is None:
        context = click.get_current_context()
        allowed = {*context.params} - {"show_inputs"}
        left_out(context, " with --json, which prints them, too", allowed)
    given, sizes, note = _inputs(place, changes)
    if results is not None:
        if show_inputs:
            raise refused("--inputs", GIVEN, "must be left out with RESULTS")
        if place is not None or sizes:
            raise refused(
                "--chip" if place is not None else "--set",
                place or next(text for text in changes if is_size(_name(text))),
                "must be left out with RESULTS, a file that names its chip",
            )
        _print_energies(_read(results), given, as_json)
        return
    result = chip.power(given, sizes)
    if as_json:
        click.echo(json.dumps(result, indent=2))
    elif show_inputs:
        for row in result["inputs"]:
            click.echo(f"{row['name']:28}{row['value']:>9g}  {row['provenance']:11}{row['source']}")
    else:
        _print_power(result)
        if note:
            click.echo(note)


def _inputs(
    place: str | None, changes: tuple[str, ...]
) -> tuple[dict[str, float], dict[str, float], str]:
    """Return the inputs of the power and area models, and a note on changes that affect neither."""
    assigned = read_assignments(changes)
    given = {name: value for name, value in assigned.items() if not is_size(name)}
    asked = sized(place, [text for text in changes if is_size(_name(text))])
    return given, asked.inputs, asked.note


def _name(text: str) -> str:
    """Return the name in a text NAME=NUMBER."""
    return text.partition("=")[0].strip()


def _print_power(result: dict[str, Any]) -> None:
    server = result["total_max_w"]
    click.echo(f"{'maximum power':22}{'W':>8}{'share':>8}")
    for group in ("accelerators", "orchestration"):
        for name, watt in result[group].items():
            click.echo(f"  {name:20}{watt:8.2f}{watt / server:8.2%}")
        watt = result[f"{group}_max_w"]
        click.echo(f"{group:22}{watt:8.1f}{watt / server:8.1%}")
    rest = result["baseline_max_w"]
    click.echo(f"{'everything else':22}{rest:8.1f}{rest / server:8.1%}")
    click.echo(f"{'server':22}{server:8.1f}{1:8.1%}")
    click.echo()
    _print_derivation(result)
    click.echo()
    click.echo(
        f"a dispatcher's instruction {result['dispatcher_instruction_j'] * 1e12:.2f} pJ, a byte "
        f"moved {result['transfer_byte_j'] * 1e12:.2f} pJ, through a queue "
        f"{result['queue_byte_j'] * 1e12:.2f} pJ"
    )
    click.echo()
    click.echo(f"{'an RPC accelerator':22}{'mW':>8}{'times':>8}")
    for row in result["rpc_accelerators"]:
        times = row["over_shared_ratio"]
        click.echo(
            f"{row['place']:22}{row['max_w'] * 1e3:8.1f}"
            + (f"{'-':>8}" if times is None else f"{times:8.2f}")
        )


def _print_derivation(result: dict[str, Any]) -> None:
    """Print how the maximum of the paper's server follows from each of its two printed pairs."""
    inputs = {row["name"]: row["value"] for row in result["inputs"]}
    click.echo(
        "the maximum of the paper's server, from the printed figures of its parts (AccelFlow, "
        "section VII.B.5)"
    )
    for group in ("accelerators", "orchestration"):
        watt, share = inputs[f"{group}_max_w"], inputs[f"{group}_server_share"]
        if share <= _HALF_A_DIGIT:
            continue
        # Each printed number stands for all that round to it.
        low = (watt - 0.05) / (share + _HALF_A_DIGIT)
        high = (watt + 0.05) / (share - _HALF_A_DIGIT)
        click.echo(
            f"  {group:20}{watt:.1f} W are {share:.1%} of {watt / share:.1f} W; "
            f"as rounded, of {low:.1f} to {high:.1f} W"
        )
    low, high = result["server_max_range_w"]
    if high is None:
        both = f"at least {low:.1f} W"
    elif low <= high:
        both = f"{low:.1f} to {high:.1f} W"
    else:
        both = "nothing: the two contradict each other"
    click.echo(f"  {'both allow':20}{both}")
    click.echo(f"  {'taken here':20}{result['server_max_w']:.1f} W, which the accelerators give")
    if abs(result["total_max_w"] - result["server_max_w"]) >= 0.05:
        click.echo(f"  {'with this chip':20}{result['total_max_w']:.1f} W")


def _cell(value: float | None, digits: int) -> str:
    return f"{'-':>12}" if value is None else f"{value:12.{digits}f}"


def _print_energies(results: dict[str, Any], given: dict[str, float], as_json: bool) -> None:
    comparison = Comparison.from_dict(results)
    systems = comparison.source["systems"]
    asked = [(system["orchestrator"], system.get("chip")) for system in systems]
    energies = [chip.energy(results, name, changes=given, chip=on) for name, on in asked]
    if as_json:
        click.echo(json.dumps(energies, indent=2))
        return
    found = {
        name if on is None else f"{name} on {on}": energy
        for (name, on), energy in zip(asked, energies, strict=True)
    }
    width = max(16, *(len(name) + 1 for name in found)) if found else 16
    click.echo(f"{'':{width}}{'W':>8}{'requests/s':>12}{'mJ/request':>12}{'requests/J':>12}")
    for name, energy in found.items():
        joules = energy["joules_per_request"]
        cells = (
            _cell(energy["throughput_rps"], 0),
            _cell(None if joules is None else joules * 1e3, 2),
            _cell(energy["requests_per_joule"], 1),
        )
        click.echo(f"{name:{width}}{energy['power_w']['total_w']:8.1f}{''.join(cells)}")
    if (servers := max((energy["servers"] for energy in energies), default=1)) > 1:
        click.echo(f"watts are those of all {servers} servers")
    other = other_experiment(comparison)
    ours, base = found.get("accelflow"), found.get("non_acc")

    def beside(figure: str) -> str:
        return "" if other else f" (paper {figure})"

    if ours and base and ours["joules_per_request"] and base["joules_per_request"]:
        paper = chip.paper_energy()["energy_reduction_vs_non_acc_ratio"]
        click.echo(f"energy of a request, accelflow below non_acc{beside(f'{paper:.0%}')}:")
        for key, says in _ENERGIES.items():
            saved = f"{1 - ours[key] / base[key]:.1%}" if base[key] else "-"
            click.echo(f"  {says:32}{saved}")
    for rival in ("non_acc", "relief"):
        theirs = found.get(rival)
        if ours and theirs and theirs["requests_per_joule"]:
            ratio = ours["requests_per_joule"] / theirs["requests_per_joule"]
            paper = chip.paper_energy()[f"perf_per_watt_vs_{rival}_ratio"]
            click.echo(
                f"requests per joule of all energy, accelflow over {rival}: {ratio:.2f}"
                + beside(f"{paper:g}")
            )
    if other:
        click.echo(f"the paper's figures are not shown, since {other}; they apply to {EXPERIMENT}")


def _read(path: Path) -> dict[str, Any]:
    try:
        results = parse_json(read_text(path))
    except (OSError, ValueError) as error:
        raise unreadable("RESULTS", path, error) from error
    if not isinstance(results, dict):
        raise refused("RESULTS", str(path), "must be a file of results of `accelflow compare`")
    if custom := chip.custom_accelerators(results):
        allowed = (
            "must be results without custom accelerators, whose power the model does not know: they"
            f" have {', '.join(custom)}"
        )
        raise refused("RESULTS", str(path), allowed)
    return results
