"""The importer of tables of arrivals."""

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelflow import InputError
from accelflow.importing import ArrivalsOptions, AzureOptions, Report, import_azure, read_arrivals
from accelflow.importing.numbers import Quantiles
from test_import import counts, table
from workload_form import check_mean


def arrived(tmp_path: Path, text: str, **options: Any) -> tuple[list[str], float, Report]:
    """The lines of the companion file, the mean rate and the report."""
    report = Report("arrivals")
    with read_arrivals([table(tmp_path, text)], report, ArrivalsOptions(**options)) as found:
        return list(found.lines()), found.mean_rps, report


def test_times_are_sorted_shifted_and_every_defect_is_counted(tmp_path: Path) -> None:
    text = "time_ms\n5\n17.5\n14\n45\n-3\n45\nnan\n\n105\n1,2\n"
    lines, mean_rps, report = arrived(tmp_path, text)
    assert lines == ["time_us", "0", "9000", "12500", "40000", "40000", "100000"]
    assert mean_rps == 5 / 0.1
    assert counts(report, "understood") == {
        "rows of times": 6,
        "arrivals at the time of another (kept)": 1,
    }
    assert counts(report, "guessed") == {"times before that of the row above": 1}
    assert counts(report, "dropped") == {
        "negative times": 1,
        "values that are not times": 1,
        "rows with another number of cells than the first line": 1,
    }
    places = {remark.what: remark.places for remark in report.remarks("dropped")}
    assert places["negative times"] == [f"{tmp_path / 'table.csv'}:6"]


@pytest.mark.parametrize(
    ("header", "unit", "values"),
    [
        ("time_s", None, ["1", "3"]),
        ("time_us", None, ["1e6", "3000000"]),
        ("arrival_ns", None, ["1600000000000000001", "1600000002000000001"]),
        ("time", "ms", ["1000", "3000"]),
        ("timestamp", None, ["2026-03-29T00:00:01Z", "2026-03-29T02:00:03+02:00"]),
    ],
)
def test_units_are_declared_by_header_or_option(
    header: str, unit: str | None, values: list[str], tmp_path: Path
) -> None:
    lines, mean_rps, _ = arrived(tmp_path, "\n".join([header, *values]), unit=unit)
    assert lines == ["time_us", "0", "2000000"]
    assert mean_rps == 0.5


@pytest.mark.parametrize(
    ("text", "times"),
    [
        (
            "timestamp\n2026-03-29T00:00:00.000000001Z\n2026-03-29T00:00:00.000000501Z\n"
            '"2026-03-29 01:00:00,000000999+01:00"\n20260329T000000.0000019996Z\n',
            ["0", "0.5", "0.998", "1.999"],
        ),
        ("time_s\n1700000000.000001\n1700000000.000004\n", ["0", "3"]),
        ("time_ms\n1700000000000.1\n1.7000000000001e12\n+1700000000000.2\n", ["0", "0", "100"]),
        ("time_us\n.5\n2.\n1e-400\n", ["0", "0.5", "2"]),
    ],
)
def test_decimals_of_times_are_read_exactly(text: str, times: list[str], tmp_path: Path) -> None:
    assert arrived(tmp_path, text)[0] == ["time_us", *times]


def test_only_digits_of_ascii_make_a_number(tmp_path: Path) -> None:
    text = "time_s,count\n1_000,1\n\u0661,1\n1,1_0\n1,\u0661\n1,1\n2,1\n"
    lines, _, report = arrived(tmp_path, text)
    assert lines == ["start_us,rate_rps", "0,1"]
    assert counts(report, "dropped") == {
        "values that are not times": 2,
        "counts that are no number from 0 to 1e9": 2,
    }


