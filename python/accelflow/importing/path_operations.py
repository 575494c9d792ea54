"""The number of each accelerator's operations in a request, from the path of a service."""

from __future__ import annotations

import itertools
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from accelflow import _native
from accelflow.errors import AccelflowError, InputError, TraceError, one_of, refused
from accelflow.importing.workloads import Tree
from accelflow.workload import mean_attempts

__all__ = ["OPERATIONS", "has_own_traces", "operations_of", "walked_operations"]

#: The nine operations, in the paper's order.
OPERATIONS: Final = ("TCP", "Encr", "Decr", "RPC", "Ser", "Dser", "Cmp", "Dcmp", "LdB")

#: How many requests are walked to count the operations of a path whose facts are drawn.
_DRAWN_REQUESTS: Final = 10_000

#: Members of a chain that name another service, or repeat the chain.
_OTHERS: Final = frozenset({"calls", "network", "retry"})

#: Fields with odds in one chain; all combinations are walked.
_MOST_ODDS: Final = 10

#: The largest number of attempts of a chain.
_MOST_ATTEMPTS: Final = 64

#: The default of each field: the most common path of the templates.
_USUAL: Final = {"hit": 1, "found": 1}

#: Facts have 64 bits.
_WIDE: Final = 2**63

#: For each trace by name, the facts about the payload that its branches test.
Facts = Mapping[str, Mapping[str, int]]


def operations_of(service: Tree, place: str) -> dict[str, float]:
    """Return how many operations of each accelerator a request to `service` has on average.

    The result maps names of accelerators to numbers; accelerators without operations are left out.
    `service` is a service in a workload's file, as a dict, and `place` names it in error messages.
    If a property of a payload (fact) is random, with odds in the workload, the mean weighs each
    outcome by its probability. A field that a chain states for no trace is 1 if it is ``hit`` or
    ``found``, else 0. Each attempt of a chain with `retry` counts. Phases count in full, although
    an error may end a request before them. Raises InputError for a path that is not a list of
    phases, for traces other than the templates, for more than ten random facts in a chain, and for
    facts with which a trace cannot proceed.
    """
    image = _native.TraceLibrary().link()
    found: dict[str, float] = defaultdict(float)
    for chain, where in _chains(service.get("path"), f"{place}.path"):
        attempts = _attempts(chain, where)
        for operation, count in _walked(chain, where, image).items():
            found[operation] += count * attempts
    return {name: found[name] for name in OPERATIONS if found.get(name, 0) > 0}


def has_own_traces(service: Tree, place: str) -> bool:
    """Return whether a chain of `service` begins with a trace that is not one of the paper's.

    Raises InputError, whose message begins with `place`, for a path that is not a list of phases.
    """
    templates = set(_native.TraceLibrary().names())
    return any(
        chain["trace"] not in templates
        for chain, _ in _chains(service.get("path"), f"{place}.path")
        if isinstance(chain["trace"], str)
    )


def walked_operations(workload: Tree, name: str) -> dict[str, float]:
    """Return how many operations of each accelerator a request to service `name` has on average.

    The result maps names of accelerators to numbers; accelerators without operations, and custom
    ones, are left out. `workload` is the content of a workload's file, with its own traces and
    without references to files. If properties of payloads (facts) are random, with odds in the
    workload, they are drawn for 10,000 requests. Attempts and errors count as in
    :func:`operations_of`. Raises InputError for an unknown name and for a path that cannot be
    simulated.
    """
    services = {each["name"]: each for each in workload["services"]}
    service = services[one_of("service", name, services)]
    path = [_alone(phase) for phase in service["path"]]
    found = defaultdict(float, _counted(workload, name, path))
    ends = [path[0], path[-1]] if len(path) > 1 else path
    for chain, where in _chains(service["path"], "path"):
        again = _attempts(chain, where) - 1.0
        if again > 0.0:
            whole = _counted(workload, name, [ends[0], _alone(chain), *ends[1:]])
            without = _counted(workload, name, ends)
            for operation, count in whole.items():
                found[operation] += again * (count - without.get(operation, 0.0))
    return {each: found[each] for each in OPERATIONS if found[each] > 0}


def _counted(workload: Tree, name: str, path: list[Tree]) -> dict[str, float]:
    """Return the mean number of operations in a request along `path`, without other services."""
    chains = [chain for chain, _ in _chains(path, "path")]
    requests = _DRAWN_REQUESTS if any(chain.get("odds") for chain in chains) else 1
    # With costs of the paper, since those of the file may lack the operations to be counted.
    kept: Tree = {
        key: workload[key] for key in ("schema", "name", "traces", "kinds") if key in workload
    }
    tree = {**kept, "services": [{"name": name, "rate_rps": 1.0, "path": path}]}
    try:
        walked = _native.scenario_payloads(json.dumps({"workload": tree}), None, requests)
    except AccelflowError as error:
        raise InputError.of(error) from error
    found = Counter(operation for operation, _, _ in walked)
    return {operation: count / requests for operation, count in found.items()}


