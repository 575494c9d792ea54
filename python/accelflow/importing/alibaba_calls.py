"""Call graphs of Alibaba's table MSCallGraph (2021): callers, callees, counts and durations."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from accelflow.importing.numbers import Quantiles, number
from accelflow.importing.report import Report
from accelflow.importing.sources import LONGEST_NAME, CsvRow, CsvTable
from accelflow.importing.workloads import CALLS

__all__ = ["Call", "Graphs", "Shape"]

#: The largest number of rows of incomplete call graphs in memory. In the files, rows of some
#: thousand call graphs alternate.
OPEN_ROWS: Final = 100_000
#: The largest number of services that are counted, so that memory is bounded.
MOST_SERVICES: Final = 100_000
#: The largest number of different shapes that are counted, so that memory is bounded.
MOST_SHAPES: Final = 200_000
#: The largest number of calls in one invocation of a service that may become its path. A workload's
#: paths have at most 1,000 phases.
MOST_CALLS: Final = 400

#: The largest number of rows of a call graph; real ones have at most a few thousand.
MOST_TRACE_ROWS: Final = 20_000

#: Names of microservices that were lost.
_LOST: Final = frozenset({"", "(?)", "nan", "null", "none", "unknown", "unavailable"})

#: The longest time that a workload may have, in ms.
MOST_MS: Final = 1e6

#: The assumed duration in ms of calls with a time of 0 ms: the data has whole milliseconds.
UNDER_1_MS: Final = 0.5


class Call(NamedTuple):
    """A call in Alibaba's call graphs: its kind, such as ``rpc``, and the called microservice."""

    kind: str
    callee: str


#: The calls of one invocation of a service: groups that run one after another. A group has the
#: calls that overlap, each with how often it occurs.
Shape = tuple[tuple[tuple[Call, int], ...], ...]


class _Record(NamedTuple):
    """One row of the table, without its trace."""

    start_ms: float
    rpcid: str
    caller: str
    kind: str
    callee: str
    interface: str
    rt_ms: float


@dataclass
class _Seen:
    """A call as both of its rows describe it."""

    record: _Record
    #: The duration in ms that the caller's row and the callee's row state; None without the row.
    caller_ms: float | None = None
    callee_ms: float | None = None

    @property
    def length_ms(self) -> float:
        """Return how long the caller waits in ms, as its row states it.

        Without this row, it is the callee's time; 0 without either. For a message to a queue it is
        0: the time in its row is that of the consumer.
        """
        if self.record.kind == "mq":
            return 0.0
        length = self.caller_ms if self.caller_ms is not None else self.callee_ms
        return length or 0.0


@dataclass
class Service:
    """The invocations of one interface of one microservice: number, calls and own time.

    `count` is the number of invocations. `shapes` counts how often each :data:`Shape` of calls
    occurred. `own_ms` has the times of invocations without the times of their calls, and `whole_ms`
    with them, in ms.
    """

    count: int = 0
    shapes: Counter[Shape] = field(default_factory=Counter)
    own_ms: Quantiles = field(default_factory=Quantiles)
    whole_ms: Quantiles = field(default_factory=Quantiles)


