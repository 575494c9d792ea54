"""Measurement of SocialNetwork's eight services on one live server.

:func:`measure` needs the program of ``examples/socialnetwork`` and a machine without other work.
:func:`write` and :func:`read` store its result in a file. One process is the server, on a core of
its own. Another process answers at once for the services and the storage that the eight services
call.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import math
import os
import random
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Final, Self

from accelflow import _native
from accelflow.client import CallLimits
from accelflow.companions.together.systems import FLOODING, LOADS, SYSTEMS, System
from accelflow.errors import (
    AccelflowError,
    InputError,
    file_path,
    refused,
    unwritable,
    whole_number,
    with_schema,
)
from accelflow.files import parse_json, read_text, why, write_whole
from accelflow.prediction.live import kept_off, quantile, server_us
from accelflow.settings import ClientTls

__all__ = ["ROUNDS", "SCHEMA", "SECONDS", "measure", "read", "write"]

#: The name and version of the object that :func:`measure` returns.
SCHEMA: Final = "accelflow.together.live/2"

#: The default number of rounds of each measurement.
ROUNDS: Final = 12
#: The default length of a measurement in one round, in seconds.
SECONDS: Final = 3.0
#: The share of the core that the even load takes without accelerators, and the share that the
#: tenant takes under flood.
_EVEN: Final = 0.3
_FLOOD: Final = 0.6
#: The rate that ARCUS promises the tenant, as a multiple of its rate at the even load.
PROMISED: Final = 2.0
#: The control plane's capacity in accelerator seconds per second: the share of the core that is not
#: for handlers.
_CAPACITY: Final = 0.5
#: The time in seconds of calls that make connections and are not counted.
_WARM_UP_S: Final = 0.5
_PROBE_RPS: Final = 20.0
_CALLERS: Final = 8
#: The number of the tenant's connections, more than its flood needs.
_FLOOD_CALLERS: Final = 24
_PATIENCE_S: Final = 20.0
_START_S: Final = 60.0
_US_PER_S: Final = 1e6
#: The size of the tenant's messages in bytes, from which the server predicts their time.
_MESSAGE_BYTES: Final = 256

#: A function that is called with the name of each stage.
Progress = Callable[[str], object]
#: For each call: when it was due and its response time from then, in us, and whether it succeeded.
_Calls = Sequence[tuple[float, float, bool]]


@dataclass(frozen=True, kw_only=True)
class _Subject:
    """The program of examples/socialnetwork, and the settings that its stand-in services report.

    `requests` has the function and the arguments of each service's calls, by service.
    """

    program: Path
    site: str
    certificate: str
    interface: str
    requests: Mapping[str, Mapping[str, Any]]


class _Process:
    """A process of the program of examples/socialnetwork, for use in a ``with`` statement."""

    def __init__(self, program: Path, *arguments: str) -> None:
        self._program = program
        try:
            self._process = subprocess.Popen(  # noqa: S603 (the user's program)
                # A name without folder would be searched on PATH.
                [program.absolute(), *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                errors="replace",
            )
        except OSError as error:
            allowed = f"must be the executable of examples/socialnetwork: {why(error)}"
            raise refused("PROGRAM", str(program), allowed) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def answer(self) -> dict[str, Any]:
        """Return the JSON object in the next line that the process prints.

        Raises AccelflowError if the process has ended or reports an error, and InputError if the
        line is something else.
        """
        line = self._process.stdout.readline() if self._process.stdout is not None else ""
        if not line:
            code = self._process.wait()
            raise AccelflowError(f"{self._program} ended with code {code} before it answered")
        try:
            found: dict[str, Any] = dict(json.loads(line))
        except (TypeError, ValueError) as error:
            allowed = f"must be the program of examples/socialnetwork; it printed {line[:80]!r}"
            raise refused("PROGRAM", str(self._program), allowed) from error
        if "error" in found:
            raise AccelflowError(found["error"])
        return found

    def ask(self, question: str) -> dict[str, Any]:
        """Send the line `question` to the process, and return its :meth:`answer`."""
        with contextlib.suppress(BrokenPipeError):  # the process has ended: its answer says so
            if self._process.stdin is not None:
                self._process.stdin.write(f"{question}\n")
                self._process.stdin.flush()
        return self.answer()

    def core_s(self) -> float:
        """Return the processor time of the process so far, in seconds."""
        text = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="ascii")
        words = text.rpartition(")")[2].split()  # user and system time: proc_pid_stat(5)
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        """End the process."""
        if self._process.stdin is not None and not self._process.stdin.closed:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
        try:
            self._process.wait(_START_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


class _Server(_Process):
    """The process of the server, and the clients that call it."""

    def __init__(self, subject: _Subject, core: int | None, settings: Mapping[str, Any]) -> None:
        on = () if core is None else ("--core", str(core))
        given = ("--settings", json.dumps(settings))
        super().__init__(subject.program, "subject", subject.site, *on, *given)
        self._subject = subject
        try:
            port = self.answer()["port"]
            self._clients = {
                (host, compress): self._connected(f"{host}:{port}", compress=compress)
                for host in ("127.0.0.1", "[::1]")
                for compress in (False, True)
            }
        except BaseException:
            self.stop()
            raise

    def _connected(self, address: str, *, compress: bool) -> _native.Client:
        limits = CallLimits(timeout_s=_PATIENCE_S, max_connections=_FLOOD_CALLERS, max_attempts=1)
        return _native.Client(
            self._subject.interface,
            address,
            include_dirs=[],
            protocol="binary",
            tls=ClientTls(ca=self._subject.certificate, server_name="localhost"),
            multiplexed=False,
            idempotent=[],
            bounds={**asdict(limits), "workers": None, "compress": compress},
        )

    def drive(
        self, service: str, due_s: Sequence[float], until_s: float, *, tenant: bool = False
    ) -> _Calls:
        """Call `service` at the times `due_s`, in seconds from now; return the calls made.

        With `tenant`, the calls come from the address of the flooding tenant. Calls that have not
        begun `until_s` seconds from now are not made, since a flood that the server holds back
        would last far longer.
        """
        asked = self._subject.requests[service]
        client = self._clients["[::1]" if tenant else "127.0.0.1", asked["compressed"]]
        callers = _FLOOD_CALLERS if tenant else _CALLERS
        made = client.drive(
            asked["function"], asked["arguments"], list(due_s), callers, until_s=until_s
        )
        return [
            (due * _US_PER_S, response, fine)
            for due, (_, response, fine) in zip(due_s, made, strict=False)
        ]

    def drive_all(self, rates: Mapping[str, float], seconds: float, seed: int) -> dict[str, _Calls]:
        """Call all services at the same time, each at its rate; return the calls by service."""
        found: dict[str, _Calls] = {}
        failed: list[BaseException] = []

        def one(service: str, rate_rps: float, number: int) -> None:
            due_s = _due_s(rate_rps, seconds, seed * len(rates) + number)
            try:
                found[service] = self.drive(service, due_s, seconds, tenant=service == FLOODING)
            except BaseException as error:
                failed.append(error)

        threads = [
            threading.Thread(target=one, args=(name, rate, number))
            for number, (name, rate) in enumerate(rates.items())
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failed:
            raise failed[0]
        return found


def measure(
    program: Path,
    *,
    rounds: int = ROUNDS,
    seconds: float = SECONDS,
    seed: int = 1,
    say: Progress | None = None,
) -> dict[str, Any]:
    """Measure SocialNetwork's eight services on a live server, without and with a flooding tenant.

    `program` is the executable of ``examples/socialnetwork``. The systems and loads are those of
    :mod:`accelflow.companions.together.systems`. The server executes traces on the threads of
    connections, or on worker threads in place of accelerators. Some systems add parts of Cerebros's
    processor, or ARCUS's promises of accelerator time. The server has a core of its own if the
    machine has two. Each of the `rounds` measures every system under every load for `seconds`
    seconds. `seed` is the seed of the random arrivals. `say` is called with the name of each stage.

    Raises InputError if `program` cannot be started or is another executable, and for `rounds` or
    `seconds` that are not allowed. Raises AccelflowError for a program that ends or fails, and for
    a machine without IPv6, since the server knows the flooding tenant by the address ``::1``.
    """
    whole_number("rounds", rounds, 2, 1_000)
    if not 0.5 <= seconds <= 60.0:
        raise refused("seconds", seconds, "must be a number from 0.5 to 60")
    tell = say or (lambda _text: None)
    cores = sorted(os.sched_getaffinity(0))
    core = cores[0] if len(cores) > 1 else None
    busy = [os.getloadavg()[0]]
    with tempfile.TemporaryDirectory() as folder, kept_off(core), _stand_ins(program, folder) as it:
        tell("measuring the core time of requests")
        core_us = {name: _core_us(it, core, name, seconds) for name in it.requests}
        load = _load(core_us)
        tell("recording")
        recording = _recorded(it, core, load, 4 * seconds, seed)
        control = _control(load, recording)
        runs: dict[tuple[str, str], list[dict[str, Any]]] = {
            (name, system): [] for name in LOADS for system in SYSTEMS
        }
        for number in range(rounds):
            tell(f"measuring, round {number + 1} of {rounds}")
            for (name, system), same in runs.items():
                settings = _settings(SYSTEMS[system], control)
                rates = load.rates(flooded=LOADS[name])
                same.append(_round(it, core, settings, rates, seconds, seed + number))
    busy.append(os.getloadavg()[0])
    return {
        "schema": SCHEMA,
        "machine": _native.machine_name(),
        "cores": os.cpu_count(),
        "own_core": core is not None,
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "run_queue": busy,
        "rounds": rounds,
        "seconds": seconds,
        "seed": seed,
        "rates_rps": load.rates(flooded=False),
        "flood_ratio": load.flood,
        "control": control,
        "rows": [
            {"load": name, "system": system, "rounds": same}
            for (name, system), same in runs.items()
        ],
        "recording": recording,
    }


def read(path: Path) -> dict[str, Any]:
    """Read a result of :func:`measure` from the file at `path`.

    Raises InputError if the file cannot be read or has other content.
    """
    try:
        found = parse_json(read_text(path))
    except (OSError, ValueError, AccelflowError) as error:
        raise InputError(f"{path}: {why(error)}") from error
    return with_schema(path, found, [SCHEMA], "accelflow companions together --measure")


def write(measured: Mapping[str, Any], path: str | PathLike[str]) -> Path:
    """Write a result of :func:`measure` to the file at `path`, and return the path.

    Missing folders are created. Raises InputError if the file cannot be written.
    """
    path = file_path("path", path)
    text = json.dumps(measured, indent=1) + "\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, lambda place: place.write_text(text, encoding="utf-8"))
    except OSError as error:
        raise unwritable("path", path, error) from error
    return path


@contextmanager
def _stand_ins(program: Path, folder: str) -> Iterator[_Subject]:
    """Start the process that answers for the other services; yields the program's settings."""
    with _Process(program, "mocks", folder) as process:
        yield _Subject(program=program, **process.answer())


