//! The analytic model by which the Cerebros paper compares designs of the RPC layer (Pourhabibi,
//! Sutherland, Daglis and Falsafi, MICRO 2021, sections 5 and 6.1, Fig. 6).
//!
//! The RPC layer of one request consists of header tasks, payload tasks and dispatch. A task on the
//! core costs the cycles of its software. A task on an accelerator costs the accelerator's cycles.
//! If the core hands the task over, this adds crossings of the chip's network, one after another:
//! by default 5, or 3 under [`Design::Coalesced`].
//!
//! ```
//! use accelflow_model::cerebros::{Design, RpcLayer};
//!
//! let layer = RpcLayer::default();
//! // The core hands over 8 tasks, each with 5 crossings of 40 cycles.
//! assert_eq!(layer.offload_cycles(Design::PayloadAndHeader), 1_600.0);
//! assert_eq!(format!("{:.1}", layer.speedup(Design::PayloadAndHeader)), "2.3");
//! ```

use accelflow_parameters::Refusal;

pub use crate::rpc_layer::RpcLayer;
pub use crate::tables::RPC_LAYER as PARAMETERS;

/// A design of the RPC layer: which tasks a core does in software, and which an accelerator does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    /// The core does the whole RPC layer in software.
    None,
    /// A shared accelerator (Optimus Prime) transforms payloads; headers and dispatch stay on the
    /// core.
    PayloadOnly,
    /// The shared accelerator processes payloads and headers; dispatch stays on the core.
    PayloadAndHeader,
    /// Like [`Design::PayloadAndHeader`], but the message that hands a task to the accelerator
    /// contains the data, and the chip's network has a low diameter.
    Coalesced,
    /// Each core has its own accelerator for payloads and headers; dispatch stays on the core.
    Private,
    /// A processor between NIC and cores does the entire RPC layer (Cerebros).
    Full,
}

impl Design {
    /// All designs, from the most work on the core to the least. [`Design::Coalesced`] is from the
    /// text of the Cerebros paper's section 6.1, the others are the bars of its Fig. 6.
    pub const ALL: [Design; 6] = [
        Design::None,
        Design::PayloadOnly,
        Design::PayloadAndHeader,
        Design::Coalesced,
        Design::Private,
        Design::Full,
    ];

    /// The design's name in the Cerebros paper, such as `P+H`.
    pub fn name(self) -> &'static str {
        match self {
            Design::None => "None",
            Design::PayloadOnly => "OP: P-Only",
            Design::PayloadAndHeader => "P+H",
            Design::Coalesced => "P+H coalesced",
            Design::Private => "P+H_PV",
            Design::Full => "Full",
        }
    }

    /// Returns the design that the Cerebros paper calls `name`.
    ///
    /// # Errors
    /// [`Refusal`] for an unknown name.
    pub fn named(name: &str) -> Result<Design, Refusal> {
        let found = Design::ALL.into_iter().find(|design| design.name() == name);
        found.ok_or_else(|| Refusal::unknown("design", name, Design::ALL.map(Design::name)))
    }
}

impl RpcLayer {
    /// Checks that every cost of the RPC layer is in its range.
    ///
    /// # Errors
    /// [`Refusal`] for the first value out of range, and for a sum of `payload_share` and
    /// `dispatch_share` above 1.
    pub fn check(&self) -> Result<(), Refusal> {
        PARAMETERS.check(self)?;
        let sum = self.payload_share + self.dispatch_share;
        if sum > 1.0 {
            let place = "payload_share_ratio + dispatch_share_ratio";
            return Err(Refusal::number(place, sum, "must be from 0 to 1"));
        }
        Ok(())
    }

    /// The share of the RPC layer's cycles that headers take, from 0 to 1: 1 minus `payload_share`
    /// and `dispatch_share`.
    pub fn header_share(&self) -> f64 {
        1.0 - self.payload_share - self.dispatch_share
    }

    /// The cycles that a core takes to hand one task to the shared accelerator: the number of
    /// traversals of the chip's network, times the cycles of each. Default 5 x 40 = 200.
    pub fn cycles_per_offload(&self) -> f64 {
        f64::from(self.traversals) * self.traversal_cycles
    }

    /// The cycles that a core takes to hand one task to the accelerator under
    /// [`Design::Coalesced`], where the message that hands over the task contains the data and the
    /// chip's network has a low diameter. Default about 60: 3 traversals of about 20 cycles.
    pub fn coalesced_cycles_per_offload(&self) -> f64 {
        f64::from(self.coalesced_traversals) * self.low_diameter_cycles
    }

    /// The cycles per request that a core spends under `design` on the part of the RPC layer that
    /// is still software.
    pub fn software_cycles(&self, design: Design) -> f64 {
        let share = match design {
            Design::None => 1.0,
            Design::PayloadOnly => 1.0 - self.payload_share,
            Design::PayloadAndHeader | Design::Coalesced | Design::Private => self.dispatch_share,
            Design::Full => 0.0,
        };
        share * self.cycles
    }

    /// The cycles per request that a core spends under `design` on handing tasks to the
    /// accelerator.
    pub fn offload_cycles(&self, design: Design) -> f64 {
        let payload = f64::from(self.payload_tasks);
        let both = payload + f64::from(self.header_tasks);
        match design {
            Design::None | Design::Private | Design::Full => 0.0,
            Design::PayloadOnly => payload * self.cycles_per_offload(),
            Design::PayloadAndHeader => both * self.cycles_per_offload(),
            Design::Coalesced => both * self.coalesced_cycles_per_offload(),
        }
    }

    /// The cycles per request for which the accelerator works under `design`. Under
    /// [`Design::PayloadOnly`], the accelerator does payloads but no headers. The payloads' share
    /// of the accelerator's cycles for payloads and headers is assumed to be the same as in
    /// software.
    pub fn accelerator_cycles(&self, design: Design) -> f64 {
        match design {
            Design::None => 0.0,
            Design::PayloadOnly => {
                let both = 1.0 - self.dispatch_share;
                let part = if both > 0.0 {
                    self.payload_share / both
                } else {
                    0.0
                };
                part * self.accelerator_cycles
            }
            _ => self.accelerator_cycles,
        }
    }

    /// The cycles of the RPC layer per request: software on the core, hand-overs and accelerator.
    pub fn total_cycles(&self, design: Design) -> f64 {
        self.software_cycles(design) + self.offload_cycles(design) + self.accelerator_cycles(design)
    }

    /// The ratio of the RPC layer's cycles under `design` to those under [`Design::Full`].
    pub fn over_full(&self, design: Design) -> f64 {
        self.total_cycles(design) / self.total_cycles(Design::Full)
    }

    /// The speedup of the RPC layer over [`Design::None`]: its cycles in software divided by its
    /// cycles under `design`.
    pub fn speedup(&self, design: Design) -> f64 {
        self.total_cycles(Design::None) / self.total_cycles(design)
    }
}
