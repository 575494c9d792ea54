"""Precision: the rule on a queue whose P99 is known, and on the simulator."""

import math

import numpy as np
import pytest

import accelflow
from accelflow import InputError
from accelflow.findings.statistics import jackknife
from accelflow.precision import REPLICATIONS, first_requests, parse_precision, until_precise
from accelflow.report.notes import notes_of

LOAD = 0.6


def responses(draw: np.random.Generator, lanes: int, requests: int) -> np.ndarray:
    """Response times in each of `lanes` independent queues M/M/1: Lindley's recursion, unrolled."""
    service = draw.standard_exponential((lanes, requests))
    between = draw.exponential(1.0 / LOAD, (lanes, requests))
    steps = np.cumsum(
        np.concatenate([np.zeros((lanes, 1)), (service - between)[:, :-1]], axis=1), 1
    )
    return steps - np.minimum.accumulate(steps, axis=1) + service


@pytest.mark.parametrize("measure", ["mean", "p99"])
def test_intervals_have_the_truth_as_often_as_they_say(measure: str):
    precision = parse_precision(f"{measure}:5%")
    truth = (1.0 if measure == "mean" else math.log(100.0)) / (1.0 - LOAD)
    trials, hits = 30, 0
    for trial in range(trials):
        last = []

        def replicate(
            requests: int, trial: int = trial, last: list[tuple[float, float]] = last
        ) -> dict[str, tuple[float, float]]:
            draw = np.random.default_rng([trial, requests])
            kept = responses(draw, REPLICATIONS, requests)[:, requests // 10 :]

            def figure(numbers: list[int]) -> float:
                of = kept[list(numbers)]
                return float(of.mean() if measure == "mean" else np.quantile(of, 0.99))

            found = jackknife(figure, REPLICATIONS)
            last[:] = [(found.mean, found.half_width)]
            return {"response": last[0]}

        *_, (_, reached) = until_precise(precision, replicate)
        assert reached.ratio <= precision.ratio
        ((mean, half_width),) = last
        hits += abs(mean - truth) <= half_width
    # Of 30 intervals of 95 %, fewer than 25 have the truth less than once in a hundred times.
    assert hits >= 25


def test_a_comparison_reaches_its_precision_with_the_responses_of_all_seeds():
    fields = {
        "services": ["UniqId"],
        "profile": "paper",
        "orchestrators": ["accelflow"],
        "rate_rps": 400_000,
    }
    found = accelflow.compare(precision="p99:3%", seeds=5, samples=True, **fields)
    said = found.source["precision"]
    assert said["measure"] == "p99_us"
    assert said["reached_ratio"] <= said["asked_ratio"] == 0.03
    assert found.requests >= first_requests(parse_precision("p99:3%")) == 10_000
    service = found["accelflow"]["UniqId"]
    assert service.intervals["p99_us"].half_width / service.p99_us == pytest.approx(
        said["reached_ratio"]
    )
    times = np.sort(found.samples["response_us"].to_numpy())
    assert service.p99_us == pytest.approx(times[math.ceil(0.99 * len(times)) - 1], rel=1e-6)


def test_a_service_with_few_responses_beyond_its_percentile_is_named():
    fields = {"services": ["UniqId", "Login"], "profile": "paper", "orchestrators": ["accelflow"]}
    equal = accelflow.compare(precision="p99:50%", seeds=5, **fields)
    note = "Fewer than 100 responses are beyond the percentile of "
    assert not any(note in text for text in notes_of(equal, by_service=False))
    rates = {"UniqId": 20_000.0, "Login": 400.0}
    found = accelflow.compare(precision="p99:50%", seeds=5, rates_rps=rates, **fields)
    count = found["accelflow"]["Login"].completed // 100
    (text,) = [text for text in notes_of(found, by_service=False) if note in text]
    assert 0 < count < 100
    assert text.startswith(f"{note}Login ({count}), over all seeds")
    found.source["precision"]["measure"] = "mean_us"
    assert not any(note in text for text in notes_of(found, by_service=False))


def test_the_mean_reaches_its_precision():
    found = accelflow.compare(
        services=["UniqId"], profile="paper", orchestrators=["relief"], precision="mean:1%", seeds=5
    )
    assert found.source["precision"]["reached_ratio"] <= 0.01


def test_a_saturated_system_is_named_at_once():
    with pytest.raises(
        accelflow.AccelflowError, match=r"cannot be reached, as Non-acc is saturated"
    ):
        accelflow.compare(
            services=["CPost"],
            profile="paper",
            orchestrators=["non_acc"],
            rate_rps=5_000_000,
            precision="p99:2%",
        )


@pytest.mark.parametrize(
    ("precision", "message"),
    [
        ("p98:2%", "did you mean p99"),
        ("p99", "must be of the form MEASURE:SHARE, such as p99:2%"),
        ("p99:x", "must be of the form"),
        ("p99:0", "must have a share from 0.1% to 50%, such as p99:2% or p99:0.02"),
        ("p99:nan", "must have a share from 0.1% to 50%"),
        (2, "must be of the form"),
    ],
)
def test_other_precisions_are_refused(precision: str, message: str):
    with pytest.raises(InputError, match=message):
        accelflow.compare(precision=precision)


def test_a_precision_that_takes_too_long_is_given_up():
    asked = parse_precision("p99:1%")
    lengths = []

    def replicate(requests: int) -> dict[str, tuple[float, float]]:
        lengths.append(requests)
        return {"Login under Heavy": (10.0, 5.0), "UniqId under Light": (10.0, 0.01)}

    with pytest.raises(
        accelflow.AccelflowError,
        match="a service on average; the confidence interval of Login under Heavy is still ± 50",
    ):
        list(until_precise(asked, replicate, 1_000_000))
    assert lengths == [10_000, 80_000, 640_000]


def test_few_replications_are_refused():
    with pytest.raises(InputError, match="seeds = 3: must be at least 5 with a precision"):
        accelflow.compare(precision="p99:2%", seeds=3)