def test_the_hour_that_the_clocks_show_twice_goes_on(tmp_path: Path) -> None:
    rows = ["02:30", "02:30", "02:59", "02:01"]
    text = "timestamp\n" + "".join(f"2026-10-25T{row}:00\n" for row in rows)
    lines, _, report = arrived(tmp_path, text, zone="Europe/Berlin")
    assert lines == ["time_us", "0", "0", "1740000000", "1860000000"]
    twice = "times that the clocks show twice (daylight saving time ends)"
    assert counts(report, "guessed") == {twice: 4}
    # Without a zone the jump is named, and the times are sorted.
    text += "2026-10-25T02:01:00\n" * 3
    lines, _, report = arrived(tmp_path, text)
    assert lines[-1] == "3480000000"
    assert counts(report, "guessed") == {
        "dates without a time zone": 7,
        "times before that of the row above": 1,
        "jumps back by an hour in dates without a time zone": 1,
    }


def test_requests_out_of_order_do_not_begin_the_second_pass(tmp_path: Path) -> None:
    rows = ["02:10:02", "02:10:00", "02:59:59", "02:00:01", "02:00:00", "02:50:00"]
    rows += ["03:00:00"] * 4
    text = "timestamp\n" + "".join(f"2026-10-25T{row}\n" for row in rows)
    lines, _, _ = arrived(tmp_path, text, zone="Europe/Berlin")
    second_s = [0, 2, 2999, 3000, 3001, 6000, *[6600] * 4]
    assert lines == ["time_us", *(str(second * 1_000_000) for second in second_s)]


def test_windows_of_an_hour_are_the_second_pass_if_they_are_shown_twice(tmp_path: Path) -> None:
    rows = [("01:00", 3600), ("02:00", 7200), ("02:00", 10_800), ("03:00", 3600)]
    table = "".join(f"2026-10-25T{row}:00,{count}\n" for row, count in rows)
    lines, _, _ = arrived(tmp_path, "timestamp,count\n" + table, zone="Europe/Berlin")
    assert lines[1:5] == ["0,1", "3600000000,2", "7200000000,3", "10800000000,1"]
    # Two rows a window: the hour is shown once for each.
    twice = "".join(line + "\n" + line + "\n" for line in table.splitlines() if "T02" not in line)
    halves = twice.replace("2026-10-25T03", "2026-10-25T02")
    lines, _, _ = arrived(tmp_path, "timestamp,count\n" + halves, zone="Europe/Berlin")
    assert lines[1:] == ["0,2"]


def test_a_zone_needs_a_date_without_one(tmp_path: Path) -> None:
    text = "timestamp\n2026-03-29T00:00:01Z\n2026-03-29T02:00:03+02:00\n"
    with pytest.raises(InputError, match="--zone = 'Europe/Berlin': must be left out, since every"):
        arrived(tmp_path, text, zone="Europe/Berlin")
    lines, _, _ = arrived(tmp_path, text + "2026-03-29T01:00:02\n", zone="Europe/Berlin")
    assert lines == ["time_us", "0", "1000000", "2000000"]


def test_the_hour_that_the_clocks_skip_is_counted(tmp_path: Path) -> None:
    text = "timestamp\n2026-03-29T01:59:00\n2026-03-29T02:30:00\n2026-03-29T03:31:00\n"
    lines, _, report = arrived(tmp_path, text, zone="Europe/Berlin")
    assert lines == ["time_us", "0", "1860000000", "1920000000"]
    skipped = "times that the clocks skip (daylight saving time begins)"
    assert counts(report, "guessed") == {skipped: 1}


def test_gaps_are_named_with_their_length(tmp_path: Path) -> None:
    times = [*range(0, 100), *range(5_000, 5_100)]
    lines, _, report = arrived(tmp_path, "time_s\n" + "\n".join(map(str, times)))
    assert len(lines) == 201
    (gap,) = report.remarks("guessed")
    assert (gap.count, gap.places) == (1, ["4901 s, 99 s after the first"])


