"""The case studies and recommendations of the Accelerometer paper, with its printed inputs."""

import math
from collections.abc import Mapping
from typing import Any, Final

from accelflow.accelerometer import Kernel, Service, break_even, evaluate
from accelflow.accelerometer.service import FIG_20_SWITCHES
from accelflow.findings import targets

#: The case studies for which Table 6 has measurements from production.
MEASURED: Final = ("aes_ni_cache1", "encryption_cache3", "inference_ads1")

#: The names of the parts of a host's time after offloading, by the keys of the losses in results of
#: :func:`accelflow.accelerometer.evaluate`.
LOSSES: Final = {
    "not_offloaded_ratio": "kernel on the host",
    "accelerator_ratio": "waiting for the accelerator",
    "setup_ratio": "setup (o0)",
    "transfer_ratio": "transfer (L)",
    "queue_ratio": "queue (Q)",
    "thread_switches_ratio": "thread switches (o1)",
}
#: The name of the part of a host's time that is not offloaded.
REST: Final = "rest of the service"
#: The name of the part of a host's time that offloads add.
OVERHEAD: Final = "offload overhead"
#: The name of the part of a host's time that offloads save.
FREED: Final = "freed"

#: All of Feed1's compressions in a second (Table 7, on-chip). The off-chip rows offload those that
#: pay; Fig. 20 follows only if alpha is scaled by their number.
_COMPRESSIONS: Final = 15_008.0

#: The cases of Tables 6 and 7: C in 1e9 cycles a second, and the arguments of the kernel.
_CASES: Final[dict[str, tuple[float, dict[str, Any]]]] = {
    "case_studies.aes_ni_cache1": (
        2.0,
        {
            "threading": "sync",
            "placement": "on_chip",
            "kernel_share_ratio": 0.165844,
            "offloads_per_s": 298_951.0,
            "setup_cycles": 10.0,
            "transfer_cycles": 3.0,
            "acceleration_ratio": 6.0,
        },
    ),
    "case_studies.encryption_cache3": (
        2.3,
        {
            "threading": "async_no_response",
            "kernel_share_ratio": 0.19154,
            "offloads_per_s": 101_863.0,
            "transfer_cycles": 2_530.0,
        },
    ),
    "case_studies.inference_ads1": (
        2.5,
        {
            "threading": "async_distinct_thread",
            "placement": "remote",
            "kernel_share_ratio": 0.52,
            "offloads_per_s": 10.0,
            "setup_cycles": 25e6,
            "thread_switch_cycles": 12_500.0,
            "acceleration_ratio": 1.0,
        },
    ),
    "recommendations.compression_on_chip_sync": (
        2.3,
        {
            "threading": "sync",
            "placement": "on_chip",
            "kernel_share_ratio": 0.15,
            "offloads_per_s": _COMPRESSIONS,
            "acceleration_ratio": 5.0,
        },
    ),
    "recommendations.memory_copy_on_chip": (
        2.3,
        {
            "threading": "sync",
            "placement": "on_chip",
            "kernel_share_ratio": 0.1512,
            "offloads_per_s": 1_473_681.0,
            "acceleration_ratio": 4.0,
        },
    ),
    "recommendations.memory_allocation_on_chip": (
        2.0,
        {
            "threading": "sync",
            "placement": "on_chip",
            "kernel_share_ratio": 0.055,
            "offloads_per_s": 51_695.0,
            "acceleration_ratio": 1.5,
        },
    ),
}

#: C_b of Feed1's compression, from its printed break-even size.
_PER_BYTE: Final = 5.62

_OFF_CHIP: Final[dict[str, Any]] = {
    "kernel_share_ratio": 0.15,
    "all_offloads_per_s": _COMPRESSIONS,
    "transfer_cycles": 2_300.0,
    "acceleration_ratio": 27.0,
}


#: The off-chip compressions of Table 7.
_OFF_CHIP_CASES: Final[Mapping[str, dict[str, Any]]] = {
    "sync": {"threading": "sync", "offloads_per_s": 9_629.0},
    "sync_os": {
        "threading": "sync_os",
        "offloads_per_s": 3_986.0,
        "thread_switch_cycles": 5_750.0,
        "latency_thread_switches": FIG_20_SWITCHES,
    },
    "async": {"threading": "async_same_thread", "offloads_per_s": 9_769.0},
}

#: A remote accelerator of compression, which the paper mentions without inputs ("we do not see
#: gains from remote acceleration"). Assumed: 20,000 cycles to send and receive, 1 ms on the way.
_REMOTE: Final[dict[str, Any]] = {
    "threading": "sync_os",
    "placement": "remote",
    "kernel_share_ratio": 0.15,
    "offloads_per_s": _COMPRESSIONS,
    "setup_cycles": 20_000.0,
    "transfer_cycles": 2.3e6,
    "thread_switch_cycles": 5_750.0,
    "acceleration_ratio": 27.0,
}

