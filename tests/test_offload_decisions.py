"""Accelerometer's decisions: alternatives, limits, sought values, shared accelerators, fleets."""

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from accelflow import InputError, accelerometer
from accelflow.accelerometer.decisions import Found, Goal, decide, parse_goal, seek
from accelflow.accelerometer.files import Question, Slo, read_question
from accelflow.accelerometer.fleet import Costs, Fleet, Member, plan, read_fleet
from accelflow.accelerometer.service import Kernel, Queue, Service
from accelflow.cli.deciding import decision_text, fleet_text
from accelflow.reports.decisions import shown_limit
from offloads import EXAMPLES, FEED1, INFERENCE, command, refusal


def test_fig_20_side_by_side() -> None:
    decision = decide(read_question(EXAMPLES / "fig20.toml"))
    gains = {row["name"]: 100 * (row["speedup_ratio"] - 1) for row in decision["alternatives"]}
    assert gains["as given"] == pytest.approx(13.64, abs=0.01)
    assert gains["off the chip, Sync"] == pytest.approx(9.06, abs=0.01)
    assert gains["off the chip, Sync-OS"] == pytest.approx(1.62, abs=0.01)
    assert gains["off the chip, Async"] == pytest.approx(9.63, abs=0.01)
    assert gains["remote, Sync-OS"] < 0
    assert decision["best"] == "as given"


def test_alternatives_are_drawn(tmp_path: Path) -> None:
    question = read_question(EXAMPLES / "fig20.toml")
    paths = accelerometer.write_plots(question.service, tmp_path, decision=decide(question))
    assert tmp_path / "alternatives.png" in paths
    assert (tmp_path / "alternatives.png").stat().st_size > 1_000


def test_slo_rules_out_what_throughput_would_choose() -> None:
    question = read_question(EXAMPLES / "ads1-inference.toml")
    decision = decide(question)
    (row,) = decision["alternatives"]
    assert row["speedup_ratio"] == pytest.approx(1.724, abs=0.001)
    assert row["slo"]["met"] is False
    # Section 4: only an accelerator with A > 1 makes up for the network.
    assert row["slo"]["met_from_acceleration_ratio"]["inference"] == pytest.approx(1.238, abs=1e-3)
    assert decision["best"] is None
    faster = replace(question.service.kernels[0], acceleration_ratio=1.24)
    service = replace(question.service, kernels=[faster])
    assert decide(replace(question, service=service))["best"] == "as given"


#: A kernel with sizes, whose L may grow with them, and a rare one: an offload in ten seconds.
SIZED = accelerometer.read(EXAMPLES / "feed1-compression.toml")
RARE = replace(INFERENCE, kernels=[replace(INFERENCE.kernels[0], offloads_per_s=0.1)])


@pytest.mark.parametrize(
    ("service", "parameter", "goal", "at_least"),
    [
        (INFERENCE, "acceleration_ratio", Goal("latency", 1.0), True),
        (INFERENCE, "offloads_per_s", Goal("speedup", 1.5), False),
        (INFERENCE, "setup_cycles", Goal("speedup", 1.9), False),
        (INFERENCE, "thread_switch_cycles", Goal("speedup", 1.5), False),
        (RARE, "setup_cycles", Goal("speedup", 1.5), False),
        (FEED1, "transfer_cycles", Goal("speedup", 1.05), False),
        (FEED1, "transfer_cycles", Goal("latency", 1.0), False),
        (FEED1, "queue_cycles", Goal("speedup", 1.1), False),
        (SIZED, "transfer_cycles", Goal("speedup", 1.05), False),
        (SIZED, "transfer_cycles_per_byte", Goal("speedup", 1.05), False),
        (SIZED, "transfer_cycles_per_byte", Goal("latency", 1.02), False),
    ],
)
def test_sought_value_is_the_border(
    service: Service, parameter: str, goal: Goal, at_least: bool
) -> None:
    found = seek(service, parameter, goal)
    assert found.at_least is at_least
    assert found.value is not None

    def reached(value: float) -> bool:
        kernel = replace(service.kernels[0], **{parameter: value})
        outcome = accelerometer.evaluate(replace(service, kernels=[kernel]))
        name = "speedup_ratio" if goal.of == "speedup" else "latency_reduction_ratio"
        return bool(outcome[name] >= goal.ratio)

    better, worse = (1 + 1e-6, 1 - 1e-6) if at_least else (1 - 1e-6, 1 + 1e-6)
    assert reached(found.value * better)
    assert not reached(found.value * worse)


