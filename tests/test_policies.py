"""Queue policies and orchestrators written in Python."""

import copy
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import matplotlib as mpl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import accelflow
from accelflow import simulation
from accelflow.errors import AccelflowError, InputError
from accelflow.policies import (
    Completion,
    Decision,
    ManagerVisit,
    Orchestrator,
    Properties,
    QueuePolicy,
    SimulatedServer,
    Waiting,
)
from accelflow.report import Comparison
from accelflow.simulation import Scenario
from conftest import ROOT

#: Few elements and entries, so that queues fill and overflow areas are used.
CROWDED = {"accelerator.pes": 1, "accelerator.input_entries": 4, "accelerator.overflow_entries": 16}


def small(**changes: Any) -> Scenario:
    values = {"requests": 400, "profile": "paper", "orchestrators": ("accelflow",), **changes}
    return Scenario(**values)


def crowded(**changes: Any) -> Scenario:
    """All services with different priorities on a server whose queues are long."""
    priorities = {"CPost": 2, "UniqId": 1, "Login": 5}
    return small(rate_rps=30_000.0, config=CROWDED, priorities=priorities, **changes)


def services(results: dict[str, Any], system: str) -> list[dict[str, Any]]:
    found = [row for row in results["systems"] if row["orchestrator"] == system]
    assert len(found) == 1, [row["orchestrator"] for row in results["systems"]]
    rows: list[dict[str, Any]] = found[0]["services"]
    assert rows
    return rows


class Fifo(QueuePolicy):
    deadlines = False

    def choose(self, accelerator: str, waiting: Waiting, now_ns: float) -> int:
        return 0


class Edf(QueuePolicy):
    def choose(self, accelerator: str, waiting: Waiting, now_ns: float) -> int:
        return min(waiting, key=lambda entry: (entry.deadline_ns, entry.position)).position


class ByPriority(QueuePolicy):
    deadlines = False

    def choose(self, accelerator: str, waiting: Waiting, now_ns: float) -> int:
        return max(range(len(waiting)), key=lambda place: (waiting[place].priority, -place))


class Lifo(QueuePolicy):
    def choose(self, accelerator: str, waiting: Waiting, now_ns: float) -> int:
        return len(waiting) - 1


def transform_ns(completion: Completion, server: SimulatedServer) -> float:
    kib = completion.size_bytes / 1024
    return server["core.transform_ns_per_kib"] * kib * completion.transforms


def interrupt_and_submit_ns(completion: Completion, server: SimulatedServer) -> float:
    submit = 0.0 if completion.arm == "waits" else server["core.submit_ns"]
    return server["core.interrupt_ns"] + 2 * server["core.context_switch_ns"] + submit


class CpuCentric(Orchestrator):
    """The native cpu_centric, spelt out in Python from the properties of another system."""

    like = "ideal"

    def properties(self, server: SimulatedServer) -> Properties:
        return Properties(
            start_ns=server["core.submit_ns"],
            notification="interrupt",
            notified_ns=server["core.interrupt_ns"],
        )

    def decide(self, completion: Completion, server: SimulatedServer) -> Decision:
        switch = server["core.interrupt_ns"] + 2 * server["core.context_switch_ns"]
        if completion.kind == "forward":
            core = interrupt_and_submit_ns(completion, server)
            return Decision(core_ns=core + transform_ns(completion, server))
        return Decision(background_ns=switch if completion.kind == "park" else 0.0)


class LinkedPairs(CpuCentric):
    """The native cohort: pairs of accelerators have links, and cores do the rest."""

    def decide(self, completion: Completion, server: SimulatedServer) -> Decision:
        fits = completion.size_bytes <= server["accelerator.inline_bytes"]
        simple = fits and not completion.branches and not completion.transforms
        if (
            completion.next is not None
            and simple
            and completion.arm == "none"
            and server.linked(completion.accelerator, completion.next)
        ):
            return Decision()
        return super().decide(completion, server)


