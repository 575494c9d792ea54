"""Custom accelerators, from Python: on bytes, in files and in simulated time."""

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import accelflow
from accelflow import InputError, chip, sizing
from accelflow.cli.power import power
from accelflow.cli.service import service
from accelflow.policies import (
    Completion,
    Decision,
    Orchestrator,
    QueuePolicy,
    SimulatedServer,
    Waiting,
)
from accelflow.trace import (
    Image,
    Library,
    Node,
    Trace,
    TraceError,
    branch,
    kind,
    register_body,
    run_trace,
    seq,
)
from accelflow.trace.text import show
from accelflow.trace.view import view_registered
from accelflow.workload import load_workload

SHA256 = kind("SHA256", yields={"digest": "text", "size": "number"})


def sha256(payload: bytes, facts: dict[str, int | str]) -> tuple[None, dict[str, int | str]]:
    return None, {"digest": hashlib.sha256(payload).hexdigest(), "size": len(payload)}


def library_with(*steps: Any) -> Library:
    library = Library(templates=False)
    trace = Trace(library=library)
    trace.build(seq(*steps))
    trace.register("t")
    return library


def error_of(run: Callable[[], object]) -> TraceError:
    with pytest.raises(TraceError) as caught:
        run()
    return caught.value


def test_a_body_in_python_runs_in_a_trace() -> None:
    register_body(SHA256, sha256)
    reverse = kind("Reverse")
    register_body(reverse, lambda payload, facts: payload[::-1] + str(facts["size"]).encode())
    library = library_with(SHA256, branch("size > 3 and digest != ''", reverse), "Cmp")
    assert library.link().kinds == [
        "kind SHA256 yields digest text, size number",
        "kind Reverse",
    ]
    run = run_trace("t", b"abcd", library=library)
    assert [step[2:] for step in run.steps][:2] == [("SHA256", 4, 4), ("Reverse", 4, 5)]
    assert ("call", "Reverse") in run.visits
    (arrival,) = run.arrivals
    assert arrival.texts == {"digest": hashlib.sha256(b"abcd").hexdigest()}
    assert arrival.facts["size"] == 4
    assert [step[2] for step in run_trace("t", b"ab", library=library).steps] == ["SHA256", "Cmp"]


def raises(payload: bytes, facts: dict[str, int | str]) -> bytes:
    raise ValueError("on fire")


@pytest.mark.parametrize(
    ("body", "reason", "said"),
    [
        (raises, "body_failed", "Odd: ValueError: on fire"),
        (lambda payload, facts: "text", "body_failed", "must be a payload (bytes, or None"),
        (lambda payload, facts: (payload, {"n": 1.5}), "body_failed", "must be an int"),
        (lambda payload, facts: (payload, {"n": 1 << 64}), "body_failed", "64 bits"),
        (
            lambda payload, facts: (payload, {1: 1}),
            "body_failed",
            "name of a fact = 1: must be a str",
        ),
        (lambda payload, facts: payload, "wrong_facts", "facts of the body's output = ''"),
        (lambda payload, facts: (payload, {"n": 1, "m": 2}), "wrong_facts", "n number, m number"),
        (lambda payload, facts: run_trace("t", b""), "body_failed", "cannot run a trace"),
    ],
)
def test_a_body_that_fails_leaves_the_payload_to_the_core(
    body: Callable[..., Any], reason: str, said: str
) -> None:
    odd = kind("Odd", yields={"n": "number"})
    register_body(odd, body)
    library = library_with(odd)
    error = error_of(lambda: run_trace("t", b"payload", library=library))
    assert (error.reason, error.trace, error.step) == (reason, "t", 1)
    assert said in str(error)
    fallback = run_trace("t", b"payload", library=library, cpu_fallback=bytes.upper)
    assert fallback == b"PAYLOAD"
    register_body(odd, lambda payload, facts: (payload + b"!", {"n": 1}))
    assert run_trace("t", b"payload", library=library).arrivals[0].data == b"payload!"


