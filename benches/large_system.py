"""Benchmark of one simulation of hundreds of services that call each other over tens of servers.

Usage: .venv/bin/python benches/large_system.py [--graph drawn|alibaba] [--services 200]
       [--copies 2] [--servers 20] [--requests 1000]

Every call is simulated on the server of its service, with the network between servers.

drawn: a request to the front (the service that clients call) calls services, which call others,
four tiers deep. The graph is drawn (assumed: one to three calls at once, more where a service had
no caller; 1, 8, 48 and the remaining services in the tiers). Services are placed in two ways: round
robin over the servers, or those of the last tier on the server of a service of the third tier that
calls them.

alibaba: the 21 call graphs in benches/alibaba_graphs.json, up to 11 calls deep, in `--copies`
copies, each with microservices of its own. Calls that overlapped by over 1 ms are parallel, all
others one after another. Reads of caches and databases are simulated up to the storage, whose waits
are the default. Microservices are placed round robin, or on the server of the front that calls them
most.

Application times are drawn (assumed, log-normal), and the network takes 12 us (assumed). Prints by
system and placement the P99 of the front with the most calls, the mean of all fronts' P99s, the
cost of the simulation, and the memory of a request in flight. The latter is measured with requests
that all wait for a remote side.
"""

import argparse
import json
import random
import re
import resource
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import accelflow
from accelflow.services import chain, cpu, parallel

REQUEST = {"T1": {"compressed": 0}}
ANSWER = {"T10": {"exception": 0, "compressed": 0}}
SYSTEMS = ("non_acc", "relief", "accelflow")
TIERS = (1, 8, 48)
CACHE = {"T5": {"hit": 1, "compressed": 0}}
STORAGE = {"T7": {"exception": 0}}
#: The rate of each front in requests per second, so that a server has about 40,000 calls a second.
RATES_RPS = {"drawn": 4_000.0, "alibaba": 1_000.0}
PLACEMENTS = {"drawn": ("round_robin", "with_caller"), "alibaba": ("round_robin", "with_front")}


def graph(services: int, seed: int) -> tuple[list[list[int]], list[int]]:
    """Return the services that each service calls, and each service's caller in the third tier."""
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
                caller = min(upper, key=lambda caller: (len(calls[caller]), draw.random()))
                calls[caller].append(service)
        for service in reversed(upper):
            for called in calls[service]:
                above[called] = called if tier <= 1 else above[service]
    return calls, above


def drawn(services: int, servers: int, placement: str, seed: int = 1) -> list[accelflow.Service]:
    """Return the services of a drawn graph; the first is the front."""
    calls, above = graph(services, seed)
    made = []
    for service in range(services):
        place = service if placement == "round_robin" else above[service]
        called = [chain("T9", facts=ANSWER, calls=f"S{callee}") for callee in calls[service]]
        steps = [parallel(*called)] if called else []
        made.append(one_service(f"S{service}", place % servers, steps, front=service == 0))
    return made


