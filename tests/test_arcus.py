"""ARCUS's mechanism, control plane and experiments from Python and the command line."""

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from accelflow import InputError, arcus
from accelflow.arcus import RateLimiter
from accelflow.cli import program

SCRIPT = Path(sys.executable).with_name("accelflow")

#: The paper's rate and ours, in Gbit/s, by refill, bucket and interval in cycles.
TABLE_2 = {
    (1024, 512, 1000): (1.0, 1.024),
    (4096, 4096, 800): (10.0, 10.24),
    (16384, 65536, 320): (100.0, 102.4),
    (32768, 1048576, 64): (1000.0, 1024.0),
}


def limiter(refill: int, bucket: int, interval: int, **options: Any) -> RateLimiter:
    return RateLimiter(refill=refill, bucket=bucket, interval=interval, **options)


def accelflow(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SCRIPT, "arcus", *arguments], capture_output=True, text=True, check=False
    )


def test_table_2_is_exact_with_the_cap_of_its_first_row() -> None:
    rows = arcus.table2()["rows"]
    found = {
        (row["refill_bytes"], row["bucket_bytes"], row["interval_cycles"]): (
            row["paper_gbit_per_s"],
            row["gbit_per_s"],
        )
        for row in rows
    }
    assert found == TABLE_2
    assert [row["bytes_per_interval"] for row in rows] == [512, 4096, 16384, 32768]
    for registers, (_, ours) in TABLE_2.items():
        assert arcus.shape(limiter(*registers))["gbit_per_s"] == ours


def test_shape_follows_the_clock_and_the_unit() -> None:
    doubled = arcus.shape(limiter(4096, 4096, 800, clock_mhz=500))
    assert (doubled["gbit_per_s"], doubled["interval_ns"]) == (20.48, 1600.0)
    # 300 K operations a second, the first user of the paper's Fig. 6.
    operations = arcus.shape(limiter(3, 32, 2500, unit="operations"))
    assert (operations["tokens_per_s"], operations["gbit_per_s"]) == (300_000.0, None)
    assert operations["burst_tokens"] == 32
    assert operations["most_tokens_within_an_interval"] == 35


def test_messages_are_let_pass_at_the_cycle_of_their_tokens() -> None:
    messages = [(0.0, 4096), (1.0, 2048), (1.5, 2048), (1.6, 1)]
    passed = arcus.release(messages, limiter(4096, 4096, 800))
    assert [(it.message, it.granted_ns, it.released_ns) for it in passed] == [
        (0, 0.0, 36.0),
        (1, 3200.0, 3236.0),
        (2, 3204.0, 3240.0),
        (3, 6400.0, 6436.0),
    ]
    assert all(it.last and it.index == 0 for it in passed)


def test_a_tight_bucket_loses_what_messages_leave_over() -> None:
    def rate(size: int, bucket: int) -> float:
        passed = arcus.release([(0, size)] * 2000, limiter(512, bucket, 1000))
        later = passed[1000:]
        ns = later[-1].granted_ns - later[0].granted_ns
        return (len(later) - 1) * size * 8 / ns

    assert rate(512, 512) == 1.024
    assert rate(300, 512) == 0.6  # 300 of 512 bytes every 4 us
    assert rate(300, 512 + 299) == pytest.approx(1.024, rel=2e-3)