def test_fewest_offloads_that_are_worth_it() -> None:
    question = read_question(EXAMPLES / "fig20.toml")
    service = question.alternatives["off the chip, Sync"]
    found = seek(service, "offloads_per_s", Goal("speedup", 1.05))
    assert found.at_least
    assert found.value is not None
    assert 0 < found.value < 9_629


def test_goals_out_of_reach_and_always_reached() -> None:
    never = seek(INFERENCE, "acceleration_ratio", Goal("latency", 3.0))
    assert (never.value, never.always) == (None, False)
    # Who does not wait for the accelerator does not care how fast it is.
    always = seek(INFERENCE, "acceleration_ratio", Goal("speedup", 1.5))
    assert (always.value, always.always) == (None, True)


def shared_by_hosts(**changes: Any) -> Service:
    """Offloads of 2,000 cycles, 10,000 a second of each host, to one accelerator (M/M/1)."""
    queue = Queue(servers=1, hosts=3, service_cycles=2_000.0, service_scv_ratio=1.0)
    kernel = Kernel(
        threading="sync",
        kernel_share_ratio=0.2,
        offloads_per_s=10_000,
        queue_cycles=queue,
        acceleration_ratio=10,
    )
    return Service(host_cycles_per_s=1e9, kernels=[replace(kernel, **changes)])


def test_hosts_that_may_share_an_accelerator() -> None:
    # At use r, a wait takes 2,000 r / (1 - r) cycles: a gain of 10 % leaves 1 - 1 / 1.1 for
    # 0.2 - 0.02 without waits less 1e-5 waits.
    wait = (0.18 - (1 - 1 / 1.1)) / 1e-5
    used = wait / (2_000 + wait)
    found = seek(shared_by_hosts(), "queue.hosts", Goal("speedup", 1.1))
    assert found == Found("queue.hosts", pytest.approx(used / 0.02, rel=1e-6), False, False)
    # Who does not wait does not care, up to where the accelerator is overloaded.
    background = shared_by_hosts(threading="async_no_response", placement="remote")
    found = seek(background, "queue.hosts", Goal("speedup", 1.1))
    assert found.value == pytest.approx(50, rel=1e-6)
    for ratio in (1.3, 1e9):
        never = seek(shared_by_hosts(), "queue.hosts", Goal("speedup", ratio))
        assert (never.value, never.always) == (None, False)
    # No time, no queue.
    queue = shared_by_hosts().kernels[0].queue_cycles
    assert isinstance(queue, Queue)
    ideal = replace(queue, service_cycles=0.0)
    assert seek(shared_by_hosts(queue_cycles=ideal), "queue.hosts", Goal("speedup", 1.1)).always


def test_hosts_of_a_shared_accelerator_are_those_of_all_its_kernels() -> None:
    shared = accelerometer.read(EXAMPLES / "shared.toml")
    goal = Goal("speedup", 1.1)
    found = seek(shared, "queue.hosts", goal, kernel="compression")
    assert found == seek(shared, "queue.hosts", goal, kernel="checksum")
    assert found.value is not None

    def gain(hosts: float) -> float:
        kernels = [
            replace(each, queue_cycles=replace(each.queue_cycles, hosts=hosts))
            if isinstance(each.queue_cycles, Queue)
            else each
            for each in shared.kernels
        ]
        ratio: float = accelerometer.evaluate(replace(shared, kernels=kernels))["speedup_ratio"]
        return ratio

    assert gain(found.value * (1 - 1e-6)) > 1.1 > gain(found.value * (1 + 1e-6))