def test_counts_become_rates_and_missing_windows_are_empty(tmp_path: Path) -> None:
    text = "start_s,count\n60,120\n120,60\n300,30\n300,30\n120,60\n360,x\n"
    lines, mean_rps, report = arrived(tmp_path, text)
    assert lines == ["start_us,rate_rps", "0,2", "120000000,0", "240000000,1"]
    assert mean_rps == 300 / 300
    assert counts(report, "guessed") == {
        "times before that of the row above": 1,
        "the length of the windows": 1,
        "counts of the same window": 2,
        "windows that are missing": 2,
    }
    assert counts(report, "dropped") == {"counts that are no number from 0 to 1e9": 1}


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("start_s,count\n0,1\n60,1\n60,1\n180,1\n200,1\n", ["60 s", "120 s", "200 s"]),
        (
            "start_ms,count\n500.5,1\n60500.5,1\n60500.5,1\n180500.5,1\n",
            ["60500.5 ms", "120500.5 ms"],
        ),
        (
            "timestamp,count\n2026-03-29T00:00:00Z,1\n2026-03-29T01:01:00+01:00,1\n"
            "2026-03-29T00:03:00Z,1\n2026-03-29T00:03:00.5Z,1\n",
            ["2026-03-29T00:02:00Z", "2026-03-29T00:03:00.5Z"],
        ),
        ("time_s,rps\n1,1\n2,1\n2,3\n", ["2 s"]),
    ],
)
def test_windows_are_named_by_file_and_time(text: str, places: list[str], tmp_path: Path) -> None:
    _, _, report = arrived(tmp_path, text, **({} if "rps" in text else {"window_s": 60}))
    found = [place for remark in report.remarks("guessed") for place in remark.places]
    assert sorted(found) == sorted(f"{tmp_path / 'table.csv'}, {place}" for place in places)


def test_the_length_of_a_window_can_be_given(tmp_path: Path) -> None:
    lines, mean_rps, report = arrived(tmp_path, "start_ms,count\n0,30\n", window_s=10)
    assert lines == ["start_us,rate_rps", "0,3"]
    assert mean_rps == 3
    assert not report.remarks("guessed")


def test_rates_hold_until_the_next_and_the_mean_is_over_time(tmp_path: Path) -> None:
    lines, mean_rps, _ = arrived(tmp_path, "time_s,rate_rpm\n0,60\n10,180\n40,60\n")
    assert lines == ["start_us,rate_rps", "0,1", "10000000,3", "40000000,1"]
    # The last rate counts as long as the one before it.
    assert mean_rps == (10 * 1 + 30 * 3 + 30 * 1) / 70


@pytest.mark.parametrize(
    "rows",
    [
        "0,5\n60,7\n180,3\n",
        "10,5\n",
        "0,0\n60,2\n",
        "0,5\n60,5\n180,3\n200,0\n",  # equal rates are joined, and zeros at the end left out
        "0,5\n60,7\n999999,2\n1000060,9\n",  # longer than a workload's times
    ],
)
def test_the_rate_beside_a_table_is_the_mean_that_a_workload_takes(
    rows: str, tmp_path: Path
) -> None:
    for column in ("rate_rps", "qps"):
        lines, mean_rps, _ = arrived(tmp_path, f"time_s,{column}\n{rows}")
        check_mean(mean_rps, lines)
        with pytest.raises(InputError, match=r"mean of arrivals\.rates"):
            check_mean(1.1 * mean_rps, lines)


