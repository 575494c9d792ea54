"""The four papers on the live server, beside the simulator and the closed form.

:func:`measure` needs a quiet machine; what it returns is kept in a file. :func:`beside` simulates
the same services with the recording in it.
"""

from __future__ import annotations

import datetime
import json
import math
import os
import random
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from accelflow import _native, accelerometer, simulation
from accelflow.arcus import RateLimiter
from accelflow.companions.ensemble import WHOLE
from accelflow.errors import AccelflowError, InputError, whole_number
from accelflow.files import parse_json, read_text, why, write_whole
from accelflow.findings.statistics import estimate
from accelflow.prediction import Subject
from accelflow.prediction.live import (
    Live,
    ServerOptions,
    capacity_rps,
    kept_off,
    quantile,
    recorded,
)

__all__ = ["LOADS", "PAIRS", "SCHEMA", "SYSTEMS", "beside", "measure", "read", "write"]

#: The name and version of the object that :func:`measure` returns.
SCHEMA: Final = "accelflow.together.live/1"

ROUNDS: Final = 5
SECONDS: Final = 1.2
#: How many times its share the flooding tenant sends, by load.
LOADS: Final[Mapping[str, int]] = {"even": 1, "flood": 12}
#: How many times its share it may send where ARCUS is.
_HELD: Final = 2
#: A share of the load, as a part of what the server can answer: with the flood it is in use for
#: half of the time on cores alone.
_PART: Final = 24
#: The first calls make connections and are not counted.
_WARM_UP_S: Final = 0.2

_INTERFACE: Final = """\
service Together {
  string Read(1: string text)
  i64 UniqId(1: string text)
}
"""
_READ: Final = "Together.Read"
_FLOODING: Final = "Together.UniqId"
_TEXT: Final = {"text": "a post of a few words, as people write them. " * 20}

#: The systems of the page: workers of each accelerator, whether parts of Cerebros's processor are
#: in the place of the RPC accelerator, and whether ARCUS's shaper holds the tenant.
SYSTEMS: Final[Mapping[str, tuple[int | None, bool, bool]]] = {
    "cores alone": (None, False, False),
    "AccelFlow": (1, False, False),
    "with Cerebros": (1, True, False),
    "with ARCUS": (1, False, True),
    "with both": (1, True, True),
}

#: What is added to what: its name, the system without it, and the system with it.
PAIRS: Final = (
    ("AccelFlow", "cores alone", "AccelFlow"),
    ("Cerebros", "AccelFlow", "with Cerebros"),
    ("Cerebros, where ARCUS is", "with ARCUS", "with both"),
    ("ARCUS", "AccelFlow", "with ARCUS"),
    ("ARCUS, where Cerebros is", "with Cerebros", "with both"),
)

_CALLERS: Final = 32
_FEWEST: Final = 100
#: The server's default bucket, a hundredth of a second's requests.
_BURST_S: Final = 0.01
_CLOCK_HZ: Final = 250e6
_TRACES: Final = 2
#: What the recorded time outside of steps contains: waking a thread and switching to it.
_OUTSIDE: Final = {"core.context_switch_ns": 0.0, "core.wake_ns": 0.0}

Progress = Callable[[str], object]


