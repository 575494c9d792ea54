"""The live server that forecasts are compared with, and the load on it."""

from __future__ import annotations

import itertools
import json
import os
import random
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from accelflow import _native
from accelflow.client import CallLimits
from accelflow.errors import AccelflowError, InputError
from accelflow.settings import ClientTls

__all__ = [
    "Driven",
    "Live",
    "ServerOptions",
    "Subject",
    "capacity_rps",
    "check_call",
    "drive",
    "kept_off",
    "quantile",
    "recorded",
    "server_us",
]

#: Calls at a time: more than are under way at loads that a server can serve.
_CALLERS: Final = 32
#: Calls at a time that find the most requests per second.
_CROWD: Final = 8
#: The first share of a load that is not counted: connections are made, code and caches get warm.
_WARM_UP_RATIO: Final = 0.2
#: The number of single calls that measure one call's duration, and the pause between further calls,
#: in such durations.
_TRIED: Final = 200
_APART: Final = 3.0
#: A response that takes longer is an error.
_PATIENCE_S: Final = 20.0
#: Time limit for the server's process to start serving.
_START_S: Final = 60.0
_US_PER_S: Final = 1e6

#: A function that is called with the number of finished calls and the total number.
Progress = Callable[[int, int], object]


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """Settings of the measured server.

    The server listens on `host`. With `workers`, each accelerator has that many threads of its own,
    which execute its part of traces. With `rpc`, the server's RPC accelerator has parts of
    Cerebros's RPC processor: the split schema and the reserved memory. With `tenant_rps`, clients
    whose own address is ``::1`` belong to a tenant that is limited to that many requests per
    second.
    """

    host: str = "127.0.0.1"
    workers: int | None = None
    rpc: bool = False
    tenant_rps: float | None = None


@dataclass(frozen=True, kw_only=True)
class Subject:
    """The server to measure, and the calls to one of its functions.

    `handlers` names a function as ``MODULE:FUNCTION``, which receives an :class:`accelflow.Server`
    and registers handlers. `interface` is the server's ``.thrift`` file, and `certificate` and
    `key` are PEM files for ``localhost``. `function`, written ``Service.method``, is called with
    each of `arguments` in turn. `service` is the function's name in the simulated workload.
    `options` are further settings of the server.
    """

    handlers: str
    interface: str | Path
    certificate: str | Path
    key: str | Path
    function: str
    service: str
    arguments: Sequence[Mapping[str, Any]] = ({},)
    options: ServerOptions = field(default_factory=ServerOptions)


@dataclass(frozen=True, kw_only=True)
class Driven:
    """The outcome of calls at one load: their response times, errors, and cost at the server.

    Calls of the warm-up count in `core_us` alone. `response_us` has the time of each call from when
    it was due until its answer, in us. `late_us` is the mean time from when a call was due until it
    was sent. `core_us` is the server's processor time per call. `errors` counts calls without a
    result, which have no times.
    """

    response_us: Sequence[float]
    late_us: float
    core_us: float
    errors: int

    @property
    def mean_us(self) -> float:
        """The mean response time in microseconds."""
        return statistics.fmean(self.response_us)

    @property
    def p99_us(self) -> float:
        """The 99th percentile of response times in microseconds, by nearest rank."""
        return quantile(self.response_us, 0.99)