@dataclass(frozen=True)
class _Load:
    """The loads of the measurement.

    `rate_rps` is the rate of each service at the even load. The tenant's rate under flood is
    `flood` times as high.
    """

    rate_rps: float
    services: tuple[str, ...]
    flood: float

    def rates(self, *, flooded: bool) -> dict[str, float]:
        """Return the rate of each service in requests per second.

        This is `rate_rps` for every service. If `flooded`, the service of the flooding tenant has
        `flood` times this rate.
        """
        rates = dict.fromkeys(self.services, self.rate_rps)
        rates[FLOODING] *= self.flood if flooded else 1.0
        return rates


def _load(core_us: Mapping[str, float]) -> _Load:
    """Return the loads at which the core has the intended utilisation.

    `core_us` has the core time of a request in us, by service.
    """
    rate_rps = max(1.0, math.floor(_EVEN * _US_PER_S / math.fsum(core_us.values())))
    flood = math.ceil(_FLOOD * _US_PER_S / core_us[FLOODING] / rate_rps)
    return _Load(rate_rps, tuple(core_us), max(2.0, flood))


def _core_us(subject: _Subject, core: int | None, service: str, seconds: float) -> float:
    """Return the core time in us of a request to `service`, if no other service is called."""
    with _Server(subject, core, {}) as server:
        server.drive(service, _due_s(_PROBE_RPS, _WARM_UP_S, 0), _WARM_UP_S)
        before_s = server.core_s()
        calls = server.drive(service, _due_s(5 * _PROBE_RPS, seconds, 1), seconds)
        _check(service, calls)
        return (server.core_s() - before_s) * _US_PER_S / len(calls)


