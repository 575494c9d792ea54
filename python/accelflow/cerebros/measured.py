"""The simulations behind the Cerebros paper's figures, for one seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from accelflow.cerebros.server import SERVICES, Load, simulate
from accelflow.errors import refused

__all__ = ["LOAD_RATIO", "MODELS", "Runs", "run_all"]

#: The load for Figs. 7 to 9, as a share of the cores' capacity (0 to 1). The paper prints none, and
#: notes that cores receive far less than they could serve.
LOAD_RATIO: Final = 0.3

#: Requests of USR in Fig. 9 over those of other runs: with affinity few of them miss the cache.
_USR_TIMES: Final = 10
#: Requests of other runs over those that measure a capacity.
_CAPACITY_TIMES: Final = 3

#: Requests of F0, and of F1, on cores of their own: they differ only until the caches are warm.
_DEDICATED_REQUESTS: Final = 300

#: The processing models of section 5: how many requests a core has in progress. With one it waits
#: for nested calls; with more it continues with another request.
MODELS: Final[Mapping[str, int]] = {"synchronous": 1, "asynchronous": 8}
#: The time of a called service; the paper's respond at once, which leaves nothing to wait for.
_NESTED_LATENCY_NS: Final = 20_000.0
#: Fewest requests that measure a capacity: several of each sender.
_LEAST: Final = 2_000
#: Senders for each request in progress: enough that no core is ever without a request.
_SENDERS: Final = 4

#: The results of a service under one design, as :func:`accelflow.cerebros.simulate` has them.
Run = Mapping[str, Any]


@dataclass(frozen=True)
class Runs:
    """The results of all simulations for the Cerebros paper's figures, with one seed.

    UID and USR are services of the paper. A design is a set of parts of the RPC layer in hardware:
    ``None`` has none, and ``Full`` all.

    - `loaded` has each service under the designs ``None``, ``OP: P-Only``, ``P+H`` and ``Full``.
    - `alone` has UID under all designs, with one request at a time.
    - `plain` and `affinity` are USR under ``Full`` with more requests; in `affinity`, requests are
      steered to cores that have just run the same function.
    - `dedicated` has the cycles of USR's first two functions, F0 and F1, each on cores that run
      nothing else.
    - `models` has the run that measures each service's capacity, by service, processing model and
      design.
    """

    loaded: Mapping[str, Mapping[str, Run]]
    alone: Mapping[str, Run]
    plain: Run
    affinity: Run
    dedicated: tuple[float, ...]
    models: Mapping[str, Mapping[str, Mapping[str, Run]]]


def run_all(requests: int, seed: int) -> Runs:
    """Run all simulations for the Cerebros paper's figures with the seed `seed`.

    Raises InputError if a function of USR is never called.
    """
    load = Load(load_ratio=LOAD_RATIO, requests=requests, seed=seed)
    designs = ("None", "OP: P-Only", "P+H", "Full")
    loaded = {name: _by_design(simulate(name, load, designs=designs)) for name in SERVICES}
    more = replace(load, requests=_USR_TIMES * requests)
    plain, affinity = (
        simulate("USR", more, designs=("Full",), affinity=steers)["runs"][0]
        for steers in (False, True)
    )
    for run in (plain, affinity, *loaded["USR"].values()):
        _check_every_function(run, requests)
    return Runs(
        loaded=loaded,
        plain=plain,
        alone=_by_design(simulate("UID", Load(requests=10))),
        affinity=affinity,
        dedicated=_on_dedicated_cores(affinity, load),
        models={name: _models(name, requests, seed) for name in SERVICES},
    )


def _models(service: str, requests: int, seed: int) -> dict[str, dict[str, Run]]:
    """The capacity of a service by processing model and design."""
    cores = 15 * _SENDERS
    runs = {}
    for model, threads in MODELS.items():
        count = max(requests // _CAPACITY_TIMES, _LEAST)
        load = Load(senders=cores * threads, requests=count, seed=seed)
        parameters = {"core_threads": threads, "nested_latency_ns": _NESTED_LATENCY_NS}
        runs[model] = _by_design(
            simulate(
                service,
                load,
                designs=("None", "Full"),
                # Requests that wait for cores hold memory; none is to be refused.
                parameters={**parameters, "buffer_bytes": 1e9},
            )
        )
    return runs


def _on_dedicated_cores(affinity: Run, load: Load) -> tuple[float, ...]:
    """Cycles of F0 and F1 on cores that run no other function (section 6.3)."""
    alone = replace(load, requests=_DEDICATED_REQUESTS)
    cycles = []
    for function in affinity["functions"][:2]:
        run = simulate("USR", alone, designs=("Full",), functions=[function["function"]])["runs"][0]
        cycles.append(float(run["all"]["function_cycles"]))
    return tuple(cycles)


def _check_every_function(run: Run, requests: int) -> None:
    for function in run["functions"]:
        if not function["results"]["requests"]:
            never = f"must be more: no request called the function {function['function']} of USR"
            raise refused("requests", requests, never)


def _by_design(result: Mapping[str, Any]) -> dict[str, Run]:
    return {run["design"]: run for run in result["runs"]}
