"""The simulated RPC server from Python and on the command line."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from accelflow import InputError, cerebros
from accelflow.cerebros.figures import Figures
from accelflow.cerebros.replications import estimate
from accelflow.cli import program
from accelflow.findings import Verdict, targets


def run(*arguments: str) -> str:
    done = CliRunner().invoke(program, ["cerebros", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def run_figures(*arguments: str) -> tuple[str, Figures]:
    """What `figures` prints, and the result that it printed."""
    results: list[Figures] = []
    figures = cerebros.figures

    def kept(**settings: Any) -> Figures:
        results.append(figures(**settings))
        return results[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("accelflow.cerebros.figures", kept)
        text = run("figures", *arguments)
    (result,) = results
    return text, result


@pytest.fixture(scope="module")
def printed_figures() -> tuple[str, Figures]:
    return run_figures("--requests", "1500", "--replications", "2")


def test_one_request_at_a_time_is_the_analytic_model() -> None:
    exact = {row["design"]: row["total_cycles"] for row in cerebros.designs()["designs"]}
    result = cerebros.simulate("UID", cerebros.Load(requests=20))
    assert [one["design"] for one in result["runs"]] == list(cerebros.DESIGNS)
    for one in result["runs"]:
        group = one["all"]
        assert group["queued_cycles"] == 0
        assert one["analytic_rpc_cycles"] == pytest.approx(exact[one["design"]], rel=0.01)
        assert group["rpc_cycles"] == pytest.approx(exact[one["design"]], rel=0.01)
        parts = ("software_cycles", "offload_cycles", "accelerator_cycles")
        assert sum(group[part] for part in parts) == pytest.approx(group["rpc_cycles"])


def test_every_row_of_the_figures_is_near_or_has_its_reason(
    printed_figures: tuple[str, Figures],
) -> None:
    _, result = printed_figures
    rows = {row.key: row for row in result.findings}
    assert len(rows) == len(result.findings)
    places = {row.experiment for row in result.findings}
    assert places == {
        "services",
        *(f"Fig. {n}" for n in ("2a", "2b", "5", "6", "7", "8a", "8b", "9")),
    }
    for row in result.findings:
        if row.verdict is Verdict.OFF:
            assert row.why is not None, row
        if row.why is not None:
            assert {says for says, _ in row.also} >= set(row.why.measures), row.key
    ours = {key.removeprefix("cerebros."): row.ours.mean for key, row in rows.items() if row.ours}
    assert ours["cycles_reduction.rpc_layer_max"] == pytest.approx(64, rel=0.1)
    assert ours["cycles_reduction.per_request_max"] == pytest.approx(14.2, rel=0.25)
    steered = "affinity_steering.requests_steered_to_affine_core"
    assert ours[steered] == pytest.approx(0.98, abs=0.03)
    # The mean of the five services is what the paper prints; UniqueId alone is not.
    over = rows["cerebros.offloads.full_over_payload_only"]
    assert over.ours is not None
    assert over.ours.mean == pytest.approx(23, rel=0.05)
    also = {says: found.mean for says, found in over.also if found is not None}
    assert also["least of the five"] < over.ours.mean < also["most of the five"]
    assert also["most of the five, over P+H"] == pytest.approx(21.5, rel=0.01)


def test_every_printed_figure_has_a_row() -> None:
    closed = ("cerebros.offloads.", "cerebros.private_accelerators.", "cerebros.shared_with_NIC.")
    closed += ("cerebros.rpc_layer_speedup.",)
    found = {row.key for row in cerebros.figures(requests=600, replications=1).findings}
    printed = {key for key in targets() if key.startswith("cerebros.")}
    assert {key for key in printed - found if not key.startswith(closed)} == set()


def test_equal_figures_have_no_interval_of_rounding_errors() -> None:
    assert estimate([0.1 + 0.2, 0.3, 0.3]) == (pytest.approx(0.3), 0.0)
    assert estimate([0.0, 0.0]) == (0.0, 0.0)
    assert estimate([7.0]) == (7.0, None)
    mean, half_width = estimate([1.0, 1.001])
    assert mean == pytest.approx(1.0005)
    assert half_width == pytest.approx(0.00635, rel=1e-2)


def test_figures_are_of_several_seeds_and_say_how_sure_they_are() -> None:
    text, result = run_figures("--requests=600", "--seed=4", "--replications=2", "--json")
    assert (result.seed, result.replications) == (4, 2)
    single = [cerebros.figures(requests=600, seed=seed, replications=1) for seed in (4, 5)]
    for number, row in enumerate(result.findings):
        estimates = [run.findings[number].ours for run in single]
        one, other = (found.mean for found in estimates if found is not None)
        assert row.ours is not None
        assert row.ours.values == (one, other)
        assert row.ours.mean == pytest.approx((one + other) / 2)
        # Student's 97.5th percentile of one degree of freedom, over two values.
        assert row.ours.half_width == pytest.approx(
            12.7062 * abs(one - other) / 2, rel=1e-5, abs=1e-9
        )
        alone = estimates[0]
        assert alone is not None
        assert alone.half_width is None
    assert len(result.bars) == len(single[0].bars)
    assert json.loads(text) == json.loads(json.dumps(result.to_dict()))
    with pytest.raises(InputError, match="replications = 0: must be a whole number from 1"):
        cerebros.figures(replications=0)
    with pytest.raises(
        InputError, match=r"requests = 50: must be more: no request called the function .* of USR"
    ):
        cerebros.figures(requests=50)


def test_stalls_and_misses_are_those_of_whole_microservices() -> None:
    """Fig. 8b: the layer's own misses count, and are gone with Cerebros."""
    load = cerebros.Load(load_ratio=0.3, requests=2_000)
    none, full = cerebros.simulate("USR", load, designs=["None", "Full"])["runs"]
    before, after = none["all"], full["all"]
    assert before["layer_stall_cycles"] == pytest.approx(2 * before["layer_misses"])
    assert before["layer_stall_cycles"] < before["software_cycles"]
    assert after["layer_misses"] == after["layer_stall_cycles"] == 0
    whole = before["misses"] + before["layer_misses"]
    assert before["mpki"] == pytest.approx(1e3 * whole / before["instructions"])
    # Instructions fall by more than misses do: MPKI rises.
    assert after["misses"] / whole > after["instructions"] / before["instructions"]
    assert after["mpki"] > before["mpki"]


