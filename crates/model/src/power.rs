//! Maximum power, and the energy of a run (AccelFlow, section VII.B.5).
//!
//! The paper prints four numbers: 12.5 W for the accelerators, which is 3.1 % of the server's
//! maximum power, and 5.0 W for the orchestration, 1.2 %. The server's maximum power follows, and
//! so does the power of cores, caches and memory. The energy of a run is the sum of
//!
//! * the energy of the server without accelerators: its idle power for the whole window, plus a
//!   share of its maximum power in proportion to the busy cores (power is close to linear in
//!   utilisation: Fan, Weber and Barroso, ISCA 2007);
//! * the leakage of the accelerators' hardware for the whole window;
//! * the dynamic power of each processing element for as long as it is busy;
//! * an energy for each instruction of a dispatcher and for each byte moved. It is chosen so that a
//!   dispatcher, queue, A-DMA engine or network has its maximum power at its peak rate;
//! * under RELIEF, the power of the manager for the whole window.
//!
//! ```
//! use accelflow_model::area::{Area, AreaInputs};
//! use accelflow_model::power::{Power, PowerInputs};
//!
//! let area = Area::new(AreaInputs::default()).expect("the defaults are in range");
//! let power = Power::new(PowerInputs::default(), &area).expect("the defaults are in range");
//! assert_eq!(format!("{:.1}", power.server_max_w()), "403.2");
//! ```

use accelflow_parameters::{Parameter, Refusal};

use crate::area::{Area, Group};
use crate::inputs::{ACCELERATORS, AreaInputs};

pub use crate::inputs::PowerInputs;
pub use crate::tables::POWER as PARAMETERS;

/// The hardware for accelerators in a server. It depends on the orchestrator, the system that
/// passes work from accelerator to accelerator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hardware {
    /// Nothing: a server without accelerators.
    Baseline,
    /// Accelerators, A-DMA engines and the accelerators' network, orchestrated by cores.
    Accelerators,
    /// Accelerators, A-DMA engines and the accelerators' network, orchestrated by RELIEF's manager.
    Managed,
    /// Accelerators, A-DMA engines, the accelerators' network, and AccelFlow's queues and
    /// dispatchers.
    AccelFlow,
}

impl Hardware {
    /// Returns the hardware that the orchestrator `id` needs; `None` for an unknown orchestrator.
    /// `id` is the orchestrator's name in results, such as `relief`. The orchestrators between
    /// RELIEF and AccelFlow in Fig. 13, and the one called Ideal, have AccelFlow's hardware.
    pub fn of_system(id: &str) -> Option<Hardware> {
        match id {
            "non_acc" => Some(Hardware::Baseline),
            "cpu_centric" | "cohort" | "cohort_polling" => Some(Hardware::Accelerators),
            "relief" => Some(Hardware::Managed),
            "per_acc_type_q" | "direct" | "direct_list" | "cntr_flow" | "accelflow"
            | "accelflow_deadline" | "accelflow_edf" | "ideal" => Some(Hardware::AccelFlow),
            _ => None,
        }
    }
}

/// The activity of a server's hardware in a window of time, such as busy times and moved bytes: the
/// input of [`Power::energy`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Activity {
    /// The length of the window, in seconds.
    pub window_s: f64,
    /// The busy time of all cores together, in core-seconds.
    pub busy_core_s: f64,
    /// The busy time of all processing elements of each kind of accelerator, in seconds, in the
    /// order of [`ACCELERATORS`].
    pub busy_pe_s: [f64; ACCELERATORS.len()],
    /// The number of instructions that all dispatchers executed.
    pub dispatcher_instructions: f64,
    /// The number of bytes moved between queues, and between memory and accelerators.
    pub moved_bytes: f64,
}

/// The energy that a server consumed in a window of time, in joules; each field is a part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Energy {
    /// The energy in joules of the idle server without accelerators, for the whole window.
    pub idle_j: f64,
    /// The energy in joules that busy cores, with their caches and memory, add to `idle_j`.
    pub cores_j: f64,
    /// The energy in joules of leakage in accelerators and orchestration, for the whole window.
    pub leakage_j: f64,
    /// The dynamic energy in joules of the accelerators' busy processing elements.
    pub accelerators_j: f64,
    /// The dynamic energy in joules of the instructions that dispatchers execute.
    pub dispatchers_j: f64,
    /// The dynamic energy in joules of moving bytes by A-DMA engines, over the accelerators'
    /// network and through queues.
    pub transfers_j: f64,
    /// The energy in joules of RELIEF's manager, for the whole window; 0 under other orchestrators.
    pub manager_j: f64,
}

