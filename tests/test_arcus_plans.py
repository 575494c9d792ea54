"""Plans of ARCUS with a platform, SLOs and arrivals of one's own; tables of profiles."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from accelflow import InputError, arcus
from accelflow.page import Table
from accelflow.plans import plan_schema
from accelflow.reports.arcus import plan_page

ROOT = Path(__file__).parents[1]
LINK = ROOT / "examples" / "arcus" / "link.toml"
SCRIPT = Path(sys.executable).with_name("accelflow")

TWO: dict[str, Any] = {
    "accelerator": [
        {"name": "one", "peak_gbit_per_s": 50},
        {"name": "two", "peak_gbit_per_s": 50},
    ]
}
FLOW: dict[str, Any] = {
    "name": "a",
    "accelerator": "one",
    "path": "inline_rx",
    "message_bytes": 4096,
    "slo_gbit_per_s": 40,
    "policy": "reserved",
}


def accelflow(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SCRIPT, "arcus", *arguments], capture_output=True, text=True, check=False
    )


def test_two_accelerators_are_promised_no_more_than_their_link() -> None:
    flows = [FLOW, FLOW | {"name": "b", "accelerator": "two"}]
    planned = arcus.plan(TWO | {"flow": flows})
    (a,), (b,) = planned["admitted"], planned["rejected"]
    assert a["verdict"]["Arcus"] == "kept"
    assert b["left_gbit_per_s"] == pytest.approx(10, abs=1.5)
    # A link of the next generation carries both.
    fast = TWO | {"flow": flows, "platform": {"pcie_generation": 4}}
    planned = arcus.plan(fast)
    assert [it["verdict"]["Arcus"] for it in planned["admitted"]] == ["kept", "kept"]


def test_more_comes_out_of_a_decompressor_than_goes_in() -> None:
    def left(ratio: float) -> float:
        own = {"name": "it", "peak_gbit_per_s": 40, "egress_ratio": ratio}
        flow = FLOW | {"accelerator": "it", "slo_gbit_per_s": 1000}
        (rejected,) = arcus.plan({"accelerator": [own], "flow": [flow]})["rejected"]
        return float(rejected["left_gbit_per_s"])

    assert left(1) == pytest.approx(40 * 15 / 16, rel=0.02)
    # The link's 53 Gbit/s are of what comes out.
    assert left(2) == pytest.approx(26.5 * 15 / 16, rel=0.03)


def test_sizes_may_be_mixed_and_accelerators_chained() -> None:
    # 64 B take 113 ns and 1,500 B 375: equal numbers are 25.6 Gbit/s.
    mixed = FLOW | {"accelerator": "ipsec", "sizes": [[64, 1], [1500, 1]], "slo_gbit_per_s": 1000}
    del mixed["message_bytes"]
    (rejected,) = arcus.plan({"flow": [mixed]})["rejected"]
    expected = (64 + 1500) * 8 / (113 + 375) * 15 / 16
    assert rejected["left_gbit_per_s"] == pytest.approx(expected, rel=0.02)
    chain = FLOW | {"accelerator": "sha1-hmac", "then": ["aes-128-cbc"], "slo_gbit_per_s": 20}
    (flow,) = arcus.plan({"flow": [chain]})["admitted"]
    assert flow["route"] == ["sha1-hmac#0", "aes-128-cbc#1"]
    assert flow["verdict"]["Arcus"] == "kept"


def test_a_rate_in_percent_of_periods_and_a_percentile_are_judged() -> None:
    flow = FLOW | {
        "slo_gbit_per_s": 30,
        "slo_percent": 99,
        "arrivals": "poisson",
        "offered_gbit_per_s": 25,
        "slo_latency_us": 50,
    }
    plan = TWO | {"duration_us": 12_000, "flow": [flow]}
    (kept,) = arcus.plan(plan)["admitted"]
    assert kept["verdict"]["Arcus"] == "kept"
    # 100 messages at 30 Gbit/s take 109.2 us.
    assert kept["slo"]["periods"]["period_us"] == 110
    assert kept["slo"]["periods"]["kept_percent"]["Arcus"] >= 99
    latency = kept["slo"]["latency"]
    assert latency["percentile"] == 99
    tight = flow | {"slo_latency_us": 0.5 * latency["got_us"]["Arcus"]}
    (late,) = arcus.plan(plan | {"flow": [tight]})["admitted"]
    assert late["slo"]["latency"]["verdict"]["Arcus"] == "below"
    assert (late["verdict"]["Arcus"], late["slo"]["periods"]["verdict"]["Arcus"]) == (
        "below",
        "kept",
    )


def test_a_star_marks_a_low_rate_and_not_a_long_latency(tmp_path: Path) -> None:
    """The flow gets all that it sends, but no message is as fast as promised."""
    file = tmp_path / "plan.toml"
    file.write_text(
        "[[flow]]\nname = 'a'\naccelerator = 'ipsec'\npath = 'inline_rx'\nmessage_bytes = 1500\n"
        "slo_gbit_per_s = 10\narrivals = 'paced'\noffered_gbit_per_s = 5\nslo_latency_us = 0.01\n"
    )
    (flow,) = json.loads(accelflow("plan", str(file), "--json").stdout)["admitted"]
    assert (flow["verdict"]["Arcus"], flow["rate_verdict"]["Arcus"]) == ("below", "kept")
    text = accelflow("plan", str(file)).stdout
    assert "BELOW ITS SLO" in text
    assert "*" not in text


def test_a_percentage_needs_as_many_periods(tmp_path: Path) -> None:
    flow = {key: json.dumps(value) for key, value in (FLOW | {"slo_percent": 99.9}).items()}
    text = "[[flow]]\n" + "\n".join(f"{key} = {value}" for key, value in flow.items())
    file = tmp_path / "plan.toml"
    file.write_text(
        "duration_us = 5_000\n[[accelerator]]\nname = 'one'\npeak_gbit_per_s = 50\n" + text
    )
    done = accelflow("plan", str(file))
    assert done.returncode == 0
    assert "must be at least 100000 us for a verdict on a promise of 40.000" in done.stderr
    assert "in 99.9 % of periods of 100 us; increase duration_us" in done.stderr
    assert "too short" in done.stdout


def test_priorities_decide_who_gets_less_than_was_promised() -> None:
    # Two of 40 Gbit/s, where the link has 53.
    flows = [FLOW | {"priority": 1}, FLOW | {"name": "b", "accelerator": "two"}]
    planned = arcus.plan(TWO | {"oversubscription": 2, "flow": flows, "duration_us": 4_000})
    low, high = planned["admitted"]
    assert high["verdict"]["Arcus"] == "kept"
    assert low["verdict"]["Arcus"] == "below"
    assert low["predicted_gbit_per_s"] == pytest.approx(13.5, abs=1.5)
    assert low["gbit_per_s"]["Arcus"] == pytest.approx(low["predicted_gbit_per_s"], rel=0.05)
    assert high["predicted_gbit_per_s"] == 40
    assert planned["violations"] > 0


def test_profiles_are_stored_and_read_back(tmp_path: Path) -> None:
    file = tmp_path / "profiles.json"
    done = accelflow("profile", str(LINK), "--threads=2", "--out", str(file), "--json")
    assert done.returncode == 0, done.stderr
    table = arcus.read_profiles(file)
    assert table == json.loads(done.stdout)
    tags = {
        tuple((flow["flow"], flow["path"]) for flow in row["flows"]): row["tag"]
        for row in table["combinations"]
    }
    both = (("gateway", "inline_rx"), ("reader", "inline_rx"))
    assert tags[both] == "SLO-Violating"
    assert tags[(both[0], ("reader", "inline_tx"))] == "SLO-Friendly"
    plan = arcus.read_plan(LINK) | {"duration_us": 1_000}
    read, anew = arcus.plan(plan, profiles=table), arcus.plan(plan)
    # The sweep has contexts of two patterns; those of more are simulated when a plan needs them.
    assert read["simulated_contexts"] < anew["simulated_contexts"]
    assert {**read, "simulated_contexts": 0} == {**anew, "simulated_contexts": 0}
    assert [flow["name"] for flow in read["rejected"]] == ["backup"]
    # What the table says counts: the gateway has less left beside an accelerator that was profiled
    # as slower.
    slower = [row | {"gbit_per_s": 0.5 * row["gbit_per_s"]} for row in table["entries"]]
    untagged: dict[str, Any] = {"entries": slower, "combinations": []}
    planned = arcus.plan(plan, profiles=table | untagged)
    assert [flow["name"] for flow in planned["rejected"]] == ["gateway", "reader", "backup"]
    # So do its tags: the tagged combinations have the gateway's messages cut, and are avoided.
    for tag, segment in (("SLO-Violating", 1_500), ("SLO-Friendly", 1_024)):
        tagged = [row | {"tag": tag} for row in table["combinations"]]
        planned = arcus.plan(plan, profiles=table | {"combinations": tagged})
        assert planned["admitted"][0]["segment_bytes"] == segment
    with pytest.raises(InputError, match="profiles: must be of the same platform"):
        arcus.plan(plan | {"platform": {"pcie_lanes": 4}}, profiles=table)
    with pytest.raises(InputError, match=r"profiles: version = '0.0': must be"):
        arcus.plan(plan, profiles=table | {"version": "0.0"})
    wrong = [{"flows": [], "gbit_per_s": 1}]
    with pytest.raises(InputError, match=r"profiles: entries\[0\]: flows = \[\]: must have"):
        arcus.plan(plan, profiles=table | {"entries": wrong})
    file.write_text("{}")
    with pytest.raises(InputError, match=r"schema is left out: must be accelflow\.arcus"):
        arcus.read_profiles(file)


def test_profiles_of_another_format_are_to_be_made_again(tmp_path: Path) -> None:
    file = tmp_path / "profiles.json"
    file.write_text('{"schema": "accelflow.arcus.profiles/2"}')
    with pytest.raises(InputError) as it:
        arcus.read_profiles(file)
    assert str(it.value) == (
        f"{file}: schema = 'accelflow.arcus.profiles/2': must be accelflow.arcus.profiles/3: run "
        "`accelflow arcus profile` again"
    )


def test_tenants_that_come_after_the_sweep_need_no_simulation(tmp_path: Path) -> None:
    platform = tmp_path / "platform.toml"
    platform.write_text("accelerators = ['ipsec']\n")
    file = tmp_path / "profiles.json"
    sizes = ["--size=256", "--size=1500", "--path=inline_rx"]
    done = accelflow("profile", str(platform), *sizes, "--threads=2", f"--out={file}")
    assert done.returncode == 0, done.stderr
    assert "contexts of messages of 256, 1500 bytes" in done.stdout
    flow = FLOW | {"accelerator": "ipsec", "message_bytes": 700, "slo_gbit_per_s": 8}
    second = flow | {"name": "b", "message_bytes": 1500}
    plan = {"accelerators": ["ipsec"], "flow": [flow, second]}
    planned = arcus.plan(plan, profiles=arcus.read_profiles(file))
    assert planned["simulated_contexts"] == 0
    assert arcus.plan(plan)["simulated_contexts"] > 0
    assert [flow["verdict"]["Arcus"] for flow in planned["admitted"]] == ["kept", "kept"]
    with pytest.raises(InputError, match="path = 'inline_xr': must be function_call"):
        arcus.profile(plan, sizes=[64], paths=["inline_xr"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"arrivals": "poison"}, "arrivals = 'poison': must be .*did you mean poisson"),
        ({"arrivals": "poisson"}, "needs offered_gbit_per_s or offered_operations"),
        ({"offered_gbit_per_s": 5}, "offered_gbit_per_s = 5: must be left out unless arrivals"),
        ({"slo_latency_us": 5}, "slo_latency_us = 5: must be left out unless arrivals are"),
        ({"arrivals": "closed"}, "needs clients"),
        ({"slo_percent": 100}, "slo_percent = 100: must be from 50 to 99.999"),
        ({"slo_period_us": 5}, "slo_period_us = 5: must be left out unless slo_percent"),
        ({"slo_percent": 99, "slo_period_us": 5}, "slo_period_us = 5: must be at least 8.2"),
        ({"sizes": [[64, 1]]}, "needs message_bytes or sizes, but not both"),
        ({"message_bytes": float("inf")}, "message_bytes = inf: must be a finite number"),
        ({"until_us": {5}}, "until_us = \\{5\\}: must be text, a number, a list or a table"),
        ({"accelerator": "tow"}, "accelerator = 'tow': must be .*did you mean"),
        ({"then": ["nobody"]}, "then = 'nobody': must be"),
        ({"other_paths": ["bus"]}, "other_paths = 'bus': must be function_call"),
        ({"priority": 256}, "priority = 256: must be from 0 to 255"),
    ],
)
def test_a_flow_that_cannot_be_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"flow 'a': {message}"):
        arcus.plan(TWO | {"flow": [FLOW | change]})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"platform": {"pcie_lanes": 3}}, "platform: pcie_lanes = 3: must be 1, 2, 4, 8 or 16"),
        (
            {"platform": {"pcie_lane": 8}},
            "platform: field = 'pcie_lane': must be .*did you mean pcie_lanes",
        ),
        ({"platform": {"max_payload_bytes": 100}}, "pcie.max_payload_bytes = 100"),
        ({"accelerator": [{"name": "x"}]}, "accelerator 'x': needs peak_gbit_per_s or points"),
        (
            {"accelerator": [{"name": "x", "points": [[64, 10], [32, 20]]}]},
            "size of a point of an accelerator's curve, in bytes = 32: must be above 0 and above",
        ),
        (
            {"accelerator": [{"name": "x", "points": [[64, 10]], "setup_ns": 5}]},
            "accelerator 'x': setup_ns = 5: must be left out, since points are given",
        ),
        (
            {"accelerator": [{"name": "ipsec", "peak_gbit_per_s": 5}]},
            "accelerator: name = 'ipsec': must differ from built-in accelerators",
        ),
        ({"accelerators": []}, "'ipsec': must be on the platform, which has no accelerators"),
        ({"oversubscription": 0.5}, "plan: oversubscription = 0.5: must be from 1 to 100"),
    ],
)
def test_a_platform_that_cannot_be_is_refused(change: dict[str, Any], message: str) -> None:
    flow = FLOW | {"accelerator": "ipsec"}
    with pytest.raises(InputError, match=message):
        arcus.plan({"flow": [flow]} | change)


def test_the_schema_is_the_committed_one() -> None:
    committed = ROOT / "docs" / "schemas" / "plan.schema.json"
    assert plan_schema() == committed.read_text(encoding="utf-8")
    schema = json.loads(plan_schema())
    flow = schema["properties"]["flow"]["items"]
    assert flow["required"] == ["name", "accelerator", "path"]
    assert "closed" in {kind["const"] for kind in flow["properties"]["arrivals"]["oneOf"]}


@pytest.mark.parametrize(
    ("wrong", "right", "place", "message"),
    [
        ("inline_xt", "inline_tx", "38:1", "flow 'reader': other_paths = 'inline_xt': must be"),
        ("peak_gbit_per_s = -1", "peak_gbit_per_s = 100", "", "peak_gbit_per_s = -1: must be"),
        ("polcy = ", "policy = ", "", "field = 'polcy': must be"),
    ],
)
def test_refusals_of_a_file_name_file_line_and_column(
    tmp_path: Path, wrong: str, right: str, place: str, message: str
) -> None:
    text = LINK.read_text(encoding="utf-8")
    assert right in text
    file = tmp_path / "plan.toml"
    file.write_text(text.replace(right, wrong, 1), encoding="utf-8")
    lines = file.read_text(encoding="utf-8").splitlines()
    line = next(number for number, one in enumerate(lines, start=1) if wrong.strip() in one)
    with pytest.raises(InputError) as refused:
        arcus.plan(arcus.read_plan(file))
    begin = f"{file}:{place or f'{line}:1'}: "
    assert str(refused.value).startswith(begin), str(refused.value)
    assert message in str(refused.value)
    done = accelflow("plan", str(file))
    assert done.returncode == 2
    assert done.stderr.startswith(f"accelflow: error: {begin}")


def test_refusals_name_a_file_where_it_has_no_line_for_them(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text("seed = 1\n", encoding="utf-8")
    with pytest.raises(InputError) as refused:
        arcus.plan(arcus.read_plan(file))
    assert str(refused.value) == f"{file}: plan: flow is left out: must be given"
    assert refused.value.place == f"{file}: plan: flow"
    twice = FLOW | {"slo_gbit_per_s": 1}
    with pytest.raises(InputError) as refused:
        arcus.plan(TWO | {"flow": [twice, twice]})
    assert (
        str(refused.value)
        == "flow: name = 'a': must differ from the names of earlier flows of the plan"
    )
    assert refused.value.place == "flow: name"


def test_a_burst_has_room_in_the_bucket_and_predictions_are_counted() -> None:
    steady = arcus.plan(TWO | {"flow": [FLOW], "predict_us": 500})
    bursty = arcus.plan(TWO | {"flow": [FLOW | {"slo_burst_messages": 8}], "predict_us": 500})
    (single,), (several,) = steady["admitted"], bursty["admitted"]
    # Messages of 4 KB pass as four segments of 1 KB; without bursts there is room for one of them.
    assert several["bucket"] == single["bucket"] - 1024 + 8 * 4096
    assert several["refill"] == single["refill"]
    assert several["verdict"]["Arcus"] == "kept"
    assert steady["predicted_violations"] == 0
    # After the first burst the rate falls to the promise, which looks like a shortfall to come.
    assert bursty["predicted_violations"] > 0
    assert bursty["violations"] == 0


def test_table_and_page_say_how_busy_the_platform_is(tmp_path: Path) -> None:
    flow = {"name": "a", "accelerator": "half", "path": "inline_rx", "message_bytes": 1_500}
    plan = {
        "accelerator": [{"name": "half", "peak_gbit_per_s": 20}],
        "flow": [flow | {"slo_gbit_per_s": 10}],
    }
    result = arcus.plan(plan)
    found = {use["resource"]: use for use in result["utilisation"]}
    # 10 of 20 Gbit/s; and nothing leaves by the ports.
    assert found["half#0"]["utilisation"]["Arcus"] == pytest.approx(0.5, abs=0.005)
    assert found["port 0 out"] == {
        "resource": "port 0 out",
        "kind": "port",
        "utilisation": {"Arcus": 0, "Host_noTS": 0},
    }
    sections = {section.title: section for section in plan_page(result, None).sections}
    (table,) = sections["The platform"].parts
    assert isinstance(table, Table)
    shares = found["half#0"]["utilisation"]
    assert table.rows[1] == ["half#0", shares["Arcus"], shares["Host_noTS"]]
    assert [row[0] for row in table.rows] == ["PCIe to host", "half#0"]
    file = tmp_path / "plan.toml"
    file.write_text(
        '[[accelerator]]\nname = "half"\npeak_gbit_per_s = 20\n[[flow]]\nname = "a"\n'
        'accelerator = "half"\npath = "inline_rx"\nmessage_bytes = 1_500\nslo_gbit_per_s = 10\n',
        encoding="utf-8",
    )
    printed = accelflow("plan", str(file)).stdout.splitlines()
    (line,) = (line for line in printed if line.startswith("  half#0"))
    assert line.split() == ["half#0", f"{100 * shares['Arcus']:.1f}", "100.0"]


def test_a_page_of_a_plan_without_flows_has_no_platform() -> None:
    result = arcus.plan(TWO | {"flow": [FLOW | {"slo_gbit_per_s": 900}]})
    assert [flow["name"] for flow in result["rejected"]] == ["a"]
    titles = [section.title for section in plan_page(result, None).sections]
    assert "The platform" not in titles


def test_a_pages_answer_counts_kept_promises_only() -> None:
    verdicts = {"a": "kept", "b": "no promise", "c": "too short", "d": "below", "e": "kept"}
    flow = arcus.plan({"flow": [FLOW | {"accelerator": "ipsec", "slo_gbit_per_s": 5}]})
    (one,) = flow["admitted"]
    admitted = [
        one | {"name": name, "verdict": {"Arcus": verdict, "Host_noTS": "kept"}}
        for name, verdict in verdicts.items()
    ]
    page = plan_page(flow | {"admitted": admitted}, None)
    assert page.answer == (
        "ARCUS keeps its promise to 2 of 4 flows; it breaks its promise to d; the run is too short"
        " to tell for c; 1 is without a promise."
    )


def test_a_page_names_the_flows_that_send_less_than_promised() -> None:
    result = arcus.plan(arcus.read_plan(LINK))
    sections = {section.title: section for section in plan_page(result, None).sections}
    table = sections["The flows"].parts[0]
    assert isinstance(table, Table)
    note = "gateway sends less than promised, and the promise is then that rate."
    assert list(table.notes) == [note]