def measure(
    *, rounds: int = ROUNDS, seconds: float = SECONDS, seed: int = 1, say: Progress | None = None
) -> dict[str, Any]:
    """Measure a server with two functions, one of which a tenant floods.

    It executes traces on its threads' cores, on workers of accelerators, with parts of Cerebros's
    processor, and with ARCUS's shaper before the tenant. It has a core of its own, if there are
    two. Rounds of all situations alternate. `say` is called with the name of each stage.

    Raises AccelflowError for a machine without ``openssl``, which makes a certificate, or without
    IPv6, by which the tenant is told apart; InputError for counts that are not allowed.
    """
    whole_number("rounds", rounds, 2, 1_000)
    if not 0.1 <= seconds <= 60.0:
        raise InputError(f"seconds = {seconds!r}: must be a number from 0.1 to 60")
    tell = say or (lambda _text: None)
    cores = sorted(os.sched_getaffinity(0))
    core = cores[0] if len(cores) > 1 else None
    busy = [os.getloadavg()[0]]
    with tempfile.TemporaryDirectory() as folder, kept_off(core):
        subject = _subject(Path(folder))
        tell("measuring the capacity")
        with Live(subject, core=core, record=False) as live:
            most_rps = capacity_rps(live, subject, seconds=seconds / 2)
        rate_rps = max(100.0, round(most_rps / _PART, -2))
        tell("recording")
        tree = _recorded(subject, core, rate_rps, seconds, seed)
        runs: dict[tuple[str, str], list[dict[str, float]]] = {
            (load, system): [] for load in LOADS for system in SYSTEMS
        }
        for number in range(rounds):
            tell(f"measuring, round {number + 1} of {rounds}")
            for (load, system), same in runs.items():
                server = replace(subject, options=_options(system, rate_rps))
                drive = _Drive(rate_rps=rate_rps, flood=LOADS[load], seconds=seconds, seed=number)
                same.append(_run(server, core, drive))
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
        "rate_rps": rate_rps,
        "rows": [
            {"load": load, "system": system, "rounds": same}
            for (load, system), same in runs.items()
        ],
        "recording": tree,
    }


def read(path: Path) -> dict[str, Any]:
    """What :func:`measure` returned, from the file at `path`. Raises InputError."""
    try:
        found = parse_json(read_text(path))
    except (OSError, ValueError, AccelflowError) as error:
        raise InputError(f"{path}: {why(error)}") from error
    schema = found.get("schema") if isinstance(found, dict) else None
    if schema != SCHEMA:
        raise InputError(f"{path}: schema = {schema!r}: must be {SCHEMA!r}")
    measured: dict[str, Any] = found
    return measured


def write(measured: Mapping[str, Any], path: Path) -> Path:
    """Write what :func:`measure` returned to the file at `path`; returns it. Raises InputError."""
    text = json.dumps(measured, indent=1) + "\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, lambda place: place.write_text(text, encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {why(error)}") from error
    return path