class Graphs:
    """The services and their calls in Alibaba's table MSCallGraph; complete after :meth:`end`."""

    def __init__(self, report: Report) -> None:
        """Begin without call graphs."""
        self.report = report
        #: The invocations of each service, by its microservice and its interface.
        self.services: dict[tuple[str, str], Service] = {}
        #: The times in ms that callers waited for responses, by call.
        self.waits_ms: dict[Call, Quantiles] = {}
        self.first_ms = float("inf")
        self.last_ms = float("-inf")
        self._shapes = 0
        self._rows = 0
        self._traces: OrderedDict[str, list[tuple[_Record, str]]] = OrderedDict()

    def read(self, table: CsvTable) -> None:
        """Add the rows of `table`. Raises InputError if it lacks a column of MSCallGraph."""
        columns = [
            table.index("the table MSCallGraph", name)
            for name in ("timestamp", "rpcid", "um", "rpctype", "dm", "interface", "rt", "traceid")
        ]
        for row in table.rows():
            self._add(row, [row.cells[column].strip() for column in columns])

    def end(self) -> None:
        """Evaluate the call graphs that are still in memory; call this after the last table."""
        while self._traces:
            self._evaluate_oldest()

    def _add(self, row: CsvRow, cells: list[str]) -> None:
        time, rpcid, caller, kind, callee, interface, rt, trace = cells
        start_ms, rt_ms = number(time), number(rt)
        if start_ms is None or rt_ms is None or not trace or not rpcid:
            self.report.dropped(
                "calls without traceid, rpcid, timestamp or rt", "left out", row.place
            )
            return
        if abs(rt_ms) > MOST_MS:
            self.report.dropped("calls with an rt of over 1,000 s", "left out", row.place)
            return
        if any(len(cell) > LONGEST_NAME for cell in cells):
            what = f"calls with a text of over {LONGEST_NAME} characters"
            self.report.dropped(what, "left out", row.place)
            return
        if kind.lower() not in CALLS:
            what = "userDefined" if kind == "userDefined" else "none of rpc, http, mc, db and mq"
            self.report.dropped(f"calls of the type {what}", "not modelled", row.place)
            return
        self.report.understood("rows of calls")
        self.first_ms = min(self.first_ms, start_ms)
        self.last_ms = max(self.last_ms, start_ms)
        record = _Record(
            start_ms, rpcid, _name(caller), kind.lower(), _name(callee), interface, rt_ms
        )
        rows = self._traces.setdefault(trace, [])
        if len(rows) >= MOST_TRACE_ROWS:
            what = f"rows of a call graph beyond the first {MOST_TRACE_ROWS}"
            self.report.dropped(what, "left out", row.place)
            return
        rows.append((record, row.place))
        self._rows += 1
        while self._rows > OPEN_ROWS:
            self._evaluate_oldest()

    def _evaluate_oldest(self) -> None:
        _, rows = self._traces.popitem(last=False)
        self._rows -= len(rows)
        self.report.understood("call graphs")
        calls = _paired(rows, self.report)
        for call, invoked in _by_caller(calls, self.report):
            self._invocation(call, invoked)
        for call in calls:
            if call.caller_ms is not None and call.record.kind != "mq":
                self._wait(Call(call.record.kind, call.record.callee), call.caller_ms)

    def _wait(self, call: Call, time_ms: float) -> None:
        if call in self.waits_ms or len(self.waits_ms) < MOST_SERVICES:
            self.waits_ms.setdefault(call, Quantiles()).add(time_ms or UNDER_1_MS)
        else:
            what = f"times of calls to others than the first {MOST_SERVICES} microservices"
            self.report.dropped(what, "not counted")

    def _invocation(self, call: _Seen, calls: list[_Seen]) -> None:
        record = call.record
        key = record.callee, record.interface
        if key not in self.services and len(self.services) >= MOST_SERVICES:
            self.report.dropped(f"invocations beyond {MOST_SERVICES} services", "left out")
            return
        service = self.services.setdefault(key, Service())
        service.count += 1
        own = call.callee_ms if call.callee_ms is not None else call.caller_ms
        groups = _groups(calls)
        spent = sum(max(c.length_ms for c in group) for group in groups)
        service.whole_ms.add(own or UNDER_1_MS)
        service.own_ms.add(max((own or 0.0) - spent, 0.0) or UNDER_1_MS)
        if len(calls) > MOST_CALLS:
            what = f"invocations with more than {MOST_CALLS} calls"
            self.report.dropped(what, "left out of the choice of the path")
            return
        shape = tuple(
            tuple(sorted(Counter(Call(c.record.kind, c.record.callee) for c in group).items()))
            for group in groups
        )
        if shape not in service.shapes:
            if self._shapes >= MOST_SHAPES:
                what = f"invocations with calls that differ from {MOST_SHAPES} earlier combinations"
                self.report.dropped(what, "left out of the choice of the path")
                return
            self._shapes += 1
        service.shapes[shape] += 1


def _name(text: str) -> str:
    return "" if text.lower() in _LOST else text


def _paired(rows: list[tuple[_Record, str]], report: Report) -> list[_Seen]:
    """The calls of one trace: the two rows of a call are one, and names that one lacks filled."""
    seen: dict[_Record, None] = {}
    places: dict[_Record, str] = {}
    for record, place in rows:
        if record in seen:
            report.dropped("rows that are there twice", "counted once", place)
        seen[record] = None
        places.setdefault(record, place)
    calls: list[_Seen] = []
    known: set[tuple[str, str, str]] = set()
    #: Calls of which the row of the callee, or else of the caller, has not come.
    waiting: dict[tuple[str, str, str, bool], list[_Seen]] = {}
    ordered = sorted(seen, key=lambda r: (r.start_ms, _order(r.rpcid), r.rt_ms < 0, r))
    for record in ordered:
        remote, is_callee = record.kind in {"rpc", "http"}, record.rt_ms < 0
        key = record.rpcid, record.kind, record.interface
        others = waiting.setdefault((*key, is_callee), [])
        call = next((other for other in others if remote and _fits(other, record)), None)
        if call is None:
            if key in known:
                what = "calls with the rpcid of another call"
                report.guessed(what, "counted as calls of their own", places[record])
            known.add(key)
            call = _Seen(record)
            calls.append(call)
            if remote:
                waiting.setdefault((*key, not is_callee), []).append(call)
        else:
            others.remove(call)
            call.record = _filled(call.record, record, report)
        _measure(call, record, report, places[record])
    return calls