def _recorded(
    subject: _Subject, core: int | None, load: _Load, seconds: float, seed: int
) -> dict[str, Any]:
    """Return the recording of all services at the even load.

    Recording itself takes core time. So the same calls go to a server without recording, and the
    difference is subtracted from the time outside of steps. The time that a client and the network
    add to a call is not recorded.
    """
    rates = load.rates(flooded=False)
    core_us = {}
    for record in (True, False):
        with _Server(subject, core, {"record": record}) as server:
            server.drive_all(rates, _WARM_UP_S, seed)
            before_s = server.core_s()
            calls = server.drive_all(rates, seconds, seed)
            spent_s = server.core_s() - before_s
            core_us[record] = spent_s * _US_PER_S / sum(map(len, calls.values()))
            if record:
                tree: dict[str, Any] = json.loads(server.ask("recording")["recording"])
    added_us = max(0.0, _mean_server_us(tree) - core_us[False])
    for service in tree["services"]:
        outside = service.get("outside", {})
        outside["core_quantiles_ns"] = [
            (share, max(0.0, time_ns - added_us * 1e3))
            for share, time_ns in outside.get("core_quantiles_ns", [])
        ]
    tree |= {
        "machine": _native.machine_name(),
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
    }
    _native.check_recording(json.dumps(tree))
    return tree


