"""Hundreds of services that call each other over tens of servers, in one simulation.

Usage: .venv/bin/python benches/large_system.py [--services 200] [--servers 20] [--requests 1000]

A request to the front calls services, which call others, four tiers deep; every call is simulated
on the server of its service, with the network between servers. The graph is drawn (assumed: one to
three calls at once, more where a service had no caller; 1, 8, 48 and the remaining services in the
tiers), and so are application times (log-normal). Services are placed in two ways: round robin over
the servers, or those of the last tier with a service of the third that calls them. Prints the
front's P99 by system and placement, what the simulation costs, and the memory of a request in
flight: that of requests which all wait for a remote side.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Mapping

import accelflow
from accelflow.services import chain, cpu, parallel

REQUEST = {"T1": {"compressed": 0}}
ANSWER = {"T10": {"exception": 0, "compressed": 0}}
SYSTEMS = ("non_acc", "relief", "accelflow")
TIERS = (1, 8, 48)


def graph(services: int, seed: int) -> tuple[list[list[int]], list[int]]:
    """The services that each service calls, and for each that of the third tier above it."""
    draw = random.Random(seed)
    sizes = [*TIERS, services - sum(TIERS)]
    first = [sum(sizes[:tier]) for tier in range(len(sizes) + 1)]
    calls: list[list[int]] = [[] for _ in range(services)]
    above = list(range(services))
    for tier in range(len(sizes) - 1):
        upper = range(first[tier], first[tier + 1])
        lower = list(range(first[tier + 1], first[tier + 2]))
        for service in upper:
            calls[service] = draw.sample(lower, draw.randint(1, 3))
        # Services that nobody calls yet get the caller with the fewest calls.
        for service in lower:
            if not any(service in calls[caller] for caller in upper):
                caller = min(upper, key=lambda one: (len(calls[one]), draw.random()))
                calls[caller].append(service)
        for service in reversed(upper):
            for called in calls[service]:
                above[called] = called if tier <= 1 else above[service]
    return calls, above


def workload(services: int, servers: int, placement: str, seed: int = 1) -> accelflow.Workload:
    """The system as a workload."""
    calls, above = graph(services, seed)
    made = []
    for service in range(services):
        place = service if placement == "round_robin" else above[service]
        called = [chain("T9", facts=ANSWER, calls=f"S{one}") for one in calls[service]]
        work = cpu({"log_normal": {"median_us": 20.0, "sigma": 0.6}})
        path = [chain("T1", facts=REQUEST), work]
        path += [parallel(*called)] if called else []
        rate = {"rate_rps": 4_000.0} if service == 0 else {}
        made.append(
            accelflow.Service(
                name=f"S{service}",
                server=f"server{place % servers}",
                path=[*path, chain("T2")],
                **rate,
            )
        )
    defaults = {"network": {"constant_us": 12.0}, "sizes": {"fixed_bytes": 500}}
    return accelflow.Workload(name="large", defaults=defaults, services=made)


def measured(options: argparse.Namespace, placement: str, system: str) -> Mapping[str, float]:
    """One simulation in a process of its own, whose memory is then known."""
    command = [sys.executable, __file__, "--one", placement, system]
    command += ["--services", str(options.services), "--servers", str(options.servers)]
    command += ["--requests", str(options.requests)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    found: Mapping[str, float] = json.loads(output)
    return found


def one(options: argparse.Namespace, placement: str, system: str) -> None:
    """Simulate, and print what it found and cost as JSON."""
    if placement == "waiting":
        made, rate_rps = waiting(), 1e6
    else:
        made, rate_rps = workload(options.services, options.servers, placement), 4_000.0
    before_mib, begin = peak_mib(), time.perf_counter()
    result = accelflow.simulate(
        made, system, requests=options.requests, rate_rps=rate_rps, slo_factor=None, threads=1
    )
    seconds = time.perf_counter() - begin
    front = result.services[0]
    calls = sum(one.called.completed for one in result.services if one.called is not None)
    found = {"p99_us": front.p99_us, "mean_us": front.mean_us, "calls": calls}
    found |= {"seconds": seconds, "mib": peak_mib(), "before_mib": before_mib}
    found |= {"services": len(result.services), "saturated": bool(result.saturated)}
    print(json.dumps(found))


def waiting() -> accelflow.Workload:
    """A service whose requests wait for a second for an answer, so that all are in flight."""
    wait = chain("T9", facts=ANSWER, waits={"T10": {"constant_us": 1e6}})
    path = [chain("T1", facts=REQUEST), cpu(0.001), wait, chain("T2")]
    service = accelflow.Service(name="Waits", rate_rps=1e6, path=path)
    return accelflow.Workload(name="waiting", services=[service])


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--services", type=int, default=200)
    parser.add_argument("--servers", type=int, default=20)
    parser.add_argument("--requests", type=int, default=1_000)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        one(options, *options.one)
        return
    print(
        f"{'placement':14}{'system':12}{'P99 us':>10}{'mean us':>10}"
        f"{'s':>8}{'calls/s':>10}{'MiB':>8}"
    )
    for placement in ("round_robin", "with_caller"):
        for system in SYSTEMS:
            found = measured(options, placement, system)
            grown = "*" if found["saturated"] else " "
            print(
                f"{placement:14}{system:12}{found['p99_us']:10,.1f}{grown}{found['mean_us']:9,.1f}"
                f"{found['seconds']:8.1f}{found['calls'] / found['seconds']:10,.0f}"
                f"{found['mib']:8.0f}",
                flush=True,
            )
    print(f"{found['services']} services; * cannot keep up")
    few, many = 20_000, 100_000
    mib = []
    for options.requests in (few, many):
        mib.append(measured(options, "waiting", "ideal")["mib"])
    each = (mib[1] - mib[0]) * 2**20 / (many - few)
    print(f"a request in flight: {each:,.0f} bytes")


if __name__ == "__main__":
    main()
