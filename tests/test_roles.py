"""A figure that informed a parameter is not presented as a check of the model."""

import re

import pytest

from accelflow import arcus
from accelflow.findings import Target, targets

PARAMETERS = {row["key"]: row for row in arcus.parameters()}
TARGETS = {key: target for key, target in targets().items() if key.startswith("arcus.")}
PLACES = {place for target in TARGETS.values() for place in target.places}


def places_of(key: str) -> set[str]:
    """The places that the source of a parameter names, or that of a parameter it refers to."""
    source = PARAMETERS[key]["source"]
    named = re.findall(r"(?:Fig\.|Table|section) \d+(?:\.\d+)*", source)
    found = {place for place in named if place in PLACES}
    for other in re.findall(r"see ([a-z]+\.[a-z_]+)", source):
        found |= places_of(other)
    return found


CHOSEN = [
    (key, place)
    for key, row in PARAMETERS.items()
    if row["provenance"] != "paper"
    for place in sorted(places_of(key))
]


@pytest.mark.parametrize(("key", "place"), CHOSEN)
def test_a_parameter_chosen_with_a_figure_in_view_is_listed_with_its_rows(
    key: str, place: str
) -> None:
    listed = [target for target in TARGETS.values() if key in target.fits]
    assert any(place in target.places for target in listed), f"{key}: {PARAMETERS[key]['source']}"


def test_the_places_of_parameters_are_found() -> None:
    assert ("pcie.max_payload", "Fig. 3") in CHOSEN
    assert ("software.interrupted_every", "Table 3") in CHOSEN
    assert not places_of("aes.rate")


@pytest.mark.parametrize("target", [target for target in TARGETS.values() if target.fits])
def test_a_row_that_informed_a_parameter_is_no_check(target: Target) -> None:
    assert target.use in ("fit", "input")
    for key in target.fits:
        assert PARAMETERS[key]["provenance"] in ("derived", "assumed"), key


def test_rows_that_only_repeat_their_inputs_say_so() -> None:
    inputs = {key.removeprefix("arcus.") for key, one in TARGETS.items() if one.use == "input"}
    assert {"rocksdb.cores", "rocksdb.cpu_saving"} <= inputs
    assert "fig11.raid_reads_p99.Arcus" in inputs  # the criterion by which the load is found


def test_rows_of_accelflow_that_inform_parameters_are_listed() -> None:
    fit = [
        target
        for key, target in targets().items()
        if target.use == "fit" and key.startswith("accelflow.")
    ]
    chosen = {target.key.split(".")[1] for target in fit if not target.fits}
    assert chosen == {"p99_reduction", "mean_latency_reduction"}
    # A row that a single parameter was chosen with, and that is no check of the model any more.
    assert [(target.key, target.fits) for target in fit if target.fits] == [
        ("accelflow.ladder.Direct", ("relief.occupancy_ns",))
    ]
