"""One trace, several bodies: the runtime and the simulator visit the same accelerators."""

from collections import Counter, defaultdict

import pytest

from accelflow import simulation
from accelflow.calibration import executed_operations

#: Table IV of the AccelFlow paper.
TABLE_IV = {
    "CPost": 87,
    "ReadH": 28,
    "StoreP": 18,
    "Follow": 30,
    "Login": 29,
    "CUrls": 19,
    "UniqId": 9,
    "RegUsr": 25,
}
IDS = [name for name, _ in simulation.systems()]


def test_the_services_are_those_of_table_iv() -> None:
    walked = {name: simulation.service(name)["accelerators"] for name in simulation.services()}
    assert walked == TABLE_IV
    assert sum(TABLE_IV.values()) == 245


@pytest.mark.parametrize("service", TABLE_IV)
def test_real_bytes_visit_what_table_iv_counts(service: str) -> None:
    assert len(executed_operations(service)) == TABLE_IV[service]


@pytest.mark.parametrize("orchestrator", IDS)
@pytest.mark.parametrize("service", TABLE_IV)
def test_the_simulator_visits_what_real_bytes_visit(service: str, orchestrator: str) -> None:
    executed, simulated = defaultdict(list), defaultdict(list)
    forked = set()
    for phase, chain, trace, arm, accelerator in executed_operations(service):
        executed[phase, chain].append((trace, accelerator))
        if arm:
            forked.add((phase, chain))
    for phase, chain, trace, accelerator, on_core in simulation.simulated_operations(
        service, orchestrator
    ):
        simulated[phase, chain].append((trace, accelerator))
        assert on_core == (orchestrator == "non_acc")
    assert executed.keys() == simulated.keys()
    for place, steps in executed.items():
        if place in forked:  # the arms of a fork run at the same time
            assert Counter(simulated[place]) == Counter(steps)
        else:
            assert simulated[place] == steps
    assert (service == "Login") == bool(forked), "only Login misses the cache and reaches T6"
