"""Services from Alibaba's traces of microservices (cluster-trace-microservices-v2021)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain as joined
from itertools import count
from pathlib import Path
from typing import Final

from accelflow.errors import refused, whole_number
from accelflow.importing.alibaba_calls import UNDER_1_MS, Call, Graphs, Service, Shape
from accelflow.importing.alibaba_rates import Rates
from accelflow.importing.numbers import Quantiles, rounded
from accelflow.importing.report import Report
from accelflow.importing.sources import each_table
from accelflow.importing.times import Traced
from accelflow.importing.workloads import (
    LEAST_RATE_RPS,
    MOST_PARALLEL,
    MOST_SERVICES,
    OWNER,
    RECEIVE,
    SCHEMA,
    SEND,
    Imported,
    Tree,
    chain,
    distinct,
    rate_lines,
    stated_rate,
)

__all__ = ["SAMPLED_SHARE", "Options", "import_alibaba"]

#: The share of all call graphs that Alibaba's table MSCallGraph has ("based on the rate of 0.5%",
#: according to its description).
SAMPLED_SHARE: Final = 0.005

_TABLES: Final = {
    "calls": ("traceid", "rpcid", "um", "dm", "rpctype"),
    "rates": ("msname", "metric|metrics", "value"),
    "resources": ("msname", "msinstanceid", "nodeid"),
}


@dataclass(frozen=True, kw_only=True)
class Options:
    """Settings of the import of Alibaba's public traces of microservices.

    `name` is the workload's name. The `top` services with the most invocations are kept.
    `sampled_share` is the share (above 0, at most 1) of all requests whose call graphs the table
    MSCallGraph has.
    """

    name: str = "alibaba"
    top: int = 20
    sampled_share: float = SAMPLED_SHARE


def import_alibaba(paths: Sequence[Path], report: Report, options: Options) -> Imported:
    """Build a workload from Alibaba's table MSCallGraph and, if it is among `paths`, MSRTQps.

    The services of the workload are the interfaces of microservices that others call by RPC or
    HTTP. The path of each is its most common sequence of calls. MSRTQps has the rates over time. A
    table MSResource is reported as not used. Raises InputError for other tables, and for tables
    without a service.
    """
    whole_number("--top", options.top, 1, MOST_SERVICES)
    if not 0 < options.sampled_share <= 1:
        raise refused("--sampled", options.sampled_share, "must be above 0 and at most 1")
    graphs, rates = Graphs(report), Rates(report)
    what = "those of Alibaba's table MSCallGraph, MSRTQps or MSResource"
    for kind, table in each_table(paths, report, _TABLES, what):
        if kind == "calls":
            graphs.read(table)
        elif kind == "rates":
            rates.read(table)
        else:
            # Not unexpected: the data has these tables, and a strict import accepts them.
            why = "left out: shares of instances, whose number of cores is not in the data"
            report.left_out("rows of MSResource", why, sum(1 for _ in table.rows()))
    graphs.end()
    if not graphs.services:
        raise refused(
            "FILE",
            ", ".join(map(str, paths)),
            "must have at least one call by rpc or http to a microservice with a name",
        )
    return _Builder(graphs, rates, report, options).build()


class _Builder:
    """Builds a workload from the counted calls."""

    def __init__(self, graphs: Graphs, rates: Rates, report: Report, options: Options) -> None:
        self.graphs, self.rates, self.report, self.options = graphs, rates, report, options
        ranked = sorted(graphs.services.items(), key=lambda item: (-item[1].count, item[0]))
        self.kept = ranked[: options.top]
        for _, service in ranked[options.top :]:
            report.left_out("services beyond --top", "not in the workload")
            report.left_out("invocations of services beyond --top", "not counted", service.count)
        self.names = _names([key for key, _ in self.kept])
        self.totals: dict[str, int] = {}
        for (microservice, _), service in ranked:
            self.totals[microservice] = self.totals.get(microservice, 0) + service.count

    def build(self) -> Imported:
        companions: dict[str, Iterator[str]] = {}
        services = []
        for key, service in self.kept:
            tree: Tree = {"name": self.names[key], "method": _text(key)}
            self._rate(key, service, tree, companions)
            self._path(service, tree)
            services.append(tree)
        self._say_what_is_assumed()
        tree = {"schema": SCHEMA, "name": self.options.name, "services": services}
        traced = {
            self.names[key]: Traced(
                _text(key),
                service.count,
                1e3 * service.whole_ms.mean,
                1e3 * service.whole_ms.at(0.99),
            )
            for key, service in self.kept
        }
        return Imported(tree, companions, traced)

    def _rate(
        self,
        key: tuple[str, str],
        service: Service,
        tree: Tree,
        companions: dict[str, Iterator[str]],
    ) -> None:
        mean_rps = self.rates.mean_rps(key[0])
        if mean_rps:
            share = service.count / self.totals[key[0]]
            tree["rate_rps"] = max(rounded(mean_rps * share), LEAST_RATE_RPS)
            self.report.understood("services with a rate of MSRTQps")
            if share < 1:
                self.report.guessed(
                    "rates of microservices with several interfaces",
                    "divided in proportion to the calls in the call graphs",
                )
            if self.rates.varies(key[0]) and mean_rps * share >= LEAST_RATE_RPS:
                companion = f"{OWNER}-{tree['name']}.rates.csv"
                companions[companion] = rate_lines(*self.rates.table(key[0], share))
                tree["arrivals"] = {"process": "rates", "file": companion}
                tree["rate_rps"] = stated_rate(mean_rps * share, *self.rates.table(key[0], share))
            return
        span_s = (self.graphs.last_ms - self.graphs.first_ms) / 1e3
        if span_s <= 0:
            raise refused(
                "timestamp",
                self.graphs.first_ms,
                "must differ between calls, to give a rate; or add a table MSRTQps with rates",
            )
        tree["rate_rps"] = max(
            rounded(service.count / span_s / self.options.sampled_share), LEAST_RATE_RPS
        )
        sampled = f"{100 * self.options.sampled_share:g} % (--sampled)"
        done = f"computed from MSCallGraph's calls, taken for {sampled} of all calls"
        if self.rates.any():
            self.report.guessed("services without a rate", done)
        else:
            self.report.convention("rates without a table MSRTQps", done)

    def _path(self, service: Service, tree: Tree) -> None:
        tree["app_us"] = rounded(1e3 * service.own_ms.at(0.5))
        if service.shapes:
            shape, common = min(service.shapes.items(), key=lambda item: (-item[1], item[0]))
        else:
            shape, common = (), 0  # each invocation had too many calls to count
        self.report.understood("invocations of services in the workload", service.count)
        self.report.guessed(
            "invocations with other calls than the most common ones of their service",
            "the path is the most common one",
            tree["name"],
            service.count - common,
        )
        tree["path"] = [RECEIVE, {"cpu": True}, *self._phases(shape), SEND]

    def _phases(self, shape: Shape) -> Iterator[Tree]:
        for group in shape:
            single = [call for call, times in group for _ in range(times)]
            for start in range(0, len(single), MOST_PARALLEL):
                at_once = Counter(single[start : start + MOST_PARALLEL])
                chains = [
                    chain(call.kind, times, self._wait(call)) for call, times in at_once.items()
                ]
                yield chains[0] if len(chains) == 1 else {"parallel": chains}
                yield {"cpu": True}
            for call, times in group:
                self._say_what_a_call_is(call, times)

    def _wait(self, call: Call) -> Tree | None:
        """The wait for an answer, or None for the workload's default."""
        times: Quantiles | None = self.graphs.waits_ms.get(call)
        if times is None:
            self.report.guessed(
                "calls whose time as the caller sees it is not in the table",
                "the wait is the default of workloads",
            )
            return None
        pairs = [[share, rounded(1e3 * value)] for share, value in times.table()]
        if times.count == 1 or pairs[0][1] == pairs[-1][1]:
            return {"constant_us": pairs[0][1]}
        return {"quantiles_us": pairs}

    def _say_what_a_call_is(self, call: Call, times: int) -> None:
        meanings = {
            "mc": ("calls of a cache (mc)", "traces T4 and T5, as reads that hit"),
            "db": (
                "calls of a database (db)",
                "traces T8 and T7; a read's have the same operations",
            ),
            "mq": (
                "messages to a queue (mq)",
                "traces T8 and T7; rt is the consumer's time",
            ),
        }
        if call.kind in meanings:
            what, done = meanings[call.kind]
            self.report.convention(f"{what} in the paths", done, times)
        else:
            self.report.understood(f"calls by {call.kind} in the paths", times)

    def _say_what_is_assumed(self) -> None:
        kept = len(self.kept)
        conventions = {
            "application times (CPU)": "median of the answer's time less that of the calls, with"
            " waiting inside the service",
            "calls that overlap by over 1 ms": "parallel; all others one after another",
            "times of 0 ms": f"taken for {UNDER_1_MS:g} ms",
            "message sizes": "the default of workloads",
        }
        for what, done in conventions.items():
            self.report.convention(what, done, kept)


def _names(keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """A short name for each microservice and interface."""
    microservices = distinct(microservice for microservice, _ in keys)
    interfaces = distinct(interface for _, interface in keys if interface)
    names: dict[tuple[str, str], str] = {}
    for key in keys:
        name = microservices[key[0]]
        if key[1]:
            name += f"-{interfaces[key[1]]}"
        taken = set(names.values())
        others = (f"{name}-{number}" for number in count(2))
        names[key] = next(each for each in joined([name], others) if each not in taken)
    return names


def _text(key: tuple[str, str]) -> str:
    microservice, interface = key
    return f"{microservice}.{interface}" if interface else microservice
