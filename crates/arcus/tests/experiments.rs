//! The paper's experiments: what has to hold of each, whatever its numbers.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::OnceLock;

use accelflow_arcus::experiments::{EXPERIMENTS, Report, Series, replicate, run};

/// The report of an experiment with seed 1, which is run once for all tests.
fn report(name: &str) -> &'static Report {
    static REPORTS: [OnceLock<Report>; EXPERIMENTS.len()] =
        [const { OnceLock::new() }; EXPERIMENTS.len()];
    let place = EXPERIMENTS.iter().position(|one| one.name == name);
    REPORTS[place.unwrap()].get_or_init(|| run(name, 1).unwrap().unwrap())
}

/// Our number of the row `key`, whose paper is left out.
fn value(report: &Report, key: &str) -> f64 {
    let key = format!("arcus.{key}");
    let found = report.rows.iter().find(|row| row.key == key);
    found.unwrap_or_else(|| panic!("no row {key}")).ours
}

#[test]
fn two_tenants_without_shaping_get_what_fig_3_shows() {
    let report = report("fig3");
    let close = |key: &str, paper: f64, within: f64| {
        (value(report, &format!("fig3.{key}")) - paper).abs() < within
    };
    assert!(close("pattern_1_share_most", 0.32, 0.02));
    assert!(close("pattern_1_share_least", 0.18, 0.02));
    assert!(close("pattern_4_vm1_most", 0.75, 0.02));
    assert!(close("pattern_4_vm1_least", 0.26, 0.02));
    assert!(close("pattern_4_fair_load_of_vm2", 0.3, 0.02));
    assert!(close("same_path_vm1_over_vm2", 4.0, 0.02));
    assert!(close("same_path_over_multi_path", 0.55, 0.05));
}

#[test]
fn arcus_stays_close_to_the_slo_where_software_does_not() {
    let report = report("table3");
    // The runtime's margin, a step of 0.4 % after a missed period, lifts all percentiles. The 99th
    // thus exceeds the SLO by more than the 1 % that a shortfall may have.
    for row in report.rows.iter().filter(|row| row.system == "Arcus") {
        assert!((-0.01..0.0125 + 0.004).contains(&row.ours), "{row:?}");
    }
    assert!(value(report, "table3.Arcus[2]") < 0.01);
    assert!(value(report, "table3.Host_TS_reflex[1]") < -0.03);
    let over = value(report, "table3.Host_TS_firecracker[3]");
    assert!(over > 0.04, "{over}");
}

#[test]
fn tails_are_shorter_by_what_the_software_adds() {
    let report = report("tail");
    for place in 0..3 {
        let of = |system| value(report, &format!("tail_latency_us.{system}[{place}]"));
        assert!(of("Arcus") < 0.85 * of("ReFlex"));
    }
}

#[test]
fn sizes_and_flows_matter_as_fig_7_says() {
    let report = report("fig7");
    let fair = value(report, "fig7.vm1_over_vm2");
    assert!((fair - 1.0).abs() < 0.01, "{fair}");
    let of = |x| {
        let found = report.series.iter().filter(|series| series.x == x);
        found.collect::<Vec<&Series>>()
    };
    assert_eq!(of("message bytes").len(), 4);
    // Fig. 7(b) shows throughput by the number of flows, 7(c) who gets how much.
    let [unshaped, arcus] = of("flows")[..] else {
        panic!("{:?}", report.series);
    };
    for flows in [unshaped, arcus] {
        let (first, last) = (flows.points[0], flows.points[flows.points.len() - 1]);
        assert_eq!((first.0, last.0), (1.0, 16.0));
        assert!(first.1 > 0.95 * last.1, "{flows:?}");
    }
    for (shaped, full) in arcus.points.iter().zip(&unshaped.points) {
        assert!((0.98..1.0).contains(&(shaped.1 / full.1)), "{arcus:?}");
    }
    let shares = of("flows of VM1");
    assert_eq!(shares.len(), 4);
    let rx = &shares[0];
    for (flows, ratio) in &rx.points {
        assert!((ratio / (flows / 16.0) - 1.0).abs() < 0.02, "{rx:?}");
    }
    assert!(
        shares
            .iter()
            .all(|series| series.points.len() == rx.points.len())
    );
}

#[test]
fn large_messages_steal_and_shaping_stops_it() {
    let report = report("fig8");
    assert!((value(report, "fig8.vm2_loss_with_1_kb.Host_noTS") - 0.6).abs() < 0.01);
    assert!(value(report, "fig8.deviation_from_half.Arcus") < 0.03);
}

