"""Find a scenario's order of queues that would have no effect, to refuse or to drop it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from accelflow.errors import refused
from accelflow.scenario import Scenario, loaded, resolved

__all__ = ["check_effects", "without_idle_policy"]

#: The systems whose queues, if they have any, have an order of their own (docs/parameters.md).
_OWN_ORDER: Final = frozenset({"non_acc", "relief", "accelflow_deadline", "accelflow_edf"})
#: The orders of queues that look at deadlines, which are parts of SLOs.
_BY_DEADLINE: Final = frozenset({"deadline", "edf"})


def check_effects(scenario: Scenario, *, more_systems: bool = False) -> None:
    """Raise InputError if the `policy` of `scenario`, an order of queues, would have no effect.

    The policy has no effect if each system has an order of its own, or if the policy orders by
    deadlines and no service has an SLO. With `more_systems`, systems in Python are simulated too,
    and nothing is refused.
    """
    why = None if more_systems else _why_idle(scenario)
    if why is not None:
        raise refused("policy", scenario.policy, f"must be left out, since {why}")


def without_idle_policy(scenario: Scenario) -> Scenario:
    """Return `scenario` without its `policy`, an order of queues, if that would have no effect.

    A sweep over policies and systems may combine a policy with a system on which it has no effect.
    """
    return scenario if _why_idle(scenario) is None else replace(scenario, policy=None)


def _why_idle(scenario: Scenario) -> str | None:
    """Return why the order of queues changes nothing; None if it may change something."""
    if scenario.policy is None:
        return None
    asked = resolved(scenario)
    systems = asked["orchestrators"]
    if _OWN_ORDER.issuperset(systems):
        *others, last = systems
        named = f"s {', '.join(others)} and {last}" if others else f" {last}"
        return f"it has no effect with the orchestrator{named}"
    if scenario.policy in _BY_DEADLINE and not _has_slos(scenario, asked):
        return "it orders by deadlines, which follow from SLOs, but no service has an SLO"
    return None


def _has_slos(scenario: Scenario, asked: Mapping[str, Any]) -> bool:
    if asked["slo_factor"] is not None or asked["slo_us"]:
        return True
    workload = loaded(scenario).workload
    if callable(to_document := getattr(workload, "to_document", None)):
        workload = to_document()
    if not isinstance(workload, Mapping):
        return False
    rows = [workload.get("defaults") or {}, *workload["services"]]
    return any(row.get("slo_factor") is not None for row in rows)
