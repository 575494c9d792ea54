"""Derives call graphs from Alibaba's table MSCallGraph (2021): the calls of functions, in order.

Usage: .venv/bin/python benches/alibaba_graphs.py Callgraph.csv > benches/alibaba_graphs.json

Callgraph.csv has rows of MSCallGraph_0.csv of alibaba/clusterdata, folder
cluster-trace-microservices-v2021 (Luo et al., "Characterizing Microservice Dependency and
Performance: Alibaba Trace Analysis", SoCC 2021). The output has no names, interfaces and times;
microservices are numbered.

A function is the work of one microservice in one invocation, as a text of steps in the order of the
table: `m` reads a cache, `d` reads a database, `q` sends a message for which nobody waits, and a
number calls the function with this index; `&` joins calls that overlap by over 1 ms. `3m` is three
reads one after another. Invocations of a microservice with the same steps are one function. A call
whose caller is missing in the table belongs to the nearest caller above that is present. If there
is none, a front is added that makes the call. Calls of the type userDefined are left out.
"""

import csv
import itertools
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

CALLS = ("rpc", "http")
LETTERS = {"mc": "m", "db": "d", "mq": "q"}
#: The text in place of a lost name.
LOST = "(?)"


class Row(NamedTuple):
    """A call: its place in the graph, its kind, its callee, and its begin and duration in ms."""

    rpcid: tuple[int, ...]
    kind: str
    callee: str
    begin: int
    took: int


class Functions:
    """The different functions, in an order in which every function follows those it calls."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, str], int] = {}

    def add(self, callee: str, steps: str) -> int:
        return self.found.setdefault((callee, steps), len(self.found))

    def to_list(self) -> list[list[Any]]:
        """Return the number of the microservice and the steps of each function."""
        numbers: dict[str, int] = {}
        return [[numbers.setdefault(callee, len(numbers)), steps] for callee, steps in self.found]


def graphs(file: Path) -> dict[str, list[Row]]:
    """Return the calls of each trace, without duplicates, in the order of their rpcids."""
    rows: dict[str, list[Mapping[str, str]]] = {}
    with file.open(newline="", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            if row["rpctype"] in (*CALLS, *LETTERS):
                rows.setdefault(row["traceid"], []).append(row)
    return {trace: calls(found) for trace, found in rows.items()}


def calls(rows: Iterable[Mapping[str, str]]) -> list[Row]:
    """Return the calls of one trace; of a call's two rows, the longer duration counts."""
    rows = list(rows)
    # A microservice whose name is lost in one row may have it in the call's other row, or in the
    # rows of its own calls.
    named = {place(row): row["dm"] for row in rows if row["dm"] != LOST}
    callers = {row["rpcid"].rpartition(".")[0]: row["um"] for row in rows if row["um"] != LOST}
    found: dict[tuple[str, ...], Row] = {}
    for row in rows:
        known = named.get(place(row)) or callers.get(row["rpcid"]) or f"? {row['interface']}"
        callee = known if row["dm"] == LOST else row["dm"]
        key = (*place(row), callee)
        rpcid = tuple(map(int, row["rpcid"].split(".")))
        call = Row(rpcid, row["rpctype"], callee, int(row["timestamp"]), abs(int(row["rt"])))
        if key not in found or found[key].took < call.took:
            found[key] = call
    return sorted(found.values())


def place(row: Mapping[str, str]) -> tuple[str, ...]:
    """Return the fields that are equal in both rows of a call."""
    return row["rpcid"], row["rpctype"], row["interface"]


def front(trace: str, found: list[Row], functions: Functions) -> int:
    """Return the index of the function that begins the graph of `trace`."""
    by_place = {call.rpcid: call for call in reversed(found) if call.kind in CALLS}
    below: dict[Row | None, list[Row]] = {}
    for call in found:
        above = (by_place.get(call.rpcid[:length]) for length in range(len(call.rpcid) - 1, 0, -1))
        below.setdefault(next((known for known in above if known is not None), None), []).append(
            call
        )

    def function(call: Row) -> int:
        return functions.add(call.callee, steps(below.get(call, ()), function))

    first = [call for call in below[None] if call.kind in CALLS]
    if len(below[None]) == len(first) == 1:
        return function(first[0])
    return functions.add(f"front of {trace}", steps(below[None], function))


def steps(made: Iterable[Row], function: Any) -> str:
    """Return the calls of one invocation as a text of steps."""
    found: list[str] = []
    ends = 0
    for call in made:
        if call.kind in CALLS:
            text = str(function(call))
            overlaps = found and found[-1][-1].isdigit() and call.begin + 1 < ends
            found.append(f"{found.pop()}&{text}" if overlaps else text)
            ends = max(ends if overlaps else 0, call.begin + call.took)
        else:
            found.append(LETTERS[call.kind])
    counted = ((text, len(list(group))) for text, group in itertools.groupby(found))
    parts: list[str] = []
    for text, count in counted:
        if text.isalpha():
            parts.append(f"{count}{text}" if count > 1 else text)
        else:
            parts += [text] * count
    return " ".join(parts)


def main() -> None:
    file = Path(sys.argv[1])
    functions = Functions()
    fronts = [front(trace, found, functions) for trace, found in graphs(file).items()]
    document: Mapping[str, Any] = {
        "source": "derived by benches/alibaba_graphs.py from 999 rows of MSCallGraph_0 of "
        "alibaba/clusterdata, cluster-trace-microservices-v2021; Luo et al., Characterizing "
        "Microservice Dependency and Performance: Alibaba Trace Analysis, SoCC 2021",
        "fronts": fronts,
        "functions": functions.to_list(),
    }
    lines = [json.dumps(function) for function in document["functions"]]
    head = [f'  "{key}": {json.dumps(document[key])},' for key in ("source", "fronts")]
    listed = ",\n    ".join(lines)
    print("\n".join(["{", *head, f'  "functions": [\n    {listed}\n  ]', "}"]))


if __name__ == "__main__":
    main()
