//! Defaults and ranges of the numbers in a scenario.

/// The default time of a TCP operation on a core, in ns.
///
/// Provenance: assumed. The paper says that operations take "tens of microseconds" on a core. But
/// with 20 us for TCP, a server without accelerators cannot keep up with the paper's rate of
/// requests to the eight services together.
pub const ASSUMED_TCP_COST_NS: f64 = 7_000.0;

/// The paper's service-level objective (SLO), as a multiple of a service's mean response time on an
/// idle server: "We define the SLO to be 5x the service execution time on an unloaded system"
/// (AccelFlow, section VII.A.3).
pub const PAPER_SLO_FACTOR: f64 = 5.0;

/// Default number of requests of each service.
pub(crate) const DEFAULT_REQUESTS: u64 = 20_000;
/// The smallest allowed number of simulated requests per service; a 99th percentile of fewer than
/// 100 requests would be meaningless.
pub const MIN_REQUESTS: u64 = 100;
/// The largest allowed number of simulated requests per service.
pub const MAX_REQUESTS: u64 = 1_000_000_000;
/// The largest value of a scenario's field `requests` for which the simulator by default stores
/// every response time, in 8 bytes each. With more requests, it counts response times in the bins
/// of a histogram.
pub const EXACT_REQUESTS: u64 = 10_000_000;
/// The largest number of single requests (samples) that results list, over all services, systems,
/// seeds and chips. Each sample takes 88 bytes in the simulator and 104 bytes in the table of
/// results.
pub const MAX_SAMPLES: u64 = 2_000_000;
/// The default warm-up is this fraction of the requests.
pub(crate) const WARMUP_DIVISOR: u64 = 10;

/// The smallest mean rate, in requests per second.
pub(crate) const MIN_RATE_RPS: f64 = accelflow_workload::arrivals::MIN_RATE_RPS;
/// The largest mean rate, in requests per second.
pub(crate) const MAX_RATE_RPS: f64 = accelflow_workload::arrivals::MAX_RATE_RPS;
/// The smallest cost of a TCP operation, in ns: a picosecond, since times are whole picoseconds.
pub(crate) const MIN_TCP_COST_NS: f64 = 0.001;
/// The largest cost of a TCP operation, in ns.
pub(crate) const MAX_TCP_COST_NS: f64 = 1e9;
/// The largest SLO of a service, in us.
pub(crate) const MAX_SLO_US: f64 = 1e9;
/// The largest multiple of an idle server's response time.
pub(crate) const MAX_SLO_FACTOR: f64 = 1e6;
/// The highest number of a tenant.
pub(crate) const MAX_TENANT: u64 = u16::MAX as u64;
/// The highest priority.
pub(crate) const MAX_PRIORITY: u64 = u8::MAX as u64;
/// The largest value of a traffic shaper's register.
pub(crate) const MAX_REGISTER: u64 = accelflow_shaping::Registers::MAX as u64;
/// The fewest seconds of accelerators, a second or in a burst, of a limit: a token is a nanosecond.
pub(crate) const MIN_ACCELERATOR_S: f64 = accelflow_shaping::Registers::MIN_ACCELERATOR_S;
/// The most seconds of accelerators a second of a limit.
pub(crate) const MAX_ACCELERATOR_S_PER_S: f64 =
    accelflow_shaping::Registers::MAX_ACCELERATOR_S_PER_S;
/// The largest burst of accelerator time of a limit, in seconds.
pub(crate) const MAX_BURST_ACCELERATOR_S: f64 =
    accelflow_shaping::Registers::MAX_BURST_ACCELERATOR_S;
/// The most chips of a scenario.
pub(crate) const MAX_CHIPS: usize = 64;
/// The most characters of a chip's name.
pub(crate) const MAX_CHIP_NAME: usize = 64;
/// The pattern of a chip's name: terminals obey control characters, which would spoil tables.
pub(crate) const CHIP_NAME: &str = r"^[^\x00-\x1f\x7f-\x9f]*$";

/// Checks the name of a chip, `None` if it is no string. The error is what is allowed.
pub(crate) fn check_chip_name(name: Option<&str>) -> Result<(), String> {
    let name = name.unwrap_or_default();
    if !(1..=MAX_CHIP_NAME).contains(&name.chars().count()) {
        return Err(format!(
            "must be a string of 1 to {MAX_CHIP_NAME} characters"
        ));
    }
    if name.chars().any(char::is_control) {
        return Err("must have no control characters".to_owned());
    }
    Ok(())
}