def test_other_code_between_requests_leaves_less_in_the_caches() -> None:
    def one(kilobytes: int) -> tuple[float, float]:
        load = cerebros.Load(load_ratio=0.3, requests=6_000)
        parameters = {"other_code_bytes": kilobytes * 1024}
        runs = cerebros.simulate("USR", load, designs=["None", "Full"], parameters=parameters)
        cold, warm = (run["all"]["function_cycles"] for run in runs["runs"])
        return cold, 1 - warm / cold

    (cold, saved), (same, less), (_, none) = one(0), one(24), one(256)
    # With the layer on the core, its code is what evicts the functions'.
    assert same == pytest.approx(cold, rel=0.02)
    # The paper's least is 2 %.
    assert 0.02 < less < 0.6 * saved
    assert none == pytest.approx(0, abs=0.01)


def test_asynchronous_cores_serve_more_and_gain_from_cerebros_too() -> None:
    """Section 5: "it benefits either processing model"."""

    def rps(service: str, threads: int, design: str) -> float:
        parameters = {"core_threads": threads, "nested_latency_ns": 20_000, "buffer_bytes": 1e9}
        load = cerebros.Load(senders=60 * threads, requests=3_000)
        (run,) = cerebros.simulate(service, load, designs=[design], parameters=parameters)["runs"]
        return float(run["throughput_rps"])

    for service in ("UID", "CP"):
        waits, goes_on = ({d: rps(service, n, d) for d in ("None", "Full")} for n in (1, 8))
        for model in (waits, goes_on):
            assert model["Full"] > model["None"]
        assert goes_on["None"] > waits["None"]
        # What Cerebros saves is used for other requests only by cores that go on.
        assert goes_on["Full"] / goes_on["None"] > waits["Full"] / waits["None"]


