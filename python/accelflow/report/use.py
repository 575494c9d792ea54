"""The utilisation of simulated servers over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["ServerUse", "read_use"]


@dataclass(frozen=True, kw_only=True)
class ServerUse:
    """The utilisation of one server over simulated time, until the last request arrives.

    `system` is the identifier of the system that it simulates, and `services` names the services on
    the server. Time is divided into intervals: that at index i is from `from_us[i]` to
    `until_us[i]`. `shares` maps each resource (cores, an accelerator, manager, A-DMA engines) to
    its utilisation (0 to 1) in every interval.
    """

    system: str
    services: tuple[str, ...]
    from_us: tuple[float, ...]
    until_us: tuple[float, ...]
    shares: Mapping[str, tuple[float, ...]]


def read_use(rows: Sequence[Mapping[str, Any]], systems: Sequence[str]) -> tuple[ServerUse, ...]:
    """Return the utilisation of each server over time, from the simulator's `rows`.

    `systems` has the identifiers of the systems in the order of the results.
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


#: The names of resources in tables, by the simulator's name, where these differ.
_NAMES = {"A-DMA": "A-DMA engines"}