impl Energy {
    /// The energy of all consumers together, in joules.
    pub fn total_j(&self) -> f64 {
        self.idle_j
            + self.cores_j
            + self.leakage_j
            + self.accelerators_j
            + self.dispatchers_j
            + self.transfers_j
            + self.manager_j
    }
}

/// The maximum power of each part of one server.
#[derive(Clone, Debug, PartialEq)]
pub struct Power {
    inputs: PowerInputs,
    server_max_w: f64,
    cores: f64,
    cores_ratio: f64,
    watt_per_mm2: f64,
    accelerators_w: [f64; ACCELERATORS.len()],
    elements: [f64; ACCELERATORS.len()],
    dispatchers: f64,
    queues: f64,
    engines: f64,
    instances: f64,
    dispatcher_w: f64,
    queues_w: f64,
    adma_w: f64,
    network_w: f64,
}

impl Power {
    /// Calculates the maximum power of the parts of a server whose processor has the areas `area`.
    /// The power of a part is proportional to its area. The exception is a dispatcher, which has
    /// the power of a Dser accelerator with one processing element (section VII.B.5: "modeled as
    /// Dser engines").
    ///
    /// # Errors
    /// [`Refusal`] if
    ///
    /// * [`PARAMETERS`] does not allow an input;
    /// * accelerators and orchestration take all of the server's power or more;
    /// * the dispatchers take more than the orchestration's power.
    pub fn new(inputs: PowerInputs, area: &Area) -> Result<Power, Refusal> {
        let server_max_w = server_max_w(&inputs)?;
        let printed = Area::new(AreaInputs::default())?;
        let (accelerators_max_w, orchestration_max_w) =
            (inputs.accelerators_max_w, inputs.orchestration_max_w);
        let mm2 = |area: &Area, name: &str| area.part_mm2(name).unwrap_or(0.0);
        let watt_per_mm2 = accelerators_max_w / printed.accelerators_mm2();
        let printed_pe_w = watt_per_mm2 * mm2(&printed, "Dser") / printed.inputs().all.pes;
        let of_printed = 2.0 * ACCELERATORS.len() as f64 * printed_pe_w;
        let rest_w = orchestration_max_w - of_printed;
        if rest_w < 0.0 {
            let allowed = format!("must be at least {of_printed}, the watts of 18 dispatchers");
            return Err(orchestration_refused(&inputs, allowed));
        }
        let rest_mm2 = printed.group_mm2(Group::Orchestration) - mm2(&printed, "dispatchers");
        let rest = |name: &str| rest_w * mm2(area, name) / rest_mm2;
        let instances = area.instances();
        let queues = 2.0 * instances;
        Ok(Power {
            server_max_w,
            cores: area.inputs().cores,
            cores_ratio: area.inputs().cores / printed.inputs().cores,
            watt_per_mm2,
            accelerators_w: ACCELERATORS.map(|name| watt_per_mm2 * mm2(area, name)),
            elements: area.elements(),
            dispatchers: queues,
            queues,
            engines: area.inputs().adma_engines,
            instances,
            dispatcher_w: printed_pe_w,
            queues_w: rest("queues"),
            adma_w: rest("A-DMA engines"),
            network_w: rest("accelerator network"),
            inputs,
        })
    }

    /// The server's maximum power in watts: the accelerators' maximum power divided by
    /// [`PowerInputs::accelerators_server_share`] (in the paper 12.5 W and 3.1 %).
    pub fn server_max_w(&self) -> f64 {
        self.server_max_w
    }

    /// A second estimate of the server's maximum power in watts, to compare with
    /// [`Power::server_max_w`]: the orchestration's maximum power divided by
    /// [`PowerInputs::orchestration_server_share`] (in the paper 5.0 W and 1.2 %). Infinite if the
    /// share is 0.
    pub fn server_max_by_orchestration_w(&self) -> f64 {
        self.inputs.orchestration_max_w / self.inputs.orchestration_server_share
    }

