"""Proofs from the energy and the performance per watt of section VII.B.5."""

from __future__ import annotations

from typing import Final

from accelflow.reproduce.implications.proof import IMPLIED, READING, Figures, Proof
from accelflow.reproduce.implications.ranges import Range

__all__ = ["PROOFS"]


#: A share so small that it stands for zero.
_LITTLE: Final = 1e-6


def _idle_share(figures: Figures) -> Range:
    """Return the largest share of Non-acc's energy that AccelFlow cannot save."""
    left = 1 - figures["energy_saved"]
    return (left - figures["application"]) / (1 - figures["application"])


def _most_load(figures: Figures) -> Range:
    """Return AccelFlow's maximum load, from Non-acc's power at rest, at maximum and production."""
    work = figures["over_non_acc"] * figures["application"]
    rest = (work - figures["over_non_acc"] / figures["per_watt"]) / (work - 1)
    rest = rest.at_least(_LITTLE)
    rest_at_production = _idle_share(figures).at_least(_LITTLE)
    of_production = ((1 - rest) / rest) / ((1 - rest_at_production) / rest_at_production)
    return figures["over_non_acc"] * figures["production_krps"] * of_production


#: The proofs about energy and performance per watt.
PROOFS: Final = (
    Proof(
        name="per_watt_at_the_same_load",
        kind=READING,
        title="Performance per watt beside energy",
        inputs=("energy_saved", "per_watt"),
        steps=(
            "Energy for the same requests is the inverse of requests per joule, which is "
            "performance per watt. So 74 % less energy is 3.8 times the performance per watt in "
            "the same experiment."
        ),
        formula="performance per watt = 1 / (1 - 74 %)",
        bound=lambda f: 1 / (1 - f["energy_saved"]),
        quantity="performance per watt over Non-acc",
        figure="per_watt",
        rests_on=("Both are of the 400K requests at the production rates.",),
        gives=("performance is not the throughput of that experiment, but of the maximum load",),
        reading="performance per watt is requests per joule in the experiment of the 74 %",
        rows=("power_energy.energy_reduction_vs_Non-acc", "power_energy.perf_per_watt_vs_Non-acc"),
    ),
    Proof(
        name="power_at_the_maximum",
        kind=IMPLIED,
        title="Power at the maximum loads",
        inputs=("over_non_acc", "per_watt"),
        steps=(
            "If performance is the maximum throughput, AccelFlow draws this much more power at its "
            "maximum than Non-acc at its own, for 8.3 times the requests."
        ),
        formula="power = 8.3 / 7.2",
        bound=lambda f: f["over_non_acc"] / f["per_watt"],
        quantity="AccelFlow's power at its maximum load over Non-acc's at its own",
        rests_on=("Reading: performance per watt is that at the maximum loads.",),
        rows=("power_energy.perf_per_watt_vs_Non-acc",),
    ),
    Proof(
        name="power_at_rest",
        kind=IMPLIED,
        title="Power that is drawn whatever runs",
        inputs=("energy_saved", "application"),
        steps=(
            "At equal load AccelFlow saves neither the energy that the server draws at rest nor "
            "that of the application logic. Together they are at most the 26 % that AccelFlow "
            "still uses, so little is left for the energy at rest."
        ),
        formula="share at rest <= (1 - 74 % - 20.7 %) / (1 - 20.7 %)",
        bound=_idle_share,
        quantity="share of Non-acc's energy that is drawn at rest, at most",
        percent=True,
        rests_on=("A busy core draws the same whatever it executes.", "Both take the same time."),
        gives=("the power at rest, which is not printed",),
        rows=("power_energy.energy_reduction_vs_Non-acc",),
    ),
    Proof(
        name="energy_and_performance_per_watt",
        kind=READING,
        title="Energy at the production load beside performance per watt at the maximum",
        inputs=("over_non_acc", "per_watt", "application", "energy_saved", "production_krps"),
        steps=(
            "AccelFlow at its maximum draws 1.15 times what Non-acc draws at its own, and its "
            "cores execute 8.3 times the application logic: most of Non-acc's power there must "
            "be drawn at rest. At the production load next to nothing may be, for 74 % to be "
            "saved. Both hold only if Non-acc's maximum is a small part of the production load, "
            "and then AccelFlow's, 8.3 times as high, is below that load, too."
        ),
        formula=(
            "AccelFlow's maximum <= 8.3 x 13.4 kRPS x d(max) / d(production), where d = power of "
            "the work / power at rest, d(max) <= (1 - r) / r with r = (8.3 x 20.7 % - 8.3 / 7.2) / "
            "(8.3 x 20.7 % - 1), and d(production) >= (1 - s) / s with s = (26 % - 20.7 %) / "
            "(1 - 20.7 %)"
        ),
        bound=_most_load,
        quantity="AccelFlow's highest load of each service, kRPS",
        figure="production_krps",
        rests_on=(
            "A busy core draws the same whatever it executes, and power is that at rest plus that "
            "of the work, in proportion to the load.",
            "Non-acc serves the production load in the same time.",
            "Ratios of means for means of ratios.",
        ),
        gives=("what performance per watt is", "the 74 %", "how power depends on load"),
        reading="performance per watt is that at the maximum loads, and power is linear in load",
        rows=("power_energy.energy_reduction_vs_Non-acc", "power_energy.perf_per_watt_vs_Non-acc"),
    ),
)
