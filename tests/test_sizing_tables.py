"""The tables of a plan: growth, limits, prices and power."""

import re
from pathlib import Path
from typing import Any

import pytest

from accelflow import InputError, sizing
from accelflow.sizing.tables import read_table


@pytest.mark.parametrize("config", [5, None, ["core.count"]])
def test_a_chip_has_a_table_of_parameters(config: Any) -> None:
    with pytest.raises(InputError, match=r"chip\.config = .*: must be a table of parameters"):
        sizing.Chip(config=config)


def test_a_table_of_a_plan_is_read_as_its_documentation_says() -> None:
    found = read_table("chip", {"config": {"core.count": 8}, "price": 5.0})
    assert found == sizing.Chip(config={"core.count": 8}, price=5.0)
    assert read_table("growth", {}) == sizing.Growth()
    # What a parameter may be, and powers that need each other, are for the plan to check.
    assert read_table("chip", {"config": {"nonsense": "x"}, "rest_w": 1.0, "peak_w": 2.0})
    for name, value, message in (
        ("growth", [1.0], "growth = [1.0]: must be a table"),
        ("growth", {"year": 1}, "growth key = 'year': must be per_year_ratio or years"),
        ("chip", {"file": "paper"}, "chip key = 'file': must be"),
        ("chip", {"config": 5}, "chip.config = 5: must be a table of parameters"),
        ("limits", {"spare_servers": 1.5}, "limits.spare_servers = 1.5: must be a whole number"),
        ("server", {"price": "dear"}, "server.price = 'dear': must be a number from 0 to"),
    ):
        with pytest.raises(InputError, match=re.escape(message)):
            read_table(name, value)


@pytest.mark.parametrize(
    ("opening", "level", "closing"),
    [("a", ".a", " = 1"), ("a = ", "[", "]"), ("a = ", "{ a = ", " }")],
)
def test_tables_and_lists_may_be_nested_64_deep(
    tmp_path: Path, opening: str, level: str, closing: str
) -> None:
    def deep(depth: int) -> str:
        end = closing if level == ".a" else "1" + closing * depth
        return opening + level * depth + end

    path = tmp_path / "deep.toml"
    path.write_text(deep(64), encoding="utf-8")
    with pytest.raises(InputError) as refused:  # a plan has no field a
        sizing.read_plan(path)
    assert "nested" not in str(refused.value)
    path.write_text(deep(65), encoding="utf-8")
    with pytest.raises(InputError, match="nested more than 64 deep"):
        sizing.read_plan(path)
