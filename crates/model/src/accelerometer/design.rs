//! Threading designs of offloads, and which costs of an offload count in each design.

use accelflow_parameters::Refusal;

use super::parameters::LATENCY_THREAD_SWITCHES;

/// The behaviour of the offloading thread until the accelerator's response arrives: it waits,
/// blocks or does other work (Accelerometer, section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threading {
    /// The offloading thread waits, and keeps its core occupied. There is one thread per core.
    Sync,
    /// The thread blocks, and its core runs another thread. There are more threads than cores.
    SyncOs,
    /// The thread continues with other work, and picks up the response itself.
    AsyncSameThread,
    /// The thread continues with other work, and a separate thread picks up the response.
    AsyncDistinctThread,
    /// The thread continues, and the host needs no response: the accelerator passes the result on.
    AsyncNoResponse,
}

impl Threading {
    /// All five threading designs.
    pub const ALL: [Threading; 5] = [
        Threading::Sync,
        Threading::SyncOs,
        Threading::AsyncSameThread,
        Threading::AsyncDistinctThread,
        Threading::AsyncNoResponse,
    ];

    /// The name of the threading design in files and on the command line, such as `sync_os`.
    pub fn name(self) -> &'static str {
        match self {
            Threading::Sync => "sync",
            Threading::SyncOs => "sync_os",
            Threading::AsyncSameThread => "async_same_thread",
            Threading::AsyncDistinctThread => "async_distinct_thread",
            Threading::AsyncNoResponse => "async_no_response",
        }
    }

    /// The numbers, such as `(3)`, of the Accelerometer paper's equations for this design: first
    /// for the speedup, then for the latency reduction.
    pub fn equations(self, placement: Placement) -> (&'static str, &'static str) {
        match (self, placement) {
            (Threading::Sync, _) => ("(1)", "(1)"),
            (Threading::SyncOs, _) => ("(3)", "(5)"),
            (Threading::AsyncSameThread, _) => ("(6)", "(8)"),
            (Threading::AsyncDistinctThread, _) => ("(3) with one thread switch", "(5)"),
            (Threading::AsyncNoResponse, Placement::Remote) => ("(6)", "(6)"),
            (Threading::AsyncNoResponse, _) => ("(6)", "(8)"),
        }
    }
}

/// Where the accelerator is: on the processor's chip, off the chip, or on another machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// On the processor's die, such as an instruction: an offload takes nanoseconds.
    OnChip,
    /// Behind PCIe or a coherent link: an offload takes microseconds.
    OffChip,
    /// On another machine behind the network: an offload takes milliseconds.
    Remote,
}

impl Placement {
    /// The three placements.
    pub const ALL: [Placement; 3] = [Placement::OnChip, Placement::OffChip, Placement::Remote];

    /// The name of the placement in files and on the command line, such as `off_chip`.
    pub fn name(self) -> &'static str {
        match self {
            Placement::OnChip => "on_chip",
            Placement::OffChip => "off_chip",
            Placement::Remote => "remote",
        }
    }
}

/// The number of times that each cost of an offload counts in the cycles after offloading. There is
/// one set of numbers for the host's cycles (C_S), and one for the cycles of a request (C_L).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coefficients {
    /// How often the accelerator's own cycles, alpha C / A, count: 0 or 1.
    pub accelerator: f64,
    /// How often L + Q, an offload's transfer and its wait in the queue, counts: 0 or 1.
    pub interface: f64,
    /// The number of thread switches per offload; each costs o1 cycles.
    pub switches: f64,
}

/// A threading design together with the placement of the accelerator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Design {
    threading: Threading,
    placement: Placement,
    driver_waits: bool,
    latency_switches: f64,
}