def test_all_offloads_of_which_enough_are_made() -> None:
    # 10,000 offloads take 0.2 of the cycles if they are all, and save 0.9 of that.
    service = shared_by_hosts(queue_cycles=0.0)
    found = seek(service, "all_offloads_per_s", Goal("speedup", 1.1))
    expected = 10_000 * 0.18 / (1 - 1 / 1.1)
    assert found == Found("all_offloads_per_s", pytest.approx(expected, rel=1e-6), False, False)
    # On a slow accelerator each offload loses: the less of alpha they carry, the better.
    slow = replace(service.kernels[0], acceleration_ratio=0.5)
    found = seek(replace(service, kernels=[slow]), "all_offloads_per_s", Goal("speedup", 0.99))
    expected = 10_000 * 0.2 / (1 / 0.99 - 1)
    assert found == Found("all_offloads_per_s", pytest.approx(expected, rel=1e-6), True, False)
    # The wait for a given service time does not depend on what the offloads carry.
    queued = seek(shared_by_hosts(), "all_offloads_per_s", Goal("speedup", 1.1))
    wait = 2_000 * 0.06 / 0.94
    expected = 10_000 * 0.18 / (1 - 1 / 1.1 + 1e-5 * wait)
    assert queued.value == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("changes", "parameter", "message"),
    [
        ({"queue_cycles": 5.0}, "queue.hosts", "kernel.queue is left out: must be given to seek"),
        (
            {"queue_cycles": Queue()},
            "all_offloads_per_s",
            "kernel.queue.service_cycles is left out: must be given to seek all_offloads_per_s",
        ),
        (
            {"selection": "lucrative", "sizes": SIZED.kernels[0].sizes},
            "all_offloads_per_s",
            "kernel.selection = 'lucrative': must be 'all' to seek all_offloads_per_s",
        ),
        (
            {"cycles_per_byte": 9.0, "sizes": SIZED.kernels[0].sizes},
            "all_offloads_per_s",
            "kernel.cycles_per_byte = 9: must be left out to seek all_offloads_per_s",
        ),
    ],
)
def test_inputs_that_leave_no_limit_are_named(
    changes: dict[str, Any], parameter: str, message: str
) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        seek(shared_by_hosts(**changes), parameter, Goal("speedup", 1.1))


def test_command_seeks_hosts_for_the_slo_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "hosts.toml"
    text = """
        host_cycles_per_s = 1e9
        [[kernels]]
        threading = "sync"
        kernel_share_ratio = 0.2
        offloads_per_s = 10_000
        queue = { hosts = 3, service_cycles = 2_000, service_scv_ratio = 1 }
        acceleration_ratio = 10
    """
    path.write_text(text + "[slo]\nlatency_us = 1_100\nlimit_us = 1_000\n")
    by_slo, by_gain = (
        command(str(path), "--seek", name, "--goal", goal).output.splitlines()[-1]
        for name, goal in (("queue.hosts", "slo"), ("kernel.queue.hosts", "latency:10%"))
    )
    limit = "queue.hosts must be at most 40.8333"
    assert by_slo == f"a latency of 1,000.0 us, the SLO: {limit}"
    assert by_gain == f"a gain of 10 % in latency: {limit}"
    assert "  queue.hosts" in command(str(path), "--sensitivity", "0.2").output
    path.write_text(text)
    wrong = refusal(str(path), "--seek", "queue.hosts", "--goal", "slo")
    assert "--goal = 'slo': must be speedup:GAIN% or latency:GAIN%: there is no [slo]" in wrong
    wrong = refusal(str(path), "--seek", "hosts", "--goal", "speedup:5%")
    assert "--seek = 'hosts': must be acceleration_ratio," in wrong


def test_questions_that_cannot_be_answered(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="goal = 'speed:5': must be speedup:GAIN"):
        parse_goal("speed:5")
    with pytest.raises(InputError, match="did you mean acceleration_ratio"):
        seek(INFERENCE, "aceleration_ratio", Goal("speedup", 1.1))
    shared = accelerometer.read(EXAMPLES / "shared.toml")
    with pytest.raises(
        InputError, match="kernel is left out: must be compression, encryption or checksum"
    ):
        seek(shared, "offloads_per_s", Goal("speedup", 1.1))
    with pytest.raises(InputError, match="compression shares its offloads with encryption"):
        seek(shared, "offloads_per_s", Goal("speedup", 1.1), kernel="compression")
    with pytest.raises(
        InputError,
        match="must be acceleration_ratio or all_offloads_per_s, since encryption has no costs",
    ):
        seek(shared, "transfer_cycles", Goal("speedup", 1.1), kernel="encryption")
    with pytest.raises(
        InputError,
        match=r"compression\.sizes is left out: must be given to seek transfer_cycles_per_byte",
    ):
        seek(FEED1, "transfer_cycles_per_byte", Goal("speedup", 1.1))
    text = (EXAMPLES / "fig20.toml").read_text()
    for old, new, message in (
        ('name = "off the chip, Async"', "", "alternatives[2].name is left out: must be a string"),
        (
            'name = "off the chip, Sync"',
            'name = "a"\nkernel = "compresion"',
            "kernel = 'compresion': must be compression",
        ),
        (
            "host_ghz = 2.3",
            "host_ghz = 2.3\n[slo]\nlimit_us = 3",
            "slo: latency_us is left out: must be given",
        ),
        (
            "host_ghz = 2.3",
            "host_ghz = 2.3\n[slo]\nlimit_us = 0\nlatency_us = 1",
            "slo.limit_us = 0: must be a finite number above 0",
        ),
    ):
        path = tmp_path / "service.toml"
        assert old in text
        path.write_text(text.replace(old, new, 1))
        with pytest.raises(InputError) as caught:
            decide(read_question(path))
        assert message in str(caught.value)