def test_figures_print_ranges_definitions_and_reasons(
    printed_figures: tuple[str, Figures],
) -> None:
    text, _ = printed_figures
    (line,) = [line for line in text.splitlines() if "off their times on dedicated cores" in line]
    assert re.search(r"  0 to 0\.03  +0\.\d+  ", line), line
    lines = text.splitlines()
    place = next(n for n, line in enumerate(lines) if "Full over OP: P-Only" in line)
    assert "least of the five" in lines[place + 1]
    place = next(n for n, line in enumerate(lines) if "USR: median time, less" in line)
    assert lines[place + 1].startswith("     because: F3 to F5 each take one of two times")


def test_a_design_that_cannot_keep_up_says_so() -> None:
    arguments = ("simulate", "UID", "--design", "Full", "--load")
    assert "KEEP UP" not in run(*arguments, "0.5")
    (line,) = [line for line in run(*arguments, "2").splitlines() if "CANNOT KEEP UP" in line]
    assert line.endswith(" wait, mostly for cores")
    load = cerebros.Load(load_ratio=2.0)
    (one,) = cerebros.simulate("UID", load, designs=["Full"])["runs"]
    assert one["saturated"]["queue"] == "cores"
    assert one["saturated"]["waiting"] > 200
    assert one["offered_rps"] == pytest.approx(2 * one["throughput_rps"], rel=0.1)
    (alone,) = cerebros.simulate("UID", designs=["Full"])["runs"]
    assert (alone["saturated"], alone["offered_rps"]) == (None, None)


def test_equal_arguments_give_equal_results_and_seeds_differ() -> None:
    def one(seed: int) -> dict[str, object]:
        load = cerebros.Load(load_ratio=0.6, requests=300, seed=seed)
        return cerebros.simulate("CP", load, designs=["Full"])["runs"][0]

    assert one(1) == one(1)
    assert one(1) != one(2)


def test_fewer_buffers_are_told_on_the_command_line() -> None:
    text = run(
        "simulate", "UID", "--design", "Full", "--senders", "16", "--set", "buffer_bytes=700"
    )
    assert "NACKs" in text
    assert "requests refused" in text
    told = json.loads(run("simulate", "SG", "--unknown", "0.5", "--requests", "50", "--json"))
    by_design = {one["design"]: one["fallbacks"] for one in told["runs"]}
    assert by_design["None"] == 0 < by_design["Full"] < 50
    names = [row["key"] for row in json.loads(run("parameters", "--json"))]
    assert names == [row.key for row in cerebros.parameters()]
    assert "function_map_depth" in names
    assert "function_map_depth" in run("parameters")


def test_services_have_messages_and_schemata() -> None:
    rows = {row["service"]: row for row in cerebros.services()}
    assert tuple(rows) == cerebros.SERVICES
    for row in rows.values():
        assert sum(f["popularity_ratio"] for f in row["functions"]) == pytest.approx(1)
        for function in row["functions"]:
            stored = function["schemata_of_16_messages_bytes"]
            assert 0.5 < stored["split"] / stored["whole"] <= 17 / 32
            assert function["request_application_bytes"] <= 4 * function["request_wire_bytes"]
            assert function["incoming_messages_that_fit"] == function["incoming_messages"]


