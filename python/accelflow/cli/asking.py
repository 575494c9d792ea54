"""Options of commands that simulate one system."""

import dataclasses
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import click
from click.core import ParameterSource

from accelflow import simulation
from accelflow.cli import offered
from accelflow.cli.assignments import read_settings
from accelflow.cli.chosen import chosen_chips
from accelflow.cli.doubts import plain_warnings
from accelflow.cli.naming import file_once
from accelflow.errors import refused

__all__ = ["one_system", "scenario_asked"]

_DEFAULT: Final = simulation.Scenario()
_SYSTEM: Final = "accelflow"

#: The function of a command.
Command = Callable[..., None]


def one_system(command: Command) -> Command:
    """Add to `command` the options of a simulation of one system, such as ``--workload``."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def scenario_asked(context: click.Context) -> simulation.Scenario:
    """Return the scenario set by the options of :func:`one_system` in `context`.

    Raises InputError for a value that is not allowed.
    """
    file = context.params["scenario_file"]
    base = simulation.read_scenario(file) if file else _DEFAULT
    fields = {field.name for field in dataclasses.fields(simulation.Scenario)}
    typed = {
        name: value
        for name, value in context.params.items()
        if name in fields and context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    }
    settings = read_settings(context.params["changes"])
    places = context.params["chip_places"]
    if len(places) > 1:
        raise refused("--chip", places[1], "must be given only once: one server is simulated")
    config, chips = chosen_chips(base, places, settings)
    if len(base.orchestrators) != 1:
        typed["orchestrators"] = context.params["orchestrators"]
    with plain_warnings():
        return simulation.loaded(replace(base, **typed, config=config, chips=chips))


_OPTIONS: Final = (
    click.option(
        "--workload",
        default=_DEFAULT.workload,
        show_default=True,
        metavar="NAME",
        help="The workload that has the service: a suite, or a file.",
        shell_complete=offered.workloads,
    ),
    file_once(
        "--scenario",
        "scenario_file",
        text="Take settings from a scenario file; options override them.",
    ),
    click.option(
        "--system",
        "orchestrators",
        default=_SYSTEM,
        show_default=True,
        callback=lambda _, __, name: (name,),
        metavar="NAME",
        help="The system to simulate. Without this option, that of a --scenario with one system.",
        shell_complete=offered.orchestrators,
    ),
    click.option(
        "--profile",
        type=click.Choice(simulation.PROFILES),
        help="Source of the costs, as for `accelflow compare`.",
    ),
    click.option(
        "--rate", "rate_rps", type=float, help="Mean rate of a service, in requests per second."
    ),
    click.option(
        "--arrivals",
        metavar="NAME",
        help="How requests arrive, as for `accelflow compare`.",
        shell_complete=offered.names(simulation.ARRIVALS),
    ),
    click.option(
        "--placement",
        metavar="NAME",
        help="colocated (default): all services on one server; isolated: one server each.",
        shell_complete=offered.names(simulation.PLACEMENTS),
    ),
    click.option(
        "--facts",
        metavar="NAME",
        help="How branches go: common, drawn or recorded, as for `accelflow compare`.",
        shell_complete=offered.names(simulation.FACTS),
    ),
    click.option(
        "--requests",
        type=int,
        default=_DEFAULT.requests,
        show_default=True,
        help="Requests of a service with the mean rate. The first tenth is warm-up, unless"
        " --scenario sets another number.",
    ),
    click.option(
        "--chip",
        "chip_places",
        multiple=True,
        metavar="FILE",
        help="The chip: a file or a name of `accelflow chip list`.",
        shell_complete=offered.chips,
    ),
    click.option(
        "--set",
        "changes",
        multiple=True,
        metavar="KEY=VALUE",
        help="Set a parameter of the chip; repeatable.",
        shell_complete=offered.settings,
    ),
    click.option(
        "--seed",
        type=int,
        default=_DEFAULT.seed,
        show_default=True,
        help="Seed of all random numbers.",
    ),
)