@pytest.mark.parametrize("crowd", [small(), crowded()], ids=["idle", "crowded"])
@pytest.mark.parametrize(
    ("native", "policy"), [("fifo", Fifo), ("edf", Edf), ("priority", ByPriority)]
)
def test_a_policy_in_python_equals_the_native_one_to_the_bit(
    native: str, policy: type[QueuePolicy], crowd: Scenario
) -> None:
    found = simulation.run(replace(crowd, policy=native), policies={"accelflow": policy()})
    same = services(found, f"accelflow+{policy.__name__}")
    assert same == services(found, "accelflow")
    if crowd.config:
        lifo = simulation.run(crowd, policies={"accelflow": Lifo()})
        assert services(lifo, "accelflow+Lifo") != same, "the order must matter"


@pytest.mark.parametrize("isolation", ["shared", "reserved"])
def test_tenants_have_their_numbers_and_shares(isolation: str) -> None:
    seen = set()

    class Tenants(Edf):
        def choose(self, accelerator: str, waiting: Waiting, now_ns: float) -> int:
            seen.update((entry.service, entry.tenant) for entry in waiting)
            return super().choose(accelerator, waiting, now_ns)

    config = {"tenant.isolation": isolation, "accelerator.pes": 4}
    asked = small(tenants={"CPost": 7, "Login": 300}, config=config, policy="edf")
    found = simulation.run(asked, policies={"accelflow": Tenants})
    assert services(found, "accelflow+Tenants") == services(found, "accelflow")
    expected = {(name, {"CPost": 7, "Login": 300}.get(name, 0)) for name in simulation.services()}
    assert seen == expected


@pytest.mark.parametrize(
    "asked",
    [
        small(),
        crowded(),
        small(workload="mediaservices", arrivals="alibaba", requests=100),
        small(config={"core.generation": "haswell"}),
    ],
    ids=["plain", "crowded", "media", "generation"],
)
@pytest.mark.parametrize(("native", "copy"), [("cpu_centric", CpuCentric), ("cohort", LinkedPairs)])
def test_an_orchestrator_in_python_equals_the_native_one_to_the_bit(
    native: str, copy: type[Orchestrator], asked: Scenario
) -> None:
    found = simulation.run(replace(asked, orchestrators=(native,)), orchestrators=[copy()])
    assert services(found, copy.__name__) == services(found, native)


@pytest.mark.parametrize("native", [name for name, _ in simulation.systems()])
def test_a_class_that_only_asks_the_native_system_equals_it(native: str) -> None:
    class Same(Orchestrator):
        like = native

        def properties(self, server: SimulatedServer) -> Properties:
            return super().properties(server)

        def decide(self, completion: Completion, server: SimulatedServer) -> Decision:
            return super().decide(completion, server)

    asked = small(orchestrators=(native,), requests=200)
    found = simulation.run(asked, orchestrators=[Same])
    assert services(found, "Same") == services(found, native)


class Counting(QueuePolicy):
    """Serves the last entry every third time, so the order depends on its state."""

    def __init__(self) -> None:
        self.calls = 0

    def choose(self, accelerator: str, waiting: Waiting, now_ns: float) -> int:
        self.calls += 1
        return 0 if self.calls % 3 else len(waiting) - 1


def test_state_is_of_one_simulation_whatever_the_threads() -> None:
    instance = Counting()
    sources: list[Callable[[], QueuePolicy] | QueuePolicy] = [
        instance,
        Counting,
        lambda: copy.copy(instance),
    ]
    asked = crowded(placement="isolated", services=("CPost", "Login", "UniqId"))
    found = [
        simulation.run(asked, threads=threads, policies={"accelflow": source})
        for source in sources
        for threads in (1, 4)
    ]
    assert all(each == found[0] for each in found)
    assert instance.calls == 0, "the simulations have copies"