@pytest.mark.parametrize(
    ("load", "more", "said"),
    [
        ({}, {"parameters": {"cores": 0}}, "cores = 0: must be a whole number from 1"),
        (
            {},
            {"parameters": {"core": 1}},
            "parameter = 'core': must be the key of a parameter, did you mean cores?",
        ),
        ({}, {"parameters": {"cores": "16"}}, "cores = '16': must be a whole number from 1"),
        ({}, {"designs": ["Half"]}, "design = 'Half': must be None, OP: P-Only"),
        ({}, {"designs": []}, "designs = []"),
        ({}, {"affinity": True}, "design for steering by affinity = None"),
        ({"senders": 0}, {}, "senders = 0: must be a whole number from 1"),
        ({"senders": 1, "rate_rps": 2.0}, {}, "rate_rps = 2: must be left out, since senders is"),
        ({"rate_rps": float("inf")}, {}, "rate_rps = inf"),
        ({"requests": 0}, {}, "requests = 0"),
        ({"requests": 1.5}, {}, "requests = 1.5"),
        ({"unknown_ratio": 2}, {}, "unknown_ratio = 2"),
    ],
)
def test_what_cannot_be_is_one_error(
    load: dict[str, object], more: dict[str, object], said: str
) -> None:
    with pytest.raises(InputError) as error:
        cerebros.simulate("UID", cerebros.Load(**load), **more)  # type: ignore[arg-type]
    assert str(error.value).startswith(said)


THRIFT = """
struct Tag { 1: string name, 2: i32 weight }
exception Full { 1: string why }
service Notes {
  i64 save(1: i64 owner, 2: string text, 3: list<Tag> tags) throws (1: Full full),
  string find(1: i64 id),
}
"""

PROTO = """
syntax = "proto3";
package notes;
message Tag { string name = 1; int32 weight = 2; }
message Note { int64 owner = 1; string text = 2; repeated Tag tags = 3; }
message Id { int64 id = 1; }
message Text { string text = 1; }
service Notes {
  rpc save(Note) returns (Id);
  rpc find(Id) returns (Text);
}
"""


def step(accelerator: str, direction: str, size: int, cost_ns: float) -> dict[str, object]:
    return {
        "trace": "T1",
        "accelerator": accelerator,
        "direction": direction,
        "input_bytes": size,
        "output_bytes": size,
        "cost_ns": cost_ns,
        "samples": 30,
    }


def incoming(size: int) -> list[dict[str, object]]:
    return [step("RPC", "receive", size, 100.0), step("Dser", "receive", size, 400.0)]


def outgoing(size: int) -> list[dict[str, object]]:
    return [step("Ser", "send", size, 300.0), step("RPC", "send", size, 100.0)]


def served(name: str, app_ns: float | None, *sizes: int) -> dict[str, object]:
    """A recorded service with a nested call for each two sizes beside request and response."""
    request, *nested, response = sizes
    calls = [outgoing(size) if n % 2 == 0 else incoming(size) for n, size in enumerate(nested)]
    chains = [[incoming(request)], *[[steps] for steps in calls], [outgoing(response)]]
    phases: list[object] = [{"chains": [{"steps": steps} for steps in chain]} for chain in chains]
    phases.insert(1, {"cpu": {"app_ns": app_ns, "samples": 30}})
    facts = [{"count": 3 if name.endswith("save") else 1, "facts": [[] for _ in phases]}]
    return {"service": name, "phases": phases, "requests": facts}


def files(folder: Path, interface: str, ending: str, *services: object) -> cerebros.OwnService:
    recording = {
        "format": "accelflow-recording",
        "version": 4,
        "machine": "test",
        "date": "2026-01-01",
        "services": services,
    }
    (folder / f"notes.{ending}").write_text(interface)
    (folder / "notes.json").write_text(json.dumps(recording))
    return cerebros.OwnService(folder / f"notes.{ending}", folder / "notes.json")