def test_command_decides_and_seeks() -> None:
    done = command(str(EXAMPLES / "fig20.toml"))
    assert done.stdout.rstrip().endswith("The most throughput: as given.")
    missed = command(str(EXAMPLES / "ads1-inference.toml"))
    assert "met if inference is accelerated 1.24 times or more" in missed.stdout
    sought = command(
        str(EXAMPLES / "fig20.toml"), "--seek", "acceleration_ratio", "--goal", "speedup:10%"
    )
    assert "acceleration_ratio must be at least" in sought.stdout
    wrong = refusal(str(EXAMPLES / "fig20.toml"), "--seek", "acceleration_ratio")
    assert "--goal is left out: must be given with --seek" in wrong
    for arguments, message in (
        (
            ("fig20.toml", "--threads", "3"),
            "--threads = 3: must be left out, since it does nothing for FILE without --simulate",
        ),
        (
            ("shared.toml", "--seek", "acceleration_ratio", "--goal", "speedup:8%"),
            "--seek = 'acceleration_ratio': must be KERNEL.PARAMETER for a service with several"
            " kernels; KERNEL is one of compression, encryption, checksum",
        ),
        (
            ("fig20.toml", "--host-ghz", "3"),
            "--host-ghz = 3: must be left out, since it does nothing for FILE",
        ),
        (
            ("fleet.toml", "--simulate"),
            "--simulate is given: must be left out, since it does nothing for a fleet",
        ),
        (
            ("fig20.toml", "--goal", "speedup:1%"),
            "--goal = 'speedup:1%': must be left out unless --seek is given",
        ),
    ):
        assert message in refusal(str(EXAMPLES / arguments[0]), *arguments[1:])
    assert command().exit_code == 2
    assert command(str(EXAMPLES / "fig20.toml"), "--measure").exit_code == 2


def test_sought_cost_of_a_host_that_does_nothing_else() -> None:
    """Without the cost, nothing is left of the host's work: the gain is infinite, and large enough.

    Of an offload's C / n = 2e8 cycles, a speedup of 2 leaves half for its cost.
    """
    only = Kernel(
        threading="async_same_thread",
        kernel_share_ratio=1.0,
        offloads_per_s=10,
        acceleration_ratio=4,
    )
    service = Service(host_cycles_per_s=2e9, kernels=[only])
    found = seek(service, "setup_cycles", Goal("speedup", 2.0))
    assert found.value == pytest.approx(1e8)
    # The latency has alpha / A as well: a reduction of 2 leaves a quarter of the cycles.
    assert seek(service, "setup_cycles", Goal("latency", 2.0)).value == pytest.approx(5e7)
    costly = replace(service, kernels=[replace(only, setup_cycles=1e6)])
    assert seek(costly, "offloads_per_s", Goal("speedup", 2.0)).value == pytest.approx(1_000)
    ideal = replace(service, kernels=[replace(only, acceleration_ratio=math.inf)])
    assert seek(ideal, "transfer_cycles", Goal("latency", 4.0)).value == pytest.approx(5e7)
    unknown = replace(service, kernels=[replace(only, acceleration_ratio=None)])
    assert seek(unknown, "setup_cycles", Goal("latency", 2.0)).value is None


