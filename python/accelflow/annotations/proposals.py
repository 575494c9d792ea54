"""Traces and a workload's file from recordings of a function."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from accelflow import _native
from accelflow.annotations.known import NINE
from accelflow.annotations.recording import Operation, Recording
from accelflow.comparing import compare
from accelflow.errors import instance_of, positive_number, refused
from accelflow.report.results import Comparison
from accelflow.trace import Library, Run, Steps, Trace, kind, run_trace, seq
from accelflow.workload import write_workload

__all__ = ["Proposal", "propose"]

#: The core time of TCP for a message in ns, assumed as in workloads without costs
#: (docs/workloads.md), since a recorded function does not call TCP.
TCP_NS: Final = 7_000.0

#: The highest rate of a workload, in requests per second.
_MOST_RPS: Final = 1e9

#: Accelerators that a proposal has only where the rules of traces have them: TCP at the ends of the
#: first and the last trace, and LdB nowhere, since it ends a trace.
_LEFT_OUT: Final = frozenset({"TCP", "LdB"})

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Proposal:
    """Traces (programs of accelerator calls) proposed for a function, and a workload with them.

    `name` is the function's name, cut to 40 characters and changed where names of traces do not
    allow it. `traces` maps each trace's name to its accelerators, which do the function's
    operations. `workload` is the content of a workload's file with one service, which uses the
    traces. `notes` list the values that had to be assumed, and the operations that were left out.
    `on_argument` names the trace that processes the function's argument; it is empty if none does.
    """

    name: str
    traces: Mapping[str, Sequence[str]]
    workload: Mapping[str, Any]
    notes: Sequence[str]
    #: The name of the trace that begins with the function's argument; empty if none does.
    on_argument: str = ""

    def register(self, library: Library) -> None:
        """Add the traces to `library`.

        Raises TraceError if the library has a different trace of the same name, and InputError if
        `library` is not a library.
        """
        instance_of("library", library, (Library,), "an accelflow.trace.Library")
        for name, calls in self.traces.items():
            trace = Trace(library=library)
            trace.build(_steps(calls))
            trace.register(name)

    def write(self, path: str | Path) -> None:
        """Write the workload to the file `path`. Raises InputError if it cannot be written."""
        write_workload(self.workload, path)

    def compare(self, **fields: Any) -> Comparison:
        """Simulate the workload as :func:`accelflow.compare` does, with the same keywords."""
        return compare(dict(self.workload), **fields)

    def run(self, payload: bytes, cpu_fallback: Callable[[bytes], _Result]) -> Run | _Result:
        """Run the trace for the function's argument on `payload`; return the run's record.

        `payload` is an argument of the function. Software accelerators process it; the trace's
        calls of TCP are left out. If no trace processes the argument, or if the accelerators refuse
        the payload, the result of ``cpu_fallback(payload)`` is returned; `cpu_fallback` may be the
        function itself.
        """
        calls = [call for call in self.traces.get(self.on_argument, ()) if call != "TCP"]
        if not calls:
            return cpu_fallback(payload)
        library = Library(templates=False)
        trace = Trace(library=library)
        trace.build(_steps(calls))
        trace.register("argument")
        return run_trace("argument", payload, library=library, cpu_fallback=cpu_fallback)


def propose(name: str, recordings: Sequence[Recording], rate_rps: float) -> Proposal:
    """Propose traces and a workload for the function called `name`, from recorded calls.

    In the workload, the function is a service with `rate_rps` requests per second. Its operations
    have the order of the last recording. Sizes and application time are medians over the recordings
    with the same operations, and costs are of all recordings. Raises InputError without recordings,
    if the last one has no operation other than TCP and LdB, and for a rate that is not a number
    above 0, at most 1e9.
    """
    if not recordings:
        raise refused(
            "number of recorded calls",
            0,
            f"must be at least 1: run the function {name} before its proposal is made",
        )
    positive_number("rate_rps", rate_rps, _MOST_RPS)
    if not _chains(recordings[-1].operations):
        place = f"number of operations but TCP and LdB recorded in the last call of {name}"
        raise refused(place, 0, "must be at least 1 (docs/annotations.md)")
    notes = [f"rate: {rate_rps:g} requests a second (assumed)"]
    name = re.sub(r"[^A-Za-z0-9_]", "_", name)[:40].lstrip("0123456789_") or "function"
    operations = recordings[-1].operations
    chains, on_argument = _traces(name, operations, notes)
    traces = _calls(chains, operations)
    alike = [each for each in recordings if _shape(each.operations) == _shape(operations)]
    if len(alike) < len(recordings):
        others = len(recordings) - len(alike)
        notes.append(
            f"recorded calls with other operations than the last one: {others} of"
            f" {len(recordings)}; traces, sizes and application time are of calls like the last one"
        )
    used = {call for calls in traces.values() for call in calls}
    costs = {call: _cost(call, recordings) for call in sorted(used - {"TCP"})}
    notes.append(f"TCP: {TCP_NS:g} ns an operation (assumed: the function does not call it)")
    of_nine = {call: cost for call, cost in costs.items() if call in NINE}
    kinds = {call: cost for call, cost in costs.items() if call not in NINE}
    text = _native.trace_declarations(_steps(used)) + "".join(
        f"trace {trace}:\n" + "".join(f"    {call}\n" for call in calls)
        for trace, calls in traces.items()
    )
    in_traces = [index for chain in chains.values() for index in chain]
    app = [
        each.time_ns - sum(each.operations[index].time_ns for index in in_traces) for each in alike
    ]
    tree: dict[str, Any] = {
        "schema": "accelflow.workload/1",
        "name": name,
        "description": f"Proposed from {len(recordings)} recorded calls and their measured costs.",
        "traces": [{"source": text}],
        "defaults": {"costs": {"source": "operations", "TCP": {"ns": TCP_NS}, **of_nine}},
        "services": [
            {
                "name": name,
                "rate_rps": float(rate_rps),
                "app_us": max(0.0, statistics.median(app) / 1e3),
                "path": _path(chains, alike),
            }
        ],
    }
    if kinds:
        tree["kinds"] = kinds
    return Proposal(name, traces, tree, tuple(notes), on_argument)


def _path(
    chains: Mapping[str, Sequence[int]], recordings: Sequence[Recording]
) -> list[dict[str, Any]]:
    """The path of the service: the traces with the sizes of their messages, and work between."""
    path: list[dict[str, Any]] = []
    for trace, chain in chains.items():
        # A trace of TCP alone has the message of the traces after it.
        indices = chain or [index for others in chains.values() for index in others]
        sizes = [_largest(each.operations, indices) for each in recordings]
        size = max(1, round(statistics.median(sizes)))
        path += [{"trace": trace, "sizes": {"fixed_bytes": size}}, {"cpu": True}]
    path.pop()  # the last trace sends the answer
    return path


def _shape(operations: Sequence[Operation]) -> list[tuple[str, int | None, bool, bool]]:
    """What the traces of a call depend on."""
    return [
        (each.accelerator, each.follows, each.of_argument, each.is_result) for each in operations
    ]


def _largest(operations: Sequence[Operation], indices: Sequence[int]) -> int:
    """The size of a trace's message: the largest of the messages that its operations process."""
    return max(operations[index].message_bytes for index in indices)


