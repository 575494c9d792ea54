"""The model M2 in SimPy: each job is a process, and each station a resource.

Usage: m2_simpy.py JOBS SEED. Prints one line of JSON, with the time of each job in picoseconds
under ``stays_ps`` so that several runs can be pooled.
"""

import json
import random
import sys
import time
from pathlib import Path

import simpy

SERVERS = 8


def simulate(model: dict, jobs: int, seed: int) -> tuple[float, list[int]]:
    """Run the model; return the wall time in seconds and each job's time in the system."""
    rng = random.Random(seed)
    env = simpy.Environment()
    service_ps = model["service_ps"]
    stations = [simpy.Resource(env, capacity=SERVERS) for _ in service_ps]
    routes = [(t["p"], t["pre"] + t["A"], t["pre"] + t["B"]) for t in model["templates"]]
    mean_gap_ps = model["iat_ps"]
    stays_ps: list[int] = []

    def job(path):
        arrived = env.now
        for at in path:
            with stations[at].request() as turn:
                yield turn
                yield env.timeout(service_ps[at])
        stays_ps.append(env.now - arrived)

    def arrivals():
        for _ in range(jobs):
            yield env.timeout(round(rng.expovariate(1.0) * mean_gap_ps))
            p, first, second = routes[rng.randrange(len(routes))]
            env.process(job(first if rng.random() < p else second))

    env.process(arrivals())
    begin = time.perf_counter()
    env.run()
    return time.perf_counter() - begin, stays_ps


def main() -> None:
    jobs, seed = int(sys.argv[1]), int(sys.argv[2])
    model = json.loads(Path(__file__).with_name("model.json").read_text())
    seconds, stays_ps = simulate(model, jobs, seed)
    print(
        json.dumps(
            {"engine": "simpy", "seconds": seconds, "jobs": len(stays_ps), "stays_ps": stays_ps}
        )
    )


if __name__ == "__main__":
    main()
