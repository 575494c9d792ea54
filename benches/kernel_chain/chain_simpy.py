"""The chain of nine stations in SimPy: each request is a process, and each station a resource.

The arguments are parameters NAME=VALUE, which run.py in this folder gives. Prints a line of JSON.
"""

import json
import math
import random
import sys
import time

import simpy

# The manager, stations 0 to 4, perhaps the manager, station 5, a core, stations 6 to 8.
WAY = ("manager", 0, 1, 2, 3, 4, "branch", 5, "core", 6, 7, 8)


def simulate(given: dict[str, float], service_ns: list[float]) -> dict[str, float]:  # noqa: C901 (one model)
    """Run the model; return the wall time and the statistics."""
    rng = random.Random(int(given["seed"]))
    env = simpy.Environment()
    stations = [simpy.Resource(env, capacity=int(given["elements"])) for _ in service_ns]
    manager = simpy.Resource(env, capacity=1)
    cores = simpy.Resource(env, capacity=int(given["cores"]))
    entries, room = given["entries"], given["entries"] + given["overflow"]
    requests = int(given["requests"])
    times: list[float] = []
    counts = {"visits": 0, "overflows": 0, "fallbacks": 0}

    def exponential(mean: float) -> float:
        return rng.expovariate(1.0) * mean

    def use(resource, ns):
        with resource.request() as turn:
            yield turn
            yield env.timeout(ns)

    def in_software(steps):
        stationed = sum(exponential(service_ns[at]) for at in steps if isinstance(at, int))
        application = exponential(given["application_ns"]) if "core" in steps else 0.0
        return given["software"] * stationed + application

    def request(number):
        arrived, fell_back = env.now, False
        for step, at in enumerate(WAY):
            if at == "branch" and rng.random() >= given["branch"]:
                continue
            if at in ("manager", "branch"):
                yield from use(manager, given["manager_ns"])
            elif at == "core":
                yield from use(cores, exponential(given["application_ns"]))
            else:
                counts["visits"] += 1
                waiting = len(stations[at].queue)
                if waiting >= room:
                    fell_back = True
                    yield from use(cores, in_software(WAY[step:]))
                    break
                overflowed = waiting >= entries
                counts["overflows"] += overflowed
                fetch = given["fetch_ns"] if overflowed else 0.0
                yield from use(stations[at], exponential(service_ns[at]) + fetch)
        if number >= requests // 10:
            counts["fallbacks"] += fell_back
            times.append(env.now - arrived)

    def arrivals():
        for number in range(requests):
            yield env.timeout(exponential(given["gap_ns"]))
            env.process(request(number))

    env.process(arrivals())
    begin = time.perf_counter()
    env.run()
    seconds = time.perf_counter() - begin
    times.sort()
    return {
        "seconds": seconds,
        "requests": requests,
        "mean_us": math.fsum(times) / len(times) / 1e3,
        "p99_us": times[math.ceil(0.99 * len(times)) - 1] / 1e3,
        "overflow_share": counts["overflows"] / counts["visits"],
        "fallback_share": counts["fallbacks"] / len(times),
    }


def main() -> None:
    texts = dict(argument.split("=") for argument in sys.argv[1:])
    service_ns = [float(part) for part in texts.pop("service_ns").split(",")]
    print(json.dumps(simulate({name: float(text) for name, text in texts.items()}, service_ns)))


if __name__ == "__main__":
    main()
