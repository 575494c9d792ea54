"""How long a comparison simulates: the command's options, warm-up, bins, and paired intervals."""

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

import accelflow
from accelflow import InputError
from accelflow.cli import program
from accelflow.report.reductions import reduction, reduction_text
from accelflow.report.results import mean_reduction
from accelflow.report.tails import pooled_percentile
from accelflow.scenario import Scenario, hashed
from accelflow.warmup import mser5

FIELDS = {"services": ["UniqId"], "profile": "paper"}
OPTIONS = ("socialnetwork", "--service", "UniqId", "--profile", "paper")


def run(tmp_path: Path, *options: str) -> Result:
    return CliRunner().invoke(
        program, ["compare", *OPTIONS, "--out", str(tmp_path / "out"), *options]
    )


def test_the_command_reaches_its_precision_and_says_how(tmp_path: Path):
    options = ("--orchestrator", "accelflow", "--precision", "mean:2%", "--seeds", "5", "--json")
    found = run(tmp_path, *options)
    assert found.exit_code == 0, found.output
    results = json.loads(found.stdout)
    assert results["precision"]["reached_ratio"] <= results["precision"]["asked_ratio"] == 0.02
    assert "2,000 requests a service on average: mean within" in found.stderr
    alone = accelflow.compare(orchestrators=["accelflow"], precision="mean:2%", seeds=5, **FIELDS)
    assert results["systems"] == alone.source["systems"]
    text = run(tmp_path, *options[:-1]).stdout
    assert "seeds 1 to 5, mean within " in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--precision", "p98:2%"), "did you mean p99"),
        (
            ("--precision", "p99:2%", "--seeds", "3"),
            "seeds = 3: must be at least 5 with a precision",
        ),
        (("--precision", "p99:2%", "--requests", "900"), "--requests = 900: must be left out"),
        (("--precision", "p99:2%", "--spans", "x"), "--spans = 'x': must be left out"),
        (("--precision", "p99:2%", "--samples", "x"), "--samples = 'x': must be left out"),
        (("--report", "r.html", "--samples", "x"), "'x': must be left out with --report"),
        (("--warmup", "many"), "--warmup = 'many': must be a number of requests, or mser5"),
        (("--warmup", "20000"), "warmup = 20000: must be less than the number of requests (20000)"),
        (("--samples", "no/such/folder.parquet"), "must be in a folder that exists"),
        (("--samples", "s.parquet", "--requests", "9000000"), "samples = all: must be at most"),
    ],
)
def test_options_that_cannot_be_are_refused(tmp_path: Path, options: tuple[str, ...], message: str):
    found = run(tmp_path, *options)
    assert isinstance(found.exception, InputError), found.output
    assert message in str(found.exception)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("more", [(), ("--warmup", "mser5")])
def test_a_saturated_system_is_refused_at_once(tmp_path: Path, more: tuple[str, ...]):
    options = ("--orchestrator", "non_acc", "--rate", "5000000", "--precision", "p99:2%")
    found = run(tmp_path, *options, *more)
    assert "cannot be reached, as Non-acc is saturated" in str(found.exception)
    assert not (tmp_path / "out").exists()


def test_a_file_has_every_counted_request(tmp_path: Path):
    file = tmp_path / "requests.parquet"
    options = ("--orchestrator", "relief", "--requests", "300", "--samples", str(file), "--json")
    found = run(tmp_path, *options, "--rates", "equal", "--warmup", "0")
    assert found.exit_code == 0, found.output
    rows = pq.read_table(file)
    assert rows["request"].to_pylist() == list(range(300))
    (service,) = json.loads(found.stdout)["systems"][0]["services"]
    assert np.mean(rows["response_us"].to_numpy()) == pytest.approx(service["mean_us"])
    parts = [name for name in rows.column_names if name.endswith("_us")][2:]
    total = sum(rows[name].to_numpy() for name in parts)
    assert total == pytest.approx(rows["response_us"].to_numpy())