def test_shown_limits_reach_the_goal(tmp_path: Path) -> None:
    """A value that is typed as it is shown meets the SLO or the goal, although it is rounded."""
    text = (EXAMPLES / "ads1-inference.toml").read_text()
    path = tmp_path / "inference.toml"
    path.write_text(text.replace("limit_us = 100_000", "limit_us = 98_500"))
    shown = re.search(r"accelerated (\S+) times or more", command(str(path)).stdout)
    assert shown is not None
    faster = f"acceleration_ratio = {shown[1]}"
    path.write_text(path.read_text().replace("acceleration_ratio = 1", faster))
    assert shown[1] == "1.29"  # the limit is 1.2841
    assert "The most throughput within the SLO: as given." in command(str(path)).stdout
    assert shown_limit(2.31234567, 6, at_least=True) == "2.31235"
    assert shown_limit(2_296.2977, 6, at_least=False) == "2,296.29"
    assert shown_limit(49_999.99999, 6, at_least=False) == "50,000"


def test_slo_that_only_fewer_offloads_meet() -> None:
    """The verdict on one alternative without a least acceleration does not end the decision.

    Scaled by their number, few large offloads have less work than they cost; with a slow
    accelerator none are made.
    """
    (kernel,) = SIZED.kernels
    losing = replace(kernel, transfer_cycles=39_100, cycles_per_byte=None)
    service = replace(SIZED, kernels=[losing])
    chip = replace(SIZED, kernels=[replace(kernel, placement="on_chip", transfer_cycles=23)])
    question = Question(service, {"chip": chip}, Slo(latency_us=1_000, limit_us=1_000))
    decision = decide(question)
    given = decision["alternatives"][0]["slo"]
    assert (given["met"], given["met_from_acceleration_ratio"]) == (False, {"compression": None})
    assert decision["best"] == "chip"
    assert "  no higher acceleration of compression alone meets it" in decision_text(decision)


# Kernels that share an offload, or an accelerator and its queue.


def test_two_kernels_for_the_price_of_one_offload() -> None:
    service = accelerometer.read(EXAMPLES / "shared.toml")
    apart = [
        replace(k, rides_on=None, transfer_cycles=2_300) if k.rides_on else k
        for k in service.kernels
    ]
    together = accelerometer.evaluate(service)["speedup_ratio"]
    assert together > accelerometer.evaluate(replace(service, kernels=apart))["speedup_ratio"]
    # The device works on both: 18 hosts x (0.25 / 20 + 0.05 / 10) of its time.
    used = {
        row["name"]: row["accelerator_utilization_ratio"]
        for row in accelerometer.evaluate(service)["kernels"]
    }
    assert used["compression"] == pytest.approx(18 * (0.25 / 20 + 0.05 / 10))
    assert used["checksum"] == used["compression"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rides_on": "compresion"}, "encryption.rides_on = 'compresion'"),
        ({"rides_on": "encryption"}, "must be another kernel, which itself has no rides_on"),
        ({"transfer_cycles": 1}, "encryption.transfer_cycles = 1: must be left out"),
        (
            {"offloads_per_s": 8_000},
            "encryption.offloads_per_s = 8000: must equal that of compression",
        ),
        ({"selection": "lucrative"}, "must be 'all' for a kernel with rides_on and for"),
    ],
)
def test_riders_that_cannot_ride(change: dict[str, Any], message: str) -> None:
    service = accelerometer.read(EXAMPLES / "shared.toml")
    kernels = [replace(k, **change) if k.rides_on else k for k in service.kernels]
    with pytest.raises(InputError) as caught:
        accelerometer.evaluate(replace(service, kernels=kernels))
    assert message in str(caught.value)


# Fleets.


def test_fleet_saves_what_its_services_do() -> None:
    fleet = read_fleet(EXAMPLES / "fleet.toml")
    result = plan(fleet)
    feed, cache = result["services"]
    assert feed["servers"]["after"] == pytest.approx(20_000 / feed["speedup_ratio"])
    assert feed["servers"]["saved_p5"] is None
    assert cache["servers"]["saved_p5"] < cache["servers"]["saved"] < cache["servers"]["saved_p95"]
    whole = result["fleet"]
    saved = feed["servers"]["saved"] + cache["servers"]["saved"]
    assert whole["servers"]["saved"] == pytest.approx(saved)
    after = whole["servers"]["after"]
    assert whole["kilowatts"]["after"] == pytest.approx(after * 0.415 * 1.1)
    per_server = 12_000 / 4 + 300 / 4 + 0.415 * 1.1 * 8_766 * 0.08
    assert whole["money_per_year"]["after"] == pytest.approx(after * per_server)