def test_long_messages_are_split() -> None:
    passed = arcus.release([(0, 250)], limiter(100, 100, 10), segment_bytes=100, header_bytes=16)
    assert [(it.index, it.last, it.size_bytes) for it in passed] == [
        (0, False, 100),
        (1, False, 100),
        (2, True, 82),
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"refill": 0}, "refill = 0: must be a whole number from 1 to 4294967295"),
        ({"bucket": 0}, "bucket = 0: must be a whole number from 1"),
        ({"interval": 0}, "interval = 0: must be a whole number from 1"),
        ({"clock_mhz": 0}, "clock_mhz = 0: must be a number above 0, at most 1e6"),
        ({"clock_mhz": 2e6}, "clock_mhz = 2000000: must be a number above 0"),
        ({"clock_mhz": math.nan}, "clock_mhz = nan"),
        ({"refill": 2**32}, "refill = 4294967296: must be a whole number from 1 to 4294967295"),
        ({"bucket": -1}, "bucket = -1: must be a whole number"),
        ({"interval": 1.5}, "interval = 1.5: must be a whole number"),
        ({"unit": "bits"}, "unit = 'bits': must be bytes or operations"),
    ],
)
def test_registers_that_cannot_be_are_refused(change: dict[str, Any], message: str) -> None:
    wrong = limiter(**({"refill": 1, "bucket": 1, "interval": 1} | change))
    with pytest.raises(InputError, match=message):
        arcus.shape(wrong)
    with pytest.raises(InputError, match=message):
        arcus.release([], wrong)