    /// The lowest and the highest maximum power of the server, in watts, that the rounding of the
    /// inputs allows. Each power is rounded to 0.1 W and each share of the server's power to 0.1 %.
    /// The result is the overlap of two ranges, one from the accelerators and one from the
    /// orchestration. With the paper's inputs, these are 12.45 to 12.55 W divided by 3.05 to
    /// 3.15 %, and 4.95 to 5.05 W divided by 1.15 to 1.25 %. The highest power is infinite if both
    /// shares are at most 0.05 %. If the ranges do not overlap, the lowest exceeds the highest.
    pub fn server_max_range_w(&self) -> (f64, f64) {
        let range = |watt: f64, share: f64| {
            (
                (watt - 0.05) / (share + 0.0005),
                match share > 0.0005 {
                    true => (watt + 0.05) / (share - 0.0005),
                    false => f64::INFINITY,
                },
            )
        };
        let inputs = &self.inputs;
        let (a, b) = (
            range(inputs.accelerators_max_w, inputs.accelerators_server_share),
            range(
                inputs.orchestration_max_w,
                inputs.orchestration_server_share,
            ),
        );
        (a.0.max(b.0), a.1.min(b.1))
    }

    /// The maximum power of the server without accelerators and orchestration, in watts;
    /// proportional to the number of cores of its processor.
    pub fn baseline_max_w(&self) -> f64 {
        let added = self.inputs.accelerators_max_w + self.inputs.orchestration_max_w;
        (self.server_max_w - added) * self.cores_ratio
    }

    /// The maximum power of all instances of each kind of accelerator, in watts, in the order of
    /// [`ACCELERATORS`].
    pub fn accelerators_w(&self) -> [f64; ACCELERATORS.len()] {
        self.accelerators_w
    }

    /// The maximum power density of the paper's accelerators, in W per mm2.
    pub(crate) fn accelerators_w_per_mm2(&self) -> f64 {
        self.watt_per_mm2
    }

    /// [`PowerInputs::private_rpc_power_ratio`].
    pub(crate) fn private_rpc_power_ratio(&self) -> f64 {
        self.inputs.private_rpc_power_ratio
    }

