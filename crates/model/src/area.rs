//! The area of a processor with an ensemble of accelerators, at 7 nm (AccelFlow, section VI).
//!
//! The paper's numbers are inputs; everything else is how they scale with the number of cores,
//! processing elements, queue entries, instances and A-DMA engines. At the paper's sizes the model
//! gives back every printed figure; away from them the scaling is linear in the stated quantity,
//! which [`INPUTS`] and [`Part::scaling`] say for each part.
//!
//! ```
//! use accelflow_model::area::Area;
//!
//! let area = Area::new(Area::inputs()).expect("the defaults are in range");
//! assert_eq!(format!("{:.1}", area.accelerators_mm2()), "44.9");
//! assert_eq!(format!("{:.1}", 100.0 * area.accelerators_share()), "26.1");
//! ```

use crate::ModelError;
use crate::input::{Input, Inputs, Provenance};
use crate::own;

/// The accelerators in the order of section VI, with the names of the area inputs.
pub const ACCELERATORS: [(&str, &str); 9] = [
    ("Ser", "Ser_mm2"),
    ("Dser", "Dser_mm2"),
    ("Cmp", "Cmp_mm2"),
    ("Dcmp", "Dcmp_mm2"),
    ("TCP", "TCP_mm2"),
    ("Encr", "Encr_mm2"),
    ("Decr", "Decr_mm2"),
    ("RPC", "RPC_mm2"),
    ("LdB", "LdB_mm2"),
];

/// Processing elements of an accelerator for which the paper prints areas.
const PRINTED_PES: f64 = 8.0;
/// Input and output entries of one accelerator in Table III.
const PRINTED_ENTRIES: f64 = 128.0;
/// Cores, and LLC slices, of Table III.
const PRINTED_CORES: f64 = 36.0;
/// A-DMA engines of Table III.
const PRINTED_ENGINES: f64 = 10.0;
/// Bytes of a queue entry in section VI: 2.1 KB.
const PRINTED_ENTRY_BYTES: f64 = 2_100.0;

const fn mm2(
    name: &'static str,
    value: f64,
    provenance: Provenance,
    source: &'static str,
) -> Input {
    Input {
        name,
        value,
        min: 0.0,
        max: 10_000.0,
        whole: false,
        provenance,
        source,
    }
}

const fn count(name: &'static str, value: f64, min: f64, max: f64, source: &'static str) -> Input {
    Input {
        name,
        value,
        min,
        max,
        whole: true,
        provenance: Provenance::Paper,
        source,
    }
}

const SIMILAR_TO_CMP: &str = "AccelFlow, section VI: estimated similar to Cmp";
const SIMILAR_TO_DSER: &str = "AccelFlow, section VI: estimated similar to Dser";

/// Every input of the model: those of the processor, and for each accelerator its own sizes, such as
/// `pes.TCP`, which are 0 where it has those of all.
pub const INPUTS: &[Input] = &own::with_own::<{ COMMON.len() + own::INPUTS }>(COMMON);

