//! The experiments of the ARCUS paper, and further experiments on parts of ARCUS that the paper
//! does not measure. Each result has a key, by which it is joined to the paper's number, if there
//! is one.
//!
//! All experiments use the values of [`crate::parameters`]. An experiment defines only its load:
//! the flows, their paths, and the mechanism.

mod bursts;
mod case_studies;
mod compute_times;
mod end_to_end;
mod heterogeneity;
mod inline_storage;
mod key_value;
mod limiters;
mod prediction;
mod protocol;
mod raid;
mod replications;
mod report;
mod storage_users;
mod use_cases;

pub use report::{PaperExperiment, Report, Row, Series};

use crate::PlatformError;

/// All experiments on ARCUS that this crate can run, each with its name, title and function.
pub const EXPERIMENTS: [PaperExperiment; 15] = [
    PaperExperiment {
        name: "fig3",
        title: "Table 1 and Fig. 3: what two tenants get without traffic shaping",
        replications: 5,
        run: case_studies::fig3,
    },
    PaperExperiment {
        name: "fig6",
        title: "Fig. 6: throughput of two users of an SSD, promised 300 K and 200 K operations a second",
        replications: 5,
        run: storage_users::fig6,
    },
    PaperExperiment {
        name: "table3",
        title: "Table 3: deviation of VM1's throughput from its rate, over 500 requests each",
        replications: 5,
        run: storage_users::table3,
    },
    PaperExperiment {
        name: "tail",
        title: "Section 5.2: tail latency of the users of Fig. 6",
        replications: 5,
        run: storage_users::tail,
    },
    PaperExperiment {
        name: "fig7",
        title: "Fig. 7: accelerators against message size, flows, and the share of two VMs",
        replications: 2,
        run: heterogeneity::fig7,
    },
    PaperExperiment {
        name: "fig8",
        title: "Fig. 8: 4 KB messages beside messages of 1 to 512 KB",
        replications: 2,
        run: use_cases::fig8,
    },
    PaperExperiment {
        name: "fig9",
        title: "Fig. 9: bursts of 64 B beside 1500 B",
        replications: 5,
        run: bursts::fig9,
    },
    PaperExperiment {
        name: "fig11",
        title: "Fig. 11: key-value stores beside a live migration; reads beside writes of a RAID-0",
        replications: 5,
        run: end_to_end::fig11,
    },
    PaperExperiment {
        name: "table4",
        title: "Table 4: RocksDB with and without compression and checksum on accelerators",
        replications: 2,
        run: end_to_end::table4,
    },
    PaperExperiment {
        name: "compute_times",
        title: "Section 5.3.1: accelerators whose compute times vary by several laws",
        replications: 5,
        run: compute_times::compute_times,
    },
    PaperExperiment {
        name: "paths",
        title: "Section 5.3: flows of one VM, and of VMs on different paths",
        replications: 2,
        run: compute_times::paths,
    },
    PaperExperiment {
        name: "inline_storage",
        title: "Section 4.1: inline mode with storage, results shaped once and twice",
        replications: 5,
        run: inline_storage::inline_storage,
    },
    PaperExperiment {
        name: "prediction",
        title: "Section 4.3, scenario 3: violations that the runtime predicts from falling rates",
        replications: 5,
        run: prediction::prediction,
    },
    PaperExperiment {
        name: "table2_by_method",
        title: "Table 2 as it was found: the bucket fixed, the refill swept",
        replications: 2,
        run: limiters::table2,
    },
    PaperExperiment {
        name: "limiters",
        title: "Section 4.2: token bucket, leaky bucket, fixed window, sliding log",
        replications: 5,
        run: limiters::limiters,
    },
];

/// Runs the experiment `name` once, with random numbers from `seed`; `None` for an unknown name.
pub fn run(name: &str, seed: u64) -> Option<Result<Report, PlatformError>> {
    let found = find(name)?;
    Some((found.run)(seed).map(|report| named(found, seed, 1, report)))
}

/// Runs the experiment `name` on `threads` threads, once for each of `replications` successive
/// seeds from `seed`. The report has the means over these runs, and half the widths of the means'
/// 95 % confidence intervals. `replications` defaults to [`PaperExperiment::replications`], and 0
/// counts as 1. Numbers that are missing in some run are left out. Returns `None` for an unknown
/// name.
pub fn replicate(
    name: &str,
    seed: u64,
    replications: Option<u64>,
    threads: usize,
) -> Option<Result<Report, PlatformError>> {
    let found = find(name)?;
    let count = replications.unwrap_or(found.replications).max(1);
    let report = replications::replicate(found, seed, count, threads);
    Some(report.map(|report| named(found, seed, count, report)))
}

fn find(name: &str) -> Option<&'static PaperExperiment> {
    EXPERIMENTS
        .iter()
        .find(|experiment| experiment.name == name)
}

fn named(experiment: &PaperExperiment, seed: u64, replications: u64, report: Report) -> Report {
    Report {
        name: experiment.name,
        title: experiment.title,
        seed,
        replications,
        ..report
    }
}
