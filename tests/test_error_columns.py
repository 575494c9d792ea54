"""Errors, retries and time-outs by service: in tables, on pages, and in the rows of sweeps."""

import io
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from rich.console import Console

import accelflow
from accelflow import studies
from accelflow.report import Comparison
from accelflow.report.replications import pooled
from accelflow.report.summary import services_table
from accelflow.report.table import print_comparison

RECEIVE = {"trace": "T1", "facts": {"T1": {"compressed": 0}}}
SEND = {"trace": "T2"}
ANSWER = {"T10": {"exception": 0, "compressed": 0}}


def shop(*, failing: bool = True) -> dict[str, Any]:
    """A service whose calls fail and time out, the one that it calls, and one without any."""
    call = {"trace": "T9", "facts": ANSWER, "calls": "Get"}
    wait: dict[str, Any] = {"trace": "T9", "facts": ANSWER}
    if failing:
        call |= {
            "odds": {"T10": {"exception": 0.1}},
            "retry": {"odds": 0.3, "attempts": 2, "backoff_us": 10},
        }
        wait["waits"] = {"T10": {"log_normal": {"median_us": 1000, "sigma": 2.5}}}
    paths = {"Buy": [RECEIVE, call, SEND], "Get": [RECEIVE, wait, SEND], "Calm": [RECEIVE, SEND]}
    rates = {"Buy": {"rate_rps": 1000}, "Get": {}, "Calm": {"rate_rps": 1000}}
    return {
        "schema": "accelflow.workload/1",
        "name": "shop",
        "services": [{"name": name, **rates[name], "path": path} for name, path in paths.items()],
    }


def compared(workload: dict[str, Any], **options: Any) -> Comparison:
    return accelflow.compare(
        workload,
        orchestrators=["accelflow"],
        requests=300,
        config={"tcp.timeout_us": 9000},
        **options,
    )


def printed(comparison: Comparison) -> str:
    text = io.StringIO()
    print_comparison(comparison, Console(file=text, width=200), by_service=True)
    return text.getvalue()


@pytest.fixture(scope="module")
def failing() -> Comparison:
    return compared(shop())


def test_results_have_errors_retries_and_time_outs(failing: Comparison) -> None:
    services = failing["accelflow"]
    buy, get, calm = services["Buy"], services["Get"], services["Calm"]
    # 30 % of the first attempts are repeated; 30 % of these, and 10 % of the others, end with an
    # error, unless they time out.
    assert buy.retries == pytest.approx(0.3 * 300, rel=0.25)
    assert buy.gave_up == pytest.approx(0.09 * 300, rel=0.5)
    assert buy.gave_up < buy.errors < buy.responded
    assert get.called is not None
    assert (get.errors, get.called.errors, get.timed_out) == (0, 0, 0)
    assert 0 < get.called.timed_out <= buy.timed_out
    assert (calm.errors, calm.retries, calm.gave_up, calm.timed_out) == (0, 0, 0, 0)


def test_tables_have_columns_of_them_if_there_are_any(failing: Comparison) -> None:
    buy, get = (failing["accelflow"][name] for name in ("Buy", "Get"))
    assert get.called is not None
    lines = printed(failing).splitlines()
    heading = next(line for line in lines if "P99.9" in line)
    assert heading.split()[-5:] == ["Fallbacks", "Errors", "Retries", "Timed", "out"]
    rows = [line.split()[-3:] for line in lines if line.startswith(" AccelFlow")]
    assert rows == [
        [str(buy.errors), str(buy.retries), str(buy.timed_out)],
        ["0", "0", str(get.called.timed_out)],
        ["0", "0", "0"],
    ]
    page = services_table(failing)
    assert [column.name for column in page.columns][-4:-1] == ["Errors", "Retries", "Timed out"]
    assert page.rows[0][-4:-1] == [buy.errors, buy.retries, buy.timed_out]
    calm = compared(shop(failing=False))
    assert "Retries" not in printed(calm)
    assert [column.name for column in services_table(calm).columns][-2:] == [
        *("Fallbacks", "Overloaded")
    ]


def test_counts_of_seeds_are_added_even_if_one_has_none(failing: Comparison) -> None:
    # `retries` is left out of the results of a seed without any.
    source = failing.source
    without = compared(shop(failing=False), seed=2).source
    both = Comparison.from_dict(pooled([source, without]))["accelflow"]["Buy"]
    assert both.retries == failing["accelflow"]["Buy"].retries
    assert both.gave_up == failing["accelflow"]["Buy"].gave_up


def test_rows_of_a_sweep_have_them(tmp_path: Path) -> None:
    scenario = {
        "workload": shop(),
        "orchestrators": ["accelflow"],
        "requests": 200,
        "config": {"tcp.timeout_us": 9000},
    }
    rates = studies.Axis(name="rate_rps", values=(500.0, 1000.0))
    study = studies.Study(scenario=scenario, kind="grid", axes=[rates])
    studies.sweep(study, tmp_path / "study")
    rows = pq.read_table(tmp_path / "study" / "results.parquet").to_pylist()
    (one, two) = [row for row in rows if row["service"] == "Buy"]
    for count in ("errors_count", "retries_count", "gave_up_count", "timed_out_count"):
        assert one[count] > 0
        assert two[count] > 0
    for row in rows:
        if row["service"] == "Get":
            assert row["called_errors_count"] == 0
            assert row["called_timed_out_count"] > 0