@pytest.mark.parametrize(("interface", "ending"), [(THRIFT, "thrift"), (PROTO, "proto")])
def test_a_service_of_ones_own_has_the_costs_of_its_recording(
    tmp_path: Path, interface: str, ending: str
) -> None:
    own = files(
        tmp_path,
        interface,
        ending,
        served("save", 4_000.0, 300, 120, 60, 40),
        served("find", 1_000.0, 60, 200),
    )
    load = cerebros.Load(requests=4_000, warmup=0)
    result = cerebros.simulate(own, load, designs=["None", "Full"])
    assert result["service"] == "notes"
    none, full = result["runs"]
    save, find = none["functions"]
    assert (save["function"], find["function"]) == ("save", "find")
    assert save["results"]["requests"] / 4_000 == pytest.approx(0.75, abs=0.03)
    # At 2 GHz: two messages each way, of 400 and 300 ns, with a header of 100 ns and dispatch.
    header_and_dispatch = 200 + 61.25
    layer = 2 * 800 + 2 * 600 + 4 * header_and_dispatch
    assert save["results"]["software_cycles"] == pytest.approx(layer)
    assert find["results"]["software_cycles"] == pytest.approx(layer / 2)
    assert save["results"]["execute_cycles"] == pytest.approx(8_000)
    assert full["all"]["rpc_cycles"] < none["all"]["rpc_cycles"] / 10
    assert full["registration"]["functions"] == 2
    # A larger message takes the accelerator longer.
    larger = files(
        tmp_path,
        interface,
        ending,
        served("save", 4_000.0, 3_000, 120, 60, 40),
        served("find", 1_000.0, 60, 200),
    )
    again = cerebros.simulate(larger, load, designs=["Full"])["runs"][0]
    assert again["all"]["accelerator_cycles"] > full["all"]["accelerator_cycles"] + 50


def test_a_service_of_ones_own_is_given_on_the_command_line(tmp_path: Path) -> None:
    own = files(tmp_path, THRIFT, "thrift", served("Notes.find", 1_000.0, 60, 200))
    arguments = ("--interface", str(own.interface), "--recording", str(own.recording))
    text = run("simulate", *arguments, "--requests", "20", "--set", "schema_map_entries=1")
    assert text.startswith("notes: cycles for one request")
    for given, said in (
        (("UID", *arguments), "SERVICE = 'UID': must be left out with --interface"),
        (arguments[:2], "--recording is left out: must be given together with --interface"),
        (arguments[2:], "--interface is left out: must be given together with --recording"),
    ):
        done = CliRunner().invoke(program, ["cerebros", "simulate", *given])
        assert isinstance(done.exception, InputError)
        assert str(done.exception) == said
    text = run("simulate", "USR", "--requests", "90", "--set", "schema_map_entries=4")
    assert "schema map of 4, without RegisterUser, RegisterUserWithId" in text


@pytest.mark.parametrize(
    ("service", "said"),
    [
        (served("delete", 1.0, 60, 60), "recording, service delete: "),
        (served("find", None, 60, 60), "recording, service find, phase 1: app_ns = null: must be"),
        (
            {"service": "find", "phases": [{"chains": [{"steps": outgoing(9)}]}]},
            "recording, service find: payloads = Ser: must begin with a request that is",
        ),
        ({"service": "find", "phases": []}, "recording, service find: payloads = none: must begin"),
    ],
)
def test_a_recording_that_does_not_go_with_the_interface_is_one_error(
    tmp_path: Path, service: object, said: str
) -> None:
    own = files(tmp_path, THRIFT, "thrift", service)
    with pytest.raises(InputError) as error:
        cerebros.simulate(own)
    assert str(error.value).startswith(said)


def test_lists_fill_a_large_payload_or_it_is_refused(tmp_path: Path) -> None:
    interface = "service Sums { i64 add(1: list<i64> numbers) }\n"

    def cycles(size: int) -> float:
        own = files(tmp_path, interface, "thrift", served("add", 1.0, size, 6))
        (one,) = cerebros.simulate(
            own, cerebros.Load(requests=10), designs=["Full"], parameters={"buffer_bytes": 1e9}
        )["runs"]
        return float(one["all"]["accelerator_cycles"])

    assert cycles(2_000_000) == pytest.approx(2 * cycles(1_000_000), rel=0.01)
    message = "recording, service add: bytes of a payload = 20000000: must be at most 5"
    with pytest.raises(InputError, match=message):
        cycles(20_000_000)


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    own = files(tmp_path, THRIFT, "thrift", served("find", 1.0, 60, 60))
    for broken in (
        replace(own, interface=tmp_path / "none.thrift"),
        replace(own, interface=tmp_path / "none.proto"),
        replace(own, recording=tmp_path / "none.json"),
    ):
        with pytest.raises(InputError, match="none"):
            cerebros.simulate(broken)
    with pytest.raises(InputError, match="interface = "):
        cerebros.simulate(replace(own, interface=3))  # type: ignore[arg-type]


