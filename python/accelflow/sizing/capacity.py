"""The capacity of one server, and the limit that sets it."""

from __future__ import annotations

from dataclasses import dataclass


def elements_of(accelerator: str) -> str:
    """Return the name in results of a resource: the processing elements of `accelerator`."""
    return f"{accelerator} elements"


@dataclass(frozen=True)
class Binding:
    """What limits a server's capacity.

    `kind` is ``utilization`` (of the resource `name`), ``p99`` (of the service `name`, whose SLO is
    `slo_us`), ``saturated`` (the resource `name`) or ``idle``: the SLO of the service `name` is
    shorter than its P99 on an idle server, `idle_us`.
    """

    kind: str
    name: str
    idle_us: float | None = None
    slo_us: float | None = None

    @property
    def text(self) -> str:
        """The limit in words, such as ``P99 of CPost``."""
        if self.kind == "utilization":
            return self.name
        if self.kind == "saturated":
            return f"{self.name} saturated"
        return f"P99 of {self.name}"


@dataclass(frozen=True)
class Capacity:
    """The capacity of a server: the largest `load`, a multiple of all rates, and what limits it."""

    load: float
    binding: Binding