impl Design {
    /// Creates a design. `driver_waits` states whether the host waits for the accelerator to
    /// acknowledge an offload before the host continues. The wait adds L + Q to the host's cycles.
    /// `None` means that the host waits, except for a remote accelerator without
    /// [`Threading::Sync`] (below equation 2 of the paper).
    ///
    /// # Errors
    /// [`Refusal`] if `driver_waits` is
    ///
    /// * false with [`Threading::Sync`], since the core waits for the response anyway;
    /// * false with [`Placement::OnChip`], since the core moves the data itself;
    /// * true with [`Placement::Remote`], except with [`Threading::Sync`].
    pub fn new(
        threading: Threading,
        placement: Placement,
        driver_waits: Option<bool>,
    ) -> Result<Design, Refusal> {
        let must = match (threading, placement) {
            (Threading::Sync, _) => Some((true, "with threading sync the core waits")),
            (_, Placement::OnChip) => Some((
                true,
                "with placement on_chip the core moves the data itself",
            )),
            (_, Placement::Remote) => Some((false, "no driver waits for a remote accelerator")),
            (_, Placement::OffChip) => None,
        };
        match (driver_waits, must) {
            (Some(given), Some((needed, why))) if given != needed => Err(Refusal::new(
                "driver_waits",
                given,
                format!("must be {needed} or absent, since {why}"),
            )),
            _ => Ok(Design {
                threading,
                placement,
                driver_waits: must.map_or(driver_waits.unwrap_or(true), |(needed, _)| needed),
                latency_switches: 1.0,
            }),
        }
    }

    /// Sets the number of thread switches that count in the latency of a request with
    /// [`Threading::SyncOs`]. Equation (5) has one, which is the default. The paper's latency
    /// reduction of 1.4 % with Sync-OS (Fig. 20) follows from two.
    ///
    /// # Errors
    /// [`Refusal`] for numbers other than 1 and 2.
    pub fn with_latency_switches(self, switches: u32) -> Result<Design, Refusal> {
        let latency_switches = f64::from(switches);
        LATENCY_THREAD_SWITCHES.check(latency_switches)?;
        Ok(Design {
            latency_switches,
            ..self
        })
    }

    /// The threading design: whether the offloading thread waits, blocks or does other work until
    /// the accelerator's response arrives.
    pub fn threading(self) -> Threading {
        self.threading
    }

    /// Where the accelerator is: on the chip, off the chip, or on another machine.
    pub fn placement(self) -> Placement {
        self.placement
    }

    /// Whether the host waits for the accelerator to acknowledge an offload before the host
    /// continues.
    pub fn driver_waits(self) -> bool {
        self.driver_waits
    }

    /// Returns how often each cost of an offload counts after offloading: first in the host's
    /// cycles (C_S, for the speedup), then in the cycles of a request (C_L, for the latency
    /// reduction). The numbers follow from equations (1), (3), (5), (6) and (8).
    ///
    /// L + Q is the time of an offload's transfer and of its wait in the accelerator's queue. L + Q
    /// counts in C_S only if the host waits for an acknowledgement. In C_L, which gives the latency
    /// of the service, L + Q counts, and so does the accelerator's time. The exception is a remote
    /// accelerator whose response the host does not need: its L + Q and its time add only to the
    /// latency of the whole application.
    pub fn coefficients(self) -> (Coefficients, Coefficients) {
        let waits = f64::from(u8::from(self.driver_waits));
        let host = |accelerator, switches| Coefficients {
            accelerator,
            interface: waits,
            switches,
        };
        let request = |switches| Coefficients {
            accelerator: 1.0,
            interface: 1.0,
            switches,
        };
        match (self.threading, self.placement) {
            (Threading::Sync, _) => (host(1.0, 0.0), request(0.0)),
            (Threading::SyncOs, _) => (host(0.0, 2.0), request(self.latency_switches)),
            (Threading::AsyncDistinctThread, _) => (host(0.0, 1.0), request(1.0)),
            (Threading::AsyncNoResponse, Placement::Remote) => (host(0.0, 0.0), host(0.0, 0.0)),
            (Threading::AsyncSameThread | Threading::AsyncNoResponse, _) => {
                (host(0.0, 0.0), request(0.0))
            }
        }
    }
}
