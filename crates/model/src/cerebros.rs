//! The analytic model of the RPC layer by which Cerebros compares five designs (Pourhabibi,
//! Sutherland, Daglis and Falsafi, MICRO 2021, sections 5 and 6.1, Fig. 6).
//!
//! The RPC layer of one request is header tasks, payload tasks and dispatch. What stays on the core
//! costs what it did; what goes to an accelerator costs the accelerator's cycles and, for each task
//! that the core hands over, five traversals of the chip's network in sequence.
//!
//! ```
//! use accelflow_model::cerebros::{Design, RpcLayer};
//!
//! let layer = RpcLayer::default();
//! assert_eq!(layer.offload_cycles(Design::PayloadAndHeader), 1_600.0);
//! assert_eq!(format!("{:.1}", layer.speedup(Design::PayloadAndHeader)), "2.3");
//! ```

use crate::ModelError;

/// How much of the RPC layer leaves the core, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    /// Nothing.
    None,
    /// Payload manipulation, to the shared accelerator Optimus Prime.
    PayloadOnly,
    /// Payload and header manipulation, to the shared accelerator.
    PayloadAndHeader,
    /// The same with requests that carry their input, and a chip network of low diameter.
    Coalesced,
    /// Payload and header manipulation, to an accelerator of the core's own.
    Private,
    /// The entire layer, in a processor between NIC and cores: Cerebros.
    Full,
}

impl Design {
    /// All of them, from the most on the core to the least. `Coalesced` is in the text of section
    /// 6.1; the others are the bars of Fig. 6.
    pub const ALL: [Design; 6] = [
        Design::None,
        Design::PayloadOnly,
        Design::PayloadAndHeader,
        Design::Coalesced,
        Design::Private,
        Design::Full,
    ];

    /// The paper's name.
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
}

/// The RPC layer of one service, in cycles of a core for one request.
///
/// The default is the microservice UniqueId. Cycles of the layer and the share of dispatch are not
/// printed: they follow from two ratios that are, 50 for Full over None and 21.5 for Full over P+H,
/// and from the 90 cycles of the accelerator, which are all that Full leaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RpcLayer {
    /// The whole layer on a core. Default 4,500 = 50 x 90 (derived).
    pub cycles: f64,
    /// The share of payload manipulation. Default 0.60 (paper, Fig. 2b: about 60 %).
    pub payload_share: f64,
    /// The share of dispatch; headers are the rest. Default (21.5 x 90 - 1,600 - 90) / 4,500 =
    /// 0.0544 (derived; the paper says 5 %).
    pub dispatch_share: f64,
    /// Header tasks of a request, nested RPCs included. Default 4 (paper, section 6.1).
    pub header_tasks: u32,
    /// Payload tasks. Default 4 (paper, section 6.1).
    pub payload_tasks: u32,
    /// Cycles of the accelerator for all header and payload tasks. Default 90 (paper, section 6.1).
    pub accelerator_cycles: f64,
    /// Traversals of the chip's network, one after another, that one offload takes. Default 5
    /// (paper, section 5).
    pub traversals: u32,
    /// Cycles of one traversal. Default 40 (paper, section 5: measured by simulation).
    pub traversal_cycles: f64,
    /// Traversals where the invocation carries the data: the reads of metadata and data fall away.
    /// Default 3 (derived from the five steps of section 5).
    pub coalesced_traversals: u32,
    /// Cycles of one traversal of a network of low diameter. Default 200 / 3.36 / 3 = 19.84 (derived
    /// from the 3.36 of section 6.1).
    pub low_diameter_cycles: f64,
}

impl Default for RpcLayer {
    fn default() -> RpcLayer {
        RpcLayer {
            cycles: 50.0 * 90.0,
            payload_share: 0.60,
            dispatch_share: (21.5 * 90.0 - 1_600.0 - 90.0) / (50.0 * 90.0),
            header_tasks: 4,
            payload_tasks: 4,
            accelerator_cycles: 90.0,
            traversals: 5,
            traversal_cycles: 40.0,
            coalesced_traversals: 3,
            low_diameter_cycles: 200.0 / 3.36 / 3.0,
        }
    }
}

impl RpcLayer {
    /// # Errors
    /// [`ModelError`] for cycles that are not above 0 (traversals may take 0), and shares outside 0
    /// to 1 or with a sum above 1.
    pub fn check(&self) -> Result<(), ModelError> {
        for (place, value) in [
            ("rpc_cycles", self.cycles),
            ("accelerator_cycles", self.accelerator_cycles),
        ] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(ModelError::new(place, value, "must be a number above 0"));
            }
        }
        for (place, value) in [
            ("traversal_cycles", self.traversal_cycles),
            ("low_diameter_cycles", self.low_diameter_cycles),
        ] {
            if !(value >= 0.0 && value.is_finite()) {
                return Err(ModelError::new(
                    place,
                    value,
                    "must be a number from 0 upwards",
                ));
            }
        }
        for (place, value) in [
            ("payload_share_ratio", self.payload_share),
            ("dispatch_share_ratio", self.dispatch_share),
            (
                "payload_share_ratio + dispatch_share_ratio",
                self.payload_share + self.dispatch_share,
            ),
        ] {
            if !(0.0..=1.0).contains(&value) {
                return Err(ModelError::new(place, value, "must be from 0 to 1"));
            }
        }
        Ok(())
    }

    /// The share of header manipulation.
    pub fn header_share(&self) -> f64 {
        1.0 - self.payload_share - self.dispatch_share
    }

    /// What handing one task to the shared accelerator costs: 200 cycles by default.
    pub fn cycles_per_offload(&self) -> f64 {
        f64::from(self.traversals) * self.traversal_cycles
    }

    /// The same with coalesced requests and a network of low diameter: about 60.
    pub fn coalesced_cycles_per_offload(&self) -> f64 {
        f64::from(self.coalesced_traversals) * self.low_diameter_cycles
    }

    /// Cycles of the layer that stay on the core as software.
    pub fn software_cycles(&self, design: Design) -> f64 {
        let share = match design {
            Design::None => 1.0,
            Design::PayloadOnly => 1.0 - self.payload_share,
            Design::PayloadAndHeader | Design::Coalesced | Design::Private => self.dispatch_share,
            Design::Full => 0.0,
        };
        share * self.cycles
    }

    /// Cycles that the core spends on handing tasks over.
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

    /// Cycles of the accelerator. What only payloads take of them is taken to be in proportion to
    /// the software's cycles for payloads and headers.
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

    /// Cycles of the layer for one request.
    pub fn total_cycles(&self, design: Design) -> f64 {
        self.software_cycles(design) + self.offload_cycles(design) + self.accelerator_cycles(design)
    }

    /// How many times fewer cycles than [`Design::None`].
    pub fn speedup(&self, design: Design) -> f64 {
        self.total_cycles(Design::None) / self.total_cycles(design)
    }
}