def test_results_name_the_classes_and_can_be_shown(tmp_path: Path) -> None:
    class Slow(Orchestrator):
        name = "slow"
        queue = Lifo

        def decide(self, completion: Completion, server: SimulatedServer) -> Decision:
            native = super().decide(completion, server)
            return replace(native, dispatcher_ns=native.dispatcher_ns + 1_000)

    found = simulation.run(
        small(requests=100), policies={"AccelFlow": [Fifo, Edf()]}, orchestrators=[Slow()]
    )
    assert [row["orchestrator"] for row in found["systems"]] == [
        "accelflow",
        "accelflow+Fifo",
        "accelflow+Edf",
        "slow",
    ]
    assert found["python_systems"] == [
        {
            "orchestrator": name,
            "like": "accelflow",
            "queueing": "per_accelerator",
            "classes": classes,
        }
        for name, classes in (
            ("accelflow+Fifo", {"queue": "Fifo"}),
            ("accelflow+Edf", {"queue": "Edf"}),
            ("slow", {"orchestrator": "Slow", "queue": "Lifo"}),
        )
    ]
    read = Comparison.from_dict(json.loads(json.dumps(found)))
    assert [system.name for system in read.systems][-1] == "slow"
    read.write_page(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "Equal versions, settings, classes and seeds give equal results" in page
    assert "accelflow+Edf (like accelflow): Edf; slow (like accelflow): Slow, Lifo." in page
    slow, fast = services(found, "slow"), services(found, "accelflow")
    assert all(a["mean_us"] > b["mean_us"] for a, b in zip(slow, fast, strict=True))
    assert "python_systems" not in simulation.run(small(requests=100))


def test_systems_in_python_and_chips_differ_in_every_picture() -> None:
    found = accelflow.compare(
        small(requests=100, services=["UniqId"]),
        policies={"accelflow": Fifo},
        orchestrators=["relief", type("Slow", (Orchestrator,), {})],
        chips={"paper": {}, "small": {"pes.TCP": 2}},
        samples=True,
    )
    lines = found.plot("tail").axes[0].lines
    looks = [(line.get_color(), line.get_linestyle()) for line in lines]
    assert len(set(looks)) == len(found) == 6
    bars = found.plot().axes[0].patches
    assert len({(bar.get_facecolor(), bar.get_hatch()) for bar in bars}) == 6
    # A system has its colour on each chip, and the bars' colours are the lines'.
    colors = [mpl.colors.to_hex(bar.get_facecolor()) for bar in bars]
    assert colors == [mpl.colors.to_hex(color) for color, _ in looks]
    assert colors[::2] == colors[1::2]


def test_top_level_names() -> None:
    assert accelflow.QueuePolicy is QueuePolicy
    assert accelflow.Orchestrator is Orchestrator


def test_the_waiting_entries_are_a_sequence_that_checks_its_index() -> None:
    seen: list[str] = []

    class Looking(QueuePolicy):
        def choose(self, accelerator: str, waiting: Waiting, now_ns: float) -> int:
            if seen or len(waiting) < 2:
                return 0
            assert waiting.accelerator == accelerator
            assert waiting.instance == 0
            entries = list(waiting)
            assert [entry.position for entry in entries] == list(range(len(waiting)))
            assert waiting[-1].position == len(waiting) - 1
            assert all(0 <= entry.arrival_ns <= now_ns for entry in entries)
            assert all(entry.deadline_ns > entry.arrival_ns for entry in entries)
            assert all(entry.estimated_ns > 0 for entry in entries)
            for index in (len(waiting), -len(waiting) - 1):
                with pytest.raises(IndexError, match=f"must be below {len(waiting)}"):
                    waiting[index]
            seen.extend([repr(waiting), repr(entries[0])])
            return 0

    simulation.run(crowded(), policies={"accelflow": Looking})
    assert "waiting>" in seen[0]
    assert seen[1].startswith("WaitingEntry(service=")


def test_without_deadlines_entries_have_none() -> None:
    class Without(QueuePolicy):
        deadlines = False

        def choose(self, accelerator: str, waiting: Waiting, now_ns: float) -> int:
            assert all(entry.deadline_ns == float("inf") for entry in waiting)
            assert all(entry.estimated_ns > 0 for entry in waiting)
            return 0

    found = simulation.run(small(requests=200), policies={"accelflow": Without})
    assert all(row["deadlines"] == 0 for row in services(found, "accelflow+Without"))


class Answering(QueuePolicy):
    answer: ClassVar[Any] = None

    def choose(self, accelerator: str, waiting: Waiting, now_ns: float) -> int:
        found: int = self.answer
        return found


@pytest.mark.parametrize("wrong", [None, True, -1, 10_000, 0.0, "0", 1 << 80])
def test_a_wrong_place_is_refused(wrong: object) -> None:
    class Wrong(Answering):
        answer = wrong

    with pytest.raises(AccelflowError) as caught:
        simulation.run(small(), policies={"accelflow": Wrong})
    text = str(caught.value)
    assert text.startswith(f"accelflow+Wrong: Wrong.choose() = {wrong!r}: must be ")
    assert " of TCP 0)" in text


class Fixed(Orchestrator):
    answer: ClassVar[Any] = None

    def decide(self, completion: Completion, server: SimulatedServer) -> Decision:
        found: Decision = self.answer
        return found


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (Decision(core_ns=-1.0), "core_ns = -1: must be a number from 0 to 1e9"),
        (Decision(core_ns=float("nan")), "core_ns = nan: must be a number"),
        (Decision(dispatcher_ns=True), "dispatcher_ns = True: must be a number"),
        (Decision(instructions=-1), "instructions = -1: must be a whole number from 0 to 1000000"),
        (Decision(manager=ManagerVisit(1.0, float("inf"))), "latency_ns = inf: must be a number"),
        (Decision(manager=5), "manager = 5: must be a ManagerVisit or None"),  # type: ignore[arg-type]
        (None, "decide() = None: must be an accelflow.policies.Decision"),
    ],
)
def test_a_wrong_decision_is_refused(wrong: object, why: str) -> None:
    class Wrong(Fixed):
        answer = wrong

    with pytest.raises(AccelflowError) as caught:
        simulation.run(small(), orchestrators=[Wrong])
    assert str(caught.value).startswith("Wrong: Wrong.decide")
    assert why in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (
            {"queueing": "centrl"},
            "queueing = 'centrl': must be per_accelerator or central, did you mean central?",
        ),
        ({"parks": 1}, "parks = 1: must be True or False"),
        ({"notification": None}, "notification = None: must be flag, interrupt or found"),
        ({"start_ns": "x"}, "start_ns = 'x': must be a number from 0"),
    ],
)
def test_wrong_properties_are_refused(wrong: dict[str, Any], why: str) -> None:
    class Wrong(Orchestrator):
        def properties(self, server: SimulatedServer) -> Properties:
            return Properties(**wrong)

    with pytest.raises(AccelflowError) as caught:
        simulation.run(small(), orchestrators=[Wrong])
    assert why in str(caught.value)
    assert str(caught.value).startswith("Wrong: Wrong.properties")