@pytest.mark.parametrize(
    ("messages", "options", "message"),
    [
        ([(0, 101)], {}, "message 0: size = 101 bytes: must be at most 100, the tokens"),
        ([(0, 1), (0, 0)], {}, "message 1: size = 0 bytes"),
        ([(1, 1), (0, 1)], {}, "must not be before 1000 ps"),
        ([(-1, 1)], {}, "time of message 0 = -1: must be from 0"),
        ([(0, 1)], {"segment_bytes": 101}, "segment = 101 bytes: must be at most 100 bytes"),
        ([(0, 1)], {"segment_bytes": 8, "header_bytes": 8}, "more than the header of 8 bytes"),
        ([(0, 2**60)], {"segment_bytes": 64}, "must be at most 10000000 in one call"),
    ],
)
def test_messages_that_cannot_pass_are_refused(
    messages: list[tuple[float, int]], options: dict[str, int], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        arcus.release(messages, limiter(100, 100, 10), **options)


def test_every_parameter_says_where_it_comes_from() -> None:
    table = {row["key"]: row for row in arcus.parameters()}
    assert table["shaping.latency"]["value"] == 36
    assert table["shaping.reconfiguration"]["value"] == 10
    assert {row["provenance"] for row in table.values()} == {"paper", "derived", "assumed"}
    assert all(row["source"] for row in table.values())


def test_commands_print_json_of_what_python_returns() -> None:
    assert json.loads(accelflow("table2", "--json").stdout) == arcus.table2()
    assert json.loads(accelflow("parameters", "--json").stdout) == arcus.parameters()
    options = ["--refill=1024", "--bucket=512", "--interval=1000", "--clock-mhz=500", "--json"]
    shaped = json.loads(accelflow("shape", *options).stdout)
    assert shaped == arcus.shape(limiter(1024, 512, 1000, clock_mhz=500))


def test_wrong_registers_are_one_line_and_exit_2() -> None:
    done = accelflow("shape", "--refill=1", "--bucket=0", "--interval=1")
    assert (done.returncode, done.stdout) == (2, "")
    said = "--bucket = 0: must be a whole number from 1 to 4294967295"
    assert done.stderr == f"accelflow: error: {said}\n"


def test_an_experiment_has_ours_beside_the_papers() -> None:
    report = arcus.experiment("fig7", seed=3, replications=2)
    assert (report["schema"], report["name"]) == ("accelflow.arcus.experiment/1", "fig7")
    assert report["seed"] == 3
    fair = next(row for row in report["rows"] if row["what"] == "16 flows of 1 KB over 4 of 4 KB")
    assert fair["ours"] == pytest.approx(1.0, abs=0.01)
    assert (fair["paper"], fair["unit"]) == (1.0, "times")
    assert fair["difference"] == pytest.approx(fair["ours"] - 1.0)
    assert fair["key"] == "arcus.fig7.vm1_over_vm2"
    assert {row["paper"] for row in report["rows"] if "bytes up" in row["what"]} == {None}
    by_size = [series for series in report["series"] if series["x"] == "message bytes"]
    assert [len(series["points"]) for series in by_size] == [10, 10, 10, 10]
    options = ["--seed=3", "--replications=2", "--threads=2", "--json"]
    assert json.loads(accelflow("fig7", *options).stdout) == report


def test_a_difference_is_relative_unless_it_is_between_shares() -> None:
    rows = {row["key"]: row for row in arcus.experiment("fig8", replications=1)["rows"]}
    share = rows["arcus.fig8.vm1_loss_least.Host_noTS"]
    assert (share["unit"], share["paper"]) == ("", 0.36)
    assert share["difference"] == share["ours"] - 0.36
    rows = {row["key"]: row for row in arcus.experiment("table4", replications=1)["rows"]}
    rate = rows["arcus.rocksdb.throughput"]
    assert (rate["unit"], rate["paper"]) == ("MB/s", 231.2)
    assert rate["difference"] == pytest.approx(rate["ours"] / 231.2 - 1)


def test_an_experiment_is_of_several_seeds_and_says_how_sure_it_is() -> None:
    report = arcus.experiment("fig9", seed=2, replications=3, threads=2)
    assert (report["seed"], report["replications"]) == (2, 3)
    single = [arcus.experiment("fig9", seed=seed, replications=1) for seed in (2, 3, 4)]
    for number, row in enumerate(report["rows"]):
        values = [one["rows"][number]["ours"] for one in single]
        assert row["ours"] == pytest.approx(sum(values) / 3)
        assert row["half_width"] >= 0
        assert single[0]["rows"][number]["half_width"] is None
    for series in report["series"]:
        assert len(series["half_widths"]) == len(series["points"])
    text = accelflow("fig9", "--seed=2", "--replications=3").stdout
    assert "means over seeds 2 to 4" in text
    assert "+/-" in text
    for wrong in ({"replications": 0}, {"threads": 0}):
        ((name, value),) = wrong.items()
        with pytest.raises(InputError, match=f"{name} = {value}: must be a whole number from 1"):
            arcus.experiment("fig9", **wrong)


def test_every_experiment_is_a_command() -> None:
    text = accelflow("--help").stdout
    for name in arcus.experiments():
        assert f"  {name} " in text
    with pytest.raises(InputError, match="experiment = 'fig10': must be fig3, fig6"):
        arcus.experiment("fig10")
    with pytest.raises(InputError, match="seed = -1"):
        arcus.experiment("fig7", seed=-1)


EXAMPLE = Path(__file__).parents[1] / "examples" / "arcus" / "ipsec.toml"


def test_a_plan_admits_what_fits_and_says_what_is_left() -> None:
    planned = arcus.plan(arcus.read_plan(EXAMPLE))
    assert [it["name"] for it in planned["admitted"]] == ["gateway", "store"]
    for it in planned["admitted"]:
        assert it["gbit_per_s"]["Arcus"] == pytest.approx(it["slo_gbit_per_s"], rel=0.01)
    (backup,) = planned["rejected"]
    assert (backup["name"], backup["asked_gbit_per_s"]) == ("backup", 20.0)
    assert 7 < backup["left_gbit_per_s"] < 13
    # A second accelerator has room for it.
    more = arcus.read_plan(EXAMPLE) | {"accelerators": ["ipsec", "ipsec"]}
    roomy = arcus.plan(more)
    assert roomy["rejected"] == []
    assert {it["instance"] for it in roomy["admitted"]} == {0, 1}
    assert json.loads(accelflow("plan", str(EXAMPLE), "--json").stdout) == planned


FLOW = {
    "name": "it",
    "accelerator": "ipsec",
    "path": "inline_rx",
    "message_bytes": 64,
    "slo_gbit_per_s": 1,
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"path": "bus"}, "flow 'it': path = 'bus': must be function_call, inline_tx"),
        ({"accelerator": "gpu"}, "flow 'it': accelerator = 'gpu': must be ipsec, synthetic"),
        ({"policy": "best"}, "flow 'it': policy = 'best': must be reserved, on-demand"),
        (
            {"slo_gbit_per_s": -1, "slo_operations_per_s": 1},
            "flow 'it': slo_gbit_per_s = -1: must be above 0",
        ),
        ({"slo_operations_per_s": math.nan}, "slo_operations_per_s = nan: must be a finite number"),
        ({"from_us": 2_000}, "flow 'it': from_us = 2000: must be at most 1900"),
        ({"from_us": 5, "until_us": 5}, "flow 'it': until_us = 5: must be above from_us = 5"),
        ({"until_us": "end"}, "flow 'it': until_us = 'end': must be a whole number"),
        (
            {"accelerator": "storage"},
            "flow 'it': accelerator = 'storage': must be an accelerator \\(ipsec, synthetic",
        ),
        ({"message_bytes": 0}, "flow 'it': message_bytes = 0: must be from 1 to 67,108,864"),
        ({"message_bytes": "64"}, "flow 'it': message_bytes = '64': must be a whole number"),
        ({"slo_gbit_per_s": 0}, "flow 'it': slo_gbit_per_s = 0: must be above 0"),
        ({"slo_gbit_per_s": math.inf}, "flow 'it': slo_gbit_per_s = inf: must be a finite number"),
        ({"color": "red"}, "flow 'it': field = 'color': must be name"),
        ({"path": "storage_read"}, "path = storage_read: needs storage"),
        ({"policy": "managed-burst", "burst_factor": 0.5}, "burst_factor = 0.5: must be from"),
    ],
)
def test_a_flow_that_cannot_be_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        arcus.plan({"flow": [FLOW | change]})


