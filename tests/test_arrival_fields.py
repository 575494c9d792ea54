"""Columns and options of `accelflow import arrivals`: their effect, and what is refused."""

from pathlib import Path

import pytest

from accelflow import InputError
from test_import import counts
from test_import_arrivals import arrived


@pytest.mark.parametrize("name", ["rate_rpm", "rpm", "rate_per_min"])
def test_rates_a_minute_are_sixtieths_of_rates_a_second(tmp_path: Path, name: str) -> None:
    lines, mean_rps, _ = arrived(tmp_path, f"time_s,{name}\n0,600\n10,600\n")
    assert lines == ["start_us,rate_rps", "0,10"]  # equal rates are one
    assert mean_rps == 10.0


@pytest.mark.parametrize(
    ("text", "unit", "declared"),
    [
        ("time_s\n0\n1\n", "ms", "s"),
        ("ts_ns,rps\n0,1\n1,2\n", "us", "ns"),
        ("time_ms\n0\n1\n", "iso", "ms"),
        ("time_iso\n2026-01-01\n2026-01-01T00:00:01\n", "s", "iso"),
    ],
)
def test_a_unit_that_contradicts_the_header_is_refused(
    tmp_path: Path, text: str, unit: str, declared: str
) -> None:
    with pytest.raises(InputError, match=f"^--unit = '{unit}': must be {declared} or left out, s"):
        arrived(tmp_path, text, unit=unit)
    assert arrived(tmp_path, text, unit=declared)[:2] == arrived(tmp_path, text)[:2]


def test_a_unit_is_for_numbers_in_columns_that_declare_none(tmp_path: Path) -> None:
    for name in ("timestamp", "time"):
        lines, mean_rps, _ = arrived(tmp_path, f"{name}\n1712110100100\n1712110100350\n", unit="ms")
        assert lines == ["time_us", "0", "250000"]
        assert mean_rps == 4.0


@pytest.mark.parametrize(
    ("text", "process"), [("time_s\n0\n1\n", "times"), ("time_s,rps\n0,1\n1,2\n", "rates")]
)
def test_only_counts_have_windows(tmp_path: Path, text: str, process: str) -> None:
    with pytest.raises(InputError) as caught:
        arrived(tmp_path, text, window_s=10.0)
    allowed = f"must be left out, since the file has {process}: only counts have windows"
    assert str(caught.value) == f"--window = 10: {allowed}"


@pytest.mark.parametrize("window_s", [0.0, 1e-12, 1e10, float("nan")])
def test_a_window_has_at_least_a_nanosecond(tmp_path: Path, window_s: float) -> None:
    with pytest.raises(InputError, match=r"--window = .*: must be from 1e-9 to 1e9 seconds$"):
        arrived(tmp_path, "time_s,count\n0,1\n1,2\n", window_s=window_s)
    lines, mean_rps, _ = arrived(tmp_path, "time_ns,count\n0,1\n1,1\n", window_s=1e-9)
    assert lines == ["start_us,rate_rps", "0,1000000000"]
    assert mean_rps == 1e9


@pytest.mark.parametrize("numbers", ["1712110100100\n1712110101100", "171211010010000.5\n1e3"])
def test_numbers_are_no_dates(tmp_path: Path, numbers: str) -> None:
    with pytest.raises(InputError) as caught:
        arrived(tmp_path, f"timestamp\n{numbers}\n")
    assert str(caught.value).endswith(
        "values that are not times (2): their rows are left out"
        " (numbers need --unit, such as --unit ms)"
    )


def test_eight_digits_are_a_date(tmp_path: Path) -> None:
    lines, _, report = arrived(tmp_path, "date\n20260329\n2026-03-29T00:00:10\n1774742400\n")
    assert lines == ["time_us", "0", "10000000"]
    assert counts(report, "dropped") == {"values that are not times": 1}
