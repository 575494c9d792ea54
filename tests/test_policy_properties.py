"""Fixed properties of orchestrators written in Python, and what the scenario decides for them."""

from typing import Any

from accelflow import simulation
from accelflow.policies import ManagerVisit, Orchestrator, Properties, SimulatedServer
from accelflow.simulation import Scenario

#: Few elements and entries, so that the order of queues matters.
CROWDED = {"accelerator.pes": 1, "accelerator.input_entries": 4}


class Stated(Orchestrator):
    """The native system `like`, with these properties and the defaults of the others."""

    def __init__(self, name: str, like: str, **stated: Any) -> None:
        self.name, self.like, self.stated = name, like, stated  # type: ignore[misc]

    def properties(self, server: SimulatedServer) -> Properties:
        return Properties(**self.stated)


def services(results: dict[str, Any], system: str) -> list[dict[str, Any]]:
    [found] = [row for row in results["systems"] if row["orchestrator"] == system]
    rows: list[dict[str, Any]] = found["services"]
    return rows


def test_properties_without_an_order_of_queues_have_the_scenarios() -> None:
    asked = Scenario(
        profile="paper",
        requests=400,
        orchestrators=("ideal",),
        rate_rps=30_000.0,
        config=CROWDED,
        policy="edf",
    )
    orders: list[dict[str, Any]] = [{}, {"policy": "edf"}, {"policy": "fifo"}]
    given = [Stated(f"order{n}", "ideal", parks=True, **order) for n, order in enumerate(orders)]
    found = simulation.run(asked, orchestrators=given)
    without, edf, fifo = (services(found, system.name) for system in given)
    assert without == edf == services(found, "ideal")
    assert without != fifo


def test_cores_that_execute_everything_have_no_other_properties() -> None:
    config = {"core.notice_period_ns": 100_000, "tcp.timeout_us": 1}
    asked = Scenario(
        profile="paper", requests=200, orchestrators=("non_acc",), rate_rps=30_000.0, config=config
    )
    others: dict[str, Any] = {
        "parks": True,
        "queueing": "central",
        "policy": "edf",
        "start_ns": 50_000.0,
        "submission": ManagerVisit(5_000.0, 5_000.0),
        "requests": "software_queue",
        "notification": "interrupt",
        "notified_ns": 30_000.0,
    }
    systems = [Stated("all", "ideal", accelerated=False, **others)]
    systems += [
        Stated(name, "ideal", accelerated=False, **{name: value}) for name, value in others.items()
    ]
    found = simulation.run(asked, orchestrators=systems)
    native = services(found, "non_acc")
    assert sum(row["timed_out"] for row in native) > 0
    for system in systems:
        assert services(found, system.name) == native, system.name
