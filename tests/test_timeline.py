"""Timelines: read with Perfetto's own definitions, and against what the simulation says."""

import json
import os
import re
import shutil
import signal
import subprocess
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from accelflow import _native, simulation, watching
from accelflow.cli import main
from accelflow.errors import AccelflowError, InputError
from accelflow.simulation import Scenario
from accelflow.watching import Shown
from accelflow.workload import read_workload
from perfetto_file import Read, Slice, read_timeline
from test_fields_scenario import KINDS

#: Two systems, with and without a manager, on the same requests.
SYSTEMS = ("accelflow", "relief")
SMALL = Scenario(
    workload="socialnetwork",
    profile="paper",
    orchestrators=SYSTEMS,
    services=("CPost", "UniqId"),
    requests=100,
)


def run(arguments: list[str]) -> int:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return int(ended.value.code or 0)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("timeline") / "small.pftrace"
    watching.write_timeline(SMALL, path)
    return path


@pytest.fixture(scope="module")
def small(file: Path) -> Read:
    return read_timeline(file)


def requests_of(read: Read, system: str) -> list[Slice]:
    return [each for each in read.on(system, "requests") if each.category == "request"]


def test_every_request_has_a_slice_with_its_critical_path(small: Read) -> None:
    for system in SYSTEMS:
        slices = small.on(system, "requests")
        whole = {
            piece.arguments["request"]: piece
            for piece in slices
            if "response_us" in piece.arguments
        }
        assert whole
        rows: dict[int, list[Slice]] = defaultdict(list)
        for piece in slices:
            rows[piece.track].append(piece)
        for pieces in rows.values():
            requests = [piece for piece in pieces if "response_us" in piece.arguments]
            for request in requests:
                inside = [
                    piece
                    for piece in pieces
                    if piece.depth == 1
                    and not piece.instant
                    and request.from_ns <= piece.from_ns
                    and piece.until_ns <= request.until_ns
                ]
                # Down to whole ns, the pieces follow each other from arrival to response.
                assert inside[0].from_ns == request.from_ns
                assert inside[-1].until_ns == request.until_ns
                assert all(each.until_ns == after.from_ns for each, after in pairwise(inside))
                length_ns = request.until_ns - request.from_ns
                assert abs(length_ns - request.arguments["response_us"] * 1e3) <= 1.0


def test_the_numbers_of_requests_are_those_of_the_results(small: Read) -> None:
    results = simulation.run(SMALL)
    for system in results["systems"]:
        shown = requests_of(small, system["orchestrator"])
        for service in system["services"]:
            of_service = [each for each in shown if each.name.startswith(service["service"] + " ")]
            # Those of the warm-up are shown and not counted.
            assert len(of_service) >= service["completed"] > 0
            counted = sorted(each.arguments["response_us"] for each in of_service)
            assert counted[-1] >= service["p99_us"]


def test_every_kind_of_hardware_has_rows(small: Read) -> None:
    for system in SYSTEMS:
        paths = {small.path(track)[1:] for track in small.names if small.path(track)[0] == system}
        for path in (
            ("cores", "core 0"),
            ("cores", "core 35"),
            ("TCP", "element 0"),
            ("LdB", "element 7"),
            ("Ser", "dispatcher"),
            ("A-DMA", "engine 0"),
            ("requests", "CPost"),
        ):
            assert path in paths, path
        assert ("manager",) in paths or system != "relief"
        assert any(path[0] == "links" and len(path) == 2 for path in paths)
        assert small.on(system, "TCP", "element 0")
    assert small.on("relief", "manager")


def test_several_instances_of_an_accelerator_are_numbered_from_1(tmp_path: Path) -> None:
    file = tmp_path / "several.pftrace"
    watching.write_timeline(replace(SMALL, config={"accelerator.TCP.instances": 2}), file)
    read = read_timeline(file)
    groups = {read.path(track)[1] for track in read.names if len(read.path(track)) > 1}
    assert {"TCP 1", "TCP 2", "Ser"} <= groups
    assert not {"TCP", "TCP 3", "Ser 1"} & groups


