"""Simulations of AccelFlow's ensemble with Cerebros in place of the RPC accelerator."""

from collections.abc import Mapping
from typing import Any, Final

from accelflow import simulation
from accelflow.findings import Estimate
from accelflow.findings.statistics import estimate

#: The name and version of the object that :func:`compare` returns.
SCHEMA: Final = "accelflow.cerebros-ensemble/2"

#: The time that Cerebros takes for a message's header and function, in ns: 12.4 cycles of 2 GHz
#: (docs/cerebros.md).
CEREBROS_MESSAGE_NS: Final = 6.1875
_HEADERS: Final = {"accelerator.rpc_message_ns": CEREBROS_MESSAGE_NS}
#: The server's parameters for Cerebros: headers and payloads on its seven pipelines, without moving
#: data between them.
WHOLE: Final = {**_HEADERS, "accelerator.rpc_processor": 1.0, "pes.RPC": 7.0}
#: The time that a core loses when another service's code displaced its own from the cache, in ns:
#: 24 KB at 2 cycles of 2 GHz a block.
COLD_CODE_NS: Final = 384.0
_COLD: Final = {"core.cold_code_ns": COLD_CODE_NS}
#: A size of the NIC's memory for messages in bytes, chosen so small that it sometimes is full.
SCARCE_BYTES: Final = 131_072.0
#: The value of ``core.balancing`` for the steering of Cerebros's section 4.3.
_AFFINITY: Final = 5.0
#: The RPC processors that are compared, and the server's parameters for each. Cold code and
#: affinity add the cost of another service's code on a core, which AccelFlow does not model. In the
#: last two, some functions or some messages do not fit into the processor's memory.
_PLACES: Final[Mapping[str, Mapping[str, float]]] = {
    "AccelFlow's own": {},
    "Cerebros, headers": _HEADERS,
    "Cerebros": WHOLE,
    "Cerebros, cold code": {**WHOLE, **_COLD},
    "Cerebros, affinity": {**WHOLE, **_COLD, "core.balancing": _AFFINITY},
    "Cerebros, affinity, depth 4": {
        **WHOLE,
        **_COLD,
        "core.balancing": _AFFINITY,
        "core.function_map_depth": 4.0,
    },
    "Cerebros, map of 4 functions": {**WHOLE, "accelerator.rpc_schema_map_entries": 4.0},
    "Cerebros, scarce memory": {**WHOLE, "accelerator.rpc_memory_bytes": SCARCE_BYTES},
}

#: The two readings of TCP's cost on a core (docs/results/readings.md), in microseconds.
READINGS_US: Final = (7.0, 20.0)
#: The number of seeds of each mean.
REPLICATIONS: Final = 3
#: The default number of requests of each service in a simulation.
REQUESTS: Final = 3_000


def compare(*, seed: int = 1, threads: int = 1, requests: int = REQUESTS) -> dict[str, Any]:
    """Compare AccelFlow's RPC accelerator with Cerebros in SocialNetwork, by simulation.

    The eight services run on one server. ``rows`` has a row for each combination of an RPC
    processor (AccelFlow's accelerator or a form of Cerebros) and a cost of a TCP operation on a
    core. Each number is a mean over :data:`REPLICATIONS` seeds from `seed` on, with half its 95 %
    interval. ``mean_us`` and ``p99_us`` are averages over the services, ``throughput_rps`` is the
    sum of their throughputs, and ``rpc_utilization`` is the utilization of the RPC processor.
    """
    rows = []
    for reading in READINGS_US:
        for place, config in _PLACES.items():
            runs = [
                run_one(reading, config, seed=seed + number, threads=threads, requests=requests)
                for number in range(REPLICATIONS)
            ]
            row: dict[str, Any] = {"tcp_cost_us": reading, "rpc": place}
            for measure in runs[0]:
                found = estimate([run[measure] for run in runs])
                row[measure] = found and Estimate.to_json(found)
            rows.append(row)
    return {
        "schema": SCHEMA,
        "seed": seed,
        "replications": REPLICATIONS,
        "requests": requests,
        "rows": rows,
    }


def run_one(
    tcp_cost_us: float, config: Mapping[str, float], *, seed: int, threads: int, requests: int
) -> dict[str, float | None]:
    """Simulate SocialNetwork once; return a row of :func:`compare` without intervals.

    `tcp_cost_us` is the cost of a TCP operation on a core, and `config` has the server's parameters
    for the RPC processor. ``mean_us`` and ``p99_us`` are None if they are None for a service.
    """
    experiment = simulation.Scenario(
        orchestrators=("accelflow",),
        profile="paper",
        slo_factor=None,
        requests=requests,
        seed=seed,
        tcp_cost_ns=1e3 * tcp_cost_us,
        config=dict(config),
    )
    (system,) = simulation.run(experiment, threads=threads)["systems"]
    services = system["services"]

    def mean(key: str) -> float | None:
        values = [service[key] for service in services]
        return None if None in values else sum(values) / len(values)

    rates_rps = [service["throughput_rps"] for service in services]
    busy = [service["accelerator_utilization"]["RPC"] for service in services]
    return {
        "mean_us": mean("mean_us"),
        "p99_us": mean("p99_us"),
        "throughput_rps": None if None in rates_rps else sum(rates_rps),
        "rpc_utilization": sum(busy) / len(busy),
    }