def _fits(seen: _Seen, record: _Record) -> bool:
    """Whether `record` names the caller and the callee of `seen`, as far as both name them."""
    names = ((seen.record.caller, record.caller), (seen.record.callee, record.callee))
    return all(not old or not new or old == new for old, new in names)


def _filled(first: _Record, second: _Record, report: Report) -> _Record:
    """Fill in names that `first` lacks and `second`, the call's other row, has."""
    caller, callee = first.caller or second.caller, first.callee or second.callee
    filled = first._replace(caller=caller, callee=callee)
    names = (first.caller, first.callee), (second.caller, second.callee)
    if any(each != (filled.caller, filled.callee) for each in names):
        report.understood("lost names that the call's other row has")
    return filled


def _measure(call: _Seen, record: _Record, report: Report, place: str) -> None:
    if record.rt_ms < 0 and record.kind in {"rpc", "http"}:
        call.callee_ms = -record.rt_ms
    elif record.rt_ms < 0 and record.kind != "mq":
        report.dropped("negative times of calls that have one row", "their time is left out", place)
    else:
        call.caller_ms = abs(record.rt_ms)


def _order(rpcid: str) -> tuple[int, ...]:
    """`0.1.10` is after `0.1.9`."""
    parts = rpcid.split(".")
    return tuple(int(part) if part.isdecimal() and len(part) < 10 else -1 for part in parts)


def _by_caller(calls: list[_Seen], report: Report) -> Iterable[tuple[_Seen, list[_Seen]]]:
    """Each invocation of a service with the calls that it makes."""
    invocations = [call for call in calls if call.record.kind in {"rpc", "http"}]
    by_rpcid: dict[str, list[_Seen]] = {}
    for call in invocations:
        by_rpcid.setdefault(call.record.rpcid, []).append(call)
    made: dict[int, list[_Seen]] = {id(call): [] for call in invocations}
    for call in calls:
        parent = _parent(call, by_rpcid, report)
        if parent is not None:
            made[id(parent)].append(call)
        elif call.record.caller and "." in call.record.rpcid.strip("."):
            report.dropped(
                "calls whose caller is not invoked by rpc or http in its trace",
                "they count as requests, not in a path",
                f"rpcid {call.record.rpcid}",
            )
    for call in invocations:
        if call.record.callee:
            yield call, made[id(call)]
        else:
            report.dropped(
                "invocations of a microservice whose name is lost",
                "left out; their callers' paths have them",
                f"rpcid {call.record.rpcid}",
            )


def _parent(call: _Seen, by_rpcid: dict[str, list[_Seen]], report: Report) -> _Seen | None:
    """The invocation that made `call`: the nearest one above in rpcid, of the same name."""
    caller = call.record.caller
    prefix = call.record.rpcid
    while "." in prefix:
        prefix = prefix.rpartition(".")[0]
        for candidate in by_rpcid.get(prefix, ()):
            if caller and candidate.record.callee == caller:
                return candidate
            if caller and not candidate.record.callee:
                report.guessed(
                    "lost names of callees", "the name of the caller of the calls below", ""
                )
                candidate.record = candidate.record._replace(callee=caller)
                return candidate
    return None


def _groups(calls: list[_Seen]) -> list[list[_Seen]]:
    """Group `calls` that overlap by more than 1 ms, in the order of their start."""
    groups: list[list[_Seen]] = []
    end_ms = float("-inf")
    for call in sorted(calls, key=lambda c: (c.record.start_ms, _order(c.record.rpcid))):
        start_ms = call.record.start_ms
        if groups and start_ms + 1 < end_ms:
            groups[-1].append(call)
            end_ms = max(end_ms, start_ms + call.length_ms)
        else:
            groups.append([call])
            end_ms = start_ms + call.length_ms
    return groups
