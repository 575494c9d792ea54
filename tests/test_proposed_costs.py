"""The sizes and costs of proposed workloads: simulated, a call takes the time that was recorded."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from accelflow import InputError
from accelflow.annotations.proposals import propose
from accelflow.annotations.recording import Operation, Recording

#: Two messages of TCP, and the work of a simulated request that no operation has, in us.
TCP_US = 14.0
REST_US = 1.0
APPLICATION_NS = 10_000


def call(operations: list[Operation]) -> Recording:
    spent = APPLICATION_NS + sum(operation.time_ns for operation in operations)
    return Recording({}, operations, spent)


def thumbnail(step: int) -> Recording:
    """A call that unpacks a large picture and packs a small one, a hundredth of it."""
    large, small = 1_000 * step, 10 * step
    unpack = Operation("Dcmp", "zlib.decompress", large // 2, large, 1_000 + large, None, True)
    read = Operation("Dser", "json.loads", large, 0, 2_000 + 2 * large, 0, False)
    write = Operation("Ser", "json.dumps", 0, small, 3_000 + 30 * small, None, False)
    pack = Operation("Cmp", "zlib.compress", small, small, 4_000 + 40 * small, 2, False, True)
    return call([unpack, read, write, pack])


def shrinking(step: int) -> Recording:
    """A call one of whose traces has two sizes: the second operation gets half of the data."""
    whole, half = 200 * step, 100 * step
    halve = Operation("Resize", "halve", whole, half, 10 * whole, None, True)
    pack = Operation("Cmp", "zlib.compress", half, half // 2, 100 * half, 0, False)
    write = Operation("Ser", "json.dumps", 0, 50, 5_000, None, False, True)
    return call([halve, pack, write])


def both(step: int) -> Recording:
    """A call with two traces that begin with the argument, of which one is left out."""
    read = Operation("Dser", "json.loads", 10 * step, 0, 9_000, None, True)
    unpack = Operation("Dcmp", "zlib.decompress", 10 * step, 20 * step, 50_000, None, True)
    write = Operation("Ser", "json.dumps", 0, 50, 5_000, None, False, True)
    return call([read, unpack, write])


@pytest.mark.filterwarnings("ignore::accelflow.trace.TraceWarning")
@pytest.mark.parametrize("made", [thumbnail, shrinking, both])
def test_a_simulated_call_without_accelerators_takes_the_recorded_time(
    made: Callable[[int], Recording],
) -> None:
    recordings = [made(step) for step in range(1, 42)]
    median_us = made(21).time_ns / 1e3  # times grow with the step
    proposal = propose("thumb", recordings, 10.0)
    found = proposal.compare(orchestrators=["non_acc"], requests=100)["non_acc"]["thumb"]
    assert found.mean_us == pytest.approx(median_us + TCP_US + REST_US, rel=1e-3)


def test_the_messages_of_each_trace_have_their_own_size() -> None:
    (service,) = propose("thumb", [thumbnail(3)] * 3, 10.0).workload["services"]
    sizes = [step["sizes"]["fixed_bytes"] for step in service["path"] if "trace" in step]
    assert sizes == [3_000, 30]


def test_a_note_says_that_calls_have_other_operations() -> None:
    cached = call([Operation("Ser", "json.dumps", 0, 50, 5_000, None, False, True)])
    cached.time_ns = 6_000
    proposal = propose("thumb", [cached] * 8 + [thumbnail(2)] * 2, 10.0)
    assert any("than the last one: 8 of 10" in note for note in proposal.notes)
    assert proposal.workload["services"][0]["app_us"] == APPLICATION_NS / 1e3
    assert not any("than the last" in note for note in propose("a", [cached], 1.0).notes)


@pytest.mark.parametrize("accelerator", ["TCP", "LdB"])
def test_functions_marked_as_tcp_or_load_balancing_are_left_out(accelerator: str) -> None:
    pack = Operation("Cmp", "zlib.compress", 100, 50, 4_000, None, True)
    marked = Operation(accelerator, "marked", 50, 50, 3_000, 0, False)
    seal = Operation("Encr", "seal", 50, 60, 2_000, 1, False, True)
    proposal = propose("made", [call([pack, marked, seal])] * 2, 10.0)
    assert proposal.traces == {"made_receive": ("TCP", "Cmp"), "made_respond": ("Encr", "TCP")}
    assert any(note.startswith("left out: marked:") for note in proposal.notes)
    assert proposal.workload["services"][0]["app_us"] == 13.0
    results = proposal.compare(orchestrators=["non_acc"], requests=100)
    assert results["non_acc"]["made"].completed > 0
    with pytest.raises(InputError, match="LdB recorded in the last call of made = 0"):
        propose("made", [call([marked])], 10.0)


def test_a_function_without_operations_has_no_workload() -> None:
    with pytest.raises(InputError, match="LdB recorded in the last call of same = 0: must"):
        propose("same", [call([])], 10.0)
