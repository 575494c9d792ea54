//! The resources of a server that work on requests or that requests wait for.

use accelflow_sim::UnitName;
use accelflow_trace::{Accel, Image};

use crate::setup::Setup;

/// A part of a simulated server that works on requests or that requests wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    /// A core and its run queue. Holds the index of the core.
    Core(usize),
    /// The input queue of an accelerator instance. Holds the name of the instance.
    Input(UnitName),
    /// The overflow area of an accelerator instance. Holds the name of the instance.
    Overflow(UnitName),
    /// The processing elements of an accelerator instance. Holds the name of the instance.
    Elements(UnitName),
    /// The output queue of an accelerator instance. Holds the name of the instance.
    Output(UnitName),
    /// The output dispatcher of an accelerator instance. Holds the name of the instance.
    Dispatcher(UnitName),
    /// The A-DMA engines, which move data between queues.
    Dma,
    /// Transfers without an A-DMA engine: notifications of cores, transfers through queues in
    /// memory, and moves of entries from an overflow area to its queue.
    Ways,
    /// A link of the on-chip network. Holds the index of the link.
    Link(usize),
    /// RELIEF's hardware manager, which starts every operation.
    Manager,
    /// The queue of RELIEF's manager for the operations of an accelerator. Holds the accelerator.
    Central(Accel),
    /// The overflow area of the queues of RELIEF's manager.
    CentralOverflow,
    /// The limits on a tenant's traffic, for which requests wait.
    Tenant,
    /// Remote sides that are not simulated: caches, databases, other servers and clients. Pauses
    /// before repeated attempts and messages count here, too.
    Remote,
    /// A simulated service whose answer requests await. Holds the index of the service, counted
    /// from 0 in the order in which results list services.
    Callee(usize),
}

/// The names and numbers from which [`Resource::name`] builds the name of a resource: the names of
/// the accelerators and services to which a [`Resource`] refers by an index, and the number of
/// instances of each accelerator type.
#[derive(Clone, Copy, Debug)]
pub struct ResourceNames<'n> {
    /// The trace memory, which has the names of custom accelerators.
    pub image: &'n Image,
    /// The names of the services, in the order of the results.
    pub services: &'n [String],
    /// The number of instances of each accelerator type, indexed by [`Accel::index`].
    pub instances: [usize; Accel::MOST],
}

impl<'n> ResourceNames<'n> {
    /// The names of the resources of the chip that `setup` is of.
    pub(crate) fn new(setup: &'n Setup<'_>, services: &'n [String]) -> ResourceNames<'n> {
        let hardware = &setup.server.accelerator;
        ResourceNames {
            image: &setup.plan.image,
            services,
            instances: Accel::EVERY.map(|accel| hardware.instances_of(accel)),
        }
    }
}

impl Resource {
    /// Returns the name of the resource in reports, such as `TCP input queue`. If there are several
    /// instances of an accelerator, they are numbered from 1, as in `TCP 2 input queue`. If tenants
    /// have shares of an instance, the shares are numbered too, as in `TCP share 2 input queue`;
    /// the first share has no number, since it also stands for the whole instance.
    pub fn name(self, names: ResourceNames<'_>) -> String {
        let image = names.image;
        let unit_name = |unit| unit_name(unit, names);
        match self {
            Resource::Core(core) => format!("core {core}"),
            Resource::Input(unit) => format!("{} input queue", unit_name(unit)),
            Resource::Overflow(unit) => format!("{} overflow area", unit_name(unit)),
            Resource::Elements(unit) => unit_name(unit),
            Resource::Output(unit) => format!("{} output queue", unit_name(unit)),
            Resource::Dispatcher(unit) => format!("{} dispatcher", unit_name(unit)),
            Resource::Dma => "A-DMA".to_owned(),
            Resource::Ways => "notification".to_owned(),
            Resource::Link(link) => format!("link {link}"),
            Resource::Manager => "manager".to_owned(),
            Resource::Central(accel) => format!("manager's queue for {}", image.accel_name(accel)),
            Resource::CentralOverflow => "manager's overflow area".to_owned(),
            Resource::Tenant => "tenant's limit".to_owned(),
            Resource::Remote => "remote".to_owned(),
            Resource::Callee(service) => match names.services.get(service) {
                Some(service) => format!("call to {service}"),
                None => format!("call to service {service}"),
            },
        }
    }

    /// The class of the resource: one for all cores, and one for all instances of an accelerator.
    pub(crate) fn class(self) -> Resource {
        let one = |unit: UnitName| UnitName {
            instance: 0,
            share: 0,
            ..unit
        };
        match self {
            Resource::Core(_) => Resource::Core(0),
            Resource::Input(unit) => Resource::Input(one(unit)),
            Resource::Overflow(unit) => Resource::Overflow(one(unit)),
            Resource::Elements(unit) => Resource::Elements(one(unit)),
            Resource::Output(unit) => Resource::Output(one(unit)),
            Resource::Dispatcher(unit) => Resource::Dispatcher(one(unit)),
            other => other,
        }
    }

    /// The name of a class. `names` must have one instance of each accelerator, since the class
    /// stands for all.
    pub(crate) fn class_name(self, names: ResourceNames<'_>) -> String {
        match self {
            Resource::Core(_) => "cores".to_owned(),
            other => other.name(names),
        }
    }

    /// The resource that has to become free for a wait here to end.
    pub(crate) fn occupied(self) -> Resource {
        let whole = |unit: UnitName| UnitName { share: 0, ..unit };
        match self {
            Resource::Input(unit) | Resource::Overflow(unit) => Resource::Elements(unit),
            Resource::Central(accel) => Resource::Elements(UnitName {
                accel,
                instance: 0,
                share: 0,
            }),
            Resource::Output(unit) => Resource::Dispatcher(whole(unit)),
            other => other,
        }
    }
}

fn unit_name(unit: UnitName, names: ResourceNames<'_>) -> String {
    let mut name = names.image.accel_name(unit.accel).to_owned();
    if names.instances[unit.accel.index()] > 1 {
        name += &format!(" {}", unit.instance + 1);
    }
    if unit.share > 0 {
        name += &format!(" share {}", unit.share + 1);
    }
    name
}
