"""What each of the three papers reports, and what comes out here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from accelflow import arcus, cerebros
from accelflow.companions import case_studies, ensemble
from accelflow.errors import InputError
from accelflow.reproduce.targets import targets

#: Above this difference a row has to have a reason.
TOLERANCE: Final = 0.25


@dataclass(frozen=True)
class Compared:
    """A reported result, ours, and why the two differ.

    `row` is its section and name, such as ``cerebros.cycles_reduction.rpc_layer_min``. `kind` is
    ``exact`` for arithmetic on stated inputs, which has to come out to the printed digit, and
    ``dynamic`` for the outcome of a simulation.
    """

    row: str
    kind: str
    paper: float
    ours: float
    why: str = ""
    #: Half the 95 % interval, if ours is the mean of several seeds.
    half_width: float | None = None

    @property
    def difference(self) -> float:
        """How far ours is off, in relation to the paper's."""
        return (self.ours - self.paper) / abs(self.paper)

    @property
    def printed(self) -> bool:
        """Whether ours is the paper's to the last digit that it prints, be it rounded or cut off.

        Table 2 of ARCUS names rates in thousands that its registers give in 1,024s.
        """
        ours = self.ours / 1.024 if self.row.startswith("arcus.table2.") else self.ours
        if self.paper == int(self.paper) and self.paper >= 10:
            return abs(ours - self.paper) < 0.5
        _, _, digits = repr(self.paper).partition(".")
        unit = 10.0 ** -len(digits)
        # A billionth for what binary fractions add.
        return -unit / 2 - 1e-9 <= ours - self.paper < unit


@dataclass(frozen=True)
class Outcome:
    """All of a paper: the rows that it reports, and its figures and tables as objects."""

    paper: str
    compared: tuple[Compared, ...]
    results: Mapping[str, Any]


def run(paper: str, *, seed: int = 1, threads: int = 1) -> Outcome:
    """Compute all that `paper`, one of :data:`PAPERS`, reports.

    Equal seeds give equal outcomes. Raises InputError for another paper.
    """
    if paper not in PAPERS:
        raise InputError(f"paper = {paper}: must be one of {', '.join(PAPERS)}")
    ours, results = PAPERS[paper](seed, threads)
    compared = []
    for row, target in targets().items():
        if row.startswith(f"{paper}."):
            mine = ours[row]
            compared.append(Compared(row, target.kind, target.value, *mine))
    return Outcome(paper, tuple(compared), results)


class _Mine(NamedTuple):
    value: float
    why: str = ""
    half_width: float | None = None


_Ours = dict[str, _Mine]


def _mine(row: Mapping[str, Any], why: str) -> _Mine:
    """A row of an experiment."""
    return _Mine(row["ours"], row[why] or "", row["half_width"])


def _accelerometer(_seed: int, _threads: int) -> tuple[_Ours, Mapping[str, Any]]:
    estimates = case_studies.estimates()
    ours: _Ours = {f"accelerometer.{row}": _Mine(value) for row, value in estimates.items()}
    for case in case_studies.MEASURED:
        estimate = ours[f"accelerometer.case_studies.{case}"]
        ours[f"accelerometer.case_studies_measured.{case}"] = estimate
    return ours, {}


def _cerebros(seed: int, threads: int) -> tuple[_Ours, Mapping[str, Any]]:
    layer = cerebros.designs()
    by_name = {design["design"]: design for design in layer["designs"]}
    offloads = layer["cycles_per_offload"] / layer["coalesced_cycles_per_offload"]
    section = "cerebros.rpc_layer_speedup"
    ours: _Ours = {
        f"{section}.payload_only": _Mine(by_name["OP: P-Only"]["speedup_ratio"]),
        f"{section}.payload_and_header": _Mine(by_name["P+H"]["speedup_ratio"]),
        f"{section}.full_over_cpu": _Mine(by_name["Full"]["speedup_ratio"]),
        f"{section}.full_over_payload_and_header": _Mine(
            layer["full_over_payload_and_header_ratio"]
        ),
        f"{section}.offload_overhead_cycles_per_request": _Mine(by_name["P+H"]["offload_cycles"]),
        f"{section}.accelerator_cycles_per_request": _Mine(by_name["P+H"]["accelerator_cycles"]),
        f"{section}.coalesced_overhead_reduction": _Mine(offloads),
    }
    figures = cerebros.figures(seed=seed)
    rows = {row["what"]: row for row in figures["rows"]}
    for row, what in _CEREBROS.items():
        ours[f"cerebros.{row}"] = _mine(rows[what], "reason")
    together = ensemble.compare(seed=seed, threads=threads)
    return ours, {"designs": layer, "figures": figures, "ensemble": together}


_CEREBROS: Final = {
    "cycles_reduction.per_request_min": "UID: all cycles, times fewer",
    "cycles_reduction.per_request_max": "most: all cycles, times fewer",
    "cycles_reduction.rpc_layer_min": "least: RPC layer, times fewer",
    "cycles_reduction.rpc_layer_max": "most: RPC layer, times fewer",
    "affinity_steering.requests_steered_to_affine_core": (
        "USR: requests steered to an affine core"
    ),
    "affinity_steering.miss_reduction_f3_f5": "USR: F3 to F5 without a miss",
    "affinity_steering.mean_cpu_time_drop": "USR: mean time, less",
    "affinity_steering.median_cpu_time_drop": "USR: median time, less",
}


def _arcus(seed: int, threads: int) -> tuple[_Ours, Mapping[str, Any]]:
    table2 = arcus.table2()
    reports = {
        name: arcus.experiment(name, seed=seed, threads=threads) for name in arcus.experiments()
    }
    ours: _Ours = {}
    for row in table2["rows"]:
        registers = (row["refill_bytes"], row["bucket_bytes"], row["interval_cycles"])
        ours[f"arcus.table2.{','.join(map(str, registers))}"] = _Mine(row["gbit_per_s"])
    for name, section, percents in (
        ("table3", "table3", ("25th", "50th", "75th", "99th")),
        ("tail", "tail_latency_us", ("95th", "99th", "99.9th")),
    ):
        for row in reports[name]["rows"]:
            system = "ReFlex" if name == "tail" else row["system"]
            system = row["system"] if row["system"] == "Arcus" else system
            if row["system"] == "Host_TS_firecracker" and name == "tail":
                continue
            for place, percent in enumerate(percents):
                if row["what"] == f"{percent} percentile":
                    ours[f"arcus.{section}.{system}[{place}]"] = _mine(row, "why")
    rocksdb = {row["what"]: row for row in reports["table4"]["rows"]}
    for name, what in (
        ("throughput_gain", "throughput over ext4's"),
        ("cpu_saving", "cores saved"),
    ):
        ours[f"arcus.rocksdb.{name}"] = _mine(rocksdb[what], "why")
    return ours, {"table2": table2, "reports": reports}


#: The papers, and how what they report is computed.
PAPERS: Final[Mapping[str, Callable[[int, int], tuple[_Ours, Mapping[str, Any]]]]] = {
    "accelerometer": _accelerometer,
    "cerebros": _cerebros,
    "arcus": _arcus,
}