def test_the_managers_queue_of_a_custom_accelerator_has_a_row(tmp_path: Path) -> None:
    (tmp_path / "kinds.toml").write_text(KINDS.replace("speedup = 20", "speedup = 1"))
    scenario = Scenario(
        workload=read_workload(tmp_path / "kinds.toml"),
        orchestrators=("relief",),
        rate_rps=100_000.0,
        requests=200,
        config={"accelerator.pes": 1},
    )
    watching.write_timeline(scenario, tmp_path / "kinds.pftrace")
    read = read_timeline(tmp_path / "kinds.pftrace")
    rows = {name for track in read.names for name in read.path(track)}
    assert {"manager's queue: TCP", "manager's queue: First", "First"} <= rows
    names = {slice_.name for slice_ in read.slices}
    assert not any("kind 0" in name for name in rows | names)


def test_hardware_does_one_thing_at_a_time(small: Read) -> None:
    rows: dict[int, list[Slice]] = defaultdict(list)
    for piece in small.slices:
        if piece.category == "hardware":
            rows[piece.track].append(piece)
    assert len(rows) > 50
    for slices in rows.values():
        ordered = sorted(slices, key=lambda each: (each.from_ns, each.until_ns))
        assert all(each.until_ns <= after.from_ns for each, after in pairwise(ordered))


def test_queues_have_lengths(small: Read) -> None:
    for system in SYSTEMS:
        queues = {
            small.path(track)[1:]: values
            for track, values in small.counters.items()
            if small.path(track)[0] == system
        }
        assert ("TCP", "input queue") in queues
        assert ("Ser", "dispatcher queue") in queues
        assert ("A-DMA", "waiting transfers") in queues
        lengths = [value for values in queues.values() for _, value in values]
        assert max(lengths) > 0
        assert all(values[0] == (0, 0) for values in queues.values() if values)


def test_a_flow_follows_each_request_across_the_hardware(small: Read) -> None:
    by_flow: dict[int, set[str]] = defaultdict(set)
    for piece in small.slices:
        for flow in (*piece.flows, *piece.ends):
            by_flow[flow].add(small.path(piece.track)[1])
    whole = [each for system in SYSTEMS for each in requests_of(small, system)]
    flows = {flow for each in whole for flow in each.flows}
    assert flows == by_flow.keys()
    assert len(flows) == sum("response_us" in each.arguments for each in whole)
    for places in by_flow.values():
        assert {"requests", "cores", "TCP", "A-DMA", "links"} <= places


def test_equal_scenarios_have_equal_timelines(file: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.pftrace"
    watching.write_timeline(SMALL, str(again))
    assert again.read_bytes() == file.read_bytes()


def test_the_slowest_requests_are_the_slowest(small: Read, tmp_path: Path) -> None:
    path = tmp_path / "slowest.pftrace"
    systems, requests = watching.write_timeline(SMALL, path, Shown(slowest=2))
    assert (systems, requests) == (2, 2 * 2 * 2)
    slowest = read_timeline(path)
    for system in SYSTEMS:
        for service in SMALL.services:
            pick = [
                sorted(
                    (each.arguments["response_us"], each.name)
                    for each in requests_of(read, system)
                    if each.name.startswith(service + " ")
                )
                for read in (small, slowest)
            ]
            assert pick[1] == pick[0][-2:]
        # The hardware is shown while they are in flight, with what it does for others.
        lives = [(each.from_ns, each.until_ns) for each in requests_of(slowest, system)]
        for piece in slowest.slices:
            if slowest.path(piece.track)[0] == system and piece.category == "hardware":
                assert any(piece.from_ns <= end and piece.until_ns >= begin for begin, end in lives)
        others = {each.arguments["request"] for each in slowest.on(system, "TCP") if each.arguments}
        assert len(others) > 4


def test_a_window_shows_requests_that_arrive_in_it(small: Read, tmp_path: Path) -> None:
    path = tmp_path / "window.pftrace"
    shown = Shown(from_us=3_000.0, for_us=2_000.0, services=("CPost",))
    watching.write_timeline(SMALL, path, shown)
    window = read_timeline(path)
    for system in SYSTEMS:
        found = [each.name for each in requests_of(window, system)]
        expected = [
            each.name
            for each in requests_of(small, system)
            if 3_000_000 <= each.from_ns < 5_000_000 and each.name.startswith("CPost ")
        ]
        names = [name for name in found if name != "response"]
        assert names == [name for name in expected if name != "response"]
        assert names


def test_servers_of_isolated_services_have_groups_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "isolated.pftrace"
    scenario = Scenario(
        workload="socialnetwork",
        profile="paper",
        orchestrators=("accelflow",),
        services=("CPost", "UniqId"),
        placement="isolated",
        requests=100,
    )
    watching.write_timeline(scenario, path)
    assert len(read_timeline(path).processes) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "requests: must be at most 10000 over all systems"),
        (["--timeline-slowest", "0"], "--timeline-slowest = 0: must be a whole number from 1"),
        (["--timeline-for", "-1"], "--timeline-for = -1: must be more than 0"),
        (["--timeline-service", "CPosst"], "must be CPost"),
        (["--timeline-request", "99999999"], "must have at least one request"),
    ],
)
def test_timelines_that_cannot_be_drawn_are_refused_and_not_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    path = tmp_path / "refused.pftrace"
    requests = "200" if options else "100000"
    command = ["compare", "socialnetwork", "--profile", "paper", "--orchestrator", "accelflow"]
    command += ["--service", "CPost", "--requests", requests, "--out", str(tmp_path / "out")]
    assert run([*command, "--timeline", str(path), *options]) != 0
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error
    assert not path.exists()