def _attempts(chain: Tree, place: str) -> float:
    """Return :func:`mean_attempts` of `chain`. Raises InputError for attempts that cannot be."""
    retry = chain.get("retry")
    if retry is None:
        return 1.0
    stated: Mapping[str, Any] = retry if isinstance(retry, dict) else {}
    odds: Any = stated.get("odds")
    most = stated.get("attempts")
    if not _is_probability(odds) or type(most) is not int or not 1 <= most <= _MOST_ATTEMPTS:
        allowed = f"must have odds from 0 to 1 and 1 to {_MOST_ATTEMPTS} attempts"
        raise refused(f"{place}.retry", retry, allowed)
    return mean_attempts(chain)


def _alone(phase: Tree) -> Tree:
    """`phase` without other services."""
    if "parallel" in phase:
        return {"parallel": [_alone(chain) for chain in phase["parallel"]]}
    return {key: value for key, value in phase.items() if key not in _OTHERS}


def _chains(path: Any, place: str) -> Iterator[tuple[Tree, str]]:
    if not isinstance(path, list):
        raise refused(place, path, "must be a list of phases")
    for index, phase in enumerate(path):
        where = f"{place}[{index}]"
        if not isinstance(phase, dict):
            raise refused(where, phase, "must be a phase: a table with cpu, trace or parallel")
        if "parallel" in phase:
            yield from _chains(phase["parallel"], f"{where}.parallel")
        elif "trace" in phase:
            yield phase, where


def _walked(chain: Tree, place: str, image: _native.TraceImage) -> dict[str, float]:
    """Return the mean number of operations of all chains that `chain` describes."""
    times = chain.get("times", 1)
    if isinstance(times, bool) or not isinstance(times, int) or not 1 <= times <= 64:
        raise refused(f"{place}.times", times, "must be a whole number from 1 to 64")
    name = chain["trace"]
    if name not in image.traces:
        raise refused(f"{place}.trace", name, known=image.traces)
    facts = _table(chain.get("facts", {}), f"{place}.facts", _is_fact)
    odds = _table(chain.get("odds", {}), f"{place}.odds", _is_probability)
    found: dict[str, float] = defaultdict(float)
    for drawn, probability in _drawn(facts, odds, place):
        try:
            steps = _steps(image, name, drawn)
        except TraceError as error:
            raise InputError(f"{place}: {error}") from error
        for operation in steps:
            found[operation] += times * probability
    return found


def _table(given: Any, place: str, allowed: Callable[[Any], bool]) -> dict[str, dict[str, Any]]:
    if not isinstance(given, dict):
        needed = "must be a table of traces, such as { T1 = { compressed = 0 } }"
        raise refused(place, given, needed)
    for trace, fields in given.items():
        if not isinstance(fields, dict):
            needed = "must be a table of fields, such as { compressed = 0 }"
            raise refused(f"{place}.{trace}", fields, needed)
        for field, value in fields.items():
            if not allowed(value):
                what = "a whole number of at most 64 bits"
                if allowed is _is_probability:
                    what = "a probability from 0 to 1"
                raise refused(f"{place}.{trace}.{field}", value, f"must be {what}")
    return given


def _is_fact(value: Any) -> bool:
    return isinstance(value, int) and -_WIDE <= value < _WIDE


def _is_probability(value: Any) -> bool:
    return isinstance(value, int | float) and 0 <= value <= 1


def _drawn(
    facts: dict[str, dict[str, int]], odds: dict[str, dict[str, float]], place: str
) -> Iterator[tuple[Facts, float]]:
    """All facts that can be drawn, with their probabilities."""
    bits = [(trace, field, p) for trace, fields in odds.items() for field, p in fields.items()]
    if len(bits) > _MOST_ODDS:
        allowed = f"must have at most {_MOST_ODDS} fields"
        raise refused(f"{place}.odds", f"{len(bits)} fields", allowed)
    for values in itertools.product((0, 1), repeat=len(bits)):
        drawn = {trace: dict(fields) for trace, fields in facts.items()}
        probability = 1.0
        for (trace, field, p), value in zip(bits, values, strict=True):
            drawn.setdefault(trace, {})[field] = value
            probability *= p if value else 1 - p
        if probability > 0:
            yield drawn, probability


def _steps(image: _native.TraceImage, name: str, facts: Facts) -> list[str]:
    """Yield the accelerators on the walk from the trace `name`.

    Several traces may read the same field of different messages. Each trace therefore runs with its
    own facts until the next one begins.
    """
    fields = {field: _USUAL.get(field, 0) for field in image.fields}
    for others in facts.values():
        fields |= others
    fields |= facts.get(name, {})
    found: list[str] = []
    for kind, target in itertools.islice(image.walk(name, fields), 1, None):
        if kind == "enter" and target in facts and _differs(facts[target], fields):
            return found + _steps(image, target, facts)
        if kind in {"call", "receive"}:
            found.append(target)
    return found


def _differs(facts: Mapping[str, int], used: Mapping[str, int]) -> bool:
    return any(used[field] != value for field, value in facts.items())
