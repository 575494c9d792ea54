"""`accelflow import` of profiles: costs of the nine operations and application time."""

import itertools
import json
import math
from pathlib import Path
from typing import Any

import pytest

import accelflow
from accelflow import InputError
from accelflow.cli import program
from accelflow.cli.failure import run
from accelflow.importing import Asked, CostsOptions, Report, import_costs
from accelflow.importing.operation_rules import OperationRules
from accelflow.importing.path_operations import operations_of, walked_operations
from accelflow.report.notes import notes_of
from accelflow.simulation import service as paper_service
from accelflow.workload import load_workload
from conftest import ROOT
from test_pprof import function, location, number, part, texts, value_type
from workload_form import check_costs

EXAMPLES = ROOT / "examples/import"
SHOP = ROOT / "tests/data/shop.json"
FOLDED = EXAMPLES / "checkout.folded"
PERF = ROOT / "tests/data/import/checkout.perf"

#: Operations of a request to Checkout: T1, twice T9 and T10 at once, T2.
COUNTS = {"TCP": 6, "Encr": 3, "Decr": 3, "RPC": 6, "Ser": 3, "Dser": 3, "LdB": 3}


def costs_of(
    kind: str, path: Path, *, into: Path = SHOP, process: str | None = None, **options: Any
) -> tuple[dict[str, Any], Report]:
    """The service after the import, and the report."""
    report = Report(kind)
    asked = Asked(process=process, label=options.pop("label", None))
    found = import_costs(
        kind,
        [path],
        report,
        CostsOptions(into=into, service="Checkout", asked=asked, **options),
    )
    (service,) = found.tree["services"]
    check_costs(service["costs"])
    return service, report


def counts(report: Report, section: str) -> dict[str, int]:
    return {remark.what: remark.count for remark in report.remarks(section)}


def test_costs_are_shares_of_the_time_by_requests_and_operations() -> None:
    service, report = costs_of(
        "folded", FOLDED, process="checkout", requests=10_000, cores=1.0, duration_s=10.0
    )
    # 10,000 samples stand for 10 s of a core: 1 ms a sample, in 10,000 requests: 100 ns.
    costs = service["costs"]
    assert {name: costs[name]["ns"] for name in COUNTS} == {
        "TCP": 3_000 * 100 / 6,
        "Encr": pytest.approx((480 + 260) * 100 / 3, rel=1e-5),
        "Decr": pytest.approx(260 * 100 / 3, rel=1e-5),
        "RPC": pytest.approx(700 * 100 / 6, rel=1e-5),
        "Ser": 900 * 100 / 3,
        "Dser": pytest.approx(1_100 * 100 / 3, rel=1e-5),
        "LdB": 300 * 100 / 3,
    }
    assert costs["TCP"]["relative_error"] == pytest.approx(1 / math.sqrt(3_000), rel=1e-5)
    assert costs["Decr"]["relative_error"] == pytest.approx(1 / math.sqrt(260), rel=1e-5)
    assert service["app_us"] == 300.0  # price and discount
    assert counts(report, "dropped") == {"samples of other processes than --process": 4_000}
    guessed = {
        remark.what: (remark.count, remark.done, remark.places)
        for remark in report.remarks("guessed")
    }
    assert guessed["samples that may be Encr or Decr"] == (520, "half to each of Encr or Decr", [])
    assert guessed["samples of functions without a rule"] == (
        3_000,
        "counted as application time",
        ["shop::price (25.0 %), shop::discount (5.0 %)"],
    )


def test_the_time_is_conserved() -> None:
    service, _ = costs_of("folded", FOLDED, requests=500, cores=2.0, duration_s=3.0)
    spent_us = sum(service["costs"][name]["ns"] * count for name, count in COUNTS.items()) / 1e3
    assert spent_us + service["app_us"] == pytest.approx(2e6 * 3 / 500, rel=1e-4)