#[test]
fn arcus_keeps_the_microsecond_that_panic_breaks() {
    let report = report("fig9");
    let panic = "Bypassed_noTS_panic";
    let tail = |system| value(report, &format!("fig9.burst_p99.{system}"));
    assert!(tail("Arcus") < 1.0 && tail(panic) > 1.0);
    let rate = value(report, "fig9.burst_1500_b.Arcus");
    assert!((rate - 32.0).abs() < 0.5, "{rate}");
    assert!(value(report, "fig9.burst_1500_b.Bypassed_noTS_panic") > 40.0);
    assert!(value(report, "fig9.after_1500_b.Bypassed_noTS_panic") < 32.0);
}

/// Rows of a time are statistics of that time, and the curves show what the rows say.
#[test]
fn fig_9s_rows_are_of_the_times_that_they_name() {
    let report = report("fig9");
    for system in ["Bypassed_noTS_panic", "Arcus"] {
        let curve = |panel: &str| {
            let same = |series: &&Series| series.system == system && series.panel == panel;
            let found = report.series.iter().find(same);
            found.map(|series| series.points.clone()).unwrap()
        };
        let during = |panel: &str, from: f64, to: f64| -> Vec<f64> {
            let all = curve(panel).into_iter();
            let there = all.filter(|point| (from..to).contains(&point.0));
            there.map(|point| point.1).collect()
        };
        for (phase, from, to) in [("burst", 0.0, 200.0), ("after", 380.0, 500.0)] {
            let rates = during("large_rate", from, to);
            let mean = rates.iter().sum::<f64>() / rates.len() as f64;
            let row = value(report, &format!("fig9.{phase}_1500_b.{system}"));
            assert!(
                (row - mean).abs() < 1e-6,
                "{system}, {phase}: {row} and {mean}"
            );
            let tails = during("tiny_p99", from, to);
            let late = tails.iter().filter(|tail| **tail > 1.0).count() as f64;
            let key = format!("fig9.{phase}_share_above_1_us.{system}");
            assert_eq!(value(report, &key), late / tails.len() as f64);
        }
    }
    let late = |system| value(report, &format!("fig9.burst_share_above_1_us.{system}"));
    assert!(late("Arcus") < 0.2 && late("Bypassed_noTS_panic") > 0.5);
}

#[test]
fn replications_are_means_with_intervals_on_any_number_of_threads() {
    let of = |replications, threads| replicate("fig9", 3, Some(replications), threads);
    let report = of(3, 1).unwrap().unwrap();
    assert_eq!((report.seed, report.replications), (3, 3));
    let each = [3, 4, 5].map(|seed| run("fig9", seed).unwrap().unwrap());
    for (number, row) in report.rows.iter().enumerate() {
        let values = each.each_ref().map(|report| report.rows[number].ours);
        let mean = values.iter().sum::<f64>() / 3.0;
        assert!((row.ours - mean).abs() < 1e-9, "{row:?}");
        let spread = values
            .iter()
            .map(|value| (value - mean).powi(2))
            .sum::<f64>()
            / 2.0;
        // Student's 97.5th percentile of two degrees of freedom.
        let half_width = 4.302_653 * (spread / 3.0).sqrt();
        assert!(
            (row.half_width.unwrap() - half_width).abs() < 1e-5,
            "{row:?}"
        );
    }
    let ratio = report
        .rows
        .iter()
        .find(|row| row.what.contains("over Arcus"));
    assert!(ratio.unwrap().half_width.unwrap() > 0.0);
    assert_eq!(report, of(3, 2).unwrap().unwrap());
    assert!(replicate("fig10", 1, None, 1).is_none());
    assert!(
        EXPERIMENTS
            .iter()
            .all(|experiment| experiment.replications >= 2)
    );
    let single = of(1, 1).unwrap().unwrap();
    assert!(single.rows.iter().all(|row| row.half_width.is_none()));
}

