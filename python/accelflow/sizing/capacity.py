"""The capacity of one server, and the limit that sets it."""

from __future__ import annotations

from dataclasses import dataclass


def elements_of(accelerator: str) -> str:
    """Return the name of an accelerator's processing elements in results: ``TCP elements``."""
    return f"{accelerator} elements"


@dataclass(frozen=True)
class Binding:
    """The limit that sets a server's capacity.

    `kind` is ``utilization`` (of the resource `name`), ``p99`` (of the service `name`, whose SLO is
    `slo_us`), ``saturated`` (the resource `name` cannot keep up) or ``idle``. With ``idle``, the
    service `name` has no capacity: its SLO, `slo_us`, is shorter than its P99 on an idle server,
    `idle_us`. Both times are in us. `idle_us` is None for the other kinds. `slo_us` is None for
    ``utilization`` and ``saturated``, and for a service that an idle server never answers.
    """

    kind: str
    name: str
    idle_us: float | None = None
    slo_us: float | None = None

    @property
    def text(self) -> str:
        """The limit as text, such as ``P99 of CPost``."""
        if self.kind == "utilization":
            return self.name
        if self.kind == "saturated":
            return f"{self.name} saturated"
        return f"P99 of {self.name}"


@dataclass(frozen=True)
class Capacity:
    """The capacity of a server: its largest `load`, and the limit that sets it, `binding`.

    `load` is the ratio of the server's rates to the rates of the whole fleet.
    """

    load: float
    binding: Binding
