"""Our results for each companion paper, beside the numbers that the paper reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from accelflow import arcus, cerebros, chip
from accelflow.companions import ensemble
from accelflow.companions.accelerometer_rows import accelerometer_findings, accelerometer_results
from accelflow.companions.arcus_rows import arcus_findings, merged_report
from accelflow.companions.precision import Precision, Seeds, replicate
from accelflow.errors import one_of
from accelflow.findings import Estimate, Finding, reasons, targets

__all__ = ["PAPERS", "PaperResult", "run"]


@dataclass(frozen=True)
class PaperResult:
    """Our results for one companion paper.

    `paper` is the key in :data:`PAPERS`, and `findings` has our numbers beside the paper's.
    `results` has the other data of the page and the pictures. `seed` is the first seed. `precision`
    is the precision that was asked for. `sections` maps each simulated experiment to the seeds with
    which it ran and the precision that it reached.
    """

    paper: str
    seed: int
    findings: tuple[Finding, ...]
    results: Mapping[str, Any]
    precision: Precision = field(default_factory=Precision)
    sections: Mapping[str, Seeds] = field(default_factory=dict)


def run(
    paper: str, *, seed: int = 1, threads: int = 1, precision: Precision | None = None
) -> PaperResult:
    """Compute our value of each number that the companion paper `paper` reports.

    `paper` is a key of :data:`PAPERS`. With a `precision`, each experiment is repeated with more
    seeds until its numbers are that precise. Equal seeds give equal results for any number of
    threads. Raises InputError for any other `paper`.
    """
    asked = precision or Precision()
    findings, results, seeds = PAPERS[one_of("paper", paper, PAPERS)](seed, threads, asked)
    return PaperResult(paper, seed, tuple(findings), results, asked, seeds)


#: The findings, the results of the engines, and the seeds of each section of simulations.
_Found = tuple[list[Finding], Mapping[str, Any], Mapping[str, Seeds]]


def _computed(experiment: str, figures: Mapping[str, float]) -> list[Finding]:
    """Return findings for `figures`, values by key that follow from stated inputs."""
    return [
        Finding.of(
            targets()[key],
            Estimate.computed(value),
            why=reasons().get(key),
            experiment=experiment,
        )
        for key, value in figures.items()
    ]


def _accelerometer(_seed: int, _threads: int, _precision: Precision) -> _Found:
    return accelerometer_findings(), accelerometer_results(), {}


def _cerebros(seed: int, threads: int, precision: Precision) -> _Found:
    layer = cerebros.designs()
    by_name = {design["design"]: design for design in layer["designs"]}
    offload, coalesced = layer["cycles_per_offload"], layer["coalesced_cycles_per_offload"]
    closed = {
        "payload_only": by_name["OP: P-Only"]["speedup_ratio"],
        "payload_and_header": by_name["P+H"]["speedup_ratio"],
        "full_over_cpu": by_name["Full"]["speedup_ratio"],
        "full_over_payload_and_header": layer["full_over_payload_and_header_ratio"],
        "offload_overhead_cycles_per_request": by_name["P+H"]["offload_cycles"],
        "accelerator_cycles_per_request": by_name["P+H"]["accelerator_cycles"],
        "coalesced_overhead_reduction": offload / coalesced,
        "offload_cycles": offload,
        "coalesced_offload_cycles": coalesced,
    }
    section = "cerebros.rpc_layer_speedup"
    findings = _computed("model", {f"{section}.{name}": value for name, value in closed.items()})
    findings += _offloads(layer, by_name)
    findings += _computed("places", _places())
    replicated = replicate(
        cerebros.one_seed,
        lambda runs: cerebros.combined(runs, seed=seed).findings,
        seeds=(seed, cerebros.REPLICATIONS),
        precision=precision,
        threads=threads,
    )
    figures = cerebros.combined(replicated.runs, seed=seed)
    findings += figures.findings
    drawn = {key: value for key, value in figures.to_dict().items() if key != "findings"}
    together = ensemble.compare(seed=seed, threads=threads)
    results = {"designs": layer, "figures": drawn, "ensemble": together}
    random = [finding for finding in figures.findings if finding.ours and finding.ours.half_width]
    return findings, results, dict.fromkeys(sections(random), replicated.seeds)


def _offloads(layer: Mapping[str, Any], by_name: Mapping[str, Any]) -> list[Finding]:
    """Return findings for the Cerebros paper's statements on offloads (sections 1, 2.2, 6.1)."""
    inputs = layer["parameters"]
    header = inputs["rpc_cycles"] * inputs["header_share_ratio"] / inputs["header_tasks"]
    offload = layer["cycles_per_offload"]
    both, payload = (by_name[name]["accelerator_cycles"] for name in ("P+H", "OP: P-Only"))
    task = offload + (both - payload) / inputs["header_tasks"]
    computed = {
        "header_speedup_at_most": header / task,
        "overhead_share_of_header_at_most": offload / task,
        "dispatch_share": inputs["dispatch_share_ratio"],
    }
    section = "cerebros.offloads"
    found = _computed("offloads", {f"{section}.{name}": ours for name, ours in computed.items()})
    freed = 1 - by_name["P+H"]["total_cycles"] / by_name["OP: P-Only"]["total_cycles"]
    (remaining,) = _computed("offloads", {f"{section}.headers_free_of_remaining": freed})
    share = Estimate.computed(inputs["header_share_ratio"])
    return [*found, replace(remaining, also=(("headers' share of the whole layer", share),))]


def _places() -> dict[str, float]:
    """Return area and power of private and NIC RPC accelerators over a shared one's (16 cores)."""
    sizes = {"cores": 16.0}
    area = _over_shared(chip.area(sizes))
    power = _over_shared(chip.power(sizes=sizes))
    return {
        "cerebros.private_accelerators.area": area["one for each core"],
        "cerebros.private_accelerators.power": power["one for each core"],
        "cerebros.shared_with_NIC.area": area["one in the NIC"],
    }


def _over_shared(result: Mapping[str, Any]) -> dict[str, float]:
    return {row["place"]: row["over_shared_ratio"] for row in result["rpc_accelerators"]}


def _arcus(seed: int, threads: int, precision: Precision) -> _Found:
    table2 = arcus.table2()
    findings = _computed("table2", {row["key"]: row["gbit_per_s"] for row in table2["rows"]})
    reports, seeds = {}, {}
    for name in arcus.experiments():
        replicated = replicate(
            partial(_arcus_run, name),
            arcus_findings,
            seeds=(seed, arcus.replications(name)),
            precision=precision,
            threads=threads,
        )
        findings += arcus_findings(replicated.runs)
        reports[name] = merged_report(replicated.runs)
        seeds[name] = replicated.seeds
    return findings, {"table2": table2, "reports": reports}, seeds


def _arcus_run(name: str, seed: int) -> Mapping[str, Any]:
    return arcus.experiment(name, seed=seed, replications=1)


#: The function that computes the results of each companion paper, by the paper's key. The function
#: takes the first seed, the number of threads and the requested precision.
PAPERS: Final[Mapping[str, Callable[[int, int, Precision], _Found]]] = {
    "accelerometer": _accelerometer,
    "cerebros": _cerebros,
    "arcus": _arcus,
}


def sections(findings: Sequence[Finding]) -> dict[str, list[Finding]]:
    """Return the findings by experiment; experiments and findings keep the order of `findings`."""
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        found.setdefault(finding.experiment, []).append(finding)
    return found