def test_filters_need_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["compare", "socialnetwork", "--timeline-slowest", "3"]) == 2
    assert (
        "--timeline-slowest = 3: must be given together with --timeline FILE"
        in capsys.readouterr().err
    )
    wrong = ["--timeline", str(tmp_path / "x.pftrace"), "--timeline-request", "-1"]
    assert run(["compare", "socialnetwork", *wrong]) == 2
    assert "--timeline-request = -1: must be a whole number from 0" in capsys.readouterr().err
    missing = str(tmp_path / "missing" / "x.pftrace")
    assert run(["compare", "socialnetwork", "--timeline", missing]) == 2
    assert "must be in a folder that exists" in capsys.readouterr().err


def otlp(spans: list[dict[str, Any]], service: str) -> dict[str, Any]:
    name = {"key": "service.name", "value": {"stringValue": service}}
    return {
        "resourceSpans": [
            {"resource": {"attributes": [name]}, "scopeSpans": [{"spans": spans}]},
        ]
    }


def span(
    span_id: int, parent: int, name: str, times: tuple[int, int], kind: int = 1
) -> dict[str, Any]:
    start, end = times
    return {
        "traceId": f"{7:032x}",
        "spanId": f"{span_id:016x}",
        "parentSpanId": f"{parent:016x}" if parent else "",
        "name": name,
        "kind": kind,
        "startTimeUnixNano": str(1_700_000_000_000_000_000 + start),
        "endTimeUnixNano": str(1_700_000_000_000_000_000 + end),
    }


def test_recorded_spans_nest_and_flow_from_service_to_service(tmp_path: Path) -> None:
    front = [
        span(1, 0, "Buy", (0, 9_000), kind=2),
        span(2, 1, "TCP", (0, 500)),
        span(3, 1, "handler", (600, 8_000)),
        span(4, 3, "call stock", (1_000, 5_000), kind=3),
        # Beside the first call, and longer than it.
        span(5, 3, "call prices", (2_000, 7_000), kind=3),
    ]
    stock = [span(6, 4, "Stock", (1_500, 4_500), kind=2)]
    spans = tmp_path / "spans.json"
    lines = [otlp(front, "shop"), otlp(stock, "stock")]
    spans.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    path = tmp_path / "spans.pftrace"
    assert run(["timeline", "spans", str(spans), "--out", str(path)]) == 0
    read = read_timeline(path)
    assert set(read.processes.values()) == {"measured shop", "measured stock"}
    found = {piece.name: piece for piece in read.slices}
    assert found.keys() == {row["name"] for row in [*front, *stock]}
    assert (found["Buy"].from_ns, found["Buy"].until_ns) == (0, 9_000)
    assert [found[name].depth for name in ("Buy", "handler", "call stock")] == [0, 1, 2]
    assert found["call prices"].track != found["call stock"].track
    assert found["call stock"].flows == found["Stock"].ends != ()


