"""One trace, several bodies: the runtime and the simulator visit the same accelerators."""

import functools
import json
import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from accelflow import Scenario, simulation, watching
from accelflow.calibration import executed_operations
from accelflow.trace import (
    Library,
    Node,
    Trace,
    branch,
    demo_request,
    enqueue_trace,
    fork,
    join,
    kind,
    notify,
    register_body,
    run_trace,
    save,
    seq,
    tail,
)
from accelflow.workload import load_workload

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


#: Custom accelerators, with a fact each that branches read.
STEPS = [kind(f"Step{number}", yields={f"fact{number}": "number"}) for number in range(5)]


def value(number: int) -> int:
    return number % 2


def mark(payload: bytes, _: object, *, number: int) -> tuple[bytes, dict[str, int]]:
    return payload + bytes([65 + number]), {f"fact{number}": value(number)}


class Drawn:
    """Two random traces of a user, of which the first may end in the second."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 (a repeatable test)
        self.read: dict[str, dict[str, int]] = {"user": {}, "next": {}}
        self.library = Library(templates=False)
        self.follows = False
        for name in ("next", "user"):
            self.name = name
            first = seq("TCP", "Decr", "RPC", "Dser") if name == "user" else ()
            trace = Trace(library=self.library)
            trace.build([*first, *self.body(2, frozenset())])
            trace.register(name)

    def steps(self) -> list[int]:
        return [self.random.randrange(len(STEPS)) for _ in range(self.random.randint(1, 3))]

    def arm(self) -> tuple[Node, ...]:
        return seq(*(STEPS[step] for step in self.steps()))

    def body(self, depth: int, known: frozenset[int]) -> list[Node]:
        """Steps, then an end, or a branch, a fork or a join on the way to one."""
        steps = self.steps()
        known |= frozenset(steps)
        nodes = [STEPS[step] for step in steps]
        shape = self.random.choice(["branch", "fork", "join"]) if depth else "end"
        if shape == "branch":
            fact = self.random.choice(sorted(known))
            self.read[self.name][f"fact{fact}"] = value(fact)
            ways = [self.body(depth - 1, known) for _ in range(2)]
            return [*nodes, branch(f"fact{fact} == 1", ways[0], ways[1])]
        if shape == "fork":
            return [*nodes, fork(*(self.body(depth - 1, known) for _ in range(2)))]
        if shape == "join":
            nodes += [join(self.arm(), self.arm()), *self.arm()]
        ends = [notify(), *seq("LdB"), *([tail("next")] if self.name == "user" else [])]
        end = self.random.choice(ends)
        self.follows |= end.kind == "tail"
        return [*nodes, end]

    def visits(self, folder: Path, orchestrator: str) -> Counter[tuple[str, str]]:
        """Visits in simulated time, of the traces as a file."""
        image = self.library.link_from("user")
        save(folder / "drawn.trace", image)
        kinds = [one.split()[1] for one in image.kinds]
        reached = ("user", "next") if self.follows else ("user",)
        facts = {trace: self.read[trace] for trace in reached if self.read[trace]}
        path = [{"trace": "user", "facts": facts}, {"cpu_us": 1.0}, {"trace": "T2"}]
        tree = {
            "traces": [{"file": "drawn.trace"}],
            "kinds": {name: {"ns": 100.0} for name in kinds},
        }
        visits = simulated(folder, path, orchestrator, **tree)
        named = {f"kind {number}": name for number, name in enumerate(kinds)}
        return Counter(
            (trace, named.get(accelerator, accelerator))
            for trace, accelerator in visits
            if trace in reached
        )


def simulated(
    folder: Path, path: list[dict[str, Any]], orchestrator: str, **tree: Any
) -> list[tuple[str, str]]:
    """The traces and accelerators that a request of a service visits in simulated time."""
    nine = ("TCP", "Encr", "Decr", "RPC", "Ser", "Dser", "Cmp", "Dcmp", "LdB")
    costs = {"source": "operations"} | {name: {"ns": 100.0} for name in nine}
    service = {"name": "User", "rate_rps": 100.0, "path": path, "costs": costs}
    tree |= {"schema": "accelflow.workload/1", "name": "drawn", "services": [service]}
    file = folder / "drawn.json"
    file.write_text(json.dumps(tree), encoding="utf-8")
    scenario = Scenario(
        workload=load_workload(str(file)), orchestrators=[orchestrator], requests=100
    )
    segments = watching.watch(scenario, "User", request=0)["segments"]
    return [(one["trace"], one["at"]) for one in segments if one["part"] == "accelerator"]


@pytest.mark.parametrize("orchestrator", ["accelflow", "relief", "cpu_centric"])
@pytest.mark.parametrize("name", ["T11", "T11+Cmp"])
def test_templates_that_no_service_takes_visit_the_same(
    name: str, orchestrator: str, tmp_path: Path
) -> None:
    call = ("http", "media.example", "/v1")
    inline = run_trace(name, b"{}", call=call)
    assert enqueue_trace(name, b"{}", call=call).wait().steps == inline.steps
    executed = [(trace, accelerator) for trace, _, accelerator, *_ in inline.steps]
    assert {trace for trace, _ in executed} == {name, "T12"}
    facts = {"T12": {"compressed": inline.arrivals[0].facts["compressed"]}}
    path = [
        {"trace": "T1", "facts": {"T1": {"compressed": 0}}},
        {"cpu_us": 1.0},
        {"trace": name, "facts": facts},
        {"trace": "T2"},
    ]
    visits = simulated(tmp_path, path, orchestrator)
    assert [one for one in visits if one[0] in (name, "T12")] == executed


@pytest.mark.parametrize("seed", range(8))
def test_random_traces_of_a_user_visit_the_same_on_bytes_and_in_time(
    seed: int, tmp_path: Path
) -> None:
    for number, step in enumerate(STEPS):
        register_body(step, functools.partial(mark, number=number))
    drawn = Drawn(seed)
    request = demo_request("Login")
    inline = run_trace("user", request, library=drawn.library)
    apart = enqueue_trace("user", request, library=drawn.library).wait()
    assert apart.steps == inline.steps
    executed = Counter((trace, accelerator) for trace, _, accelerator, *_ in inline.steps)
    orchestrators = ("accelflow", "relief", "cpu_centric", "cohort", "ideal")
    orchestrator = orchestrators[seed % len(orchestrators)]
    assert drawn.visits(tmp_path, orchestrator) == executed