#[test]
fn end_to_end_users_get_their_slos_only_with_arcus() {
    let report = report("fig11");
    for user in [1, 2] {
        let over = |system| value(report, &format!("fig11.user_{user}_over_slo.{system}"));
        assert!(over("Arcus").abs() < 0.01);
        assert!(over("Bypassed_noTS_panic").abs() > 0.2);
    }
    // What needs no SLO: the paper's 1.48 over 0.39 is 3.79.
    let ratio = |system| value(report, &format!("fig11.user_1_over_user_2.{system}"));
    assert!((ratio("Bypassed_noTS_panic") / 3.795 - 1.0).abs() < 0.25);
    assert!((ratio("Arcus") - 1.0).abs() < 0.01);
    // Loads are the highest at which both users of a panel meet the paper's criterion.
    for system in ["Arcus", "Bypassed_noTS_panic"] {
        for user in [1, 2] {
            let key = format!("fig11.user_{user}_p99_over_mean.{system}");
            assert!(value(report, &key) < 10.0);
            let key = format!("fig11.user_{user}_bound.{system}");
            assert_eq!(value(report, &key), 1.0, "more clients break the criterion");
        }
    }
    for system in ["Arcus", "Host_noTS"] {
        for kind in ["reads", "writes"] {
            assert!(value(report, &format!("fig11.raid_{kind}_p99.{system}")) < 2.0);
        }
    }
    // The writer alone decides: without shaping, more writes would take the readers beyond 2 ms.
    let highest = |system| value(report, &format!("fig11.raid_highest_load.{system}"));
    assert!(highest("Host_noTS") < highest("Arcus"));
    let over = |key: &str| value(report, &format!("fig11.raid_{key}"));
    for kind in ["reads", "writes"] {
        assert!((over(&format!("{kind}_over_slo.Arcus")) - 1.0).abs() < 0.01);
    }
    assert!(over("reads_over_slo.Host_noTS") < 0.6);
    assert!(over("writes_over_slo.Host_noTS") > 1.5);
}

#[test]
fn offloading_compression_gains_throughput_and_cores() {
    let report = report("table4");
    assert!((value(report, "rocksdb.cpu_saving") - 0.589).abs() < 0.06);
}

#[test]
fn slos_hold_whatever_the_law_of_compute_times_and_whoever_meets_where() {
    for name in ["compute_times", "paths"] {
        for row in &report(name).rows {
            let within = row.ours < 0.01;
            assert_eq!(within, row.system == "Arcus", "{row:?}");
        }
    }
    // Almost all that is there, by one flow and by sixteen.
    let fig7 = report("fig7");
    for flows in ["one_flow", "16_flows"] {
        let full = value(fig7, &format!("fig7.{flows}_of_full.Arcus"));
        assert!((0.98..1.0).contains(&full), "{flows}: {full}");
    }
}

#[test]
fn violations_are_predicted_before_they_happen_and_rarely_elsewhere() {
    let report = report("prediction");
    let of = |key: &str, us: u32| value(report, &format!("prediction.{key}.{us}_us"));
    assert_eq!(of("predicted", 0) + of("false_alarms", 0), 0.0);
    for us in [200, 500, 1_000] {
        assert!(of("predicted", us) > 0.0, "{us} us");
        assert!(of("missed", us) < of("missed", 0), "{us} us");
    }
    assert!(of("moves", 0) >= 1.0);
}

#[test]
fn table_2_by_its_method_is_table_2_but_for_the_capped_refill() {
    let report = report("table2_by_method");
    for (slo, refill) in [
        (1, 512.0),
        (10, 4_096.0),
        (100, 16_384.0),
        (1_000, 32_768.0),
    ] {
        let found = value(report, &format!("table2_by_method.refill.{slo}"));
        assert_eq!(found, refill, "{slo} Gbit/s");
        let rate = value(report, &format!("table2_by_method.rate.{slo}"));
        assert!(
            (rate / f64::from(slo) - 1.024).abs() < 1e-3,
            "{rate} for {slo}"
        );
    }
}

#[test]
fn the_token_bucket_is_the_one_that_is_quick_and_small() {
    let report = report("limiters");
    let of = |key: &str, name: &str| value(report, &format!("limiters.{key}.{name}"));
    assert!(of("wait", "leaky_bucket") > 1.5 * of("wait", "token_bucket"));
    assert!(of("wait", "sliding_log") > 1.1 * of("wait", "token_bucket"));
    assert!(of("state", "sliding_log") >= 16.0 * of("state", "token_bucket"));
    assert_eq!(of("most_in_a_window", "sliding_log"), 1.0);
    assert_eq!(of("most_in_a_window", "fixed_window"), 2.0);
}

#[test]
fn a_report_says_what_it_is_and_a_seed_gives_it_again() {
    let first = report("fig9");
    assert_eq!((first.name, first.seed), ("fig9", 1));
    assert_eq!(*first, run("fig9", 1).unwrap().unwrap());
    assert_ne!(first.rows, run("fig9", 2).unwrap().unwrap().rows);
    assert!(run("fig10", 1).is_none());
    let names: Vec<&str> = EXPERIMENTS
        .iter()
        .map(|experiment| experiment.name)
        .collect();
    assert_eq!(
        names,
        [
            "fig3",
            "fig6",
            "table3",
            "tail",
            "fig7",
            "fig8",
            "fig9",
            "fig11",
            "table4",
            "compute_times",
            "paths",
            "inline_storage",
            "prediction",
            "table2_by_method",
            "limiters"
        ]
    );
}