const COMMON: &[Input] = &[
    mm2(
        "cores_mm2",
        83.1,
        Provenance::Paper,
        "AccelFlow, section VI: 36 cores and private caches",
    ),
    mm2(
        "llc_mm2",
        38.2,
        Provenance::Paper,
        "AccelFlow, section VI: 36 slices of 2 MB",
    ),
    mm2(
        "core_network_mm2",
        1.0,
        Provenance::Paper,
        "AccelFlow, section VI",
    ),
    mm2(
        "Ser_mm2",
        0.6,
        Provenance::Paper,
        "AccelFlow, section VI, from ProtoAcc's data",
    ),
    mm2(
        "Dser_mm2",
        0.9,
        Provenance::Paper,
        "AccelFlow, section VI, from ProtoAcc's data",
    ),
    mm2(
        "Cmp_mm2",
        9.1,
        Provenance::Paper,
        "AccelFlow, section VI, from CDPU's data",
    ),
    mm2(
        "Dcmp_mm2",
        5.2,
        Provenance::Paper,
        "AccelFlow, section VI, from CDPU's data",
    ),
    mm2("TCP_mm2", 9.1, Provenance::Paper, SIMILAR_TO_CMP),
    mm2("Encr_mm2", 9.1, Provenance::Paper, SIMILAR_TO_CMP),
    mm2("Decr_mm2", 9.1, Provenance::Paper, SIMILAR_TO_CMP),
    mm2("RPC_mm2", 0.9, Provenance::Paper, SIMILAR_TO_DSER),
    mm2("LdB_mm2", 0.9, Provenance::Paper, SIMILAR_TO_DSER),
    mm2(
        "queues_and_dispatchers_mm2",
        3.4,
        Provenance::Paper,
        "AccelFlow, section VI: nine accelerators",
    ),
    mm2(
        "dispatcher_mm2",
        0.1125,
        Provenance::Derived,
        "section VI: \"the same area as Dser\"; 18 times 0.9 mm2 exceeds the printed 3.4 mm2, so Dser of one processing element: 0.9 / 8",
    ),
    mm2(
        "adma_engines_mm2",
        1.3,
        Provenance::Paper,
        "AccelFlow, section VI: 10 engines",
    ),
    mm2(
        "accelerator_network_mm2",
        0.4,
        Provenance::Paper,
        "AccelFlow, section VI",
    ),
    count("cores", PRINTED_CORES, 1.0, 1024.0, "AccelFlow, Table III"),
    count("pes", PRINTED_PES, 1.0, 256.0, "AccelFlow, Table III"),
    count(
        "instances",
        1.0,
        1.0,
        64.0,
        "AccelFlow, Table III: one of each accelerator",
    ),
    count("input_entries", 64.0, 1.0, 65_536.0, "AccelFlow, Table III"),
    count(
        "output_entries",
        64.0,
        1.0,
        65_536.0,
        "AccelFlow, Table III",
    ),
    count(
        "entry_bytes",
        PRINTED_ENTRY_BYTES,
        1.0,
        1e6,
        "AccelFlow, section VI: 2.1 KB",
    ),
    count(
        "adma_engines",
        PRINTED_ENGINES,
        1.0,
        1024.0,
        "AccelFlow, Table III",
    ),
];

/// What a part is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// The processor without accelerators.
    Baseline,
    /// The accelerators with their scratchpads.
    Accelerators,
    /// What AccelFlow adds: queues, dispatchers, A-DMA engines and the accelerators' network.
    Orchestration,
}

impl Group {
    /// The name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Group::Baseline => "baseline",
            Group::Accelerators => "accelerators",
            Group::Orchestration => "orchestration",
        }
    }
}

/// A part of the processor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// Its name.
    pub name: &'static str,
    /// What it is for.
    pub group: Group,
    /// Its area.
    pub mm2: f64,
    /// What the area is proportional to, and whether that is derived or assumed.
    pub scaling: &'static str,
}

/// The areas of one processor.
#[derive(Clone, Debug, PartialEq)]
pub struct Area {
    parts: Vec<Part>,
    inputs: Inputs,
}

impl Area {
    /// The inputs with the paper's values.
    pub fn inputs() -> Inputs {
        Inputs::new(INPUTS)
    }

    /// The areas that follow from `inputs`.
    ///
    /// # Errors
    /// [`ModelError`] when 18 dispatchers are larger than the queues and dispatchers together.
    pub fn new(inputs: Inputs) -> Result<Area, ModelError> {
        let get = |name: &str| inputs.get(name);
        let printed_dispatchers = 2.0 * ACCELERATORS.len() as f64 * get("dispatcher_mm2");
        let printed_queues = get("queues_and_dispatchers_mm2") - printed_dispatchers;
        if printed_queues < 0.0 {
            let allowed = format!(
                "18 dispatchers take {printed_dispatchers} mm2, more than queues_and_dispatchers_mm2"
            );
            return Err(ModelError::new(
                "dispatcher_mm2",
                get("dispatcher_mm2"),
                allowed,
            ));
        }
        let mut parts = baseline(&inputs);
        parts.extend(accelerators(&inputs));
        parts.extend(orchestration(&inputs, printed_queues, printed_dispatchers));
        Ok(Area { parts, inputs })
    }

    /// Every part, baseline first.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The area of a group, in mm2.
    pub fn group_mm2(&self, group: Group) -> f64 {
        let of_group = self.parts.iter().filter(|part| part.group == group);
        of_group.map(|part| part.mm2).sum()
    }

    /// The area of the processor, in mm2.
    pub fn total_mm2(&self) -> f64 {
        self.parts.iter().map(|part| part.mm2).sum()
    }

    /// The area of the accelerators, in mm2.
    pub fn accelerators_mm2(&self) -> f64 {
        self.group_mm2(Group::Accelerators)
    }

    /// The accelerators' share of the processor.
    pub fn accelerators_share(&self) -> f64 {
        self.accelerators_mm2() / self.total_mm2()
    }

    /// The share of what AccelFlow adds. The paper's 2.9 % is the difference of its rounded 29.0
    /// and 26.1 %; the quotient itself is 2.96 %.
    pub fn orchestration_share(&self) -> f64 {
        self.group_mm2(Group::Orchestration) / self.total_mm2()
    }