def _traces(
    name: str, operations: Sequence[Operation], notes: list[str]
) -> tuple[dict[str, list[int]], str]:
    """The operations' numbers by trace, and the name of the trace of the argument, or "".

    The first trace receives the argument, and the last one answers. A core starts the last one, so
    it has an operation: application time is between the two.
    """
    chains = _chains(operations)
    marked = [operation for operation in operations if operation.accelerator in _LEFT_OUT]
    notes.extend(
        f"left out: {operation.call}: {operation.accelerator} has its place at the end of a trace;"
        " the time is application time"
        for operation in marked
    )
    received = [chain for chain in chains if operations[chain[0]].of_argument]
    answered = [chain for chain in chains if operations[chain[-1]].is_result]
    last = answered[-1] if answered else chains[-1]
    if not answered:
        notes.append("no recorded call makes the result: the last trace sends it")
    first = received[0] if received and received[0] is not last else []
    for chain in received[1:]:
        if chain is not last:
            left = ", ".join(operations[index].call for index in chain)
            notes.append(
                f"left out: {left}: another trace already begins with the argument; the time is"
                " application time"
            )
    if not first:
        why = "the trace that gets the argument sends" if received else "no recorded call gets it"
        notes.append(f"the first trace receives the argument by TCP alone: {why}")
    receive, respond = f"{name}_receive", f"{name}_respond"
    middle = [chain for chain in chains if chain is not last and chain not in received]
    found = {receive: first}
    found.update((f"{name}_{number}", chain) for number, chain in enumerate(middle, 1))
    found[respond] = last
    return found, (receive if first else respond) if received else ""


def _calls(
    chains: Mapping[str, Sequence[int]], operations: Sequence[Operation]
) -> dict[str, tuple[str, ...]]:
    """The accelerators of each trace. The first trace begins with TCP, and the last ends so."""
    calls = {
        trace: tuple(operations[index].accelerator for index in chain)
        for trace, chain in chains.items()
    }
    receive, *_, respond = calls
    calls[receive] = ("TCP", *calls[receive])
    calls[respond] = (*calls[respond], "TCP")
    return calls


def _chains(operations: Sequence[Operation]) -> list[list[int]]:
    """The numbers of operations that each get the output of the one before, without TCP and LdB."""
    chains: list[list[int]] = []
    for number, operation in enumerate(operations):
        if operation.accelerator in _LEFT_OUT:
            continue
        chain = next((earlier for earlier in chains if earlier[-1] == operation.follows), None)
        if chain is None:
            chains.append([number])
        else:
            chain.append(number)
    return chains


def _cost(call: str, recordings: Sequence[Recording]) -> dict[str, float]:
    """The cost of `call`: a time for each message, and one for each byte if sizes differ.

    The size is that of the trace's message, by which a simulation multiplies the time for a byte.
    """
    found = [
        (_largest(recording.operations, chain), recording.operations[index].time_ns)
        for recording in recordings
        for chain in _chains(recording.operations)
        for index in chain
        if recording.operations[index].accelerator == call
    ]
    sizes = [float(size) for size, _ in found]
    times = [float(ns) for _, ns in found]
    if len(set(sizes)) > 2:
        slope, least = statistics.linear_regression(sizes, times)
        if slope > 0 and least >= 0:
            return {"ns": round(least, 1), "ns_per_byte": round(slope, 4)}
    return {"ns": statistics.median(times)}


def _steps(calls: Sequence[str] | set[str]) -> Any:
    """The nodes that call these accelerators."""
    steps: list[Steps] = [call if call in NINE else kind(call) for call in calls]
    return seq(steps)
