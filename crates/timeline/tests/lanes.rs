//! Slices of a row never overlap.

use accelflow_timeline::Lanes;
use proptest::prelude::*;

proptest! {
    #[test]
    fn slices_of_a_row_do_not_overlap_and_rows_are_as_few_as_possible(
        mut slices in proptest::collection::vec((0_u64..100, 0_u64..30), 1..60),
    ) {
        slices.sort_unstable();
        let mut lanes = Lanes::default();
        let mut rows: Vec<Vec<(u64, u64)>> = Vec::new();
        for (from, length) in slices.clone() {
            let row = lanes.place(from, from + length);
            prop_assert!(row <= rows.len(), "rows have no gaps");
            if row == rows.len() {
                rows.push(Vec::new());
            }
            rows[row].push((from, from + length));
        }
        for row in &rows {
            prop_assert!(row.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{row:?}");
        }
        let beside = |at: u64| slices.iter().filter(|(f, l)| *f <= at && at < f + l).count();
        let most = (0..200).map(beside).max().unwrap_or(0).max(1);
        // A slice without a length takes a row that is taken at its time.
        let points = slices.iter().filter(|(_, length)| *length == 0).count();
        prop_assert!(rows.len() <= most + points, "{} rows for {most}", rows.len());
    }

    #[test]
    fn a_row_that_is_taken_is_given_to_none(times in proptest::collection::vec(0_u64..9, 1..20)) {
        let mut lanes = Lanes::default();
        let rows: Vec<usize> = times.iter().map(|&at| lanes.take(at)).collect();
        let mut sorted = rows.clone();
        sorted.sort_unstable();
        sorted.dedup();
        prop_assert_eq!(sorted.len(), rows.len());
        lanes.free(rows[0], 10);
        prop_assert_eq!(lanes.take(10), rows[0]);
    }
}