STORAGE = EXAMPLE.with_name("storage.toml")


def test_a_plan_has_storage_both_limits_and_flows_that_come_and_go() -> None:
    planned = arcus.plan(arcus.read_plan(STORAGE))
    assert planned["rejected"] == []
    database, log, scan = planned["admitted"]
    assert [it["name"] for it in planned["admitted"]] == ["database", "log", "scan"]
    # 300,000 reads of 4 KB a second are less than the other limit of 12 Gbit/s.
    assert database["slo_gbit_per_s"] == pytest.approx(300e3 * 4096 * 8e-9)
    assert (database["unit"], database["also"]["unit"]) == ("bytes", "operations")
    assert (database["instance"], log["instance"]) == (None, 0)
    assert (scan["registered_us"], scan["released_us"]) == (5_000, 30_000)
    assert planned["warnings"] == []
    for it in planned["admitted"]:
        assert it["verdict"]["Arcus"] == "kept"
        assert it["gbit_per_s"]["Arcus"] == pytest.approx(it["slo_gbit_per_s"], rel=0.05)
    assert database["gbit_per_s"]["Host_noTS"] < 0.5 * database["slo_gbit_per_s"]
    rate = database["operations_per_s"]["Arcus"]
    assert rate == pytest.approx(300e3, rel=0.05)
    text = accelflow("plan", str(STORAGE)).stdout
    assert "registered at 5,000 us, released at 30,000 us" in text
    assert "in operations" in text


def test_a_flow_that_finds_no_room_while_others_run_is_rejected_with_what_is_left() -> None:
    late = FLOW | {"name": "late", "message_bytes": 1500, "slo_gbit_per_s": 20, "from_us": 500}
    first = FLOW | {"message_bytes": 1500, "slo_gbit_per_s": 20, "until_us": 1_000}
    later = late | {"name": "later", "from_us": 1_900}
    planned = arcus.plan({"flow": [first, late | {"until_us": 600}, later]})
    assert [it["name"] for it in planned["admitted"]] == ["it", "later"]
    (rejected,) = planned["rejected"]
    assert rejected["name"] == "late"
    assert 10 < rejected["left_gbit_per_s"] < 12.5
    assert arcus.plan({"flow": [first, later]})["admitted"] == planned["admitted"]