def test_a_central_queue_needs_a_visit_to_the_manager() -> None:
    class Central(Fixed):
        like = "relief"
        answer = Decision()

    with pytest.raises(AccelflowError, match="Central: manager of a decision = none: must be"):
        simulation.run(small(), orchestrators=[Central])


def test_system_exit_is_passed_on() -> None:
    class Leaving(QueuePolicy):
        def choose(self, accelerator: str, waiting: Waiting, now_ns: float) -> int:
            raise SystemExit(7)

    with pytest.raises(SystemExit, match="7"):
        simulation.run(small(), policies={"accelflow": Leaving})


class Locked(Fifo):
    def __init__(self) -> None:
        self.lock = threading.Lock()


class Unmakeable(Fifo):
    def __init__(self, required: int) -> None:
        self.required = required


class Plain(Orchestrator):
    pass


class Unknown(Orchestrator):
    like = "acelflow"


class Chooses(Orchestrator):
    like = "accelflow"

    def choose(self, accelerator: str, waiting: Waiting, now_ns: float) -> int:
        return 0


class Idle(Orchestrator):
    like = "non_acc"

    def decide(self, completion: Completion, server: SimulatedServer) -> Decision:
        raise AssertionError


class Taken(Orchestrator):
    name = "relief"


class Nameless(Orchestrator):
    name = "a\nb"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"policies": [Fifo]}, "policies = "),
        (
            {"policies": {"acelflow": Fifo}},
            "policies key = 'acelflow': must be non_acc, cpu_centric,",
        ),
        ({"policies": {"acelflow": Fifo}}, "did you mean accelflow"),
        ({"policies": {"accelflow": 5}}, "policies['accelflow'] = 5: must be a QueuePolicy"),
        ({"policies": {"accelflow": Plain}}, "must be a QueuePolicy, a subclass of it, or a"),
        ({"policies": {"accelflow": Unmakeable}}, "missing 1 required positional argument"),
        (
            {"policies": {"accelflow": QueuePolicy}},
            "must define choose(accelerator, waiting, now_ns)",
        ),
        (
            {"policies": {"accelflow": Locked()}},
            "must be an object that can be copied for each simulation",
        ),
        ({"policies": {"accelflow": [Fifo, Fifo()]}}, "must differ from the name of policies['acc"),
        ({"policies": {"relief": Fifo}}, "policies['relief'] = 'Fifo': must be for a system whose"),
        ({"policies": {"non_acc": Fifo}}, "non_acc+Fifo has no accelerators"),
        ({"orchestrators": Plain}, "orchestrators = "),
        ({"orchestrators": [Fifo]}, "orchestrators[0] = "),
        ({"orchestrators": [Chooses]}, "must not define choose, which a QueuePolicy defines"),
        (
            {"orchestrators": [Idle]},
            "orchestrators[0] = 'Idle': must not define decide, which would never be called: Idle"
            " has no accelerators",
        ),
        ({"orchestrators": ["relief"]}, "orchestrators[0] = 'relief': must be an Orchestrator"),
        (
            {"orchestrators": [Unknown]},
            "orchestrators[0].like = 'acelflow': must be non_acc, cpu_centric,",
        ),
        ({"orchestrators": [Taken]}, "must differ from the name of a native system"),
        ({"orchestrators": [Nameless]}, "must be a printable text of at most 60 characters"),
    ],
)
def test_values_that_are_no_policy_are_refused(given: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError) as caught:
        simulation.run(small(), **given)
    assert why in str(caught.value)