def quantile(values: Sequence[float], share: float) -> float:
    """Return the quantile `share` (0 to 1) of the nonempty `values`, by nearest rank."""
    ordered = sorted(values)
    rank = max(1, -int(-share * len(ordered) // 1))
    return ordered[rank - 1]


class Live:
    """A running process of the measured server; use it in a ``with`` statement."""

    def __init__(self, subject: Subject, *, core: int | None, record: bool) -> None:
        """Start the server's process on `core` (None: any) and wait until it serves.

        With `record`, the server records requests. Raises InputError if the server refuses
        `subject`, and AccelflowError if the server does not start for another reason.
        """
        settings = {
            "handlers": subject.handlers,
            "interface": os.fspath(subject.interface),
            "certificate": os.fspath(subject.certificate),
            "key": os.fspath(subject.key),
            "core": core,
            "record": record,
            "services": {subject.function: subject.service},
            "options": asdict(subject.options),
        }
        self._process = subprocess.Popen(  # noqa: S603 (the user's handlers, by the same Python)
            [sys.executable, "-m", "accelflow.prediction.serving", json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)},
        )
        try:
            self._port = self._answer()["port"]
            self.client = self.connected(subject, "127.0.0.1")
        except BaseException:
            self.stop()
            raise

    def connected(self, subject: Subject, host: str) -> _native.Client:
        """Return a client that connects to the measured server at the local address `host`."""
        limits = CallLimits(timeout_s=_PATIENCE_S, max_connections=_CALLERS, max_attempts=1)
        return _native.Client(
            os.fspath(subject.interface),
            f"{host}:{self._port}",
            protocol="binary",
            include_dirs=[],
            tls=ClientTls(ca=subject.certificate, server_name="localhost"),
            multiplexed=False,
            idempotent=[],
            bounds={**asdict(limits), "workers": None, "compress": False},
        )

    def __enter__(self) -> Live:
        """Return the live server."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the server's process."""
        self.stop()

    def recording(self) -> str:
        """Return the recording of the calls so far, as text.

        Raises AccelflowError if there were no calls, and for a server that does not record.
        """
        self._ask("recording")
        text: str = self._answer()["recording"]
        return text

    def core_s(self) -> float:
        """Return the processor time of the server's process so far, in seconds."""
        text = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="ascii")
        # The name before the last parenthesis may have spaces; user and system time are the 12th
        # and 13th word behind it (proc_pid_stat(5)).
        words = text.rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        """End the server's process."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(_START_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _ask(self, question: str) -> None:
        if self._process.stdin is not None:
            self._process.stdin.write(f"{question}\n")
            self._process.stdin.flush()

    def _answer(self) -> dict[str, Any]:
        line = self._process.stdout.readline() if self._process.stdout is not None else ""
        if not line:
            code = self._process.wait()
            raise AccelflowError(f"the server's process ended with code {code}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            kind = InputError if answer.get("wrong_input") else AccelflowError
            raise kind(answer["error"])
        return answer


@contextmanager
def kept_off(core: int | None) -> Iterator[None]:
    """Keep this process off the processor core `core` during a ``with`` block.

    Nothing changes if `core` is None, or if the process may use no other core.
    """
    before = os.sched_getaffinity(0)
    others = before - {core}
    if core is None or not others:
        yield
        return
    os.sched_setaffinity(0, others)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def drive(  # noqa: PLR0913 (by name)
    live: Live,
    subject: Subject,
    *,
    rate_rps: float,
    seconds: float,
    seed: int,
    progress: Progress | None = None,
) -> Driven:
    """Call the function of `subject` at random times, `rate_rps` a second, for `seconds`.

    The times are a Poisson process with the seed `seed`. A warm-up of a quarter of `seconds` comes
    first and is not counted. `progress` is called with the number of finished calls and the total.
    Raises AccelflowError if no call is answered.
    """
    whole_s = seconds / (1.0 - _WARM_UP_RATIO)
    stream = random.Random(seed)  # noqa: S311 (arrivals, not secrets)
    due_s, now = [], 0.0
    while (now := now + stream.expovariate(rate_rps)) < whole_s:
        due_s.append(now)
    return _called(live, subject, due_s, _CALLERS, progress)


def check_call(live: Live, subject: Subject) -> None:
    """Raise InputError if a call of `subject` is wrong: its function, or its first arguments.

    A trial call finds this out. If it fails for another reason, no error is raised, since other
    calls may succeed.
    """
    error = _why_it_fails(live, subject)
    # Refusals of the client have this form, and are raised before a call is sent.
    sent = getattr(error, "executed", "no") != "no"
    if error is not None and ": must " in str(error) and not sent:
        raise InputError(f"call of {subject.function}: {error}") from error


def _why_it_fails(live: Live, subject: Subject) -> AccelflowError | None:
    """Return the error of a call with the first arguments; None if it returns a result."""
    try:
        live.client.call(subject.function, _arguments(subject)[0])
    except AccelflowError as error:
        return error
    return None


def capacity_rps(live: Live, subject: Subject, *, seconds: float) -> float:
    """Return the largest rate, in requests per second, that the server reaches.

    It is measured for at least `seconds` with callers that each send a request as soon as the last
    one is answered. Raises AccelflowError if no call is answered.
    """
    # Calls that are due at once show how many the server answers in the time.
    count, spent_s = 64, 0.0
    while True:
        calls = live.client.drive(subject.function, _arguments(subject), [0.0] * count, _CROWD)
        _check(calls, live, subject)
        spent_s = max(response for _, response, _ in calls) / _US_PER_S
        if spent_s >= seconds:
            return count / spent_s
        count = int(count * min(8.0, 1.2 * seconds / max(spent_s, 1e-3))) + 1


def recorded(
    subject: Subject, *, core: int | None, rate_rps: float, seconds: float, seed: int
) -> tuple[str, Driven]:
    """Record `subject` under a Poisson load of `rate_rps` for `seconds`.

    Returns the recording, and the outcome of the same calls to a server without recording. The
    servers run on the processor core `core` (None: on any). Two values in the recording are
    corrected. The processor time outside of steps would include the time that recording itself
    takes. So the difference between both servers is subtracted. The client's time under load would
    include queueing, which the forecast computes itself. So the client's time is measured with
    single calls (:func:`alone`).
    """
    with Live(subject, core=core, record=True) as live:
        client_us = alone(live, subject, seconds=seconds / 2)
    with Live(subject, core=core, record=True) as live:
        drive(live, subject, rate_rps=rate_rps, seconds=seconds, seed=seed)
        tree = json.loads(live.recording())
        if not all("outside" in service for service in tree["services"]):
            # The first request of a connection has no time outside steps, and a short load on a
            # busy machine may have no others.
            _called(live, subject, [0.0] * _TRIED, 1, None)
            tree = json.loads(live.recording())
    with Live(subject, core=core, record=False) as live:
        driven = drive(live, subject, rate_rps=rate_rps, seconds=seconds, seed=seed)
    table = _native.quantile_table([time_us * 1e3 for time_us in client_us])
    for service in tree["services"]:
        outside = service.setdefault("outside", {"samples": len(client_us)})
        outside["client_quantiles_ns"] = table
        added_ns = max(0.0, server_us(service) - driven.core_us) * 1e3
        outside["core_quantiles_ns"] = [
            (share, max(0.0, time_ns - added_ns))
            for share, time_ns in outside.get("core_quantiles_ns", [])
        ]
    text = json.dumps(tree, indent=2) + "\n"
    _native.check_recording(text)
    return text, driven


def alone(live: Live, subject: Subject, *, seconds: float) -> list[float]:
    """Return the times in us that single calls take beyond the server's own time.

    The calls are evenly spaced, so far apart that none waits for another. The server process must
    record. The server's own times are drawn from its recording, so they cannot be matched with the
    calls. Both lists are sorted, and values of equal rank are subtracted. This way, variation of
    the server's times is not counted as the client's.
    """
    tried = _called(live, subject, [0.0] * _TRIED, 1, None)
    # Each of these was due at once: the last response has the time of all.
    interval_s = _APART * max(tried.response_us) / _US_PER_S / _TRIED
    count = max(_TRIED, int(seconds / interval_s))
    driven = _called(live, subject, [number * interval_s for number in range(count)], 1, None)
    (service,) = json.loads(live.recording())["services"]
    responses = sorted(driven.response_us)
    own = sorted(server_draws_us(service, len(responses)))
    return [max(0.0, whole - server) for whole, server in zip(responses, own, strict=True)]


def server_draws_us(service: Mapping[str, Any], count: int) -> list[float]:
    """Return random times in us that a server works on a request, for `count` requests.

    The times are drawn from the quantile tables of `service`, a service of a recording.
    """
    stream, tables = random.Random(count), _tables(service)  # noqa: S311 (times, not secrets)
    return [sum(_draw(table, stream.random()) for table in tables) * 1e-3 for _ in range(count)]


def _draw(table: Sequence[Sequence[float]], share: float) -> float:
    """Return the time in ns at quantile `share` of `table`."""
    for (p, low), (q, high) in itertools.pairwise(table):
        if share <= q:
            return low + (high - low) * (share - p) / (q - p) if q > p else high
    return table[-1][1]


def _tables(service: Mapping[str, Any]) -> list[Sequence[Sequence[float]]]:
    """The tables of a service's times at the server that are not empty."""
    tables = [service.get("outside", {}).get("core_quantiles_ns", [])]
    for phase in service["phases"]:
        if "cpu" in phase:
            tables.append(phase["cpu"].get("app_quantiles_ns", []))
        for chain in phase.get("chains", ()):
            tables += [step.get("cost_quantiles_ns", []) for step in chain["steps"]]
    return [table for table in tables if table]