def test_a_managed_burst_needs_nobody_who_comes_or_goes() -> None:
    burst = FLOW | {
        "message_bytes": 1500,
        "slo_gbit_per_s": 3,
        "policy": "managed-burst",
        "burst_factor": 4,
        "burst_us": 1_000,
        "window_us": 2_000,
    }
    (alone,) = arcus.plan({"flow": [burst], "duration_us": 10_000})["admitted"]
    # Four times the SLO for half of the time: 3 x (4 + 1) / 2.
    assert alone["gbit_per_s"]["Arcus"] == pytest.approx(7.5, rel=0.03)
    refused = FLOW | {"name": "late", "slo_gbit_per_s": 100, "from_us": 100}
    beside = arcus.plan({"flow": [burst, refused], "duration_us": 10_000})
    assert [it["name"] for it in beside["rejected"]] == ["late"]
    assert beside["admitted"] == [alone]


def written(tmp_path: Path, *flows: dict[str, Any], **plan: Any) -> str:
    """The path of a plan's file."""
    lines = [f"{key} = {json.dumps(value)}" for key, value in plan.items()]
    for flow in flows:
        lines += ["[[flow]]", *(f"{key} = {json.dumps(value)}" for key, value in flow.items())]
    file = tmp_path / "plan.toml"
    file.write_text("\n".join(lines) + "\n")
    return str(file)


def test_who_asks_for_too_much_of_an_empty_engine_is_told_what_it_has(tmp_path: Path) -> None:
    flow = FLOW | {"message_bytes": 1500, "slo_gbit_per_s": 1e9}
    (rejected,) = arcus.plan({"flow": [flow]})["rejected"]
    assert rejected["left_gbit_per_s"] == pytest.approx(32, rel=0.01)
    done = accelflow("plan", written(tmp_path, flow))
    assert done.returncode == 1, "nobody was admitted"
    assert "asked, 32.0" in done.stdout


def test_admission_is_monotonic_in_what_is_asked() -> None:
    flow = FLOW | {"accelerator": "compression", "message_bytes": 16_384}
    first = flow | {"path": "function_call", "slo_gbit_per_s": 22}
    asked = [0.12, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1, 3, 9, 12, 20]
    admitted, left = [], set()
    for slo in asked:
        second = first | {"name": "b", "slo_gbit_per_s": slo}
        planned = arcus.plan({"flow": [first, second], "duration_us": 10})
        admitted.append(len(planned["admitted"]) == 2)
        left |= {it["left_gbit_per_s"] for it in planned["rejected"]}
    assert admitted == [True] * 10 + [False] * 2
    (one,) = left
    assert 9 < one < 12


def test_an_opportunistic_flow_needs_no_slo_and_is_not_held_to_one() -> None:
    rest = {key: value for key, value in FLOW.items() if key != "slo_gbit_per_s"}
    rest |= {"name": "rest", "message_bytes": 1500, "policy": "opportunistic"}
    promised = FLOW | {"message_bytes": 1500, "slo_gbit_per_s": 10}
    for hope in ({}, {"slo_gbit_per_s": 1}, {"slo_operations_per_s": 1e6}):
        planned = arcus.plan({"flow": [promised, rest | hope], "duration_us": 4_000})
        assert planned["rejected"] == []
        first, second = planned["admitted"]
        assert first["verdict"]["Arcus"] == "kept"
        assert (second["verdict"]["Arcus"], second["slo_gbit_per_s"]) == ("no promise", None)
        # The headroom of 2 of 32 Gbit/s is left.
        assert second["gbit_per_s"]["Arcus"] == pytest.approx(20, rel=0.03)


@pytest.mark.parametrize("field", [{"burst_factor": 4}, {"burst_us": 5}, {"window_us": 7}])
@pytest.mark.parametrize("policy", ["on-demand", "reserved", "opportunistic"])
def test_what_only_bursts_have_is_refused_of_other_flows(
    field: dict[str, int], policy: str
) -> None:
    ((name, value),) = field.items()
    said = f"flow 'it': {name} = {value}: must be left out unless policy is 'managed-burst'"
    with pytest.raises(InputError, match=said):
        arcus.plan({"flow": [FLOW | field | {"policy": policy}]})