def test_a_simulation_and_its_own_spans_say_the_same(tmp_path: Path) -> None:
    scenario = Scenario(
        workload="socialnetwork",
        profile="paper",
        orchestrators=("accelflow",),
        services=("UniqId",),
        requests=120,
    )
    spans, measured, simulated = (
        tmp_path / name for name in ("spans.json", "measured.pftrace", "simulated.pftrace")
    )
    chips = replace(scenario, chips={"small": {"pes.TCP": 2}, "large": {"pes.TCP": 4}})
    with pytest.raises(AccelflowError, match="chips = 2: must be a single chip"):
        simulation.write_spans(chips, spans)
    requests = simulation.write_spans(scenario, str(spans))
    drawn = watching.write_spans_timeline("otlp", [spans], str(measured))
    assert drawn[0] == requests
    watching.write_timeline(scenario, simulated)
    both = tmp_path / "both.pftrace"
    both.write_bytes(simulated.read_bytes() + measured.read_bytes())
    read = read_timeline(both)
    from_spans = sorted(
        each.until_ns - each.from_ns for each in read.on("measured UniqId") if each.depth == 0
    )
    own = [each for each in requests_of(read, "accelflow") if "response_us" in each.arguments]
    from_simulation = sorted(each.until_ns - each.from_ns for each in own)
    assert len(from_spans) == len(from_simulation) == requests
    # Spans round to the nearest ns, and timelines down.
    gaps = [abs(a - b) for a, b in zip(from_spans, from_simulation, strict=True)]
    assert max(gaps) <= 1


def test_spans_that_cannot_be_shown_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spans = tmp_path / "spans.json"
    line = otlp([span(1, 0, "Buy", (0, 9_000), kind=2)], "shop")
    spans.write_text(json.dumps(line), encoding="utf-8")
    path = tmp_path / "no.pftrace"
    command = ["timeline", "spans", str(spans), "--out", str(path)]
    for options, message in (
        (["--service", "shopp"], "must be shop"),
        (["--from", "1000"], "must have at least one request to the chosen services"),
        (["--kind", "jaeger"], str(spans)),
    ):
        assert run([*command, *options]) == 2
        error = capsys.readouterr().err
        assert message in error
        assert "Traceback" not in error
        assert not path.exists()


def test_files_that_are_no_spans_are_wrong_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut, empty, path = tmp_path / "cut.json", tmp_path / "empty.json", tmp_path / "no.pftrace"
    cut.write_text('{"resourceSpans": [', encoding="utf-8")
    empty.touch()
    for file, message in (
        (cut, f"{cut}:1:19 (byte 19): the file ends"),
        (empty, f"FILE = '{empty}': must not be empty"),
        (tmp_path / "none.json", "must be a file that can be read"),
    ):
        assert run(["timeline", "spans", str(file), "--out", str(path)]) == 2
        assert message in capsys.readouterr().err
        assert not path.exists()
    spans = tmp_path / "spans.json"
    simulation.write_spans(replace(SMALL, orchestrators=("accelflow",)), spans)
    place = cut / "no.pftrace"
    said = re.escape(f"path = '{place}': must be a place that can be written: a file is where")
    with pytest.raises(InputError, match=said):
        watching.write_spans_timeline("otlp", [spans], place)
    with pytest.raises(InputError, match=said):
        watching.write_timeline(SMALL, place)
    with pytest.raises(InputError, match=said):
        simulation.write_spans(replace(SMALL, orchestrators=("accelflow",)), place)