def test_functions_can_have_the_cores_for_themselves() -> None:
    load = cerebros.Load(requests=100)
    chosen = cerebros.simulate("USR", load, designs=["Full"], functions=["Login"])["runs"][0]
    assert [f["results"]["requests"] for f in chosen["functions"]] == [0, 0, 90, 0, 0, 0]
    with pytest.raises(InputError, match=r"function = 'Logon': must be .*did you mean Login"):
        cerebros.simulate("USR", load, functions=["Logon"])


def test_misses_a_thousand_instructions_are_the_microservices() -> None:
    none, full = cerebros.simulate("SG", designs=["None", "Full"])["runs"]
    for one in (none["all"], full["all"]):
        instructions = one["software_cycles"] + one["execute_cycles"]
        assert one["instructions"] == pytest.approx(instructions)
        misses = one["misses"] + one["layer_misses"]
        assert one["mpki"] == pytest.approx(1e3 * misses / instructions)
    assert none["all"]["layer_misses"] > 0 == full["all"]["layer_misses"]
    slower = cerebros.simulate("SG", designs=["None"], parameters={"instructions_per_cycle": 0.5})[
        "runs"
    ][0]
    assert slower["all"]["mpki"] == pytest.approx(2 * none["all"]["mpki"])


def test_pipelines_give_the_accelerators_headroom() -> None:
    def headroom(**changes: float) -> float:
        run = cerebros.simulate("UID", designs=["Full"], parameters=changes)["runs"][0]
        return float(run["accelerator_headroom_ratio"])

    assert headroom(pipelines=14) == pytest.approx(2 * headroom(pipelines=7))
    (none,) = cerebros.simulate("UID", designs=["None"])["runs"]
    assert none["accelerator_headroom_ratio"] is None


def test_unknown_services_and_misplaced_options_are_refused() -> None:
    with pytest.raises(InputError, match="service = FOO: must be UID"):
        cerebros.simulate("FOO")
    done = CliRunner().invoke(program, ["cerebros", "--json", "simulate"])
    assert done.exit_code != 0


def test_cerebros_is_beside_the_paper() -> None:
    result = cerebros.designs()
    for design in result["designs"]:
        paper = design["paper_speedup_ratio"]
        if paper is not None:
            digits = 0 if paper == 50 else 1
            assert round(design["speedup_ratio"], digits) == paper
    assert round(result["full_over_payload_and_header_ratio"], 1) == 21.5
    assert "Full over P+H: 21.5x (paper 21.5x)" in run()
    changed = json.loads(run("--traversal-cycles", "0", "--json"))
    assert [d["paper_speedup_ratio"] for d in changed["designs"]] == [None] * 6
    assert changed["designs"][2]["offload_cycles"] == 0


def test_cerebros_refuses_what_it_cannot_use() -> None:
    with pytest.raises(InputError, match="parameter = 'clock': must be the key of"):
        cerebros.designs(clock=2)
    with pytest.raises(InputError, match=r"header_tasks = 1.5: must be a whole number"):
        cerebros.designs(header_tasks=1.5)
    with pytest.raises(InputError, match="payload_share_ratio = 2: must be a number from 0 to 1"):
        cerebros.designs(payload_share_ratio=2)
    done = CliRunner().invoke(program, ["cerebros", "--rpc-cycles", "-1"])
    assert isinstance(done.exception, InputError)
    assert str(done.exception).startswith("--rpc-cycles = -1: must be ")


def test_a_server_that_answers_no_request_has_no_costs(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    full = ("simulate", "UID", "--requests", "50", "--set", "buffer_bytes=10", "--design", "Full")
    text = run(*full, "--report", str(page))
    row = next(line for line in text.splitlines() if line.startswith("Full"))
    assert row.split() == ["Full", *["-"] * 9]
    assert "50 requests refused" in text
    written = page.read_text().replace("\N{NO-BREAK SPACE}", " ")
    assert "No counted request of UID was answered." in written
