"""Importers of tables: Alibaba's call graphs and Azure's functions."""

import csv
import gzip
import os
from pathlib import Path
from typing import Any

import pytest

from accelflow import InputError
from accelflow.importing import (
    AlibabaOptions,
    AzureOptions,
    Report,
    Traced,
    import_alibaba,
    import_azure,
    timed,
)
from conftest import ROOT
from workload_form import check_workload

DATA = ROOT / "tests/data/import"
#: Published traces, which are not part of the project.
SHARED = Path(os.environ.get("ACCELFLOW_PUBLISHED", ROOT.parent / "shared" / "data"))


def table(tmp_path: Path, text: str, name: str = "table.csv") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def counts(report: Report, section: str) -> dict[str, int]:
    return {remark.what: remark.count for remark in report.remarks(section)}


# Alibaba's traces.


def alibaba(*names: str, **options: Any) -> tuple[dict[str, Any], dict[str, list[str]], Report]:
    report = Report("alibaba-v2021")
    paths = [DATA / name for name in names]
    found = import_alibaba(paths, report, AlibabaOptions(**options))
    companions = {name: list(lines) for name, lines in found.companions.items()}
    check_workload(found.tree, companions)
    return found.tree, companions, report


def test_call_graphs_become_services_with_their_most_common_calls() -> None:
    tree, companions, _ = alibaba("MSCallGraph.csv", "MSRTQps.csv")
    by_name = {service["name"]: service for service in tree["services"]}
    assert list(by_name) == ["front-checkout", "stock-reserve", "price-quote"]
    front = by_name["front-checkout"]
    # 18 - 6 = 12 (a read of 0 ms), 28 - 2 - 6 = 20, and 9 without the callee's row.
    assert front["app_us"] == 12_000
    assert front["method"] == "front./checkout"
    assert [phase.get("trace") for phase in front["path"]] == [
        *("T1", None, "T4", None, None, None, "T2")
    ]
    parallel = front["path"][4]["parallel"]
    assert [chain["waits"] for chain in parallel] == [
        {"T10": {"constant_us": 6_000.0}},  # price, both times
        {"T10": {"quantiles_us": WAITS_OF_STOCK}},
    ]
    assert front["path"][2]["waits"]["T5"]["quantiles_us"][0] == [0.0, 500.0]  # 0 ms
    assert [p.get("trace") for p in by_name["price-quote"]["path"]] == [
        "T1",
        None,
        "T8",
        None,
        "T2",
    ]
    assert companions["*-front-checkout.rates.csv"] == [
        *("start_us,rate_rps", "0,30", "60000000,50", "120000000,40")
    ]
    # The callee's share of two calls in 10 s of which the table has 0.5 %.
    assert by_name["price-quote"]["rate_rps"] == 40
    assert (front["rate_rps"], by_name["stock-reserve"]["rate_rps"]) == (40, 40)


WAITS_OF_STOCK = [
    *([0.0, 4_000.0], [0.25, 4_000.0], [0.5, 5_000.0], [0.75, 6_000.0]),
    *([0.9, 6_000.0], [0.99, 6_000.0], [1.0, 6_000.0]),
]


def test_known_defects_of_the_call_graphs_are_named_and_counted() -> None:
    _, _, report = alibaba("MSCallGraph.csv", "MSRTQps.csv", top=2)
    understood = counts(report, "understood")
    assert understood["rows of calls"] == 22
    assert understood["call graphs"] == 3
    assert understood["lost names that the call's other row has"] == 1
    assert counts(report, "dropped") == {
        "calls of the type userDefined": 1,
        "calls without traceid, rpcid, timestamp or rt": 1,
        "rows of other metrics than providerRPC_MCR and HTTP_MCR": 1,
        "rates that are no number from 0 on, or of no microservice": 1,
        "rows that are there twice": 1,
        "negative times of calls that have one row": 1,
        "calls whose caller is not invoked by rpc or http in its trace": 2,
        "invocations of a microservice whose name is lost": 1,
        "services beyond --top": 1,
        "invocations of services beyond --top": 2,
    }
    guessed = counts(report, "guessed")
    what = "invocations with other calls than the most common ones of their service"
    assert guessed[what] == 1  # the third trace
    assert understood["calls of a cache (mc) in the paths"] == 1