TIMES = st.sampled_from([0.0, 0.4, 100.0, 20_000.0])
VISITS = st.builds(ManagerVisit, TIMES, TIMES)
DECISIONS = st.builds(
    Decision,
    dispatcher_ns=TIMES,
    instructions=st.integers(0, 50),
    manager=st.none() | VISITS,
    core_ns=TIMES,
    background_ns=TIMES,
)
PROPERTIES = st.builds(
    Properties,
    accelerated=st.booleans(),
    parks=st.booleans(),
    queueing=st.sampled_from(["per_accelerator", "central"]),
    policy=st.sampled_from(["fifo", "priority", "deadline", "edf"]),
    start_ns=TIMES,
    submission=st.none() | VISITS,
    requests=st.sampled_from(["interrupt", "run_queue", "software_queue"]),
    notification=st.sampled_from(["flag", "interrupt", "found"]),
    notified_ns=TIMES,
)


@settings(max_examples=200)
@given(properties=PROPERTIES, decisions=st.lists(DECISIONS, min_size=1, max_size=6))
def test_every_request_ends_whatever_a_class_decides(
    properties: Properties, decisions: list[Decision]
) -> None:
    class Random(Orchestrator):
        def __init__(self) -> None:
            self.calls = 0

        def properties(self, server: SimulatedServer) -> Properties:
            return properties

        def decide(self, completion: Completion, server: SimulatedServer) -> Decision:
            self.calls += 1
            decision = decisions[self.calls % len(decisions)]
            if properties.queueing == "central" and decision.manager is None:
                return replace(decision, manager=ManagerVisit(10.0, 20.0))
            return decision

    asked = small(requests=100, rate_rps=40_000.0, config=CROWDED, services=("StoreP",))
    rows = services(simulation.run(asked, orchestrators=[Random], threads=1), "Random")
    assert all(row["responded"] + row["timed_out"] == 100 for row in rows)


ENDLESS = """
import sys
from accelflow import QueuePolicy, simulation

class Endless(QueuePolicy):
    def choose(self, accelerator, waiting, now_ns):
        print("running", flush=True)
        while True:
            pass

try:
    simulation.run(
        simulation.Scenario(profile="paper", orchestrators=("accelflow",)),
        policies={"accelflow": Endless},
    )
except KeyboardInterrupt:
    print("interrupted")
"""


def test_control_c_ends_a_policy_that_never_returns() -> None:
    environment = {"PYTHONPATH": str(ROOT / "python"), "PATH": "/usr/bin:/bin"}
    # A shell has what it starts in the background ignore Ctrl-C, and children inherit that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(
            [sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, text=True, env=environment
        )
    finally:
        signal.signal(signal.SIGINT, before)
    with process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "running\n"
            process.send_signal(signal.SIGINT)
            rest, _ = process.communicate(timeout=120)
        finally:
            process.kill()
    assert rest == "interrupted\n"
    assert process.returncode == 0
