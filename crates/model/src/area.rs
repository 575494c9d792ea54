//! The area of a processor with an ensemble of accelerators, at 7 nm (AccelFlow, section VI).
//!
//! The areas in the paper are inputs. The model scales them with the number of cores, processing
//! elements, queue entries, instances and A-DMA engines. At the paper's sizes the model reproduces
//! every printed area. At other sizes, the area of a part is proportional to the quantity that
//! [`Part::scaling`] states.
//!
//! ```
//! use accelflow_model::area::{Area, AreaInputs};
//!
//! let area = Area::new(AreaInputs::default()).expect("the defaults are in range");
//! assert_eq!(format!("{:.1}", area.accelerators_mm2()), "44.9");
//! assert_eq!(format!("{:.1}", 100.0 * area.accelerators_share()), "26.1");
//! ```

use accelflow_parameters::{Parameter, Refusal};

pub use crate::inputs::{ACCELERATORS, AreaInputs, Sizes};
pub use crate::tables::AREA as PARAMETERS;

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

/// A group of parts of the processor: the baseline, the accelerators or the orchestration. The
/// AccelFlow paper reports areas in these groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// The processor without accelerators: cores, caches and their network.
    Baseline,
    /// The accelerators with their scratchpads.
    Accelerators,
    /// The additions of AccelFlow: queues, dispatchers, A-DMA engines and the accelerators'
    /// network.
    Orchestration,
}

impl Group {
    /// The group's name in results, such as `baseline`.
    pub const fn name(self) -> &'static str {
        match self {
            Group::Baseline => "baseline",
            Group::Accelerators => "accelerators",
            Group::Orchestration => "orchestration",
        }
    }
}

/// A part of the processor, with its area and the quantity that determines the area, such as the
/// number of cores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// The part's name, such as `cores`, `queues` or `Ser`.
    pub name: &'static str,
    /// The group that the part belongs to.
    pub group: Group,
    /// The area of the part in mm2.
    pub mm2: f64,
    /// A text that states the quantity that the area is proportional to, and whether this follows
    /// from numbers in the paper (derived) or not (assumed).
    pub scaling: &'static str,
}

/// The areas of all parts of one processor with accelerators, in mm2.
#[derive(Clone, Debug, PartialEq)]
pub struct Area {
    parts: Vec<Part>,
    inputs: AreaInputs,
}

impl Area {
    /// Calculates the areas of the parts of the processor that `inputs` describes. The ranges of
    /// single inputs are not checked here; [`AreaInputs::set`] checks them.
    ///
    /// # Errors
    /// [`Refusal`] if `dispatcher_mm2` is too large: 18 dispatchers, two for each of the paper's
    /// nine accelerators, would take more area than `queues_and_dispatchers_mm2`.
    pub fn new(inputs: AreaInputs) -> Result<Area, Refusal> {
        let printed_dispatchers = 2.0 * ACCELERATORS.len() as f64 * inputs.dispatcher_mm2;
        let printed_queues = inputs.queues_and_dispatchers_mm2 - printed_dispatchers;
        if printed_queues < 0.0 {
            let allowed = format!(
                "must be smaller: 18 dispatchers take {printed_dispatchers} mm2, more than \
                 queues_and_dispatchers_mm2"
            );
            return Err(Refusal::new(
                "dispatcher_mm2",
                inputs.dispatcher_mm2,
                allowed,
            ));
        }
        let mut parts = baseline(&inputs);
        parts.extend(accelerators(&inputs));
        parts.extend(orchestration(&inputs, printed_queues, printed_dispatchers));
        Ok(Area { parts, inputs })
    }

    /// All parts of the processor; the parts of [`Group::Baseline`] come first.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The total area of the parts of `group`, in mm2.
    pub fn group_mm2(&self, group: Group) -> f64 {
        let of_group = self.parts.iter().filter(|part| part.group == group);
        of_group.map(|part| part.mm2).sum()
    }

    /// The area of the whole processor, in mm2.
    pub fn total_mm2(&self) -> f64 {
        self.parts.iter().map(|part| part.mm2).sum()
    }

    /// The area of all accelerators with their scratchpads, in mm2.
    pub fn accelerators_mm2(&self) -> f64 {
        self.group_mm2(Group::Accelerators)
    }

    /// The accelerators' share of the processor's area, from 0 to 1.
    pub fn accelerators_share(&self) -> f64 {
        self.accelerators_mm2() / self.total_mm2()
    }