def test_a_run_that_is_too_short_for_its_promise_warns(tmp_path: Path) -> None:
    large = FLOW | {"message_bytes": 1 << 20, "slo_gbit_per_s": 10}
    done = accelflow("plan", written(tmp_path, large))
    assert done.returncode == 0
    assert done.stderr == (
        "accelflow: warning: flow 'it': time in the run = 2000 us: must be at least 83887 us for a "
        "verdict on a promise of 10.000 Gbit/s in messages of 1048576 bytes, with a tolerance of "
        "1 %; increase duration_us, and until_us if given\n"
    )
    assert "too short" in done.stdout
    done = accelflow("plan", written(tmp_path, large, duration_us=83_887))
    assert (done.returncode, done.stderr) == (0, "")
    assert " kept" in done.stdout


def test_what_turns_by_message_would_break_is_marked(tmp_path: Path) -> None:
    # Turn by turn with 64 B, 512 B have 13.7 Gbit/s; ARCUS gives them what they were promised.
    flows = [
        FLOW | {"slo_gbit_per_s": 1},
        FLOW | {"name": "larger", "message_bytes": 512, "slo_gbit_per_s": 15},
    ]
    planned = arcus.plan({"flow": flows})
    assert planned["admitted"][1]["verdict"] == {"Arcus": "kept", "Host_noTS": "below"}
    done = accelflow("plan", written(tmp_path, *flows))
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("larger")]
    assert line.endswith("* kept")
    assert done.returncode == 0


def test_a_plan_with_a_broken_promise_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(tmp_path, FLOW)
    kept = arcus.plan(arcus.read_plan(Path(file)))
    (flow,) = kept["admitted"]
    # A third less than its SLO: what a model that admits too much would bring.
    got = dict.fromkeys(flow["gbit_per_s"], 2 / 3 * flow["slo_gbit_per_s"])
    verdict = dict.fromkeys(flow["verdict"], "below")
    below = {"gbit_per_s": got, "verdict": verdict, "rate_verdict": verdict}
    broken = kept | {"admitted": [flow | below]}
    for planned, code in ((kept, 0), (broken, 1)):
        monkeypatch.setattr(arcus, "plan", lambda _, *, profiles, planned=planned: planned)
        for options in ([], ["--json"]):
            done = CliRunner().invoke(program, ["arcus", "plan", file, *options])
            assert done.exit_code == code
            if not options:
                assert done.stdout.count("BELOW ITS SLO") == code
                assert done.stdout.count("0.667* ") == 2 * code


def test_a_plan_that_cannot_be_is_refused(tmp_path: Path) -> None:
    for wrong, message in [
        ({}, "plan: flow is left out: must be given"),
        (
            {"flow": [FLOW, FLOW]},
            "flow: name = 'it': must differ from the names of earlier flows of the plan",
        ),
        ({"flow": [FLOW], "duration_us": 0}, "duration_us = 0"),
        ({"flow": [FLOW], "storage_devices": 65}, "storage_devices = 65: must be from 0 to 64"),
        (
            {
                "flow": [FLOW | {"accelerator": "storage", "path": "function_call"}],
                "storage_devices": 1,
            },
            "flow 'it': path = function_call: needs an accelerator",
        ),
        ({"flow": [1]}, "flow 0 = 1: must be a table"),
        (
            {"flow": [FLOW], "flows": []},
            "plan: field = 'flows': must be accelerators, .*did you mean flow",
        ),
    ]:
        with pytest.raises(InputError, match=message):
            arcus.plan(wrong)
    file = tmp_path / "wrong.toml"
    file.write_text("[[flow]\n")
    done = accelflow("plan", str(file))
    assert done.returncode == 2
    assert done.stderr.startswith(f"accelflow: error: {file}: ")
    assert done.stderr.count("\n") == 1