def alibaba(copies: int, servers: int, placement: str) -> list[accelflow.Service]:
    """Return a service for each function of Alibaba's graphs, the front with most calls first."""
    document = json.loads(Path(__file__).with_name("alibaba_graphs.json").read_text())
    functions, fronts = document["functions"], sorted(set(document["fronts"]))
    reached = {front: Counter(called_by(front, functions)) for front in fronts}
    order = sorted(range(len(functions)), key=lambda name: -reached.get(name, Counter()).total())
    server = dict(zip(fronts, range(len(fronts)), strict=True))
    made = []
    for copy in range(copies):
        for number in order:
            microservice, text = functions[number]
            place = microservice
            if placement == "with_front":
                asked = {front: reached[front][microservice] for front in fronts}
                place = server[max(fronts, key=lambda front: asked[front])]
            place += copy * (servers // copies)
            steps = [phase for step in text.split() for phase in phases_of(step, copy)]
            name = f"S{copy}-{number}"
            made.append(one_service(name, place % servers, steps, front=number in reached))
    return made


def called_by(function: int, functions: list[list[Any]]) -> Iterator[int]:
    """Yield the microservice of each invocation that an invocation of `function` causes.

    The invocation of `function` itself is included.
    """
    microservice, text = functions[function]
    yield microservice
    for number in re.findall(r"\d+(?![\dmdq])", text):
        yield from called_by(int(number), functions)


def phases_of(step: str, copy: int) -> list[Any]:
    """Return a step of benches/alibaba_graphs.json as phases of a service, in order."""
    access = re.fullmatch(r"(\d*)([mdq])", step)
    if access is None:
        times = Counter(step.split("&"))
        calls = [
            chain("T9", facts=ANSWER, calls=f"S{copy}-{number}", times=count)
            for number, count in times.items()
        ]
        return [calls[0] if len(calls) == 1 else parallel(*calls)]
    kind = {
        "m": chain("T4", facts=CACHE),
        "d": chain("T8", facts=STORAGE),
        "q": chain("T8", facts=STORAGE, detached=True),
    }
    return [kind[access[2]]] * int(access[1] or 1)


def one_service(name: str, server: int, steps: list[Any], *, front: bool) -> accelflow.Service:
    """Return a service that computes, and then does `steps`."""
    work = cpu({"log_normal": {"median_us": 20.0, "sigma": 0.6}})
    return accelflow.Service(
        name=name,
        server=f"server{server}",
        path=[chain("T1", facts=REQUEST), work, *steps, chain("T2")],
        **({"rate_rps": 1.0} if front else {}),
    )


def workload(options: argparse.Namespace, placement: str) -> accelflow.Workload:
    """Return the benchmark's services as a workload."""
    if options.graph == "alibaba":
        made = alibaba(options.copies, options.servers, placement)
    else:
        made = drawn(options.services, options.servers, placement)
    defaults = {"network": {"constant_us": 12.0}, "sizes": {"fixed_bytes": 500}}
    return accelflow.Workload(name="large", defaults=defaults, services=made)


def measured(options: argparse.Namespace, placement: str, system: str) -> Mapping[str, float]:
    """Return the results of a simulation in a process of its own, with its peak memory."""
    command = [sys.executable, __file__, "--one", placement, system]
    for name in ("graph", "services", "copies", "servers", "requests"):
        command += [f"--{name}", str(getattr(options, name))]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    found: Mapping[str, float] = json.loads(output)
    return found


def one(options: argparse.Namespace, placement: str, system: str) -> None:
    """Simulate, and print the results and the cost of the simulation as JSON."""
    if placement == "waiting":
        made, rate_rps = waiting(), 1e6
    else:
        made, rate_rps = workload(options, placement), RATES_RPS[options.graph]
    before_mib, begin = peak_mib(), time.perf_counter()
    result = accelflow.simulate(
        made, system, requests=options.requests, rate_rps=rate_rps, slo_factor=None, threads=1
    )
    seconds = time.perf_counter() - begin
    front = result.services[0]
    fronts = [service for service in result.services if service.called is None]
    made = [service.called for service in result.services if service.called is not None]
    calls = sum(called.completed for called in made)
    found = {"p99_us": front.p99_us, "mean_us": front.mean_us, "calls": calls}
    found |= {"p99s_us": statistics.fmean(front.p99_us for front in fronts), "fronts": len(fronts)}
    found |= {"seconds": seconds, "mib": peak_mib(), "before_mib": before_mib}
    found |= {"services": len(result.services), "saturated": bool(result.saturated)}
    print(json.dumps(found))


def waiting() -> accelflow.Workload:
    """Return a service whose requests wait a second for an answer, so that all are in flight."""
    wait = chain("T9", facts=ANSWER, waits={"T10": {"constant_us": 1e6}})
    path = [chain("T1", facts=REQUEST), cpu(0.001), wait, chain("T2")]
    service = accelflow.Service(name="Waits", rate_rps=1e6, path=path)
    return accelflow.Workload(name="waiting", services=[service])


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--graph", choices=sorted(PLACEMENTS), default="drawn")
    parser.add_argument("--services", type=int, default=200)
    parser.add_argument("--copies", type=int, default=2)
    parser.add_argument("--servers", type=int, default=20)
    parser.add_argument("--requests", type=int, default=1_000)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        one(options, *options.one)
        return
    print(
        f"{'placement':14}{'system':12}{'P99 us':>10}{'mean us':>10}{'P99s us':>10}"
        f"{'s':>8}{'calls/s':>10}{'MiB':>8}"
    )
    for placement in PLACEMENTS[options.graph]:
        for system in SYSTEMS:
            found = measured(options, placement, system)
            grown = "*" if found["saturated"] else " "
            print(
                f"{placement:14}{system:12}{found['p99_us']:10,.1f}{grown}{found['mean_us']:9,.1f}"
                f"{found['p99s_us']:10,.1f}{found['seconds']:8.1f}"
                f"{found['calls'] / found['seconds']:10,.0f}{found['mib']:8.0f}",
                flush=True,
            )
    print(f"{found['services']} services, {found['fronts']} fronts; * cannot keep up")
    few, many = 20_000, 100_000
    mib = []
    for options.requests in (few, many):
        mib.append(measured(options, "waiting", "ideal")["mib"])
    each = (mib[1] - mib[0]) * 2**20 / (many - few)
    print(f"a request in flight: {each:,.0f} bytes")


if __name__ == "__main__":
    main()
