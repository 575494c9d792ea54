"""The power of one server by the power model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from accelflow import chip

__all__ = ["BASELINE", "modelled_w", "simulated_w"]

#: The system whose servers have no chip, with which break-even prices compare.
BASELINE: Final = "non_acc"


def modelled_w(system: str, cores: float, elements: float, config: Mapping[str, float]) -> float:
    """Return the power of a server under `system` in watts, from utilisations between 0 and 1.

    `cores` is the utilisation of the cores, and `elements` the mean utilisation of the
    accelerators' processing elements. Power has a part at rest, the leakage of accelerators
    included, a part that grows with `cores`, and with accelerators a part that grows with
    `elements`. `config` has the server's parameters. Dispatchers and transfers, some thousandth of
    the power, are left out.
    """
    return chip.server_w(system, cores=cores, elements=elements, sizes=chip.sizes(config))


def simulated_w(
    results: Mapping[str, Any],
    system: str,
    cores: float,
    elements: float,
    config: Mapping[str, float],
) -> float:
    """Return the power in watts of a server under `system`, from the simulation `results`.

    The energy model calculates the power. It does not know custom accelerators: with them, the
    power is the result of :func:`modelled_w` for the utilisations `cores` and `elements` and the
    server's parameters `config`.
    """
    if chip.custom_accelerators(results):
        return modelled_w(system, cores, elements, config)
    return float(chip.energy(results, system)["power_w"]["total_w"])
