"""The messages for exceptions and wrong answers of policies written in Python."""

from typing import Any

import pytest

from accelflow import simulation
from accelflow.errors import AccelflowError
from accelflow.policies import (
    Completion,
    Decision,
    Orchestrator,
    Properties,
    QueuePolicy,
    SimulatedServer,
    Waiting,
)
from accelflow.simulation import Scenario


def small(**changes: Any) -> Scenario:
    values = {"requests": 400, "profile": "paper", "orchestrators": ("accelflow",), **changes}
    return Scenario(**values)


def test_an_exception_ends_the_run_and_is_the_cause() -> None:
    class Failing(QueuePolicy):
        def __init__(self) -> None:
            self.calls = 0

        def choose(self, accelerator: str, waiting: Waiting, now_ns: float) -> int:
            self.calls += 1
            return 1 // (100 - self.calls) * 0

    with pytest.raises(AccelflowError) as caught:
        # Far more than fits into the test's time: the failure ends all simulations.
        simulation.run(small(requests=1_000_000, orchestrators=()), policies={"accelflow": Failing})
    assert str(caught.value).startswith(
        "accelflow+Failing: Failing.choose raised ZeroDivisionError: "
    )
    assert f"({__file__}, line " in str(caught.value)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_exceptions_of_other_methods_say_where() -> None:
    class InProperties(Orchestrator):
        def properties(self, server: SimulatedServer) -> Properties:
            return Properties(start_ns=server["core.submitns"])

    with pytest.raises(AccelflowError, match=r"InProperties\.properties raised .*core\.submit_ns"):
        simulation.run(small(), orchestrators=[InProperties])

    class InDecide(Orchestrator):
        def decide(self, completion: Completion, server: SimulatedServer) -> Decision:
            raise KeyError(completion.accelerator)

    with pytest.raises(AccelflowError, match=r"InDecide\.decide raised KeyError: 'TCP'") as caught:
        simulation.run(small(), orchestrators=[InDecide])
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize(("answer", "shown"), [(None, "None"), (5, "5")])
def test_what_is_no_decision_is_refused(answer: Any, shown: str) -> None:
    class Odd(Orchestrator):
        def decide(self, completion: Completion, server: SimulatedServer) -> Decision:
            return answer  # type: ignore[no-any-return]

    with pytest.raises(AccelflowError) as caught:
        simulation.run(small(), orchestrators=[Odd])
    assert str(caught.value) == (
        f"Odd: Odd.decide() = {shown}: must be an accelflow.policies.Decision"
    )


def test_a_method_that_cannot_be_called_is_named_with_its_line() -> None:
    class Short(QueuePolicy):
        def choose(self, accelerator: str) -> int:  # type: ignore[override]
            return 0

    class Shorter(Orchestrator):
        def properties(self) -> Properties:  # type: ignore[override]
            return Properties()

    for method, options in (
        (Short.choose, {"policies": {"accelflow": Short}}),
        (Shorter.properties, {"orchestrators": [Shorter]}),
    ):
        with pytest.raises(AccelflowError, match=" raised TypeError: ") as caught:
            simulation.run(small(), **options)
        line = method.__code__.co_firstlineno
        assert str(caught.value).endswith(f"({__file__}, line {line})")
        assert isinstance(caught.value.__cause__, TypeError)


def test_the_message_has_the_type_of_an_exception_with_notes_or_several_lines() -> None:
    class Sliced(QueuePolicy):
        def choose(self, accelerator: str, waiting: Waiting, now_ns: float) -> int:
            return waiting[0:1]  # type: ignore[call-overload, no-any-return]

    class Several(QueuePolicy):
        def choose(self, accelerator: str, waiting: Waiting, now_ns: float) -> int:
            raise ValueError("first\nsecond")

    for policy, said in ((Sliced, "TypeError: .*slice"), (Several, "ValueError: first")):
        with pytest.raises(AccelflowError, match=rf"choose raised {said}.* \({__file__}, line"):
            simulation.run(small(), policies={"accelflow": policy})
