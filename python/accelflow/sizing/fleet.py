"""Servers, watts and money from the capacity of one server."""

from __future__ import annotations

import math
from dataclasses import dataclass

from accelflow.sizing.plan import Plan

_HOURS_PER_YEAR = 8_766.0


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """The servers that one system needs, with their power and cost.

    `servers` is their number, spare servers included; `servers_low` and `servers_high` are the ends
    of the number's 95 % interval. `headroom_ratio` is the additional load that the servers without
    the spare ones could take, divided by the planned load (after growth). `watts` is the power of
    all servers, without the datacentre's overhead. `cost_per_year`, in the plan's currency, is the
    price divided by the lifetime, plus the plan's yearly overhead and the electricity.
    """

    servers: int
    servers_low: int
    servers_high: int
    headroom_ratio: float
    watts: float
    cost_per_year: float


def servers_for(plan: Plan, load: float) -> int:
    """Return the number of servers that `plan` needs, including spare servers.

    `load` is the ratio of each server's rates to those of the whole fleet, above 0.
    """
    return max(1, math.ceil(1.0 / load - 1e-9)) + plan.limits.spare_servers


def server_w(
    plan: Plan, *, accelerated: bool, model_w: float, core: float, elements: float
) -> float:
    """Return the power of one server in watts.

    If the plan states the server's power at rest and at peak, the power grows with `core`, the
    utilisation of the cores. If the server is `accelerated`, the chip's power, which grows with
    `elements`, the utilisation of the elements, is added. Utilisations are from 0 to 1. If the plan
    does not state the server's power, the result is `model_w`, from the power model.
    """
    server, chip = plan.server, plan.chip
    if server.rest_w is None or server.peak_w is None:
        return model_w
    watts = server.rest_w + (server.peak_w - server.rest_w) * core
    if accelerated:
        watts += chip.rest_w + (chip.peak_w - chip.rest_w) * elements
    return watts


def server_cost_per_year(plan: Plan, *, watts: float, chip_price: float) -> float:
    """Return the cost of one server in a year, in the plan's currency.

    `watts` is the server's power, and `chip_price` the price of its chip.
    """
    energy = watts * 1e-3 * _HOURS_PER_YEAR * plan.electricity.pue_ratio
    price = (plan.server.price + chip_price) / plan.server.lifetime_years
    return price + plan.server.overhead_per_year + energy * plan.electricity.price_per_kwh


def break_even_price(
    plan: Plan, *, servers: int, watts: float, baseline_servers: int, baseline_watts: float
) -> float:
    """Return the price of a chip at which a fleet with it costs as much as one without chips.

    The fleets have `servers` servers with the chip, and `baseline_servers` without. `watts` and
    `baseline_watts` are the power of one server. The price is negative if the chip does not pay
    even for free.
    """
    baseline = baseline_servers * server_cost_per_year(plan, watts=baseline_watts, chip_price=0.0)
    own = server_cost_per_year(plan, watts=watts, chip_price=0.0)
    return (baseline / servers - own) * plan.server.lifetime_years