@pytest.mark.parametrize("ending", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_a_body_that_ends_the_program_ends_the_call(ending: type[BaseException]) -> None:
    def ends(payload: bytes, facts: dict[str, int | str]) -> bytes:
        raise ending("now")

    odd = kind("Ends")
    register_body(odd, ends)
    library = library_with(odd)
    for options in ({}, {"cpu_fallback": bytes.upper}):
        with pytest.raises(ending, match="now"):
            run_trace("t", b"payload", library=library, **options)  # type: ignore[call-overload]
    register_body(odd, lambda payload, facts: payload + b"!")
    assert run_trace("t", b"payload", library=library).arrivals[0].data == b"payload!"


def test_accelerators_without_a_body_or_with_another_declaration_are_refused() -> None:
    error = error_of(lambda: run_trace("t", b"", library=library_with(kind("Absent"))))
    assert error.reason == "no_body"
    register_body(kind("Shape", yields={"n": "number"}), lambda payload, facts: payload)
    error = error_of(lambda: run_trace("t", b"", library=library_with(kind("Shape"))))
    assert error.reason == "other_kind"
    with pytest.raises(InputError, match="must be a function"):
        register_body(SHA256, b"no function")  # type: ignore[arg-type]
    assert error_of(lambda: register_body(seq("TCP")[0], raises)).reason == "bad_kind"
    with pytest.raises(InputError, match="accelerator = 'SHA256': must be a node that kind"):
        register_body("SHA256", raises)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("declare", "said"),
    [
        (lambda: kind("no name"), "letters and digits"),
        (lambda: kind("deser"), "names of the paper's nine"),
        (lambda: kind("Hash", yields={"out[0]": "text"}), "fact = 'out"),
        (lambda: kind("Hash", yields={"n": "float"}), "must be number or text"),  # type: ignore[dict-item]
        (
            lambda: kind("Hash", directions="up"),
            "Hash.directions = 'up': must be both, receives or sends",
        ),  # type: ignore[arg-type]
    ],
)
def test_declarations_are_checked(declare: Callable[[], Node], said: str) -> None:
    error = error_of(declare)
    assert error.reason == "bad_kind"
    assert said in str(error)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": None}, "name = None: must be the name of an accelerator"),
        ({"directions": 3}, "directions = 3: must be both, receives or sends"),
        ({"yields": ["n"]}, "yields = ['n']: must be a mapping from facts to their types"),
        ({"yields": {3: "text"}}, "fact = 3: must be the name of a fact"),
        ({"yields": {"n": int}}, "Hash.yields.n = <class 'int'>: must be number or text"),
    ],
)
def test_values_of_other_types_declare_nothing(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as refused:
        kind(**{"name": "Hash", **given})
    assert str(refused.value) == said


def test_a_library_has_one_declaration_of_a_name() -> None:
    library = library_with(SHA256)
    other = Trace(library=library)
    other.build(seq(kind("SHA256")))
    assert error_of(lambda: other.register("u")).reason == "kind_mismatch"
    assert library.names() == ["t"]
    build = Trace(library=library).build
    error = error_of(lambda: build(seq(SHA256, branch("width == 1", "Cmp"))))
    assert error.reason == "not_yielded"
    error = error_of(lambda: build(seq("TCP", kind("Sign", directions="sends"))))
    assert error.reason == "wrong_direction"


def test_images_and_views_show_them() -> None:
    library = library_with("TCP", SHA256, kind("Canny", directions="receives"), "LdB")
    image = library.link()
    again = Image.from_bytes(image.to_bytes())
    assert again == image
    assert again.words == [0x1BD0BD1900000000]
    calls = [(each.nibbles, each.name) for each in again.decode(0) if each.operation == "call"]
    assert calls == [("1", "TCP"), ("bd0", "SHA256"), ("bd1", "Canny"), ("9", "LdB")]
    assert again.disassemble() == [("t", list(library.get("t").nodes))]
    assert ("call", "Canny") in again.walk("t", {})
    shown = show(view_registered(library, "t"))
    assert "TCP → SHA256 → Canny → LdB" in shown
    assert "bd1   call Canny" in shown


#: RELIEF's Canny edge detector, with the times of its accelerators of the paper's Table of kernels
#: taken as examples (assumed).
CANNY = """
kind ISP receives
kind Grayscale yields width number
kind Convolution
kind CannyNonMax
kind EdgeTracking
trace detect:
    TCP ISP Grayscale
    branch width > 64
      on true:
        Convolution
    CannyNonMax EdgeTracking
    LdB
"""


def workload(**changes: Any) -> dict[str, Any]:
    names = ("ISP", "Grayscale", "Convolution", "CannyNonMax", "EdgeTracking")
    tree: dict[str, Any] = {
        "schema": "accelflow.workload/1",
        "name": "canny",
        "traces": [{"source": CANNY}],
        "kinds": {name: {"ns": 9_000.0, "speedup": 9.0} for name in names},
        "services": [
            {
                "name": "Edges",
                "rate_rps": 2_000.0,
                "path": [
                    {"trace": "detect", "facts": {"detect": {"width": 128}}},
                    {"cpu_us": 5.0},
                    {"trace": "T2"},
                ],
            }
        ],
    }
    return tree | changes


def mean_us(tree: Mapping[str, Any], system: str = "accelflow", **fields: Any) -> float:
    results = accelflow.compare(dict(tree), orchestrators=[system], requests=300, **fields)
    mean = results[system]["Edges"].mean_us
    assert mean is not None
    return mean


def test_their_cost_is_simulated_by_speedup_and_branch() -> None:
    base = mean_us(workload())
    on_cores = mean_us(workload(), "non_acc")
    assert on_cores > base
    slow = {name: {**cost, "speedup": 1.0} for name, cost in workload()["kinds"].items()}
    assert mean_us(workload(kinds=slow)) == pytest.approx(base + 5 * 8, abs=3)
    dear = {name: {**cost, "ns": 99_000.0} for name, cost in workload()["kinds"].items()}
    assert mean_us(workload(kinds=dear)) == pytest.approx(base + 5 * 10, abs=3)
    assert mean_us(workload(kinds=dear), "non_acc") > on_cores + 400
    narrow = workload()
    narrow["services"][0]["path"][0]["facts"]["detect"]["width"] = 64
    assert mean_us(narrow) < base - 0.9


def test_their_names_stand_in_a_column_with_those_of_the_nine(tmp_path: Path) -> None:
    path = tmp_path / "long.toml"
    path.write_text(
        """
schema = "accelflow.workload/1"
name = "long"
traces = [{ source = "kind Deduplication\\ntrace put:\\n    TCP Decr Deduplication LdB" }]
kinds.Deduplication.ns = 2000
[[services]]
name = "Put"
rate_rps = 400.0
path = [{ trace = "put" }, { cpu_us = 20.0 }, { trace = "T2" }]
"""
    )
    done = CliRunner().invoke(service, ["show", "Put", "--workload", str(path)])
    assert done.exit_code == 0, done.output
    rows = done.output.partition("an invocation:\n")[2].splitlines()
    assert "  Deduplication   1" in rows
    assert {len(row) for row in rows} == {len("  Deduplication   1")}


@pytest.mark.parametrize("system", ["relief", "cohort", "cpu_centric", "accelflow", "ideal"])
def test_every_orchestrator_runs_them(system: str) -> None:
    results = accelflow.compare(workload(), orchestrators=[system], requests=200)
    edges = results[system]["Edges"]
    assert edges.completed > 0
    assert edges.accelerator_utilization["Convolution"] > 0


def test_a_chips_keys_hold_for_them() -> None:
    absent = accelflow.compare(
        workload(), orchestrators=["accelflow"], requests=200, config={"instances.own": 0}
    )
    edges = absent["accelflow"]["Edges"]
    assert edges.accelerator_utilization["ISP"] == 0
    # Five operations take 9 us on a core and not 1 us.
    assert (edges.mean_us or 0) > mean_us(
        workload()
    ) + 35  # five operations of 9 us on a core, not 1 us
    default = {name: {"ns": 9_000.0} for name in workload()["kinds"]}
    fast = mean_us(workload(kinds=default), config={"speedup.own": 90.0})
    assert mean_us(workload(kinds=default), config={"speedup.own": 1.0}) > fast + 40


def test_queue_policies_know_them_by_name() -> None:
    seen = set()

    class Names(QueuePolicy):
        def choose(self, accelerator: str, waiting: Waiting, now_ns: float) -> int:
            seen.add((accelerator, waiting.accelerator, repr(waiting).split(" of ")[1].split()[0]))
            return 0

    class Last(QueuePolicy):
        def choose(self, accelerator: str, waiting: Waiting, now_ns: float) -> int:
            return len(waiting) if accelerator == "Grayscale" else 0

    accelflow.compare(
        workload(), orchestrators=["accelflow"], requests=100, policies={"accelflow": Names}
    )
    own = ("ISP", "Grayscale", "Convolution", "CannyNonMax", "EdgeTracking")
    assert {(name, name, name) for name in (*own, "LdB", "TCP")} <= seen
    assert all(len(set(names)) == 1 for names in seen)
    with pytest.raises(accelflow.AccelflowError, match=r"\(input queue of Grayscale \d+\)"):
        accelflow.compare(
            workload(), orchestrators=["accelflow"], requests=100, policies={"accelflow": Last}
        )


def test_orchestrators_know_them_by_name() -> None:
    steps = set()
    links = {}

    class Names(Orchestrator):
        like = "cohort"

        def decide(self, completion: Completion, server: SimulatedServer) -> Decision:
            steps.add((completion.accelerator, completion.next))
            if (after := completion.next) is not None:
                links[completion.accelerator, after] = server.linked(completion.accelerator, after)
                assert f"accelerator='{completion.accelerator}'" in repr(completion)
                assert f"next='{after}'" in repr(completion)
            return super().decide(completion, server)

    class Unknown(Names):
        def decide(self, completion: Completion, server: SimulatedServer) -> Decision:
            server.linked("TCP", "own")
            return Decision()

    accelflow.compare(workload(), orchestrators=[Names], requests=100)
    pairs = [("TCP", "ISP"), ("ISP", "Grayscale"), ("Grayscale", "Convolution")]
    assert steps.issuperset([*pairs, ("EdgeTracking", "LdB")])
    assert set(links.values()) == {False, True}
    assert links["TCP", "ISP"] != links["ISP", "Grayscale"]
    with pytest.raises(accelflow.AccelflowError, match=r"accelerator = 'own': must be .*ISP"):
        accelflow.compare(workload(), orchestrators=[Unknown], requests=100)


def test_results_of_the_nine_do_not_name_others() -> None:
    results = accelflow.compare("hotelreservation", orchestrators=["accelflow"], requests=100)
    (service, *_) = results["accelflow"].services
    assert list(service.accelerator_utilization) == sorted(service.accelerator_utilization)
    assert len(service.accelerator_utilization) == 9


def test_their_power_is_not_known_and_a_fleet_is_sized_all_the_same(tmp_path: Path) -> None:
    """With the utilisation of the elements, as in the closed form, servers have a power."""
    results = accelflow.compare(workload(), orchestrators=["accelflow"], requests=100)
    assert set(chip.custom_accelerators(results.source)) == set(workload()["kinds"])
    with pytest.raises(
        accelflow.AccelflowError, match=r"of results = '.*Convolution.*': must be none"
    ):
        chip.energy(results.source, "accelflow")
    file = tmp_path / "results.json"
    file.write_text(json.dumps(results.source))
    done = CliRunner().invoke(power, [str(file)])
    assert str(done.exception).startswith(f"RESULTS = '{file}': must be results without custom")
    planned = sizing.Plan(
        workload=workload(),
        rates_rps={"Edges": 400_000.0},
        systems=("accelflow",),
        requests=1_000,
        seeds=2,
    )
    (system,) = sizing.size(planned)["systems"]
    watts = [system[answer]["fleet"]["watts"] for answer in ("closed_form", "simulated")]
    assert watts[1] == pytest.approx(watts[0], rel=0.2)


def test_costs_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    def said(tree: Mapping[str, Any]) -> str:
        with pytest.raises(accelflow.AccelflowError) as caught:
            accelflow.compare(dict(tree), orchestrators=["accelflow"], requests=100)
        return str(caught.value)

    kinds = workload()["kinds"]
    missing = {name: cost for name, cost in kinds.items() if name != "ISP"}
    assert "kinds.ISP is left out: must be stated" in said(workload(kinds=missing))
    typo = said(workload(kinds={**kinds, "Convolutoin": {"ns": 1.0}}))
    assert "kinds.Convolutoin" in typo
    assert "did you mean Convolution?" in typo
    negative = {**kinds, "ISP": {"ns": -1.0}}
    assert "kinds.ISP.ns" in said(workload(kinds=negative))
    free = {**kinds, "ISP": {"speedup": 2.0}}
    assert "kinds.ISP = 0 ns: must be above 0 on a core: set ns, ns_per_byte or both" in said(
        workload(kinds=free)
    )
    received = {"trace": "T1", "facts": {"T1": {"compressed": 0}}}
    plain = {**workload()["services"][0], "path": [received, {"trace": "T2"}]}
    none = workload(traces=[], services=[plain])
    assert "must be an accelerator that a trace of the file declares" in said(none)


def test_a_workloads_module_and_trace_file_keep_declarations(tmp_path: Path) -> None:
    module = tmp_path / "detect.py"
    module.write_text(
        "from accelflow.trace import Trace, kind, seq\n"
        "trace = Trace()\n"
        "trace.build(seq('TCP', kind('ISP', directions='receives'), 'LdB'))\n"
        "trace.register('detect')\n"
    )
    file = tmp_path / "detect.aftrace"
    file.write_bytes(
        library_with("TCP", kind("ISP", directions="receives"), "LdB").link().to_bytes()
    )
    for entry, name in (("module", module.name), ("file", file.name)):
        trace = "detect" if entry == "module" else "t"
        path = tmp_path / f"{entry}.toml"
        path.write_text(
            f'schema = "accelflow.workload/1"\nname = "w"\ntraces = [{{ {entry} = "{name}" }}]\n'
            "kinds = { ISP = { ns = 100 } }\n"
            f'services = [{{ name = "S", rate_rps = 1.0, path = [{{ trace = "{trace}" }}, '
            '{ trace = "T2" }] }]\n'
        )
        (source,) = load_workload(path)["traces"]
        assert source["source"].startswith("kind ISP receives\n")