    /// The name and the maximum power in watts of each part of the orchestration: queues,
    /// dispatchers, A-DMA engines and the accelerators' network.
    pub fn orchestration_w(&self) -> [(&'static str, f64); 4] {
        [
            ("queues", self.queues_w),
            ("dispatchers", self.dispatchers_w()),
            ("A-DMA engines", self.adma_w),
            ("accelerator network", self.network_w),
        ]
    }

    fn dispatchers_w(&self) -> f64 {
        self.dispatcher_w * self.dispatchers
    }

    fn dynamic(&self) -> f64 {
        1.0 - self.inputs.leakage_share
    }

    /// The dynamic energy of one instruction that a dispatcher executes, in joules. Dispatchers run
    /// a program of their own, of 18 instructions on average for each operation (AccelFlow, section
    /// VII.B.2); these are not the instructions of a trace.
    pub fn dispatcher_instruction_j(&self) -> f64 {
        self.dynamic() * self.dispatcher_w / (self.inputs.dispatcher_clock_ghz * 1e9)
    }

    /// The dynamic energy of moving one byte by an A-DMA engine over the accelerators' network, in
    /// joules.
    pub fn transfer_byte_j(&self) -> f64 {
        let rate = self.inputs.adma_gbyte_per_s * 1e9;
        // A link for each instance's router is busy at the network's maximum.
        self.dynamic() * (self.adma_w / self.engines + each(self.network_w, self.instances)) / rate
    }

    /// The dynamic energy of writing one byte to a queue and reading it again, in joules.
    pub fn queue_byte_j(&self) -> f64 {
        let rate = self.inputs.queue_gbyte_per_s * 1e9;
        2.0 * self.dynamic() * each(self.queues_w, self.queues) / rate
    }

    /// The leakage power of `hardware` in watts, which the hardware also consumes while idle.
    pub fn leakage_w(&self, hardware: Hardware) -> f64 {
        let accelerators: f64 = self.accelerators_w.iter().sum();
        let transport = self.adma_w + self.network_w;
        let maximum = match hardware {
            Hardware::Baseline => 0.0,
            Hardware::Accelerators | Hardware::Managed => accelerators + transport,
            Hardware::AccelFlow => accelerators + transport + self.queues_w + self.dispatchers_w(),
        };
        self.inputs.leakage_share * maximum
    }

    /// Calculates the energy that a server with `hardware` consumes for `activity`. Activity of
    /// parts that `hardware` does not include is ignored.
    ///
    /// # Errors
    /// [`Refusal`] for a window that is not above 0, for negative or infinite amounts, and for more
    /// busy time than the cores or processing elements have in the window.
    pub fn energy(&self, hardware: Hardware, activity: &Activity) -> Result<Energy, Refusal> {
        self.check(activity)?;
        let idle = self.inputs.server_idle_share;
        let baseline = self.baseline_max_w();
        let mut energy = Energy {
            idle_j: idle * baseline * activity.window_s,
            cores_j: (1.0 - idle) * baseline * activity.busy_core_s / self.cores,
            leakage_j: self.leakage_w(hardware) * activity.window_s,
            ..Energy::default()
        };
        if hardware == Hardware::Baseline {
            return Ok(energy);
        }
        let watts = self.accelerators_w.iter().zip(activity.busy_pe_s);
        let of_pes: f64 = watts
            .zip(self.elements)
            .map(|((watt, busy_s), elements)| each(*watt, elements) * busy_s)
            .sum();
        energy.accelerators_j = self.dynamic() * of_pes;
        energy.transfers_j = self.transfer_byte_j() * activity.moved_bytes;
        if hardware == Hardware::AccelFlow {
            energy.transfers_j += self.queue_byte_j() * activity.moved_bytes;
            energy.dispatchers_j =
                self.dispatcher_instruction_j() * activity.dispatcher_instructions;
        }
        if hardware == Hardware::Managed {
            energy.manager_j = self.inputs.manager_w * activity.window_s;
        }
        Ok(energy)
    }

    fn check(&self, activity: &Activity) -> Result<(), Refusal> {
        let window = activity.window_s;
        if !(window > 0.0 && window.is_finite()) {
            return Err(Refusal::new("window_s", window, "must be a number above 0"));
        }
        let most = |servers: f64| servers * window;
        let mut amounts = vec![
            ("busy_core_s", activity.busy_core_s, most(self.cores)),
            (
                "dispatcher_instructions",
                activity.dispatcher_instructions,
                f64::MAX,
            ),
            ("moved_bytes", activity.moved_bytes, f64::MAX),
        ];
        amounts.extend(
            ACCELERATORS
                .iter()
                .zip(activity.busy_pe_s)
                .zip(self.elements)
                .map(|((name, busy), elements)| (*name, busy, most(elements))),
        );
        for (place, value, limit) in amounts {
            // Busy time may exceed the total by rounding errors, which are not the caller's
            // mistake. Infinite counts are refused although the product for them overflows.
            if !(value.is_finite() && (0.0..=limit * ROUNDING).contains(&value)) {
                let allowed = match limit < f64::MAX {
                    true => format!(
                        "must be from 0 to {limit} s, which is window_s times the number of units"
                    ),
                    false => "must be a number, 0 or more".to_owned(),
                };
                return Err(Refusal::new(place, value, allowed));
            }
        }
        Ok(())
    }

    /// The inputs of the power model: each with its description and its value.
    pub fn rows(&self) -> impl Iterator<Item = (&'static Parameter, f64)> + '_ {
        let rows = PARAMETERS.rows();
        rows.map(|row| (&row.parameter, (row.get)(&self.inputs)))
    }
}

/// The factor by which a sum of busy times may exceed the total.
const ROUNDING: f64 = 1.0 + 1e-9;

/// The power of each of `parts` that take `watt` together; 0 if there are none.
fn each(watt: f64, parts: f64) -> f64 {
    if parts == 0.0 { 0.0 } else { watt / parts }
}

/// The server's maximum power, from the accelerators' and their share.
fn server_max_w(inputs: &PowerInputs) -> Result<f64, Refusal> {
    PARAMETERS.check(inputs)?;
    let accelerators_max_w = inputs.accelerators_max_w;
    let server_max_w = accelerators_max_w / inputs.accelerators_server_share;
    if accelerators_max_w + inputs.orchestration_max_w >= server_max_w {
        let allowed = format!(
            "must be smaller, or accelerators_server_share too: this and the accelerators' \
             {accelerators_max_w} W must stay below the server's {server_max_w} W"
        );
        return Err(orchestration_refused(inputs, allowed));
    }
    Ok(server_max_w)
}

fn orchestration_refused(inputs: &PowerInputs, allowed: String) -> Refusal {
    Refusal::number("orchestration_max_w", inputs.orchestration_max_w, allowed)
}
