"""Workloads as trees (the contents of ``accelflow.workload/1`` files): reading and building."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain as joined
from pathlib import Path
from typing import Any, Final, TypeAlias

from accelflow.errors import LEFT_OUT, refused, unreadable
from accelflow.files import parse_json, parse_toml, read_text
from accelflow.importing.numbers import rounded
from accelflow.importing.times import Traced

__all__ = [
    "CALLS",
    "FACTS",
    "LEAST_RATE_RPS",
    "MOST_PARALLEL",
    "MOST_RATE_RPS",
    "MOST_SERVICES",
    "MOST_TIME_US",
    "OWNER",
    "RECEIVE",
    "SCHEMA",
    "SEND",
    "Companions",
    "Imported",
    "Tree",
    "chain",
    "distinct",
    "mean_rate",
    "microseconds",
    "plain_name",
    "rate_lines",
    "rate_rows",
    "read_workload",
    "service_of",
    "stated_rate",
]

#: The name and version of workload files.
SCHEMA: Final = "accelflow.workload/1"

#: The content of a workload's file, or a part of it, as objects for JSON.
Tree: TypeAlias = dict[str, Any]

#: The lines of the files that accompany a workload's file, by the file's name.
Companions: TypeAlias = Mapping[str, Iterable[str]]

#: The facts of the templates, by trace, on the path without compression, misses and exceptions.
FACTS: Final[Mapping[str, Mapping[str, int]]] = {
    "T1": {"compressed": 0},
    "T5": {"hit": 1, "compressed": 0},
    "T7": {"exception": 0},
    "T10": {"exception": 0, "compressed": 0},
    "T12": {"compressed": 0},
}

#: The largest number of services of a workload.
MOST_SERVICES: Final = 1_000
#: The largest number of parallel chains in a phase of a workload.
MOST_PARALLEL: Final = 64
#: The largest time in a workload, in us.
MOST_TIME_US: Final = 1e12
#: The lowest rate in a workload, in requests per second.
LEAST_RATE_RPS: Final = 0.001
#: The highest rate in a workload, in requests per second.
MOST_RATE_RPS: Final = 1e9

_MOST_DEPTH: Final = 64

#: The relative difference between two means that follows from the rounding of a table's rates.
_ROUNDED: Final = 1e-4

#: The placeholder for the name of the workload's file, at the start of a companion file's name.
OWNER: Final = "*"

#: The kinds of calls in traces of microservices, each with the templates that send the request and
#: receive the answer: RPC, HTTP, cache (mc), database (db) and message queue (mq).
CALLS: Final[Mapping[str, tuple[str, str]]] = {
    "rpc": ("T9", "T10"),
    "http": ("T11", "T12"),
    "mc": ("T4", "T5"),
    "db": ("T8", "T7"),
    "mq": ("T8", "T7"),
}


@dataclass(frozen=True)
class Imported:
    """An imported workload: the content of its file, and companion files with arrivals.

    `tree` is the content of the workload's file as a dict. It refers to `companions` by names that
    begin with the placeholder :data:`OWNER`. :func:`accelflow.importing.write_imported` replaces
    this placeholder by the name of the workload's file. `traced` has the durations of requests in
    the imported data, by service, if the data has any.
    """

    tree: Tree
    #: The lines of text of each companion file. They are read once, while the file is written.
    companions: Companions = field(default_factory=dict)
    traced: Mapping[str, Traced] = field(default_factory=dict)


def chain(kind: str, times: int = 1, waits_us: Tree | None = None) -> Tree:
    """Return a chain, a part of a service's path, that makes `times` equal calls at the same time.

    `kind` is the kind of the calls, a key of :data:`CALLS`. `waits_us` is the distribution of waits
    for the answers in us, by default the workload's.
    """
    sends, receives = CALLS[kind]
    built: Tree = {"trace": sends, "facts": {receives: dict(FACTS[receives])}}
    if times > 1:
        built["times"] = times
    if waits_us:
        built["waits"] = {receives: waits_us}
    return built


#: The first phase of a service's path: the arrival of the request.
RECEIVE: Final[Tree] = {"trace": "T1", "facts": {"T1": {"compressed": 0}}}
#: The last phase of a service's path: the answer.
SEND: Final[Tree] = {"trace": "T2"}


def rate_rows(
    rates: Iterable[tuple[int, float]], end: tuple[int, float] | None = None
) -> Iterator[tuple[int, float]]:
    """Yield the rows of a workload's table of rates: pairs (start in ns, requests per second).

    `rates` has the imported pairs. `end` is a last pair: the time in ns at which the imported data
    ends, and the mean rate, which holds from then on. Without `end`, the last rate holds, and zeros
    at the end are omitted. Also omitted are rates equal to the previous one, and those that start
    after :data:`MOST_TIME_US`, the largest time in a workload.
    """
    before: float | None = None
    pause_ns: int | None = None
    for start_ns, rate in joined(rates, [end] if end else []):
        rate_rps = rounded(rate)
        if rate_rps != before and start_ns <= 1e3 * MOST_TIME_US:
            if rate_rps == 0:
                pause_ns = start_ns
            else:
                if pause_ns is not None and pause_ns != start_ns:
                    yield pause_ns, 0.0
                pause_ns = None
                yield start_ns, rate_rps
        before = rate_rps


def rate_lines(
    rates: Iterable[tuple[int, float]], end: tuple[int, float] | None = None
) -> Iterator[str]:
    """Yield the lines of a CSV file of rates, whose rows are those of :func:`rate_rows`."""
    yield "start_us,rate_rps"
    for start_ns, rate_rps in rate_rows(rates, end):
        yield f"{microseconds(start_ns)},{rate_rps:.12g}"


def mean_rate(rates: Iterable[tuple[int, float]], end: tuple[int, float] | None = None) -> float:
    """Return the mean rate, in requests per second, of the table that :func:`rate_rows` makes.

    It is calculated as for workloads with such a table (docs/workloads.md): the last rate counts
    for as long as the one before it. A table without rows has the mean 0.
    """
    area, span_ns, length_ns = 0.0, 0, 1
    last: tuple[int, float] | None = None
    for row in rate_rows(rates, end):
        if last is not None:
            length_ns = row[0] - last[0]
            area, span_ns = area + last[1] * length_ns, span_ns + length_ns
        last = row
    return (area + last[1] * length_ns) / (span_ns + length_ns) if last else 0.0


def stated_rate(
    mean_rps: float, rates: Iterable[tuple[int, float]], end: tuple[int, float] | None
) -> float:
    """Return the mean rate to write into a workload's file, in requests per second with six digits.

    It is `mean_rps`, the mean rate of the imported data, unless the file's table of rates
    (:func:`rate_rows`) has another mean. The means differ if the data goes beyond the largest time
    in a workload (:data:`MOST_TIME_US`), or if its times are not equally spaced.
    """
    table = mean_rate(rates, end)
    differs = abs(table - mean_rps) > _ROUNDED * mean_rps
    return rounded(table if differs else mean_rps)


def microseconds(time_ns: int) -> str:
    """Return `time_ns`, at least 0, as text: a decimal number of microseconds."""
    whole, rest = divmod(time_ns, 1_000)
    return f"{whole}.{rest:03}".rstrip("0") if rest else str(whole)


def plain_name(text: str, otherwise: str = "imported") -> str:
    """Return `text` with letters, digits, ``-`` and ``_`` only, as names of workloads must be.

    The result has at most 64 characters; it is `otherwise` if no character is left.
    """
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-")[:64] or otherwise


def distinct(names: Iterable[str]) -> dict[str, str]:
    """Return a short distinct name for each of `names`, as a mapping from the old to the new name.

    New names have the characters of :func:`plain_name`. Long identifiers such as hashes are
    shortened, to eight characters if they stay distinct.
    """
    names = sorted(set(names))
    short: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        plain = plain_name(name, "unnamed")
        ends = (plain[:length] for length in range(8, min(len(plain), 40) + 1))
        numbered = (f"{plain[:24]}-{count}" for count in range(2, len(names) + 3))
        candidates = [*ends, *([plain] if len(plain) < 8 else []), *numbered]
        short[name] = next(each for each in candidates if each not in taken)
        taken.add(short[name])
    return short


def read_workload(path: Path) -> Tree:
    """Read the workload file at `path`, TOML or JSON, and return its content as a dict.

    Raises InputError for a file that cannot be read or is not a workload. The contents of services
    are not checked.
    """
    try:
        text = read_text(path)
        is_json = text.lstrip().startswith("{")
        tree = parse_json(text) if is_json else parse_toml(text)
        _check_depth(tree)
        # Neither form may hold what the other has not: dates, nan, halves of characters.
        json.dumps(tree, allow_nan=False, ensure_ascii=False).encode()
    except (OSError, ValueError, TypeError) as error:
        raise unreadable("--into", path, error) from error
    if tree.get("schema") != SCHEMA:
        raise refused(f"{path}: schema", tree.get("schema", LEFT_OUT), f"must be '{SCHEMA}'")
    services = tree.get("services", LEFT_OUT)
    if not isinstance(services, list) or not services:
        raise refused(f"{path}: services", services, "must be a list of tables, not empty")
    for index, service in enumerate(services):
        if not isinstance(service, dict) or not isinstance(service.get("name"), str):
            raise refused(
                f"{path}: services[{index}]", service, "must be a table with the key name, a string"
            )
    found: Tree = tree
    return found


def _check_depth(tree: Any) -> None:
    """Raise ValueError for nesting deeper than 64 tables and lists, as for TOML."""
    level = [tree]
    for _ in range(_MOST_DEPTH):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
    if level:
        message = f"objects and lists are nested more than {_MOST_DEPTH} deep"
        raise ValueError(message)


def service_of(tree: Tree, name: str) -> Tree:
    """Return the service `name` in `tree`, a workload's content; changes to it change `tree`.

    Raises InputError for an unknown name.
    """
    known = [service["name"] for service in tree["services"]]
    if name not in known:
        raise refused("--service", name, known=known)
    found: Tree = tree["services"][known.index(name)]
    return found
