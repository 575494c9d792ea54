"""The reported figures of each of the three papers, and ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from accelflow import arcus, cerebros, chip
from accelflow.companions import ensemble
from accelflow.companions.accelerometer_rows import accelerometer_findings, accelerometer_results
from accelflow.errors import one_of
from accelflow.findings import Estimate, Finding, Reason, reasons, targets

__all__ = ["PAPERS", "PaperResult", "run"]


@dataclass(frozen=True)
class PaperResult:
    """All findings of a paper, with the figures and tables of the engines."""

    paper: str
    seed: int
    findings: tuple[Finding, ...]
    results: Mapping[str, Any]


def run(paper: str, *, seed: int = 1, threads: int = 1) -> PaperResult:
    """Compute all reported figures of `paper`, one of :data:`PAPERS`.

    Equal seeds give equal outcomes. Raises InputError for another paper.
    """
    findings, results = PAPERS[one_of("paper", paper, PAPERS)](seed, threads)
    return PaperResult(paper, seed, tuple(findings), results)


_Found = tuple[list[Finding], Mapping[str, Any]]


def _computed(experiment: str, figures: Mapping[str, float]) -> list[Finding]:
    """Figures by key that follow from stated inputs."""
    return [
        Finding.of(
            targets()[key],
            Estimate.computed(value),
            why=reasons().get(key),
            experiment=experiment,
        )
        for key, value in figures.items()
    ]


def _accelerometer(_seed: int, _threads: int) -> _Found:
    return accelerometer_findings(), accelerometer_results()


def _cerebros(seed: int, threads: int) -> _Found:
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
    findings += _computed("offloads", _offloads(layer, by_name))
    findings += _computed("places", _places())
    figures = cerebros.figures(seed=seed)
    for row in figures["rows"]:
        simulated = cerebros.Row(row["key"], row["figure"], row["what"], row["ours"])
        findings.append(simulated.finding(row["half_width"]))
    together = ensemble.compare(seed=seed, threads=threads)
    return findings, {"designs": layer, "figures": figures, "ensemble": together}


def _offloads(layer: Mapping[str, Any], by_name: Mapping[str, Any]) -> dict[str, float]:
    """The paper's statements on offloads beside Fig. 6 (sections 1, 2.2 and 7)."""
    inputs = layer["parameters"]
    header = inputs["rpc_cycles"] * inputs["header_share_ratio"] / inputs["header_tasks"]
    offload = layer["cycles_per_offload"]
    both, payload = (by_name[name]["accelerator_cycles"] for name in ("P+H", "OP: P-Only"))
    task = offload + (both - payload) / inputs["header_tasks"]
    over_payload = by_name["OP: P-Only"]["total_cycles"] / by_name["Full"]["total_cycles"]
    return {
        "cerebros.offloads.header_speedup_at_most": header / task,
        "cerebros.offloads.overhead_share_of_header_at_most": offload / task,
        "cerebros.offloads.dispatch_share": inputs["dispatch_share_ratio"],
        "cerebros.offloads.full_over_payload_only": over_payload,
    }


def _places() -> dict[str, float]:
    """An RPC accelerator for each of 16 cores, and one in the NIC, over one for all."""
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


def _arcus(seed: int, threads: int) -> _Found:
    table2 = arcus.table2()
    reports = {
        name: arcus.experiment(name, seed=seed, threads=threads) for name in arcus.experiments()
    }
    findings = _computed("table2", {row["key"]: row["gbit_per_s"] for row in table2["rows"]})
    for name, report in reports.items():
        findings += [_of_row(name, row) for row in report["rows"]]
    return findings, {"table2": table2, "reports": reports}


def _of_row(experiment: str, row: Mapping[str, Any]) -> Finding:
    """A row of an experiment of ARCUS; its reason is recorded, or else the engine's."""
    key = row["key"]
    ours = Estimate(row["ours"], row["half_width"])
    about: dict[str, Any] = {"experiment": experiment, "label": row["what"]}
    if row["why"]:
        about |= {"why": Reason(kind="", text=row["why"]), "note": row["why"]}
    if key in reasons():
        about["why"] = reasons()[key]
    if key in targets():
        return Finding.of(targets()[key], ours, **about)
    return Finding(key=key, kind="dynamic", unit=row["unit"], ours=ours, **about)


#: The papers, and how what they report is computed with a seed and a number of threads.
PAPERS: Final[Mapping[str, Callable[[int, int], _Found]]] = {
    "accelerometer": _accelerometer,
    "cerebros": _cerebros,
    "arcus": _arcus,
}


def sections(findings: Sequence[Finding]) -> dict[str, list[Finding]]:
    """Findings by experiment, in their order."""
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        found.setdefault(finding.experiment, []).append(finding)
    return found