def test_a_caller_does_not_wait_for_the_consumer_of_its_message(tmp_path: Path) -> None:
    head = "traceid,timestamp,rpcid,um,rpctype,dm,interface,rt\n"
    # An answer after 50 ms, of which 20 are those of a call. The consumer takes 1,000 ms.
    rows = ["0,0,U,http,a,x,-50", "1,0.1,a,mq,q,y,1000", "10,0.2,a,rpc,b,z,20"]
    text = head + "".join(f"t{n},{row}\n" for n in range(4) for row in rows)
    found = import_alibaba([table(tmp_path, text)], Report("a"), AlibabaOptions())
    service = next(service for service in found.tree["services"] if service["name"].startswith("a"))
    assert service["app_us"] == 30_000
    traces = [phase.get("trace") for phase in service["path"]]
    assert traces == ["T1", None, "T8", None, "T9", None, "T2"]


def test_strict_takes_clean_tables_of_alibaba_and_states_their_conventions(tmp_path: Path) -> None:
    head = "traceid,timestamp,rpcid,um,rpctype,dm,interface,rt\n"
    clean = table(tmp_path, head + "".join(f"t{n},{n},0,(?),http,a,x,3\n" for n in range(4)))
    report = Report("alibaba-v2021", strict=True)
    import_alibaba([clean], report, AlibabaOptions())
    assert not report.remarks("guessed")
    stated = {remark.what: remark.done for remark in report.remarks("understood") if remark.done}
    assert set(stated) == {
        "application times (CPU)",
        "calls that overlap by over 1 ms",
        "times of 0 ms",
        "message sizes",
        "rates without a table MSRTQps",
    }
    assert all(done.startswith("by convention: ") for done in stated.values())
    # Where rates are given, a microservice without one is a guess.
    rates = table(
        tmp_path, "timestamp,msname,msinstanceid,metric,value\n0,b,i,HTTP_MCR,8\n", "rates.csv"
    )
    with pytest.raises(InputError, match="services without a rate: refused because of --strict"):
        import_alibaba([rates, clean], Report("a", strict=True), AlibabaOptions())


def test_strict_takes_clean_tables_of_azure_and_states_their_conventions(tmp_path: Path) -> None:
    calls = table(tmp_path, "HashOwner,HashApp,HashFunction,1,2\no,a,f,3,4\n", "calls.csv")
    columns = "HashFunction,Average,Count,percentile_Average_50\n"
    times = table(tmp_path, columns + "f,0,7,5\n", "times.csv")
    report = Report("azure-functions", strict=True)
    found = import_azure([calls, times], report, AzureOptions())
    assert found.tree["services"][0]["app_us"] == 5_000
    assert not report.remarks("guessed")
    assert report.count("understood", "durations of 0 ms") == 1
    doubled = table(tmp_path, columns + "f,4,7,5\nf,4,7,5\n", "twice.csv")
    with pytest.raises(
        InputError, match="further durations of a function: refused because of --strict"
    ):
        import_azure([calls, doubled], Report("a", strict=True), AzureOptions())


def test_services_of_unequal_or_long_tables_state_the_mean_of_their_rates(tmp_path: Path) -> None:
    head = "traceid,timestamp,rpcid,um,rpctype,dm,interface,rt\n"
    calls = table(tmp_path, head + "".join(f"t{n},{n},0,(?),http,a,x,3\n" for n in range(4)))
    head = "timestamp,msname,msinstanceid,metric,value\n"
    for rows in ["0,a,i,HTTP_MCR,8\n1000,a,i,HTTP_MCR,2\n9000,a,i,HTTP_MCR,5\n", *_TINY]:
        rates = table(tmp_path, head + rows, "rates.csv")
        found = import_alibaba([rates, calls], Report("a"), AlibabaOptions())
        check_workload(found.tree, {name: list(text) for name, text in found.companions.items()})
    days = "".join(f"a,f,{86_400 * (n % 14) + 60},1\n" for n in range(14_000))
    days += "a,f,1209000,1\n" * 9_000
    events = table(tmp_path, f"app,func,end_timestamp,duration\n{days}", "events.csv")
    azure = import_azure([events], Report("a"), AzureOptions())
    check_workload(azure.tree, {name: list(text) for name, text in azure.companions.items()})


#: Rates below the lowest of a workload.
_TINY = ["0,a,i,HTTP_MCR,0.0001\n1000,a,i,HTTP_MCR,0.0002\n"]