def test_a_file_of_requests_has_seed_after_seed(tmp_path: Path):
    file = tmp_path / "requests.parquet"
    options = ("--orchestrator", "relief", "--orchestrator", "accelflow", "--requests", "200")
    found = run(tmp_path, *options, "--rates", "equal", "--seeds", "3", "--samples", str(file))
    assert found.exit_code == 0, found.output
    fields = {"orchestrators": ["relief", "accelflow"], "requests": 200, "rates": "equal"}
    kept = accelflow.compare(seeds=3, samples=True, **fields, **FIELDS).samples

    def in_order(table: pa.Table) -> list[tuple[object, ...]]:
        return sorted(tuple(row.values()) for row in table.to_pylist())

    assert in_order(pq.read_table(file)) == in_order(kept)
    assert len(kept) == 2 * 3 * 180


def test_a_full_disk_leaves_no_file_of_requests(tmp_path: Path):
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (9_000, 9_000)); "
    code = limit + "from accelflow.cli import main; main()"
    file = tmp_path / "requests.parquet"
    asked = ["--requests", "2000", "--samples", str(file), "--out", str(tmp_path / "out")]
    done = subprocess.run(
        [sys.executable, "-c", code, "compare", *OPTIONS, "--orchestrator", "relief", *asked],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    refused = f"--samples = '{file}': must be a place that can be written: File too large"
    assert refused in done.stderr.replace("\n", " ")
    assert not list(tmp_path.iterdir())


def test_mser5_cuts_what_has_not_settled():
    draw = np.random.default_rng(1)
    noise = draw.normal(0.0, 1.0, 2_000)
    steady = noise + 100.0
    assert mser5(steady) <= 200
    late = steady - 100.0 * np.exp(-np.arange(2_000) / 60.0)
    assert 150 <= mser5(late) <= 600  # after 150 of them, 8 % of the difference is left
    growing = noise + np.arange(2_000) / 100.0
    assert mser5(growing) is None
    assert mser5(steady[:49]) is None


def errors_of(values: np.ndarray) -> list[float]:
    """MSER of every cut, by the formula."""
    means = values.reshape(-1, 5).mean(axis=1)
    count = len(means)
    return [
        float(np.sum((means[cut:] - means[cut:].mean()) ** 2) / (count - cut) ** 2)
        for cut in range(count - 5)
    ]


def test_mser5_is_the_formula():
    draw = np.random.default_rng(2)
    for _ in range(20):
        values = draw.exponential(3.0, 500).cumsum() / np.arange(1, 501)
        best = int(np.argmin(errors_of(values)))
        assert mser5(values) == (best * 5 if best <= 50 else None)


def test_a_pilot_finds_the_warmup_of_a_comparison():
    fields = {"orchestrators": ["accelflow", "relief"], "rate_rps": 400_000, **FIELDS}
    found = accelflow.compare(mser5=True, requests=4_000, **fields)
    assert 0 <= found.warmup_requests <= 2_000
    same = accelflow.compare(warmup=found.warmup_requests, requests=4_000, **fields)
    assert found.source == same.source
    for warmup, counted in ((0, 4_000), (3_999, 1)):
        result = accelflow.compare(warmup=warmup, requests=4_000, **fields)["relief"]["UniqId"]
        assert result.completed == counted
    tenth = Scenario(requests=4_000, warmup=400, **FIELDS)
    assert hashed(tenth) == hashed(Scenario(requests=4_000, **FIELDS))


def test_a_pilot_that_never_settles_is_refused():
    fields = {"orchestrators": ["non_acc"], "rate_rps": 5_000_000, **FIELDS}
    with pytest.raises(InputError, match="requests = 500: must be more: by the MSER-5 test"):
        accelflow.compare(mser5=True, requests=500, **fields)


def test_bins_say_how_exact_they_are():
    fields = {"orchestrators": ["relief"], "rate_rps": 400_000, "requests": 5_000, **FIELDS}
    exact = accelflow.compare(**fields)
    bins = accelflow.compare(exact=False, **fields)
    error = bins.source["percentiles"]["relative_error"]
    assert error == 1 / 2048
    assert "percentiles" not in exact.source
    near, truth = bins["relief"]["UniqId"], exact["relief"]["UniqId"]
    assert (near.mean_us, near.completed) == (truth.mean_us, truth.completed)
    for name in ("p50_us", "p99_us", "p999_us"):
        assert getattr(near, name) == pytest.approx(getattr(truth, name), rel=error)


def test_bins_are_enough_for_a_precision():
    fields = {"orchestrators": ["relief"], "rate_rps": 400_000, **FIELDS}
    fields |= {"precision": "p99:5%", "seeds": 5}
    bins = accelflow.compare(exact=False, **fields)["relief"]["UniqId"]
    exact = accelflow.compare(**fields)["relief"]["UniqId"]
    assert bins.p99_us == pytest.approx(exact.p99_us, rel=1 / 2048)


def test_a_pooled_percentile_of_bins_is_that_of_their_responses():
    draw = np.random.default_rng(3)
    rows, singly = [], []
    for _ in range(3):
        times = np.sort(draw.integers(1, 40, 500).astype(float))[::-1]
        values, counts = np.unique(times, return_counts=True)
        bins = list(zip(values[::-1].tolist(), counts[::-1].tolist(), strict=True))
        rows.append({"completed": 500, "tail_us": [], "tail_bins": bins})
        singly.append({"completed": 500, "tail_us": times})
    for thousandths in (500, 900, 990, 999):
        assert pooled_percentile(thousandths, rows) == pooled_percentile(thousandths, singly)
    rows[0]["tail_bins"] = rows[0]["tail_bins"][:1]
    with pytest.raises(ValueError, match="longest are kept"):
        pooled_percentile(500, rows)


def test_reductions_are_paired_by_the_requests_that_systems_share():
    found = accelflow.compare(
        orchestrators=["accelflow", "relief"], rate_rps=300_000, requests=1_000, seeds=8, **FIELDS
    )
    ours, theirs = found["accelflow"], found["relief"]
    paired = reduction(ours, theirs, "p99_us")
    assert paired.mean == mean_reduction(ours, theirs, "p99_us")
    # By hand: the ratio of the means over the seeds, without each seed in turn.
    alone = [
        accelflow.compare(
            orchestrators=["accelflow", "relief"],
            rate_rps=300_000,
            requests=1_000,
            seed=seed,
            **FIELDS,
        )
        for seed in range(1, 9)
    ]
    p99s = np.array([[each[name].p99_us for name in ("accelflow", "relief")] for each in alone])
    without = np.array([np.delete(p99s, place, axis=0).mean(axis=0) for place in range(8)])
    ratios = 1 - without[:, 0] / without[:, 1]
    pseudo = 8 * paired.mean - 7 * ratios
    t = 2.3646242515927844  # Student's, 7 degrees of freedom, 97.5 %
    expected = t * pseudo.std(ddof=1) / math.sqrt(8)
    assert paired.half_width == pytest.approx(expected, rel=1e-6)
    again = accelflow.report.Comparison.from_dict(json.loads(json.dumps(found.source)))
    assert reduction(again["accelflow"], again["relief"], "p99_us") == paired
    assert reduction(alone[0]["accelflow"], alone[0]["relief"], "p99_us").half_width is None


def test_a_reduction_is_written_with_its_interval():
    estimate = accelflow.findings.Estimate
    assert reduction_text(estimate(0.594, None)) == "59 %"
    assert reduction_text(estimate(0.594, 0.021)) == "59 ± 2 %"
    assert reduction_text(estimate(-0.594, 0.0041)) == "59.4 ± 0.4 %"