    /// The share of the processor's area that AccelFlow's orchestration takes, from 0 to 1: 2.96 %
    /// at the paper's sizes. The paper prints 2.9 %, since it subtracts rounded shares: 29.0 % for
    /// accelerators with orchestration, minus 26.1 % for accelerators alone.
    pub fn orchestration_share(&self) -> f64 {
        self.group_mm2(Group::Orchestration) / self.total_mm2()
    }

    /// The area of the part called `name`, in mm2; `None` for an unknown name.
    pub fn part_mm2(&self, name: &str) -> Option<f64> {
        self.parts
            .iter()
            .find(|part| part.name == name)
            .map(|part| part.mm2)
    }

    /// The bytes of all input and output queues together: the memory that AccelFlow adds to a
    /// server (section VII.B.5).
    pub fn queue_bytes(&self) -> f64 {
        entries(&self.inputs) * self.inputs.entry_bytes
    }

    /// The inputs of the area model: each with its description and its value. Sizes of a single
    /// kind of accelerator, such as `pes.TCP`, are left out if they are not set (-1).
    pub fn rows(&self) -> impl Iterator<Item = (&'static Parameter, f64)> + '_ {
        let rows = PARAMETERS.rows();
        let rows = rows.map(|row| (&row.parameter, (row.get)(&self.inputs)));
        rows.filter(|(parameter, value)| {
            *value != parameter.default || !parameter.key.contains('.')
        })
    }

    /// The inputs of the area model from which the areas were calculated.
    pub fn inputs(&self) -> &AreaInputs {
        &self.inputs
    }

    /// The number of accelerator instances on the processor, of all nine kinds together.
    pub fn instances(&self) -> f64 {
        instances(&self.inputs)
    }

    /// The number of processing elements of each kind of accelerator, over all its instances, in
    /// the order of [`ACCELERATORS`].
    pub fn elements(&self) -> [f64; ACCELERATORS.len()] {
        elements(&self.inputs)
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

fn baseline(inputs: &AreaInputs) -> Vec<Part> {
    let cores = inputs.cores / PRINTED_CORES;
    [
        ("cores", inputs.cores_mm2, "cores (derived)"),
        ("LLC", inputs.llc_mm2, "slices, one a core (derived)"),
        (
            "core network",
            inputs.core_network_mm2,
            "routers, one a core (assumed)",
        ),
    ]
    .map(|(name, mm2, scaling)| part(name, Group::Baseline, mm2 * cores, scaling))
    .to_vec()
}

fn accelerators(inputs: &AreaInputs) -> Vec<Part> {
    let scaling = "PEs with scratchpads, instances (assumed: nothing is shared)";
    let printed = ACCELERATORS.into_iter().zip(inputs.accelerators_mm2);
    printed
        .zip(elements(inputs))
        .map(|((name, mm2), elements)| {
            let mm2 = mm2 * (elements / PRINTED_PES);
            part(name, Group::Accelerators, mm2, scaling)
        })
        .collect()
}

/// Processing elements of all instances of each accelerator.
fn elements(inputs: &AreaInputs) -> [f64; ACCELERATORS.len()] {
    inputs.sizes().map(|sizes| sizes.instances * sizes.pes)
}

/// Instances of all accelerators together.
fn instances(inputs: &AreaInputs) -> f64 {
    let sizes = inputs.sizes();
    sizes.iter().map(|sizes| sizes.instances).sum()
}

/// Input and output entries of all instances of all accelerators.
fn entries(inputs: &AreaInputs) -> f64 {
    let entries = |sizes: &Sizes| sizes.instances * (sizes.input_entries + sizes.output_entries);
    inputs.sizes().iter().map(entries).sum()
}

/// The parts of the orchestration. `queues_mm2` and `dispatchers_mm2` are the areas for nine
/// accelerators of the paper's size.
fn orchestration(inputs: &AreaInputs, queues_mm2: f64, dispatchers_mm2: f64) -> Vec<Part> {
    let instances = instances(inputs) / ACCELERATORS.len() as f64;
    let entries = entries(inputs) / ACCELERATORS.len() as f64 / PRINTED_ENTRIES;
    let bytes = entries * inputs.entry_bytes / PRINTED_ENTRY_BYTES;
    let engines = inputs.adma_engines / PRINTED_ENGINES;
    let adma_mm2 = inputs.adma_engines_mm2 * engines;
    let network_mm2 = inputs.accelerator_network_mm2 * instances;
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