@pytest.mark.parametrize("kind", ["timeline", "spans"])
def test_an_interrupt_in_python_leaves_no_part_of_a_file(kind: str, tmp_path: Path) -> None:
    def interrupt(_done: int, _all: int) -> None:
        raise KeyboardInterrupt

    scenario = replace(SMALL, orchestrators=("accelflow",))
    write = {"timeline": watching.write_timeline, "spans": simulation.write_spans}[kind]
    with pytest.raises(KeyboardInterrupt):
        write(scenario, tmp_path / "file", progress=interrupt)
    assert not list(tmp_path.iterdir())


def test_an_interrupt_of_a_command_leaves_no_timeline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user presses Ctrl-C while native code simulates."""
    simulate = _native.scenario_timeline

    def pressed(*given: Any) -> Any:
        *inputs, _progress = given
        return simulate(*inputs, lambda _done, _all: signal.raise_signal(signal.SIGINT))

    monkeypatch.setattr(_native, "scenario_timeline", pressed)
    command = "compare socialnetwork --profile paper --requests 100 --out out --timeline"
    monkeypatch.chdir(tmp_path)
    # What a shell runs in the background inherits that interrupts are ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert run([*command.split(), "t.pftrace"]) == 130
    finally:
        signal.signal(signal.SIGINT, before)
    assert not list(tmp_path.rglob("*.pftrace"))


def test_unknown_options_in_python_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "no.pftrace"
    with pytest.raises(InputError, match="from_us = -1"):
        watching.write_timeline(SMALL, path, Shown(from_us=-1.0))
    with pytest.raises(AccelflowError, match="did you mean otlp"):
        watching.write_spans_timeline("otpl", [path], path)
    with pytest.raises(InputError, match="requests in spans have no index"):
        watching.write_spans_timeline("otlp", [path], path, Shown(requests=(1,)))
    for wrong in ({"slowest": 1}, 3, False):
        with pytest.raises(InputError, match=r"^shown = .*: must be a Shown or None"):
            watching.write_timeline(SMALL, path, wrong)  # type: ignore[arg-type]
    for slowest in ("1", 1.5, 0):
        with pytest.raises(InputError, match=r"^slowest = .*: must be a whole number from 1 to"):
            watching.write_timeline(SMALL, path, Shown(slowest=slowest))  # type: ignore[arg-type]
    for ask in (watching.watch, watching.why):
        with pytest.raises(InputError, match=r"^service = None: must be the name of a service"):
            ask(SMALL, None)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("shown", "why"),
    [
        (Shown(), "must have at least one request: no otlp span begins a request"),
        (Shown(services=("Login",)), "must have at least one request: no otlp span begins a"),
        (Shown(from_us=5.0), "must have at least one request to the chosen services in the time w"),
    ],
)
def test_span_files_without_requests_are_named(tmp_path: Path, shown: Shown, why: str) -> None:
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for file in files:
        file.write_text('{"resourceSpans": []}')
    with pytest.raises(InputError) as caught:
        watching.write_spans_timeline("otlp", files, tmp_path / "no.pftrace", shown)
    assert str(caught.value).startswith(f"FILE = '{files[0]}, {files[1]}': {why}")
    assert list(tmp_path.glob("*.pftrace")) == []


def test_perfettos_own_processor_reads_it_without_errors(file: Path, small: Read) -> None:
    """By SQL; only where Perfetto's binary is: it is no package, and is not downloaded here."""
    processor = os.environ.get("TRACE_PROCESSOR") or shutil.which("trace_processor_shell")
    if processor is None:
        pytest.skip("there is no trace_processor_shell on PATH, nor at TRACE_PROCESSOR")

    def query(sql: str) -> list[list[str]]:
        done = subprocess.run(
            [processor, "-Q", sql, str(file)], capture_output=True, text=True, check=True
        )
        return [line.strip('"').split(",") for line in done.stdout.strip().splitlines()[1:]]

    instants = sum(piece.instant for piece in small.slices)
    assert query("select count(*) from slice") == [[str(len(small.slices))]]
    assert query("select count(*) from slice where dur < 0") == [["0"]]
    assert query("select count(*) from slice where dur = 0")[0][0] >= str(instants)
    assert query("select count(*) from flow") != [["0"]]
    errors = "select name, value from stats where severity = 'error' and value > 0"
    assert query(errors) == []