def test_counts_longer_than_a_workload_have_the_mean_of_what_is_kept(tmp_path: Path) -> None:
    rows = "".join(f"{day * 86_400},{86_400 * (day + 1)}\n" for day in range(14))
    lines, mean_rps, _ = arrived(tmp_path, f"start_s,count\n{rows}", window_s=86_400)
    assert len(lines) == 13
    check_mean(mean_rps, lines)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it has no text"),
        ("time_s\n", "must have at least one usable row"),
        ("time_s\n1\n", "number of different times of arrivals = 1: must be at least 2$"),
        (
            "time_s\n1\n1\nx\n",
            "must be at least 2; dropped: values that are not times .1.: their rows are left",
        ),
        (
            "time_s,count\n1,-1\n",
            "one usable row; dropped: counts that are no number from 0 to 1e9 .1.: ",
        ),
        (
            "time_s,count\n1,-1\n2,3\n",
            "--window is left out: .*; dropped: counts that are no number from 0",
        ),
        ("1.5\n2.5\n", "column = '1.5': must be a name"),
        ("when\n1\n", "columns = 'when': must include times, such as time_s"),
        ("time\n1\n", "must end with its unit, such as time_s, unless --unit is ns"),
        ("time_s,count,rps\n1,1,1\n", "must be counts or rates, not both"),
        ("time_s,time_ms\n1,1\n", "columns of times = 'time_s, time_ms': .* with --column"),
        ("end_s,end_ms\n1,1\n", "columns of times = 'end_s, end_ms': must be a single column"),
        ("time_s,rate_rpm,qps\n1,1,1\n", "columns of rates = 'rate_rpm, qps': must be a single"),
        ("time_s,count,Count\n1,1,1\n", "columns of counts = 'count, Count': must be a single"),
        ("time_s,time_s\n1,1\n", "columns of times = 'time_s, time_s': must be a single column$"),
        ("time_s,count\n1,1\n", "--window"),
        ("time_s,rps\n1,0\n2,0\n", r"table\.csv: mean rate of the arrivals = 0"),
        ('time_s\n"1\n', "must be a row of CSV"),
    ],
)
def test_tables_that_are_no_arrivals_are_refused(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        arrived(tmp_path, text)


def test_the_named_column_of_times_is_taken_beside_others(tmp_path: Path) -> None:
    lines, *_ = arrived(tmp_path, "time_s,time_ms\n1,7\n2,9\n", column="time_ms")
    assert lines == ["time_us", "0", "2000"]
    # The end of a request counts only without its start.
    lines, *_ = arrived(tmp_path, "end_s,start_s\n1,7\n2,9\n")
    assert lines == ["time_us", "0", "2000000"]
    with pytest.raises(InputError, match="--column = 't': must be the name of a single column"):
        arrived(tmp_path, "t,t\n1,1\n", column="t", unit="s")


def test_columns_of_one_name_are_refused_in_other_tables(tmp_path: Path) -> None:
    events = table(tmp_path, "app,func,func,end_timestamp,duration\na,f,g,1,1\n")
    with pytest.raises(InputError, match="csv:1: columns = 'func, func': must be a single column"):
        import_azure([events], Report("a"), AzureOptions())


def test_strict_refuses_the_first_guess_and_names_its_place(tmp_path: Path) -> None:
    path = table(tmp_path, "time_s\n2\n1\n")
    with pytest.raises(InputError, match=r"csv:3: times before .* refused because of --strict"):
        read_arrivals([path], Report("arrivals", strict=True), ArrivalsOptions())


def test_more_times_than_memory_holds_are_sorted_in_runs() -> None:
    from accelflow.importing.runs import Sorted  # noqa: PLC0415 (beside its only test)

    records = Sorted(held=10)
    keys = [(7 * index) % 101 for index in range(101)]
    for key in keys:
        records.add(key, key / 2)
    assert list(records) == list(records) == [(key, key / 2) for key in range(101)]
    records.close()


@given(values=st.lists(st.floats(0, 1e9), min_size=1), share=st.floats(0, 1))
def test_quantiles_do_not_depend_on_the_order_and_are_within_half_a_percent(
    values: list[float], share: float
) -> None:
    quantiles, other = Quantiles(), Quantiles()
    for value in values:
        quantiles.add(value)
    for value in reversed(values):
        other.add(value)
    assert quantiles.at(share) == other.at(share)
    exact = sorted(values)[max(0, math.ceil(share * len(values)) - 1)]
    assert quantiles.at(share) == pytest.approx(exact, rel=1e-5)
    for value in range(2_000):  # no longer each on its own
        quantiles.add(1e6 + value)
    values += [1e6 + value for value in range(2_000)]
    exact = sorted(values)[max(0, math.ceil(share * len(values)) - 1)]
    assert quantiles.at(share) == pytest.approx(exact, rel=5.1e-3)
