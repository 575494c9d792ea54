"""Parts of a workload that do not fit each other are refused with their lines."""

from pathlib import Path

import pytest

from accelflow import simulation
from accelflow.errors import InputError

HEAD = """schema = "accelflow.workload/1"
name = "shop"
"""

TRACES = """
[[traces]]
source = '''
kind Thumb
trace up:
    TCP Decr Thumb LdB
'''
"""

SERVICES = """
[[services]]
name = "Front"
rate_rps = 100
{costs}
path = [
  {{ trace = "{first}", facts = {{ T1 = {{ compressed = 0 }} }}{more} }},
  {{ cpu_us = 20 }},
  {{ trace = "T2"{last} }},
]

[[services]]
name = "Back"
rate_rps = 100
path = [
  {{ trace = "T1", facts = {{ T1 = {{ compressed = 0 }} }} }},
  {{ cpu_us = 20 }},
  {{ trace = "T2" }},
]
"""


def refusal(path: Path, traces: str = "", **parts: str) -> str:
    """The message for the workload with `parts` in the first service."""
    parts = {"costs": "", "first": "T1", "more": "", "last": ""} | parts
    path.write_text(HEAD + traces + SERVICES.format(**parts))
    with pytest.raises(InputError) as refused:
        simulation.check(simulation.Scenario(workload=path, orchestrators=["accelflow"]))
    return str(refused.value)


@pytest.mark.parametrize("end", ["more", "last"])
def test_a_retry_of_the_first_or_last_chain_is_refused(tmp_path: Path, end: str) -> None:
    place = tmp_path / "shop.toml"
    said = refusal(place, **{end: ", retry = { odds = 0.1, attempts = 2, backoff_us = 9 }"})
    line, phase = {"more": (9, 0), "last": (11, 2)}[end]
    assert said.startswith(f"{place}:{line}:"), said
    assert (
        f"services[0].path[{phase}].retry is given: must be left out of the first and the" in said
    )


def test_a_call_that_nothing_waits_for_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "shop.toml"
    said = refusal(place, last=', calls = "Back"')
    assert said.startswith(f"{place}:11:"), said
    assert said.endswith(
        "services[0].path[2].calls = 'Back': must be left out, as no trace of the chain waits for "
        "an answer (T9 and T11 do)"
    )


def test_a_missing_cost_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "shop.toml"
    said = refusal(place, costs='costs = { source = "operations", TCP = { ns = 9 } }')
    assert said.startswith(f"{place}:7:"), said
    assert said.endswith(
        "services[0].costs.Decr is left out: must be stated, since service Front uses it"
    )


def test_a_custom_accelerator_without_a_cost_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "shop.toml"
    facts = ", facts = { T1 = { compressed = 0 } }"
    text = HEAD + TRACES + SERVICES.format(costs="", first="up", more="", last="")
    place.write_text(text.replace(facts, "", 1))
    with pytest.raises(InputError) as refused:
        simulation.check(simulation.Scenario(workload=place, orchestrators=["accelflow"]))
    assert "kinds.Thumb is left out: must be stated: a service uses this accelerator" in str(
        refused.value
    )
