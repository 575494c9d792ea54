//! What results say of lists of times and tables of rates, of which a part was simulated.

use accelflow_scenario::Scenario;
use serde_json::{Value, json};

use crate::files::{RATES, offered, plain, ran, shop};

#[test]
fn results_say_how_much_of_a_table_was_simulated() {
    let own = |text: &str| ran(&shop(text))["own_arrivals"][0].clone();
    let close = |value: &Value, expected: f64| {
        let value = value.as_f64().unwrap();
        assert!((value / expected - 1.0).abs() < 1e-9, "{value} {expected}");
    };
    // 40 of 400 requests are the warm-up: 60 follow in the first 100 ms, then 300 in as long again.
    let row = own(&plain(RATES, &[("A", "")]));
    assert_eq!([&row["service"], &row["process"]], ["A", "rates"]);
    assert_eq!([&row["requests"], &row["warmup_requests"]], [400, 40]);
    assert_eq!(row["from_s"], 0.0);
    close(&row["until_s"], 0.2);
    close(&row["rate_rps"], 360.0 / 0.16);
    let table = &row["table"];
    close(&table["until_s"], 0.1);
    close(&table["mean_rps"], 2_000.0);
    close(&table["peak_rps"], 3_000.0);
    assert_eq!(table["peak_from_us"], 1e5);
    // From 150 ms on there is only the second rate. A service's rate scales the table.
    let late = RATES.replace("]] }", "]], from_us = 150000 }");
    let row = own(&plain(&late, &[("A", "rate_rps = 20.0")]));
    close(&row["from_s"], 0.15);
    close(&row["rate_rps"], 30.0);
    close(&row["until_s"], 0.15 + 400.0 / 30.0);
    close(&row["table"]["peak_rps"], 30.0);
    let rate = offered(&plain(&late, &[("A", "")]))[0];
    assert!((rate / 3_000.0 - 1.0).abs() < 0.2, "{rate}");
}

#[test]
fn results_have_the_requests_that_ran_and_not_those_asked_for() {
    let times = |count: u32| {
        let all: Vec<String> = (1..=count).map(|ms| format!("{}", ms * 1_000)).collect();
        format!(
            "arrivals = {{ process = \"times\", times_us = [{}] }}",
            all.join(", ")
        )
    };
    let counts = |found: &Value| [found["requests"].clone(), found["warmup_requests"].clone()];
    let short = ran(&shop(&plain("", &[("A", &times(50))])));
    assert_eq!(counts(&short), [50, 5]);
    assert_eq!(short["requests_by_service"], Value::Null);
    assert_eq!(short["systems"][0]["services"][0]["completed"], 45);
    let long = ran(&shop(&plain("", &[("A", &times(1_000))])));
    assert_eq!(counts(&long), [400, 40]);
    let row = &long["own_arrivals"][0];
    assert_eq!([&row["requests"], &row["listed"]], [400, 1_000]);
    // A has the 50 requests of its list, and B the 400 of the scenario.
    let both = plain("", &[("A", &times(50)), ("B", "rate_rps = 1000.0")]);
    let both = Scenario {
        by_rate: Some(false),
        ..shop(&both)
    };
    let both = ran(&both);
    assert_eq!(counts(&both), [400, 40]);
    assert_eq!(both["requests_by_service"], json!({"A": 50, "B": 400}));
}

#[test]
fn the_warm_up_of_a_list_of_times_follows_its_share_of_the_rate() {
    let times: Vec<String> = (1..=1_000).map(|ms| format!("{}", ms * 1_000)).collect();
    let listed = format!(
        "arrivals = {{ process = \"times\", times_us = [{}] }}",
        times.join(", ")
    );
    // The mean rate is 10,000 a second: A has a tenth of it, and of 400 requests.
    let text = plain("", &[("A", &listed), ("B", "rate_rps = 19000.0")]);
    let found = ran(&Scenario {
        by_rate: Some(true),
        ..shop(&text)
    });
    let row = &found["own_arrivals"][0];
    assert_eq!([&row["requests"], &row["warmup_requests"]], [40, 4]);
    assert_eq!(found["systems"][0]["services"][0]["completed"], 36);
}