def _subject(folder: Path) -> Subject:
    interface, certificate, key = (folder / name for name in ("t.thrift", "cert.pem", "key.pem"))
    interface.write_text(_INTERFACE, encoding="utf-8")
    openssl = shutil.which("openssl")
    if openssl is None:
        raise AccelflowError("openssl: must be installed, since it makes the server's certificate")
    asked = (
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=localhost"
    )
    made = subprocess.run(  # noqa: S603 (no part of it comes from outside)
        [
            *(openssl, *asked.split(), "-addext", "subjectAltName=DNS:localhost"),
            *("-addext", "basicConstraints=critical,CA:FALSE"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        raise AccelflowError(f"openssl: {made.stderr.strip()}")
    return Subject(
        handlers="accelflow.companions.live_handlers:setup",
        interface=interface,
        certificate=certificate,
        key=key,
        function=_READ,
        service="Read",
        arguments=[_TEXT],
        options=ServerOptions(host="::"),
    )


def _options(system: str, rate_rps: float) -> ServerOptions:
    workers, rpc, held = SYSTEMS[system]
    tenant_rps = _HELD * rate_rps if held else None
    return ServerOptions(host="::", workers=workers, rpc=rpc, tenant_rps=tenant_rps)


def _recorded(
    subject: Subject, core: int | None, rate_rps: float, seconds: float, seed: int
) -> dict[str, Any]:
    """The recording of both functions at an even load, each alone."""
    flooding = replace(subject, function=_FLOODING, service="UniqId")
    trees = []
    for one in (subject, flooding):
        text, _ = recorded(one, core=core, rate_rps=2 * rate_rps, seconds=seconds, seed=seed)
        trees.append(json.loads(text))
    first, second = trees
    whole: dict[str, Any] = {**first, "services": [*first["services"], *second["services"]]}
    _native.check_recording(json.dumps(whole))
    return whole


@dataclass(frozen=True, kw_only=True)
class _Drive:
    """The calls of a run: `rate_rps` for `seconds`, and `flood` times as many of the tenant."""

    rate_rps: float
    flood: int
    seconds: float
    seed: int


def _run(subject: Subject, core: int | None, drive: _Drive) -> dict[str, float]:
    """One run of one situation."""
    tenant_calls: list[tuple[float, float, bool]] = []
    with Live(subject, core=core, record=False) as live:
        tenant = live.connected(subject, "[::1]")
        for client, method in ((live.client, _READ), (tenant, _FLOODING)):
            client.drive(method, [_TEXT], _due_s(drive.rate_rps, _WARM_UP_S, drive.seed), _CALLERS)

        def flood() -> None:
            due_s = _due_s(drive.flood * drive.rate_rps, drive.seconds, ~drive.seed)
            tenant_calls.extend(tenant.drive(_FLOODING, [_TEXT], due_s, _CALLERS))

        thread = threading.Thread(target=flood)
        before_s = live.core_s()
        thread.start()
        try:
            calls = live.client.drive(
                _READ, [_TEXT], _due_s(drive.rate_rps, drive.seconds, drive.seed), _CALLERS
            )
            if subject.options.tenant_rps is None:
                thread.join()
            spent_s = live.core_s() - before_s
        finally:
            # The tenant's calls that still wait for tokens end with the server.
            live.stop()
            thread.join()
    others, flooding = (
        [response for _, response, fine in each if fine] for each in (calls, tenant_calls)
    )
    if not others or not flooding:
        raise AccelflowError(f"none of {len(calls) + len(tenant_calls)} calls was answered")
    return {
        "mean_us": math.fsum(others) / len(others),
        "p99_us": quantile(others, 0.99),
        "flooding_p99_us": quantile(flooding, 0.99),
        "flooding_rps": len(flooding) / drive.seconds,
        "core_us": 1e6 * spent_s / (len(others) + len(flooding)),
    }


def _due_s(rate_rps: float, seconds: float, seed: int) -> list[float]:
    """Poisson arrivals within `seconds`, at least one."""
    stream = random.Random(seed)  # noqa: S311 (arrivals, not secrets)
    due_s, now = [0.0], 0.0
    while (now := now + stream.expovariate(rate_rps)) < seconds:
        due_s.append(now)
    return due_s


def beside(
    measured: Mapping[str, Any], *, seed: int, replications: int, threads: int, requests: int
) -> dict[str, Any]:
    """What :func:`measure` found, with the simulator's and the closed form's figures beside it.

    The simulator has the recording's costs, the same rates and one core, which executes traces as
    the live server's does; its other systems have AccelFlow's hardware, Cerebros's and ARCUS's.
    Each figure is a mean with half its 95 % interval: over rounds, or over seeds from `seed` on.
    Raises AccelflowError for a recording that does not fit.
    """
    rows = []
    runs: dict[tuple[str, str, str], list[dict[str, float | None]]] = {}
    for row in measured["rows"]:
        load, system = row["load"], row["system"]
        simulated = [
            _simulated(_scenario(measured, load, system, seed + number, requests), threads)
            for number in range(replications)
        ]
        runs["live", load, system], runs["simulated", load, system] = row["rounds"], simulated
        rows.append(
            {
                "load": load,
                "system": system,
                **{f"live_{key}": _estimated(row["rounds"], key) for key in _LIVE},
                **{f"simulated_{key}": _estimated(simulated, key) for key in _SIMULATED},
                "closed_core_us": _closed_core_us(measured, load, system),
            }
        )
    kept = ("machine", "cores", "own_core", "date", "run_queue", "rounds", "seconds", "rate_rps")
    return {
        **{key: measured[key] for key in kept},
        "rows": rows,
        "effects": [
            {
                "load": load,
                "added": added,
                **{
                    f"{where}_p99_ratio": _ratio(runs[where, load, old], runs[where, load, new])
                    for where in ("live", "simulated")
                },
            }
            for load in LOADS
            for added, old, new in PAIRS
        ],
    }


_LIVE: Final = ("mean_us", "p99_us", "flooding_p99_us", "flooding_rps", "core_us")
_SIMULATED: Final = ("mean_us", "p99_us", "flooding_p99_us", "flooding_rps", "core_us")

_Runs = Sequence[Mapping[str, float | None]]


def _estimated(runs: _Runs, key: str) -> dict[str, float | None] | None:
    found = estimate([run[key] for run in runs])
    return None if found is None else {"mean": found.mean, "half_width": found.half_width}


def _ratio(before: _Runs, after: _Runs) -> dict[str, float | None] | None:
    ratios = [
        {"ratio": old["p99_us"] / new["p99_us"] if old["p99_us"] and new["p99_us"] else None}
        for old, new in zip(before, after, strict=True)
    ]
    return _estimated(ratios, "ratio")


def _scenario(
    measured: Mapping[str, Any], load: str, system: str, seed: int, requests: int
) -> simulation.Scenario:
    workers, rpc, held = SYSTEMS[system]
    rate_rps = measured["rate_rps"]
    limit = RateLimiter(
        refill=1,
        bucket=max(1, round(_TRACES * _HELD * rate_rps * _BURST_S)),
        interval=round(_CLOCK_HZ / (_TRACES * _HELD * rate_rps)),
        unit="operations",
    )
    return simulation.Scenario(
        workload=_WORKLOAD,
        orchestrators=("non_acc" if workers is None else "accelflow",),
        recording=json.dumps(measured["recording"]),
        recorded_times="distribution",
        rates_rps={"Read": rate_rps, "UniqId": LOADS[load] * rate_rps},
        requests=requests,
        by_rate=True,
        seed=seed,
        slo_factor=None,
        tenants={"UniqId": 1},
        shaping={1: limit} if held else {},
        config={"core.count": 1, **_OUTSIDE, **(WHOLE if rpc else {})},
    )


def _simulated(scenario: simulation.Scenario, threads: int) -> dict[str, float | None]:
    found = simulation.run(scenario, threads=threads)["systems"][0]["services"]
    by_name = {row["service"]: row for row in found}
    others, flooding = by_name["Read"], by_name["UniqId"]
    throughput = math.fsum(row["throughput_rps"] for row in found)
    return {
        "mean_us": others["mean_us"],
        "p99_us": others["p99_us"],
        "flooding_p99_us": flooding["p99_us"],
        "flooding_rps": flooding["throughput_rps"],
        "core_us": 1e6 * others["core_utilization"] / throughput,
    }


def _closed_core_us(measured: Mapping[str, Any], load: str, system: str) -> float:
    """Core time of a request by Accelerometer's closed form, from the recording alone.

    On cores alone it is what was recorded. Else each operation is an asynchronous offload, for
    which a core spends its Enqueue.
    """
    workers, _, held = SYSTEMS[system]
    demands = simulation.demands(_scenario(measured, load, system, 1, _FEWEST))["services"]
    # What ARCUS holds back is not answered.
    flood = min(LOADS[load], _HELD) if held else LOADS[load]
    shares = {"Read": 1 / (1 + flood), "UniqId": flood / (1 + flood)}

    def mean(value: Callable[[Mapping[str, Any]], float]) -> float:
        return math.fsum(shares[row["service"]] * value(row) for row in demands)

    def tax(key: str) -> float:
        return mean(lambda row: math.fsum(part[key] for part in row["operations"].values()))

    tax_us, logic_us = 1e-3 * tax("core_ns"), 1e-3 * mean(lambda row: row["app_ns"])
    if workers is None:
        return tax_us + logic_us + 1e-3 * mean(lambda row: row["outside_core_ns"])
    core_us = tax_us + logic_us
    hertz = _default("core.clock_ghz") * 1e9
    speedup = accelerometer.sweep(
        threading="async_same_thread",
        placement="on_chip",
        host_cycles_per_s=hertz,
        kernel_share_ratio=tax_us / core_us,
        offloads_per_s=1e6 * tax("count") / core_us,
        acceleration_ratio=max(tax_us / (1e-3 * tax("accelerator_ns")), 1.0),
        setup_cycles=_default("core.enqueue_ns") * hertz / 1e9,
    ).speedup_ratio
    return core_us / float(speedup)


def _default(key: str) -> float:
    """The default of a parameter of the simulated server."""
    return next(row.default for row in simulation.parameters() if row.key == key)


_PATH: Final = [
    {"trace": "T1", "facts": {"T1": {"compressed": 0}}},
    {"cpu": True},
    {"trace": "T2"},
]
_WORKLOAD: Final = {
    "schema": "accelflow.workload/1",
    "name": "together",
    "services": [{"name": name, "path": _PATH} for name in ("Read", "UniqId")],
}