    /// The area of the part called `name`, in mm2.
    pub fn part_mm2(&self, name: &str) -> Option<f64> {
        self.parts
            .iter()
            .find(|part| part.name == name)
            .map(|part| part.mm2)
    }

    /// The bytes of all input and output queues: the memory that AccelFlow adds to a server
    /// (section VII.B.5).
    pub fn queue_bytes(&self) -> f64 {
        self.entries() * self.get("entry_bytes")
    }

    /// The inputs in use, without those that leave an accelerator with the number for all.
    pub fn rows(&self) -> impl Iterator<Item = (&'static Input, f64)> + '_ {
        self.inputs.rows().filter(|row| !own::says_nothing(row))
    }

    /// Instances of all accelerators together.
    pub fn instances(&self) -> f64 {
        instances(&self.inputs)
    }

    /// Processing elements of all instances of each accelerator, in the order of [`ACCELERATORS`].
    pub fn elements(&self) -> [f64; ACCELERATORS.len()] {
        ACCELERATORS.map(|(name, _)| elements(&self.inputs, name))
    }

    /// Entries of all input and output queues.
    fn entries(&self) -> f64 {
        entries(&self.inputs)
    }

    pub(crate) fn get(&self, name: &str) -> f64 {
        self.inputs.get(name)
    }
}

fn part(name: &'static str, group: Group, mm2: f64, scaling: &'static str) -> Part {
    Part {
        name,
        group,
        mm2,
        scaling,
    }
}

fn baseline(inputs: &Inputs) -> Vec<Part> {
    let cores = inputs.get("cores") / PRINTED_CORES;
    [
        ("cores", "cores_mm2", "cores (derived)"),
        ("LLC", "llc_mm2", "slices, one a core (derived)"),
        (
            "core network",
            "core_network_mm2",
            "routers, one a core (assumed)",
        ),
    ]
    .map(|(name, input, scaling)| part(name, Group::Baseline, inputs.get(input) * cores, scaling))
    .to_vec()
}

fn accelerators(inputs: &Inputs) -> Vec<Part> {
    let scaling = "PEs with scratchpads, instances (assumed: nothing is shared)";
    ACCELERATORS
        .map(|(name, input)| {
            let mm2 = inputs.get(input) * (elements(inputs, name) / PRINTED_PES);
            part(name, Group::Accelerators, mm2, scaling)
        })
        .to_vec()
}

/// Processing elements of all instances of `accelerator`.
fn elements(inputs: &Inputs, accelerator: &str) -> f64 {
    let number = |what| own::number(inputs, what, accelerator);
    number("instances") * number("pes")
}

/// Instances of all accelerators together.
fn instances(inputs: &Inputs) -> f64 {
    let of = |(name, _): (&str, &str)| own::number(inputs, "instances", name);
    ACCELERATORS.into_iter().map(of).sum()
}

/// Input and output entries of all instances of all accelerators.
fn entries(inputs: &Inputs) -> f64 {
    let of = |(name, _): (&str, &str)| {
        let number = |what| own::number(inputs, what, name);
        number("instances") * (number("input_entries") + number("output_entries"))
    };
    ACCELERATORS.into_iter().map(of).sum()
}

/// `queues_mm2` and `dispatchers_mm2` are those of nine accelerators in the paper's size.
fn orchestration(inputs: &Inputs, queues_mm2: f64, dispatchers_mm2: f64) -> Vec<Part> {
    let get = |name: &str| inputs.get(name);
    let instances = instances(inputs) / ACCELERATORS.len() as f64;
    let entries = entries(inputs) / ACCELERATORS.len() as f64 / PRINTED_ENTRIES;
    let bytes = entries * get("entry_bytes") / PRINTED_ENTRY_BYTES;
    let engines = get("adma_engines") / PRINTED_ENGINES;
    let adma_mm2 = get("adma_engines_mm2") * engines;
    let network_mm2 = get("accelerator_network_mm2") * instances;
    let of = |name, mm2, scaling| part(name, Group::Orchestration, mm2, scaling);
    vec![
        of(
            "queues",
            queues_mm2 * bytes,
            "bytes of entries, instances (derived)",
        ),
        of(
            "dispatchers",
            dispatchers_mm2 * instances,
            "two an instance (derived)",
        ),
        of("A-DMA engines", adma_mm2, "engines (derived)"),
        of(
            "accelerator network",
            network_mm2,
            "routers, one an instance (assumed)",
        ),
    ]
}