def test_rates_are_divided_over_the_interfaces_of_a_microservice(tmp_path: Path) -> None:
    calls = table(
        tmp_path,
        "traceid,timestamp,rpcid,um,rpctype,dm,interface,rt\n"
        + "".join(f"t{n},{n},0,(?),http,a,{'x' if n else 'y'},3\n" for n in range(4)),
    )
    rates = table(
        tmp_path, "timestamp,msname,msinstanceid,metric,value\n0,a,i,HTTP_MCR,8\n", "rates.csv"
    )
    found = import_alibaba([rates, calls], Report("a"), AlibabaOptions())
    assert {s["name"]: s["rate_rps"] for s in found.tree["services"]} == {"a-x": 6, "a-y": 2}


def test_traces_whose_rows_alternate_are_put_together_again(tmp_path: Path) -> None:
    rows = (DATA / "MSCallGraph.csv").read_text().splitlines()
    header, *rows = rows
    mixed = sorted(rows, key=lambda row: (row.split(",")[2], row))  # no longer by trace
    assert mixed != rows
    path = table(tmp_path, "\n".join([header, *mixed]))
    found = import_alibaba([path], Report("a"), AlibabaOptions())
    assert found.tree["services"] == alibaba("MSCallGraph.csv")[0]["services"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "must be those of Alibaba's table MSCallGraph, MSRTQps or MSResource"),
        (
            "traceid,timestamp,rpcid,um,rpctype,dm,interface,rt\n",
            "must have at least one call by rpc or http",
        ),
        (
            "traceid,timestamp,rpcid,um,rpctype,dm,interface,rt\nt,5,0,,rpc,a,x,1\n",
            "must differ between calls, to give a rate; or add a table MSRTQps with rates",
        ),
    ],
)
def test_other_tables_are_refused_as_call_graphs(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        import_alibaba([table(tmp_path, text)], Report("a"), AlibabaOptions())


@pytest.mark.skipif(
    not (SHARED / "alibaba_v2021_sample").exists(),
    reason="the sample of Alibaba's trace is not here",
)
def test_real_call_graphs() -> None:
    report = Report("alibaba-v2021")
    path = SHARED / "alibaba_v2021_sample/Callgraph.csv"
    found = import_alibaba([path], report, AlibabaOptions(top=1_000))
    check_workload(found.tree, {})
    with path.open() as text:
        rows = list(csv.DictReader(text))
    odd = sum(row["rpctype"] == "userDefined" for row in rows)
    assert report.count("understood", "rows of calls") == len(rows) - odd
    assert report.count("understood", "call graphs") == len({row["traceid"] for row in rows})
    assert any(len(service["path"]) > 3 for service in found.tree["services"])


# Azure's functions.


def azure(*names: str, **options: Any) -> tuple[dict[str, Any], dict[str, list[str]], Report]:
    report = Report("azure-functions")
    found = import_azure([DATA / name for name in names], report, AzureOptions(**options))
    companions = {name: list(lines) for name, lines in found.companions.items()}
    check_workload(found.tree, companions)
    return found.tree, companions, report


def test_tables_of_2019_become_functions_with_rates_by_the_minute() -> None:
    tree, companions, report = azure("invocations.csv", "durations.csv", "memory.csv")
    found = {s["name"]: (s["rate_rps"], s["app_us"]) for s in tree["services"]}
    assert found == {"f1": (0.75, 20_000), "f2": (0.125, 500), "f4": (0.125, 50_000)}
    assert companions == {
        "*-f1.rates.csv": [
            *("start_us,rate_rps", "0,1", "60000000,0", "180000000,2", "240000000,0.75")
        ],
        "*-f2.rates.csv": ["start_us,rate_rps", "0,0.1", "180000000,0.2", "240000000,0.125"],
        "*-f4.rates.csv": ["start_us,rate_rps", "0,0.5", "60000000,0", "240000000,0.125"],
    }
    assert counts(report, "dropped") == {
        "counts that are no whole number from 0 on": 2,
        "durations that are negative, not a number or of no invocation": 1,
        "rows of memory": 1,
        "functions without an invocation": 1,
        "functions without a duration": 1,
    }
    trigger = "rows of a function that has another (other trigger): added"
    assert counts(report, "understood")[trigger] == 1
    assert counts(report, "understood")["durations of 0 ms"] == 1


def test_days_follow_one_another_and_the_busiest_are_taken() -> None:
    tree, companions, report = azure(
        "invocations.csv", "durations.csv", "invocations.csv", top=1, duration="mean"
    )
    (service,) = tree["services"]
    assert (service["name"], service["app_us"], service["rate_rps"]) == ("f1", 30_000, 0.75)
    assert companions["*-f1.rates.csv"][3:6] == ["180000000,2", "240000000,1", "300000000,0"]
    assert counts(report, "dropped")["functions beyond --top"] == 2
    assert counts(report, "dropped")["invocations of functions beyond --top"] == 2 * 60


def test_functions_of_later_days_may_be_the_busiest(tmp_path: Path) -> None:
    # Far more functions than are held: the ones with the fewest invocations go.
    head = "HashOwner,HashApp,HashFunction,1\n"
    rows = [f"o,a,f{index},{index}\n" for index in range(1_000)]
    first = table(tmp_path, head + "".join(rows), "one.csv")
    second = table(tmp_path, head + "o,a,f999,1\no,a,new,5000\n", "two.csv")
    columns = "HashFunction,Average,Count,percentile_Average_50\n"
    times = table(tmp_path, columns + "f999,1,1,1\nnew,1,1,1\n", "times.csv")
    report = Report("azure-functions")
    found = import_azure([first, second, times], report, AzureOptions(top=2))
    assert [service["name"] for service in found.tree["services"]] == ["new", "f999"]
    assert report.count("dropped", "functions without an invocation") == 1
    assert report.count("dropped", "functions without a duration") == 998


def test_counts_of_functions_do_not_depend_on_top(tmp_path: Path) -> None:
    columns = [f"{minute}" for minute in range(1, 101)]
    zeros = ",0" * 99
    head = ",".join(["HashOwner", "HashApp", "HashFunction", *columns])
    rows = "".join(f"o,a,f{index},{index}{zeros}\n" for index in range(1_000))
    calls = table(tmp_path, f"{head}\n{rows}", "calls.csv")
    head = "HashFunction,Average,Count,percentile_Average_50\n"
    times = table(
        tmp_path, head + "".join(f"f{index},1,1,1\n" for index in range(1_000)), "times.csv"
    )
    for top in (3, 500):
        report = Report("azure-functions")
        import_azure([calls, times], report, AzureOptions(top=top))
        assert counts(report, "dropped") == {
            "functions without an invocation": 1,
            "functions with a rate below 0.001 requests a second": 5,
            "functions beyond --top": 994 - top,
            "invocations of functions beyond --top": sum(range(6, 1_000 - top)),
        }


def test_functions_whose_rates_were_not_kept_are_counted(tmp_path: Path) -> None:
    head = "HashOwner,HashApp,HashFunction,1\n"
    rows = [f"o,a,f{index},{index}\n" for index in range(1_000)]
    first = table(tmp_path, head + "".join(rows), "one.csv")
    second = table(tmp_path, head + "o,a,f1,5000\n", "two.csv")
    columns = "HashFunction,Average,Count,percentile_Average_50\n"
    times = table(tmp_path, columns + "f1,1,1,1\nf998,1,1,1\nf999,1,1,1\n", "times.csv")
    report = Report("azure-functions")
    found = import_azure([first, second, times], report, AzureOptions(top=1))
    assert [service["name"] for service in found.tree["services"]] == ["f999"]
    dropped = counts(report, "dropped")
    assert dropped["functions with too few invocations in the first tables"] == 1
    assert dropped["functions beyond --top"] == 1


def test_invocations_of_2021_become_functions() -> None:
    tree, companions, report = azure("invocations-2021.csv")
    found = {s["method"]: (s["rate_rps"], s["app_us"]) for s in tree["services"]}
    assert found == {"a.f": (0.0166667, 300_000), "a.g": (0.0111111, 500)}
    assert companions["*-a-g.rates.csv"] == [
        *("start_us,rate_rps", "0,0.0166667", "60000000,0", "120000000,0.0166667"),
        "180000000,0.0111111",
    ]
    assert counts(report, "dropped") == {
        "durations that are negative, of over 100 years or no number": 2
    }


def test_times_of_tables_are_kept_beside_the_workload() -> None:
    found = import_alibaba([DATA / "MSCallGraph.csv"], Report("a"), AlibabaOptions())
    times = timed(found.tree, found.traced, 100)
    rows = {row["service"]: row for row in times["services"]}
    front = rows["front-checkout"]
    # Its three invocations take 18, 28 and 9 ms.
    assert front["traced_mean_us"] == pytest.approx(55_000 / 3)
    assert (front["operation"], front["traced_p99_us"]) == ("front./checkout", 28_000)
    # The median of the own times, 12 ms, and the calls.
    assert front["simulated_mean_us"] > 12_000
    files = [DATA / "invocations-2021.csv"]
    found = import_azure(files, Report("a"), AzureOptions())
    rows = {row["operation"]: row for row in timed(found.tree, found.traced)["services"]}
    assert (rows["a.f"]["traced_mean_us"], rows["a.f"]["traced_p99_us"]) == (300_000, 500_000)
    # The median is the application time, whose most part is added to the simulated one.
    assert 300_000 < rows["a.f"]["simulated_mean_us"] < 301_000
    assert rows["a.g"]["requests"] == 2


def test_long_times_of_services_without_calls_are_cut_beside_others_with_calls() -> None:
    receive = {"trace": "T1", "facts": {"T1": {"compressed": 0}}}
    call = {"trace": "T9", "facts": {"T10": {"exception": 0, "compressed": 0}}, "calls": "Get"}
    long = {"path": [receive, {"cpu": True}, {"trace": "T2"}], "app_us": 1e6}
    services = [
        {"name": "Buy", "rate_rps": 1, "path": [receive, call, {"trace": "T2"}]},
        {"name": "Get", "path": [receive, {"trace": "T2"}]},
        {"name": "Report", "rate_rps": 1, **long},
    ]
    tree = {"schema": "accelflow.workload/1", "name": "shop", "services": services}
    traced = {"Report": Traced("report", 5, 1e6), "Buy": Traced("buy", 5, 1e3)}
    times = timed(tree, traced)
    # With the whole second of each, only 100 would be simulated.
    assert (times["requests"], times["refused"]) == (1_000, None)
    assert times["services"][0]["simulated_mean_us"] == pytest.approx(1e6, rel=0.001)
    # A service that calls, or is called, keeps its time.
    services[0] |= long | {"path": [receive, call, {"cpu": True}, {"trace": "T2"}]}
    assert timed(tree, traced)["requests"] == 100


def test_tables_of_2019_state_the_tail(tmp_path: Path) -> None:
    calls = table(tmp_path, "HashFunction,1\nf,60\n", "calls.csv")
    columns = "HashFunction,Average,Count,percentile_Average_50"
    for tail, expected in ((",percentile_Average_99", 9_000), ("", None)):
        value = ",9" if tail else ""
        times = table(tmp_path, f"{columns}{tail}\nf,3,60,2{value}\n", "times.csv")
        found = import_azure([calls, times], Report("a"), AzureOptions())
        (traced,) = found.traced.values()
        assert (traced.mean_us, traced.p99_us, traced.requests) == (3_000, expected, 60)


def test_one_long_invocation_of_2021_does_not_prolong_the_trace(tmp_path: Path) -> None:
    # An hour with an invocation each minute, in which one ends that began 31 years before.
    ends = "".join(f"a,f,{60 * minute + 30},0.5\n" for minute in range(60))
    path = table(tmp_path, f"app,func,end_timestamp,duration\n{ends}a,f,1800,1e9\n")
    report = Report("azure-functions")
    found = import_azure([path], report, AzureOptions())
    (service,) = found.tree["services"]
    assert service["rate_rps"] == pytest.approx(61 / 3600, rel=1e-5)
    assert service["app_us"] == 500_000
    what = "invocations that began before the minute in which the first of all ended"
    assert report.count("understood", what) == 1


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["invocations.csv", "invocations-2021.csv"], "of the same year as"),
        (["invocations.csv"], "must have invocations and durations"),
        (["MSRTQps.csv"], "must be those of a table of Azure's trace of 2019"),
    ],
)
def test_tables_that_do_not_belong_together_are_refused(names: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        azure(*names)


@pytest.mark.skipif(
    not (SHARED / "azure_functions_2019_sample").exists(),
    reason="the sample of Azure's trace is not here",
)
def test_real_functions() -> None:
    folder = SHARED / "azure_functions_2019_sample"
    report = Report("azure-functions")
    files = [folder / name for name in ("500_inv.csv.gz", "500_run.csv", "500_mem.csv")]
    found = import_azure(files, report, AzureOptions(top=2))
    with gzip.open(files[0], "rt") as text:
        totals = sorted(
            sum(int(count) for name, count in row.items() if name.startswith("minute_"))
            for row in csv.DictReader(text)
        )
    rates = [service["rate_rps"] for service in found.tree["services"]]
    assert rates == [pytest.approx(total / 86_400, rel=1e-5) for total in (totals[-1], totals[-2])]
    what = "invocations of functions in the workload"
    assert report.count("understood", what) == sum(totals[-2:])
