"""Values that a shell offers while an argument is typed."""

from collections.abc import Callable, Iterable

import click

from accelflow import parameters, simulation

__all__ = ["names", "orchestrators", "parameter_keys", "services"]

#: What click asks for the values of an argument: those that begin with what has been typed.
Completion = Callable[[click.Context, click.Parameter, str], list[str]]


def names(known: Iterable[str] | Callable[[], Iterable[str]]) -> Completion:
    """Offer `known`, or what it returns when a shell asks."""

    def complete(_: click.Context, __: click.Parameter, typed: str) -> list[str]:
        found = known() if callable(known) else known
        return [name for name in found if name.startswith(typed)]

    return complete


def orchestrators(_: click.Context, __: click.Parameter, typed: str) -> list[str]:
    """Offer the systems that can be simulated."""
    return [name for name, _ in simulation.systems() if name.startswith(typed)]


def services(context: click.Context, _: click.Parameter, typed: str) -> list[str]:
    """Offer the services of the workload that has been typed, or of all."""
    chosen = context.params.get("workload")
    workloads = [chosen] if chosen in simulation.WORKLOADS else simulation.WORKLOADS
    known = [service for workload in workloads for service in simulation.services(workload)]
    return [name for name in known if name.startswith(typed)]


def parameter_keys(_: click.Context, __: click.Parameter, typed: str) -> list[str]:
    """Offer the parameters of the simulated server."""
    return [one.key for one in parameters.parameters() if one.key.startswith(typed)]