def _mean_server_us(tree: Mapping[str, Any]) -> float:
    """Return the recorded core time of a request in us, as the mean over the services."""
    return math.fsum(server_us(service) for service in tree["services"]) / len(tree["services"])


def _control(load: _Load, recording: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of ARCUS's control plane: the capacity, and the tenant's promise.

    The promise is in the accelerator time of the recorded traces. The clients of the other seven
    services have the capacity that is not promised.
    """
    (own,) = (service for service in recording["services"] if service["service"] == FLOODING)
    return {
        "capacity_s_per_s": _CAPACITY,
        "tenants": [
            {
                "name": "flooding",
                "network": "::1",
                "requests_per_s": PROMISED * load.rate_rps,
                "request_us": _traces_us(own),
                "request_bytes": _MESSAGE_BYTES,
            }
        ],
    }


def _traces_us(service: Mapping[str, Any]) -> float:
    """Return the time in us of the steps that receive and answer a request: first, last phase."""
    phases = [phase for phase in service["phases"] if "chains" in phase]
    steps = [
        step
        for phase in (phases[0], phases[-1])
        for chain in phase["chains"]
        for step in chain["steps"]
    ]
    return 1e-3 * math.fsum(step["cost_ns"] for step in steps)


def _settings(system: System, control: Mapping[str, Any]) -> dict[str, Any]:
    """Return the live server's settings for a system: execution of traces, and promises."""
    settings: dict[str, Any] = {"rpc": system.rpc}
    if system.accelerated:
        settings["workers"] = 1
    if system.held:
        settings["control"] = control
    return settings


def _round(  # noqa: PLR0913, PLR0917 (one situation)
    subject: _Subject,
    core: int | None,
    settings: Mapping[str, Any],
    rates: Mapping[str, float],
    seconds: float,
    seed: int,
) -> dict[str, Any]:
    """Measure one system under one load for `seconds`; return the figures of this round."""
    with _Server(subject, core, settings) as server:
        server.drive_all(dict.fromkeys(rates, _PROBE_RPS), _WARM_UP_S, seed)
        before_s = server.core_s()
        calls = server.drive_all(rates, seconds, seed)
        spent_s = server.core_s() - before_s
    good = {
        name: [response for _, response, fine in _check(name, each) if fine]
        for name, each in calls.items()
    }
    others = [times for name, times in good.items() if name != FLOODING]
    answered = sum(map(len, good.values()))
    ends_us = {
        name: max(due + response for due, response, _ in each) for name, each in calls.items()
    }
    flood_s = max(seconds, ends_us.pop(FLOODING) / _US_PER_S)
    return {
        "mean_us": math.fsum(math.fsum(times) / len(times) for times in others) / len(others),
        "p99_us": math.fsum(quantile(times, 0.99) for times in others) / len(others),
        "flooding_p99_us": quantile(good[FLOODING], 0.99),
        "flooding_rps": len(good[FLOODING]) / flood_s,
        "core_us": _US_PER_S * spent_s / answered,
        "behind_s": max(0.0, max(ends_us.values()) / _US_PER_S - seconds),
    }


def _check(service: str, calls: _Calls) -> _Calls:
    """Return `calls`. Raises AccelflowError if none of them returned a result."""
    if not any(fine for _, _, fine in calls):
        raise AccelflowError(f"none of the {len(calls)} calls of {service} returned a result")
    return calls


def _due_s(rate_rps: float, seconds: float, seed: int) -> list[float]:
    """Return Poisson arrival times in seconds from 0 to `seconds`, at least one."""
    stream = random.Random(seed)  # noqa: S311 (arrivals, not secrets)
    due_s, now = [0.0], 0.0
    while (now := now + stream.expovariate(rate_rps)) < seconds:
        due_s.append(now)
    return due_s
