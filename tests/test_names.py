"""Names that Python repeats from Rust, so that editors know them: the engines refuse all others."""

from collections.abc import Callable
from typing import Any, get_args, get_type_hints

import pytest

from accelflow import AccelflowError, operations, tenants
from accelflow.parameters import CUSTOM, SIZES, accelerators, parameters
from accelflow.policies import Orchestrator, Properties
from accelflow.simulation import Scenario, run
from accelflow.trace import Ensemble, kind
from accelflow.trace.ensemble import Notification
from accelflow.trace.kinds import Directions, FactType


class _Answers(Orchestrator):
    """A system with properties of the test's."""

    name = "Answers"
    like = "accelflow"
    answer = Properties()

    def properties(self, server: object) -> Properties:
        return self.answer


def _simulate(**answer: Any) -> object:
    class Answers(_Answers):
        answer_ = Properties(**answer)

        def properties(self, server: object) -> Properties:
            return self.answer_

    scenario = Scenario(profile="paper", requests=100, services=["Login"])
    return run(scenario, orchestrators=[Answers])


def _enqueue(priority: Any) -> object:
    with Ensemble() as ensemble:
        return ensemble.enqueue("T1", b"", priority=priority)


_HINTS = get_type_hints(Properties)

#: The type of each name, and a function that gives the engine a wrong one.
NAMES: dict[str, tuple[Any, Callable[[Any], object]]] = {
    "policy": (operations.Policy, lambda name: Ensemble(policy=name)),
    "policy of a system": (get_args(_HINTS["policy"])[0], lambda name: _simulate(policy=name)),
    "queueing": (_HINTS["queueing"], lambda name: _simulate(queueing=name)),
    "requests": (_HINTS["requests"], lambda name: _simulate(requests=name)),
    "notification of a system": (
        _HINTS["notification"],
        lambda name: _simulate(notification=name),
    ),
    "notification": (Notification, lambda name: Ensemble(notification=name)),
    "priority": (tenants.Priority, _enqueue),
    "directions": (Directions, lambda name: kind("Own", directions=name)),
    "yields": (FactType, lambda name: kind("Own", yields={"size": name})),
}


@pytest.mark.parametrize("place", NAMES)
def test_the_engine_allows_exactly_the_names_of_the_type(place: str) -> None:
    names, use = NAMES[place]
    *first, last = get_args(names)
    with pytest.raises(AccelflowError) as refused:
        use("nosuch")
    assert f"= 'nosuch': must be {', '.join(first)} or {last}" in str(refused.value)


def test_the_nine_accelerators_are_those_of_the_parameters() -> None:
    assert len(accelerators()) == 9
    keys = {parameter.key for parameter in parameters()}
    for size in SIZES:
        assert {f"{size}.{name}" for name in (*accelerators(), CUSTOM)} <= keys
        assert f"accelerator.{size}" in keys