#: The largest share of cycles in orchestration that section 2.4 prints for the ML services, and the
#: least; what is left is inference. Its gains if inference took no time follow.
_ORCHESTRATING: Final = {"least_inference": 0.67, "most_inference": 0.42}


def _evaluate(giga_cycles: float, kernel: dict[str, Any]) -> dict[str, Any]:
    return evaluate(Service(host_cycles_per_s=giga_cycles * 1e9, kernels=[Kernel(**kernel)]))


def estimates() -> dict[str, float]:
    """Return our values of Accelerometer's Table 6, Figs. 16 to 18 and 20 and section 2.4.

    The keys are ``SECTION.NAME``. Gains in throughput and latency are ratios less 1, reductions
    and shares are ratios, sizes are in bytes, and ``inference_removed`` has speedups.
    """
    found = {
        name: _evaluate(giga, kernel)["speedup_ratio"] - 1
        for name, (giga, kernel) in _CASES.items()
    }
    ideal = _evaluate(*_CASES["recommendations.compression_on_chip_sync"])
    found["recommendations.ideal_compression"] = ideal["ideal_speedup_ratio"] - 1
    for name in ("compression_on_chip_sync", "memory_copy_on_chip", "memory_allocation_on_chip"):
        result = _evaluate(*_CASES[f"recommendations.{name}"])
        found[f"recommendations.{name}_latency"] = result["latency_reduction_ratio"] - 1
    found["recommendations.compression_on_chip_least_bytes"] = _least_bytes(
        threading="sync", placement="on_chip", acceleration_ratio=5.0
    )
    for name, more in _OFF_CHIP_CASES.items():
        row = f"recommendations.compression_off_chip_{name}"
        result = _evaluate(2.3, {**_OFF_CHIP, **more})
        found[row] = result["speedup_ratio"] - 1
        found[f"{row}_latency"] = result["latency_reduction_ratio"] - 1
    # C_b is not printed. Equation (2) gives 5.62 cycles a byte from the printed 425 B, so this row
    # shows that the equation can be inverted, not where the size comes from.
    smallest = break_even(
        threading="sync",
        cycles_per_byte=_PER_BYTE,
        transfer_cycles=2_300.0,
        acceleration_ratio=27.0,
    )
    name = "recommendations.compression_off_chip_sync_break_even_bytes"
    found[name] = float(smallest.above_bytes)
    pays = _evaluate(2.3, {**_OFF_CHIP, "threading": "sync", "offloads_per_s": 9_629.0})
    offloaded = pays["kernels"][0]["lucrative_offloads_ratio"]
    found["lucrative_offloads.compression_off_chip_sync"] = offloaded
    for name, rest in _ORCHESTRATING.items():
        removed = Kernel(
            threading="sync",
            kernel_share_ratio=1 - rest,
            offloads_per_s=0.0,
            acceleration_ratio=float("inf"),
        )
        gone = evaluate(Service(host_cycles_per_s=1e9, kernels=[removed]))
        found[f"inference_removed.{name}"] = gone["speedup_ratio"]
    return found | _before_after()


def _least_bytes(**design: Any) -> float:
    """Return the smallest size in whole bytes whose compression pays."""
    even = break_even(cycles_per_byte=_PER_BYTE, **design)
    return math.floor(float(even.above_bytes)) + 1.0


def _before_after() -> dict[str, float]:
    """Return the changes of Figs. 16 to 18, from before to after offloading, by the equations."""
    found = {}
    for case, study in studies().items():
        freed, share = 1 - 1 / study["estimated_ratio"], study["kernel_share_ratio"]
        if case == "inference_ads1":
            # All of the kernel runs elsewhere; the cost of offloads is in other categories.
            kept = study["after"].get(LOSSES["not_offloaded_ratio"], 0.0)
            found[f"{case}_inference_reduction"] = 1 - kept / share
        else:
            found[f"{case}_secure_io_reduction"] = freed / share
        if case == "aes_ni_cache1":
            found[f"{case}_cycles_freed"] = freed
    return {f"before_after.{name}": value for name, value in found.items()}


def by_measured_speedup() -> dict[str, float]:
    """Return the shares of cycles that each case study frees, given its measured speedup.

    The speedup is that of Table 6's last column. Each case study has two shares:
    ``before_after.CASE_cycles_freed``, of all cycles, and
    ``before_after.CASE_secure_io_reduction``, of the kernel's cycles.
    """
    found = {}
    for case, study in studies().items():
        freed, share = 1 - 1 / study["measured_ratio"], study["kernel_share_ratio"]
        found[f"before_after.{case}_secure_io_reduction"] = freed / share
        found[f"before_after.{case}_cycles_freed"] = freed
    return found