def server_us(service: Mapping[str, Any]) -> float:
    """Return the mean time in us that the server works on a request of one service.

    `service` is that service's part of a recording. The time is the sum of the means of its tables
    of quantiles.
    """
    return sum(map(_mean, _tables(service))) * 1e-3


def _mean(table: Sequence[Sequence[float]]) -> float:
    pairs = itertools.pairwise(table)
    return sum((q - p) * (low + high) / 2 for (p, low), (q, high) in pairs)


def _called(
    live: Live,
    subject: Subject,
    due_s: Sequence[float],
    callers: int,
    progress: Progress | None,
) -> Driven:
    before_s = live.core_s()
    calls = live.client.drive(subject.function, _arguments(subject), list(due_s), callers, progress)
    core_us = (live.core_s() - before_s) * _US_PER_S / max(1, len(calls))
    counted = calls[int(len(calls) * _WARM_UP_RATIO) :]
    _check(counted, live, subject)
    good = [(late, response) for late, response, fine in counted if fine]
    return Driven(
        response_us=[response for _, response in good],
        late_us=statistics.fmean(late for late, _ in good),
        core_us=core_us,
        errors=len(counted) - len(good),
    )


def _check(calls: Sequence[tuple[float, float, bool]], live: Live, subject: Subject) -> None:
    """Raise AccelflowError with the reason of a further call if none of `calls` has a result."""
    if not any(fine for _, _, fine in calls):
        error = _why_it_fails(live, subject)
        reason = "" if error is None else f": {error}"
        raise AccelflowError(
            f"none of the {len(calls)} calls of {subject.function} returned a result{reason}"
        )


def _arguments(subject: Subject) -> list[dict[str, Any]]:
    return [dict(each) for each in subject.arguments]