def test_servers_to_buy_are_whole() -> None:
    lines = command(str(EXAMPLES / "fleet.toml")).stdout.splitlines()
    cells = {line.split()[0]: line.split()[3:6] for line in lines[1:4]}
    # 20,000 / 1.09056 = 18,339.07 servers, and 8,000 / 1.25193 = 6,390.13.
    assert cells == {
        "feed": ["20,000", "18,340", "1,660"],
        "cache": ["8,000", "6,391", "1,609"],
        "fleet": ["28,000", "24,731", "3,269"],
    }


def test_whole_servers_of_a_fleet_are_within_their_interval() -> None:
    # Many small services, of each of which less than a server is saved.
    service = read_fleet(EXAMPLES / "fleet.toml").members[1].service
    members = [Member(f"cache {number}", 2.0, service) for number in range(20)]
    result = plan(Fleet(members=members))
    servers = result["fleet"]["servers"]
    assert servers["saved_p5"] > 5
    assert servers["whole"] == {
        "before": 40,
        "after": 40,
        "saved": 0,
        "saved_p5": 0,
        "saved_p95": 0,
    }
    whole = {row["servers"]["whole"]["saved"] for row in result["services"]}
    assert whole == {0}


def test_small_amounts_have_decimals_and_zero_no_sign() -> None:
    # The device takes what the accelerator saves.
    member = read_fleet(EXAMPLES / "fleet.toml").members[0]
    speedup = accelerometer.evaluate(member.service)["speedup_ratio"]
    server = Costs(watts=400.0)
    device = Costs(watts=400.0 * (speedup - 1) * 1.00001)
    fleet = Fleet(members=[replace(member, servers=10.0)], server=server, device=device)
    *_, kilowatts = fleet_text(fleet, plan(fleet))
    assert kilowatts.split() == ["kilowatts", "4.00", "4.00", "0.00"]


def test_a_whole_number_of_servers_is_not_rounded_up() -> None:
    service = read_fleet(EXAMPLES / "fleet.toml").members[0].service
    speedup = accelerometer.evaluate(service)["speedup_ratio"]
    counts = range(1, 200)
    members = [Member(str(count), count * speedup, service) for count in counts]
    servers = [row["servers"] for row in plan(Fleet(members=members))["services"]]
    # The division misses some whole numbers by their last digits.
    assert any(of["after"] > count for of, count in zip(servers, counts, strict=True))
    assert [of["whole"]["after"] for of in servers] == list(counts)


def test_service_that_would_be_slower_keeps_its_servers() -> None:
    fleet = read_fleet(EXAMPLES / "fleet.toml")
    slow = replace(INFERENCE.kernels[0], setup_cycles=200e6)
    member = replace(fleet.members[0], service=replace(INFERENCE, kernels=[slow]))
    (row,) = plan(replace(fleet, members=[member]))["services"]
    assert row["speedup_ratio"] < 1
    for name in ("servers", "kilowatts", "money_per_year"):
        assert row[name]["saved"] == 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("servers = 20_000", "servers = 0", "services[0].servers = 0: must be a number from 1"),
        ('file = "feed1-compression.toml"', "", "services[0].file is left out: must be the name"),
        ("pue_ratio = 1.1", "pue_ratio = 0.9", "electricity.pue_ratio = 0.9: must be a number"),
        ("[device]", "[devise]", "did you mean device?"),
        ('name = "cache"', 'name = "feed"', "services[1].name = 'feed': must be a string"),
    ],
)
def test_fleets_that_cannot_be_planned(old: str, new: str, message: str, tmp_path: Path) -> None:
    text = (EXAMPLES / "fleet.toml").read_text()
    assert old in text
    for file in ("feed1-compression.toml", "two-accelerators.toml"):
        (tmp_path / file).write_text((EXAMPLES / file).read_text())
    path = tmp_path / "fleet.toml"
    path.write_text(text.replace(old, new))
    with pytest.raises(InputError) as caught:
        read_fleet(path)
    assert message in str(caught.value)