def studies() -> dict[str, dict[str, Any]]:
    """Return the case studies of Table 6: speedups, and the host's time before and after.

    `before` and `after` have the parts of the host's time, as shares of the time before offloading;
    `after` follows from the equations. `production` has the parts after offloading in production,
    from two numbers: the printed reduction of the cycles of inference or of secure I/O, and the
    share of freed cycles. The paper prints this share for AES-NI; in the other cases, it follows
    from the measured speedup.
    """
    found = {}
    for case in MEASURED:
        outcome = _evaluate(*_CASES[f"case_studies.{case}"])
        share = float(outcome["kernels"][0]["kernel_share_ratio"])
        measured = 1 + targets()[f"accelerometer.case_studies_measured.{case}"].value
        losses = outcome["kernels"][0]["losses"]
        found[case] = {
            "estimated_ratio": float(outcome["speedup_ratio"]),
            "measured_ratio": measured,
            "kernel_share_ratio": share,
            "before": {REST: 1 - share, LOSSES["not_offloaded_ratio"]: share},
            "after": {REST: 1 - share}
            | {name: float(losses[loss]) for loss, name in LOSSES.items() if losses[loss]},
            "production": _production(case, share, measured),
        }
    return found


def _production(case: str, share: float, measured: float) -> dict[str, float]:
    """Return the parts of the host's time after offloading, from the text on Figs. 16 to 18."""
    printed = targets()
    freed = 1 - 1 / measured
    if case == "aes_ni_cache1":
        freed = printed[f"accelerometer.before_after.{case}_cycles_freed"].value
    reduction = "inference" if case == "inference_ads1" else "secure_io"
    gone = printed[f"accelerometer.before_after.{case}_{reduction}_reduction"].value
    if case == "inference_ads1":
        return {REST: 1 - share, OVERHEAD: share * gone - freed, FREED: freed}
    # The category is all of secure I/O, of which the kernel is the largest part.
    category = freed / gone
    return {REST: 1 - category, LOSSES["not_offloaded_ratio"]: category - freed, FREED: freed}


def paying_compressions() -> list[tuple[str, float, float]]:
    """Return the size from which off-chip compression speeds Feed1 up, by threading design.

    A row has the threading design, the size in bytes, and the share of compressions that are
    larger. The Accelerometer paper prints both for Sync. For Sync-OS and Async, the share is
    computed from the numbers of offloads in Table 7, and the size from equations (4) and (7).
    """
    found = []
    for way, more in _OFF_CHIP_CASES.items():
        even = break_even(
            threading=more["threading"],
            cycles_per_byte=_PER_BYTE,
            transfer_cycles=_OFF_CHIP["transfer_cycles"],
            acceleration_ratio=_OFF_CHIP["acceleration_ratio"],
            thread_switch_cycles=more.get("thread_switch_cycles", 0.0),
        )
        found.append((way, float(even.above_bytes), more["offloads_per_s"] / _COMPRESSIONS))
    return found


def recommendations() -> list[dict[str, Any]]:
    """Return the bars of Fig. 20: gains in throughput and latency from offloading three kernels.

    Each bar has its `group` (the kernel, such as ``memory copy``), its name `bar` (the
    accelerator's place and threading design, such as ``off chip, Async``), the gains `speedup` and
    `latency`, and `key`: the name of the paper's number in the section
    ``accelerometer.recommendations`` of ``paper-targets.toml``, or None if the paper prints none.
    Gains are ratios less 1. The bar ``ideal`` of each group is the gain if the kernel took no time;
    its `latency` is None.
    """
    bars = []

    def add(group: str, bar: str, key: str | None, giga: float, kernel: dict[str, Any]) -> None:
        result = _evaluate(giga, kernel)
        bars.append(
            {
                "group": group,
                "bar": bar,
                "key": key,
                "speedup": result["speedup_ratio"] - 1,
                "latency": result["latency_reduction_ratio"] - 1,
            }
        )

    for group, name in (
        ("compression", "compression_on_chip_sync"),
        ("memory copy", "memory_copy_on_chip"),
        ("memory allocation", "memory_allocation_on_chip"),
    ):
        giga, kernel = _CASES[f"recommendations.{name}"]
        ideal = _evaluate(giga, kernel)["ideal_speedup_ratio"] - 1
        key = "ideal_compression" if group == "compression" else None
        bars.append({"group": group, "bar": "ideal", "key": key, "speedup": ideal, "latency": None})
        add(group, "on chip, Sync", name, giga, kernel)
        if group == "compression":
            for way, more in _OFF_CHIP_CASES.items():
                bar = {"sync": "Sync", "sync_os": "Sync-OS", "async": "Async"}[way]
                offloads = {**_OFF_CHIP, **more}
                add(group, f"off chip, {bar}", f"compression_off_chip_{way}", 2.3, offloads)
            add(group, "remote, Sync-OS (assumed)", None, 2.3, _REMOTE)
    return bars
