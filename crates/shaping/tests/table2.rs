//! Table 2 of the paper, by the formula and by what the shaper lets pass.

use accelflow_shaping::table2::ROWS;
use accelflow_shaping::{Clock, FlowConfig, Message, Shaper, Timing, Unit};
use accelflow_units::{Bytes, Time};

/// The printed rates are 1, 10, 100 and 1,000 Gbit/s.
const OURS_GBIT_PER_S: [f64; 4] = [1.024, 10.24, 102.4, 1_024.0];

#[test]
fn every_row_gives_the_paper_s_rate_to_the_2_4_percent_by_which_a_kib_exceeds_1000() {
    let rates = ROWS.map(|row| row.gbit_per_s(Clock::PAPER.frequency()));
    assert_eq!(rates, OURS_GBIT_PER_S);
}

#[test]
fn only_the_first_row_is_capped_by_its_bucket() {
    let caps = ROWS.map(|row| row.tokens_per_interval() < row.refill());
    assert_eq!(caps, [true, false, false, false]);
    let first = ROWS[0];
    assert_eq!(first.tokens_per_interval(), 512);
    assert_eq!(first.tokens_per_s(Clock::PAPER.frequency()), 512.0 / 4e-6);
}

#[test]
fn a_flow_with_enough_to_send_passes_at_the_rate_of_its_row() {
    for (registers, ours) in ROWS.into_iter().zip(OURS_GBIT_PER_S) {
        let mut shaper = Shaper::new(Timing::default());
        let flow = shaper
            .add_flow(Time::ZERO, FlowConfig::new(Unit::Bytes, registers))
            .unwrap();
        let tokens = |intervals: u64| intervals * u64::from(registers.tokens_per_interval());
        let size = tokens(1).min(4_096);
        for tag in 0..(u64::from(registers.bucket()) + tokens(60)) / size {
            let size = Bytes(size);
            shaper
                .offer(Time::ZERO, flow, Message { tag, size })
                .unwrap();
        }
        // The first burst is over after 20 intervals in every row.
        let interval = Clock::PAPER.edge(registers.interval());
        let (start, end) = (interval * 20, interval * 50);
        let mut passed = 0;
        while let Some(segment) = shaper.poll(end).unwrap() {
            if (start..end).contains(&segment.granted) {
                passed += segment.size.get();
            }
        }
        assert_eq!(passed, tokens(30));
        let gbit_per_s = passed as f64 * 8.0 / ((end - start).as_ns_f64());
        assert_eq!(gbit_per_s, ours);
    }
}
