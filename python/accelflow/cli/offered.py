"""Complete argument values when the user presses Tab in a shell."""

import glob
from collections.abc import Callable, Iterable
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from accelflow import parameters, simulation
from accelflow.chips import packaged
from accelflow.errors import InputError
from accelflow.workload import is_file

__all__ = [
    "chips",
    "names",
    "orchestrators",
    "parameter_keys",
    "services",
    "settings",
    "workloads",
]

#: A completion function of click: returns the values that begin with the typed text.
Completion = Callable[[click.Context, click.Parameter, str], list[str]]


def names(known: Iterable[str] | Callable[[], Iterable[str]]) -> Completion:
    """Return a completion function for the texts in `known`, or for those that `known` returns."""

    def complete(_: click.Context, __: click.Parameter, typed: str) -> list[str]:
        found = known() if callable(known) else known
        return [name for name in found if name.startswith(typed)]

    return complete


def orchestrators(_: click.Context, __: click.Parameter, typed: str) -> list[str]:
    """Complete the names of the systems that can be simulated."""
    return [name for name, _ in simulation.systems() if name.startswith(typed)]


def chips(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete the names of packaged chips, and files."""
    found = [CompletionItem(chip.name) for chip in packaged() if chip.name.startswith(typed)]
    return [*found, *click.Path(dir_okay=False).shell_complete(context, parameter, typed)]


def services(context: click.Context, _: click.Parameter, typed: str) -> list[str]:
    """Complete the names of services: of the workload on the command line, else of all suites.

    The workload is an argument or the option ``--workload`` or ``--into``.
    """
    arguments = [each.name for each in context.command.params if isinstance(each, click.Argument)]
    chosen = context.params.get("workload") or context.params.get("into")
    if not chosen and arguments[:1] == ["workload"] and context.args:
        chosen = context.args[0]  # click leaves arguments aside while an option lacks its value
    workloads = [str(chosen)] if chosen else simulation.WORKLOADS
    try:
        known = [service for workload in workloads for service in simulation.services(workload)]
    except InputError:
        known = []
    return [name for name in known if name.startswith(typed)]


def workloads(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """Complete the names of suites, and of files and folders in the working directory."""
    suites = names(simulation.WORKLOADS)(context, parameter, typed)
    here = sorted(Path().glob(glob.escape(typed) + "*"))
    files = [path for path in here if path.is_dir() or is_file(path.name)]
    return suites + [f"{path}/" if path.is_dir() else str(path) for path in files]


def settings(_: click.Context, __: click.Parameter, typed: str) -> list[str]:
    """Complete the parameters of the simulated server, as ``KEY=``, and the choices of each."""
    known = [
        f"{parameter.key}={choice}"
        for parameter in parameters.parameters()
        for choice in [choice.name for choice in parameter.choices] or [""]
    ]
    if "=" not in typed:
        known = list(dict.fromkeys(f"{each.partition('=')[0]}=" for each in known))
    return [each for each in known if each.startswith(typed)]


def parameter_keys(_: click.Context, __: click.Parameter, typed: str) -> list[str]:
    """Complete the keys of the parameters of all simulators and models."""
    known = parameters.engines(simulation.ASSUMED_TCP_COST_NS)
    keys = (parameter.key for engine in known for parameter in engine.parameters)
    return [key for key in keys if key.startswith(typed)]
