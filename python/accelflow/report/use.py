"""The utilisation of servers over time, from the simulator's results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["ServerUse", "read_use"]


@dataclass(frozen=True, kw_only=True)
class ServerUse:
    """The utilisation of a server under a system, from its start to the last arrival.

    `system` is the system's identifier and `services` are those on the server. Interval number i is
    from `from_us[i]` to `until_us[i]` of simulated time. `shares` has each resource's utilisation
    (0 to 1) per interval: cores, accelerators by name, manager, A-DMA engines.
    """

    system: str
    services: tuple[str, ...]
    from_us: tuple[float, ...]
    until_us: tuple[float, ...]
    shares: Mapping[str, tuple[float, ...]]


def read_use(rows: Sequence[Mapping[str, Any]], systems: Sequence[str]) -> tuple[ServerUse, ...]:
    """Return the utilisation of each server, from the rows of the simulator.

    `systems` are the identifiers in the order of the results.
    """
    return tuple(
        ServerUse(
            system=systems[row["system"]],
            services=tuple(row["services"]),
            from_us=tuple(row["from_us"]),
            until_us=tuple(row["until_us"]),
            shares={_NAMES.get(name, name): tuple(own) for name, own in row["shares"].items()},
        )
        for row in rows
    )


#: Names of resources as tables have them.
_NAMES = {"A-DMA": "A-DMA engines"}