def test_perf_weighed_by_time_needs_no_cores() -> None:
    service, report = costs_of("perf", PERF, requests=4)
    assert service["costs"]["TCP"] == {
        "ns": pytest.approx(1_001_001 / 4 / 6, rel=1e-5),
        "ns_per_byte": 0.0,
        "relative_error": 1.0,
    }
    assert service["app_us"] == pytest.approx(2 * 1_001.001 / 4, rel=1e-5)
    assert counts(report, "dropped") == {"samples of idle cores (swapper)": 1}
    assert counts(report, "guessed")["operations without a sample: LdB"] == 1
    with pytest.raises(InputError, match=r"--cores = 2: must be left out"):
        costs_of("perf", PERF, requests=4, cores=2.0)
    with pytest.raises(InputError, match=r"--duration = 0\.001: must be left out with --requests"):
        costs_of("perf", PERF, requests=4, duration_s=0.001)


@pytest.mark.parametrize(("kind", "file"), [("perf", PERF), ("folded", FOLDED)])
def test_a_profile_does_not_count_twice(kind: str, file: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.write_bytes(file.read_bytes())
    options = CostsOptions(into=SHOP, service="Checkout", requests=4, cores=1, duration_s=1)
    allowed = f"copy': must have other samples than {file.name}: the two files have the same"
    with pytest.raises(InputError, match=allowed):
        import_costs(kind, [file, copy], Report(kind), options)


def test_rate_and_duration_stand_for_requests(tmp_path: Path) -> None:
    by_rate, _ = costs_of("perf", PERF, rate_rps=0.4, duration_s=10.0)
    assert by_rate == costs_of("perf", PERF, requests=4)[0]


def test_a_comparison_tells_the_errors_of_imported_costs(tmp_path: Path) -> None:
    service, _ = costs_of(
        "folded", FOLDED, process="checkout", requests=10_000, cores=1.0, duration_s=10.0
    )
    tree = {**json.loads(SHOP.read_text()), "services": [service]}
    errors = {name: service["costs"][name]["relative_error"] for name in COUNTS}
    for stated in (True, False):
        if not stated:
            for name in COUNTS:
                del service["costs"][name]["relative_error"]
        file = tmp_path / f"{stated}.json"
        file.write_text(json.dumps(tree))
        found = accelflow.compare(str(file), orchestrators=["non_acc"], requests=100)
        (note,) = [each for each in notes_of(found, by_service=False) if "costs" in each]
        if stated:
            assert f"{min(errors.values()):.1%} (Checkout's TCP)" in note
            assert f"{max(errors.values()):.1%} (Checkout's {max(errors, key=errors.get)})" in note
        else:
            assert note == "The workload's file does not state how much its costs vary."


def test_pprof_is_weighed_by_time_and_counted_by_samples(tmp_path: Path) -> None:
    path = tmp_path / "cpu.pb"
    path.write_bytes(pprof())
    service, report = costs_of("pprof", path, requests=100)
    assert service["costs"]["Ser"]["ns"] == pytest.approx(9e6 / 100 / 3)
    assert service["costs"]["Ser"]["relative_error"] == pytest.approx(1 / 3, rel=1e-5)
    assert service["app_us"] == 1e3 * 16 / 100
    assert counts(report, "understood")["samples of Ser"] == 9
    costs, _ = costs_of("pprof", path, requests=100, label=("service", "cart"))
    assert costs["app_us"] == 1e3 * 4 / 100
    refusal = r"cpu\.pb: --label = 'service=cat': must be .*: service=cart, did you mean service=c"
    with pytest.raises(InputError, match=refusal):
        costs_of("pprof", path, requests=100, label=("service", "cat"))


@pytest.mark.parametrize(
    ("unit", "cost_ns"),
    [("nanoseconds", 1e1), ("microseconds", 1e4), ("milliseconds", 1e7), ("seconds", 1e10)],
)
def test_pprof_may_have_any_unit_of_time(tmp_path: Path, unit: str, cost_ns: float) -> None:
    path = tmp_path / "cpu.pb"
    path.write_bytes(
        value_type(1, 2)
        + part(2, number(1, 1) + number(2, 60))
        + location(1, [1])
        + function(1, 3)
        + texts(["", "cpu", unit, "tcp_sendmsg"])
    )
    service, _ = costs_of("pprof", path, requests=1)
    assert service["costs"]["TCP"]["ns"] == cost_ns  # 60 in one request with 6 operations


def pprof() -> bytes:
    """9 samples of serialization, and 16 of the application of which 4 have a label: 1 ms each."""
    names = ["", "cpu", "nanoseconds", "samples", "count", "handle", "SerializeToString"]
    names += ["service", "cart"]
    label = part(3, number(1, 7) + number(2, 8))
    samples = [(2, 9, b""), (1, 12, b""), (1, 4, label)]
    return (
        value_type(3, 4)
        + value_type(1, 2)
        + b"".join(
            part(2, number(1, at) + number(2, count) + number(2, count * 10**6) + more)
            for at, count, more in samples
        )
        + location(1, [1])
        + location(2, [2, 1])
        + function(1, 5)
        + function(2, 6)
        + texts(names)
    )


def test_attempts_of_a_chain_have_operations_each() -> None:
    first = {"trace": "T1", "facts": {"T1": {"compressed": 0}}}
    call = {"trace": "T9", "facts": {"T10": {"exception": 0, "compressed": 0}}}
    ends = [first, {"cpu_us": 1.0}, {"trace": "T2"}]
    retry = {"odds": 0.5, "attempts": 3, "backoff_us": 1.0}

    def counted(*chains: dict[str, Any]) -> list[dict[str, float]]:
        path = [first, *itertools.chain(*((ends[1], chain) for chain in chains)), *ends[1:]]
        service = {"name": "Buy", "path": path}
        workload = {"schema": "accelflow.workload/1", "name": "shop", "services": [service]}
        return [operations_of(service, "Buy"), walked_operations(workload, "Buy")]

    # 1 + 0.5 + 0.25 attempts
    without, once, repeated = counted(), counted(call), counted({**call, "retry": retry})
    for none, one, more in zip(without, once, repeated, strict=True):
        for operation, count in more.items():
            bare = none.get(operation, 0.0)
            assert count - bare == pytest.approx(1.75 * (one[operation] - bare))


@pytest.mark.parametrize("attempts", [0, 65, 10**9, True, "3", None])
def test_impossible_attempts_are_refused(attempts: Any) -> None:
    call = {"trace": "T9", "retry": {"odds": 0.5, "attempts": attempts, "backoff_us": 1.0}}
    with pytest.raises(InputError, match=r"retry = .*: must have odds from 0 to 1 and 1 to 64"):
        operations_of({"name": "Buy", "path": [call]}, "Buy")


def test_operations_of_the_papers_services_are_those_of_its_table() -> None:
    path = json.loads(SHOP.read_text())["services"][0]
    assert operations_of(path, "shop") == COUNTS
    compose = {
        "path": [
            {"trace": "T1", "facts": {"T1": {"compressed": 1}}},
            {"cpu": True},
            {"trace": "T9+Cmp", "times": 4, "facts": {"T10": {"compressed": 1}}},
            {"parallel": [{"trace": "T9+Cmp", "times": 3, "facts": {"T10": {"compressed": 1}}}]},
            {"trace": "T2"},
        ]
    }
    assert operations_of(compose, "compose") == paper_service("CPost")["by_accelerator"]


def test_odds_count_as_often_as_they_are_drawn() -> None:
    facts = {"T6": {"found": 1, "compressed": 1, "c_compressed": 0}, "T5": {"compressed": 0}}
    read = {"trace": "T4", "facts": facts, "odds": {"T5": {"hit": 0.75}}}
    found = operations_of({"path": [read]}, "read")
    # A hit: T4, T5. A miss: T4, T5 with a request to the database, T6 (compressed) and T7.
    assert found["Dcmp"] == 0.25
    assert found["LdB"] == 0.75 * 1 + 0.25 * 2
    assert found["TCP"] == 0.75 * 2 + 0.25 * 6
    assert "Cmp" not in found


OWN_TRACES = """
schema = "accelflow.workload/1"
name = "thumbs"
[[traces]]
source = '''
kind Thumbnail
trace upload:
    TCP Decr Thumbnail
    branch out['compressed'] == 1
      on true:
        Dcmp
    LdB
'''
[kinds.Thumbnail]
ns = 10
[[services]]
name = "Upload"
rate_rps = 100
path = [
    { trace = "upload", odds = { upload = { compressed = 0.25 } } },
    { cpu = true },
    { trace = "T9", times = 2, calls = "Stock", facts.T10 = { exception = 0, compressed = 0 } },
    { trace = "T2" },
]
[[services]]
name = "Stock"
path = [{ trace = "T1", facts = { T1 = { compressed = 0 } } }, { cpu = true }, { trace = "T2" }]
"""


def test_traces_of_the_workload_count_too(tmp_path: Path) -> None:
    path = tmp_path / "thumbs.toml"
    path.write_text(OWN_TRACES)
    found = walked_operations(load_workload(path), "Upload")
    with pytest.raises(InputError, match=r"service = 'Uplod': must be .*, did you mean Upload"):
        walked_operations(load_workload(path), "Uplod")
    # The upload and the response, and two calls with a request and a response each. Nothing of
    # the called service, and no custom accelerator.
    assert found.pop("Dcmp") == pytest.approx(0.25, abs=0.02)
    calls = {"TCP": 4.0, "Encr": 2.0, "Decr": 2.0, "RPC": 4.0, "Ser": 2.0, "Dser": 2.0, "LdB": 2.0}
    own = {"TCP": 2.0, "Encr": 1.0, "Decr": 1.0, "RPC": 1.0, "Ser": 1.0, "LdB": 1.0}
    assert found == {name: count + own.get(name, 0.0) for name, count in calls.items()}
    options = CostsOptions(into=path, service="Upload", requests=4, cores=1, duration_s=1)
    (stacks := tmp_path / "stacks.folded").write_text("main;sendmsg 6\nmain;work 4\n")
    service = import_costs("folded", [stacks], Report("folded"), options).tree["services"][0]
    assert service["costs"]["TCP"]["ns"] == 0.6 * 1e9 / 4 / 6


@pytest.mark.parametrize(
    ("stack", "operation"),
    [
        (["main", "Server::handle", "__libc_sendmsg", "tcp_sendmsg_[k]"], "TCP"),
        (["handle", "SSL_write", "aesni_ctr32_encrypt_blocks"], "Encr"),
        (["handle", "SSL_read", "gcm_ghash_avx"], "Encr+Decr"),
        (["handle", "EVP_DecryptUpdate", "memcpy"], "Decr"),
        (["handle", "ZSTD_compressBlock_fast"], "Cmp"),
        (["handle", "ZSTD_decompressDCtx"], "Dcmp"),
        (["handle", "ZSTD_decompressBlock_internal"], "Dcmp"),
        (["handle", "HUF_something"], "Cmp+Dcmp"),
        (["handle", "deflate_fast"], "Cmp"),
        (["handle", "inflate_fast"], "Dcmp"),
        (["handle", "google::protobuf::MessageLite::SerializeToString(std::string*)"], "Ser"),
        (["handle", "google::protobuf::MessageLite::ParseFromString"], "Dser"),
        (["handle", "google::protobuf::Arena::Alloc"], "Ser+Dser"),
        (["handle", "encoding/json.Marshal"], "Ser"),
        (["handle", "encoding/json.Unmarshal"], "Dser"),
        (["handle", "apache::thrift::protocol::TBinaryProtocol::writeString"], "Ser"),
        (["handle", "apache::thrift::protocol::TBinaryProtocol::readString"], "Dser"),
        (["handle", "grpc_chttp2_perform_read"], "RPC"),
        (["ThreadPool::enqueue", "malloc"], "LdB"),
        # A handler under a dispatcher is the application's, whatever serves it.
        (["apache::thrift::server::TConnectedClient::run", "Shop::price"], "other"),
        (["apache::thrift::server::TConnectedClient::run", "pthread_mutex_lock"], "RPC"),
        (["handle", "is_compressed"], "other"),
    ],
)
def test_rules_sort_stacks_into_operations(stack: list[str], operation: str) -> None:
    assert OperationRules.read(None).sort(tuple(stack)).category == operation


def test_rules_can_name_the_application(tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text("[operation]\napplication = ['^shop::']\nTCP = ['^tcp']\n")
    options = {"requests": 10, "cores": 1.0, "duration_s": 1.0, "rules": rules}
    _, report = costs_of("folded", FOLDED, **options)
    assert counts(report, "understood")["samples of functions of the application"] == 5_000
    assert counts(report, "guessed")["samples of functions without a rule"] == 14_000 - 8_000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[operations]\n", "table = 'operations': must be .*did you mean operation?"),
        ("[operation]\nTPC = []\n", "category name = 'TPC': must be TCP"),
        ("[operation]\nTCP = ['(']\n", "must be a regular expression"),
        ("[", "rules.toml: "),
    ],
)
def test_wrong_rules_are_refused(text: str, message: str, tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text(text)
    with pytest.raises(InputError, match=message):
        costs_of("folded", FOLDED, requests=10, cores=1.0, duration_s=1.0, rules=rules)


@pytest.mark.parametrize(
    ("kind", "file", "options", "message"),
    [
        ("perf", FOLDED, {}, "must be a sample's first line or one of its frames"),
        ("folded", PERF, {}, "must be frames joined by"),
        ("pprof", FOLDED, {}, "not a pprof profile"),
        ("folded", FOLDED, {"requests": None}, "--requests is left out: must be given"),
        (
            "folded",
            FOLDED,
            {"requests": None, "rate_rps": 3.0, "duration_s": None},
            "--requests is left out: must be given",
        ),
        ("folded", FOLDED, {"rate_rps": 3.0}, "--rate = 3: must be left out with --requests"),
        ("folded", FOLDED, {"requests": -1.0}, "--requests = -1: must be a number above 0"),
        (
            "folded",
            FOLDED,
            {"duration_s": None, "cores": None},
            "--cores is left out: must be the mean number of busy cores",
        ),
        ("folded", FOLDED, {"process": "checkuot"}, "did you mean checkout?"),
    ],
)
def test_too_little_or_wrong_input_is_refused(
    kind: str, file: Path, options: dict[str, Any], message: str
) -> None:
    enough: dict[str, Any] = {"requests": 10.0, "duration_s": 1.0, "cores": 1.0}
    with pytest.raises(InputError, match=message):
        costs_of(kind, file, **(enough | options))


def updated(tmp_path: Path, **changes: Any) -> Path:
    tree = json.loads(SHOP.read_text())
    tree["services"][0] |= changes
    path = tmp_path / "shop.json"
    path.write_text(json.dumps(tree))
    return path


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (None, "path = None: must be a list of phases"),
        ([], "must have at least one operation"),
        ([{"trace": "T99"}], r"path\[0\]\.trace = 'T99': must be T1, .*did you mean T9"),
        ([{"trace": "T1", "times": 0}], "times = 0: must be a whole number"),
        ([{"trace": "T1", "facts": {"T1": {"compressed": "x"}}}], "must be a whole number"),
        ([{"trace": "T1", "odds": {"T1": {"compressed": 2}}}], "must be a probability"),
        ([{"trace": "T1"}, {"cpu_us": -1}], "cpu_us = -1: must be a time"),
    ],
)
def test_wrong_paths_are_refused_by_their_place(path: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        costs_of("perf", PERF, into=updated(tmp_path, path=path), requests=4)


def test_phases_keep_times_of_their_own(tmp_path: Path) -> None:
    path = [{"trace": "T1"}, {"cpu_us": 100.0}, {"cpu": True}, {"trace": "T2"}]
    service, report = costs_of("perf", PERF, into=updated(tmp_path, path=path), requests=4)
    assert service["app_us"] == pytest.approx(2 * 1_001.001 / 4 - 100, rel=1e-5)
    assert counts(report, "guessed")["phases with a time of their own"] == 1


@pytest.mark.parametrize("more", [[], [{"cpu": True}]])
def test_phases_with_times_of_spans_are_scaled_to_the_application_time(
    more: list[dict[str, Any]], tmp_path: Path
) -> None:
    path = [{"trace": "T1"}, {"cpu_us": 500.0}, {"cpu_us": 1_500}, *more, {"trace": "T2"}]
    file = updated(tmp_path, path=path)
    service, report = costs_of("perf", PERF, into=file, requests=4)
    app_us = 2 * 1_001.001 / 4
    own = [phase["cpu_us"] for phase in service["path"] if "cpu_us" in phase]
    assert own == pytest.approx([app_us / 4, app_us * 3 / 4], rel=1e-5)
    if more:
        assert service["app_us"] == 0.0
    assert counts(report, "guessed")["phases with a time of their own"] == 2
    assert counts(report, "dropped") == {"samples of idle cores (swapper)": 1}


def test_application_time_without_a_phase_for_it_is_left_out(tmp_path: Path) -> None:
    path = [{"trace": "T1"}, {"trace": "T2"}]
    service, report = costs_of("perf", PERF, into=updated(tmp_path, path=path), requests=4)
    assert service["app_us"] == 120.0
    what = "application time in us, for which the path has no phase { cpu = true }"
    assert counts(report, "dropped")[what] == 501


def test_operations_that_a_path_lacks_count_as_application_time(tmp_path: Path) -> None:
    path = [{"trace": "T1"}, {"cpu": True}, {"trace": "T9"}]
    shop = updated(tmp_path, path=[{"cpu": True}, {"trace": "T8", "facts": {"T7": {}}}])
    options = {"requests": 10_000, "cores": 1.0, "duration_s": 14.0}
    service, report = costs_of("folded", FOLDED, into=shop, **options)
    assert "RPC" not in service["costs"]
    lost = "samples of RPC, which the service's path does not have"
    assert counts(report, "guessed")[lost] == 700
    assert service["app_us"] == pytest.approx((7_000 + 700) * 100 / 1e3, rel=1e-5)
    assert path


@pytest.mark.parametrize("command_name", ["fe", "checkout", "my 12 prog", "worker 3", ":-1"])
@pytest.mark.parametrize(
    "place",
    [
        "    -1 [001]  1000.001000:    1000000 ",
        "  1234 K     1000.001000:    1000000 ",
        " 1234/1240    1000.001000999:       1000000 ",
    ],
)
def test_perf_right_aligns_commands_without_call_stacks(
    command_name: str, place: str, tmp_path: Path
) -> None:
    """`perf script` prints them with "%16s " if samples have no call stacks."""
    sent = "cpu-clock:ppp:  ffffffff81234567 tcp_sendmsg+0x10 ([kernel.kallsyms])"
    sought = "cpu-clock:ppp:      55d0deadbeef cart::lookup(int)+0x1c (/opt/checkout)"
    found = []
    for form in ("{}", "{:>16}", "{:<18}"):
        lines = [form.format(command_name) + place + each for each in [sent] + [sought] * 3] * 25
        path = tmp_path / f"{len(found)}.perf"
        path.write_text("\n".join(lines) + "\n")
        service, report = costs_of("perf", path, requests=100, process=command_name)
        found.append((service["costs"]["TCP"], service["app_us"]))
        assert counts(report, "understood")["samples of TCP"] == 25
    assert found == [found[0]] * 3
    assert found[0][0]["ns"] == pytest.approx(25 * 1e6 / 100 / COUNTS["TCP"], rel=1e-5)
    assert found[0][1] == 75 * 1e3 / 100


def test_a_sample_of_perf_without_a_call_stack_has_no_further_frames(tmp_path: Path) -> None:
    path = tmp_path / "no-time.perf"
    whole = "fe 1234 1000.5:  1000000 cpu-clock:  55d0deadbeef cart::lookup+0x1c (/opt/checkout)"
    path.write_text(f"{whole}\n fe 1234 1000000 cpu-clock:  55d0deadbeef tcp_sendmsg\n")
    with pytest.raises(InputError, match=r"no-time\.perf:2: line = 'fe 1234 .*must be a sample's"):
        costs_of("perf", path, requests=100)


# The command.


def command(*arguments: str | Path) -> int:
    return run(program, ["import", *map(str, arguments)])


def test_the_command_updates_a_workload(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shop = updated(tmp_path)
    arguments = ["perf", PERF, "--into", shop, "--service", "Checkout", "--requests", "4"]
    assert command(*arguments, "--out", shop, "--event", "cpu-clock", "--process", "checkout") == 0
    assert "samples of TCP" in capsys.readouterr().out
    service = json.loads(shop.read_text())["services"][0]
    assert service["costs"]["source"] == "operations"
    before = shop.read_bytes()
    assert command(*arguments, "--out", shop, "--strict") == 2
    assert "refused because of --strict" in capsys.readouterr().err
    assert command(*arguments, "--out", tmp_path.parent / "w.json") == 2
    assert "the folder of the file of --into" in capsys.readouterr().err
    assert shop.read_bytes() == before


def test_the_command_prints_the_rules(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert command("pprof", "--print-rules") == 0
    rules = tmp_path / "rules.toml"
    rules.write_text(capsys.readouterr().out)
    assert OperationRules.read(rules).sort(("handle", "deflate")).category == "Cmp"


def test_a_label_is_a_key_and_a_text(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    shop = updated(tmp_path)
    arguments = ["pprof", PERF, "--into", shop, "--service", "Checkout", "--requests", "4"]
    assert command(*arguments, "--out", shop, "--label", "cart") == 2
    assert "--label = 'cart': must be KEY=TEXT" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "accelflow.workload/2"}, "schema = 'accelflow.workload/2': must be"),
        ({"services": []}, r"services = \[\]: must be a list of tables"),
        (
            {"services": [{"name": 3}]},
            r"services\[0\] = .*must be a table with the key name, a string",
        ),
        ({"x": [[[[None]]] * 2]}, "--service"),
        ({"x": math.nan}, "not JSON compliant"),
        ({"services": [{"name": "Chekcout"}]}, "did you mean Chekcout?"),
    ],
)
def test_files_that_are_no_workload_are_refused(
    change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "shop.json"
    path.write_text(json.dumps(json.loads(SHOP.read_text()) | change))
    options = CostsOptions(into=path, service="Checkuot", requests=4)
    with pytest.raises(InputError, match=message):
        import_costs("perf", [PERF], Report("perf"), options)


def test_a_deeply_nested_workload_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "shop.json"
    path.write_text('{"schema": ' + "[" * 100 + "]" * 100 + "}")
    options = CostsOptions(into=path, service="Checkout", requests=4)
    with pytest.raises(InputError, match="nested more than 64 deep"):
        import_costs("perf", [PERF], Report("perf"), options)
