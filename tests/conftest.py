"""Settings and made-up results that several test files share."""

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# The same examples in every run; no example fails for being slow on a busy machine.
settings.register_profile("accelflow", derandomize=True, deadline=None)
settings.load_profile("accelflow")

ROOT = Path(__file__).resolve().parent.parent

ACCELERATORS = ["TCP", "Encr", "Decr", "RPC", "Ser", "Dser", "Cmp", "Dcmp", "LdB"]
SERVICES = {
    "CPost": 87,
    "ReadH": 28,
    "StoreP": 18,
    "Follow": 30,
    "Login": 29,
    "CUrls": 19,
    "UniqId": 9,
    "RegUsr": 25,
}
SLOWNESS = {
    "non_acc": 30.0,
    "cpu_centric": 9.0,
    "relief": 6.0,
    "cohort": 4.0,
    "accelflow": 2.0,
    "ideal": 1.6,
}


def made_up_service(orchestrator: str, service: str) -> dict[str, Any]:
    """A result whose latencies follow from the two tables above: no engine took part."""
    mean_us = SERVICES[service] * SLOWNESS[orchestrator]
    tail = 1.5 + math.log(SLOWNESS[orchestrator])
    return {
        "service": service,
        "offered_rps": 13400.0,
        "completed": 180_000,
        "mean_us": mean_us,
        "p50_us": mean_us * 0.9,
        "p99_us": mean_us * tail,
        "p999_us": mean_us * tail * 1.5,
        "throughput_rps": 13391.5,
        "core_utilization": SLOWNESS[orchestrator] / 40,
        "accelerator_utilization": {
            name: 0.0 if orchestrator == "non_acc" else 0.3 - index / 50
            for index, name in enumerate(ACCELERATORS)
        },
        "fallbacks": {"overflow_full": 3, "enqueue_denied": 4},
        "saturated": "manager" if (orchestrator, service) == ("relief", "CPost") else None,
        "dispatcher_instructions_mean": 18.0 if orchestrator == "accelflow" else None,
        "data": {
            "dram_bytes": 3_000_000,
            "llc_hit_ratio": None if orchestrator == "non_acc" else 0.9,
        },
    }


@pytest.fixture
def no_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures are small files instead of drawings, which take seconds."""

    def savefig(_figure: object, place: Path, **_: object) -> None:
        Path(place).write_text("a picture", encoding="utf-8")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", savefig)


@pytest.fixture
def made_up_results() -> dict[str, Any]:
    """Results of a comparison in the engine's schema."""
    return {
        "schema": "accelflow.compare/1",
        "workload": "socialnetwork",
        "profile": "measured",
        "seed": 1,
        "requests": 200_000,
        "arrivals": {"kind": "bursty", "burst_factor": 1.7},
        "placement": "isolated",
        "warmup_requests": 20_000,
        "systems": [
            {
                "orchestrator": orchestrator,
                "services": [made_up_service(orchestrator, service) for service in SERVICES],
            }
            for orchestrator in SLOWNESS
        ],
    }
