//! Cost profiles from the shares of time that the paper prints (AccelFlow, section III and Fig. 1).

use accelflow_parameters::Provenance;
use accelflow_trace::{Accel, Image};
use accelflow_units::Time;

use super::cost::{ASSUMED_SIZE_SHARES, Cost, size_share_parameters};
use super::number::{ProfileParameter, number};
use super::services::{Drawn, OperationProfile, PhaseProfile, Profile, ServiceProfile};
use super::waits::RemoteWaits;
use crate::services::{PhaseWalk, RecordedRequests, Service, ServiceError};

/// A kind of work among those into which the AccelFlow paper divides a service's time (section III,
/// Q1), such as TCP or application logic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShareKind {
    /// The TCP stack, for sending and receiving alike.
    Tcp,
    /// Encryption and decryption.
    Crypt,
    /// Processing of the headers of remote procedure calls.
    Rpc,
    /// Serialization and deserialization.
    Serialize,
    /// Compression and decompression.
    Compress,
    /// Load balancing.
    Ldb,
    /// Application logic, for which there is no accelerator.
    App,
}

impl ShareKind {
    /// The seven kinds of work, in the paper's order, application logic last.
    pub const ALL: [ShareKind; 7] = [
        ShareKind::Tcp,
        ShareKind::Crypt,
        ShareKind::Rpc,
        ShareKind::Serialize,
        ShareKind::Compress,
        ShareKind::Ldb,
        ShareKind::App,
    ];

    /// Returns the kind of work that accelerator `accel` does, such as `Crypt` for encryption and
    /// decryption; `None` for custom accelerators.
    pub const fn of(accel: Accel) -> Option<ShareKind> {
        Some(match accel {
            Accel::Tcp => ShareKind::Tcp,
            Accel::Encr | Accel::Decr => ShareKind::Crypt,
            Accel::Rpc => ShareKind::Rpc,
            Accel::Ser | Accel::Dser => ShareKind::Serialize,
            Accel::Cmp | Accel::Dcmp => ShareKind::Compress,
            Accel::Ldb => ShareKind::Ldb,
            _ => return None,
        })
    }

    /// Returns the AccelFlow paper's name for this kind of work, such as `(De)Encr`.
    pub const fn name(self) -> &'static str {
        match self {
            ShareKind::Tcp => "TCP",
            ShareKind::Crypt => "(De)Encr",
            ShareKind::Rpc => "RPC",
            ShareKind::Serialize => "(De)Ser",
            ShareKind::Compress => "(De)Cmp",
            ShareKind::Ldb => "LdB",
            ShareKind::App => "AppLogic",
        }
    }
}

/// The mean share of time, from 0 to 1, that one invocation of a SocialNetwork service spends on
/// each kind of work, in the order of [`ShareKind::ALL`].
///
/// Provenance: AccelFlow paper, section III, Q1. The printed shares add up to 99.9 %.
pub const PAPER_SHARES: [f64; 7] = [0.256, 0.146, 0.032, 0.224, 0.095, 0.039, 0.207];

/// The interpretation of the mean shares of time that the AccelFlow paper prints: means over the
/// services, or shares of the sum of all services' times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Averaging {
    /// The mean of the single services' shares, so that all services count equally. This is the
    /// mean of the normalised bars in Fig. 1. The paper says "on average, an invocation spends".
    Services,
    /// The share in the sum of all services' times, so that long services count more. Compared with
    /// the mean over services, each compression or decompression costs less (17.4 rather than 25.4
    /// us with TCP at 20 us). A CPU phase takes longer (48.5 rather than 41.7 us). The other costs
    /// hardly differ.
    Time,
}

/// The values that [`Profile::paper`] needs in addition to the shares of time in the AccelFlow
/// paper, such as the cost of a TCP operation.
#[derive(Clone, Debug, PartialEq)]
pub struct PaperOptions {
    /// The cost of a TCP operation on a core. All other costs but `kinds` scale with it.
    ///
    /// Provenance: assumed. The default of 20 us is within "tens of us", the only statement of the
    /// paper about the time of operations. A search for parameters that explain the paper's
    /// latencies found 7 us.
    pub tcp_cost: Time,
    /// The interpretation of the printed mean shares; by default, means over the services.
    pub averaging: Averaging,
    /// The share of each operation's cost that is proportional to the payload's size, indexed by
    /// [`Accel::index`]; by default [`ASSUMED_SIZE_SHARES`].
    pub size_shares: [f64; Accel::COUNT],
    /// The costs of custom accelerators, for which the paper has no share, indexed by
    /// [`Accel::custom_number`]; `None` for an unknown cost. Costs beyond the end of the list are
    /// unknown, too; by default the list is empty.
    pub kinds: Vec<Option<Cost>>,
    /// The times that remote sides take to answer; by default [`RemoteWaits::short`].
    pub waits: RemoteWaits,
}

impl Default for PaperOptions {
    fn default() -> PaperOptions {
        PaperOptions {
            tcp_cost: Time::from_us(20),
            averaging: Averaging::Services,
            size_shares: ASSUMED_SIZE_SHARES,
            kinds: Vec::new(),
            waits: RemoteWaits::short(),
        }
    }
}

/// The error of services or options for which costs cannot be derived from the shares of time in
/// the AccelFlow paper.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PaperProfileError {
    /// A service is invalid, or does not fit the trace memory.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// The cost of a TCP operation is zero or more than a second. Holds the cost.
    #[error("tcp_cost = {} ns: must be more than 0 and at most 1e9", .0.as_ns_f64())]
    TcpCost(Time),
    /// The share of an operation's cost that is proportional to the payload's size is not from 0 to
    /// 1.
    #[error("size_shares[{accel}] = {value}: must be from 0 to 1")]
    SizeShare {
        /// The accelerator whose cost has this share.
        accel: Accel,
        /// The share as given.
        value: f64,
    },
    /// A service uses a custom accelerator whose cost is not given.
    #[error(
        "cost of the custom accelerator {name} is left out: must be stated, since the paper prints \
         no share of time for it"
    )]
    Kind {
        /// The name of the custom accelerator.
        name: String,
    },
    /// No service does this kind of work, so the paper's share of time determines no cost. Holds
    /// the kind.
    #[error("operations of {} = 0: must be at least 1 in some service, since the paper prints a share of time for them", .0.name())]
    NoOperations(ShareKind),
}

impl Profile {
    /// Creates the costs of `services` from the mean shares of time that the AccelFlow paper
    /// prints: with these costs, the services spend on average the printed share of their time on
    /// each kind of work. `image` has the services' traces.
    ///
    /// Values that the paper does not print are assumed as simply as possible: all operations of a
    /// kind cost the same in all services (so compression costs as much as decompression), and
    /// every CPU phase (phase of application logic) takes the same time.
    ///
    /// # Errors
    /// [`PaperProfileError`] for services that `image` cannot run or that all lack a kind of
    /// operation, for options out of their range, and for a custom accelerator without a cost.
    pub fn paper(
        services: &[Service],
        image: &Image,
        options: &PaperOptions,
    ) -> Result<Profile, PaperProfileError> {
        Profile::paper_like(services, services, image, options)
    }

    /// Creates the costs of `services` from the costs of operations that [`Profile::paper`] derives
    /// for other services, `reference`. `image` has the traces of both.
    ///
    /// Use this for suites whose shares of time the AccelFlow paper does not print. The paper's
    /// statement "services from other suites are similar" (section III, Q1) is taken to mean that
    /// equal operations cost the same, so that the shares of a service follow from its operations.
    /// Operations that are only on less common paths of a service have these costs, too.
    ///
    /// # Errors
    /// [`PaperProfileError`] for services or reference services that `image` cannot run, for a kind
    /// of operation that all of `reference` lack, for options out of their range, and for a custom
    /// accelerator without a cost.
    pub fn paper_like(
        services: &[Service],
        reference: &[Service],
        image: &Image,
        options: &PaperOptions,
    ) -> Result<Profile, PaperProfileError> {
        check(options)?;
        let walk_all = |services: &[Service]| -> Result<Vec<Vec<PhaseWalk>>, ServiceError> {
            services.iter().map(|service| service.walk(image)).collect()
        };
        let walks = walk_all(services)?;
        let of_reference = walk_all(reference)?;
        let counts: Vec<[f64; 7]> = of_reference.iter().map(|phases| count(phases)).collect();
        for (index, kind) in ShareKind::ALL.into_iter().enumerate() {
            if counts.iter().all(|of| of[index] == 0.0) {
                return Err(PaperProfileError::NoOperations(kind));
            }
        }
        let relative = solve(&counts, options.averaging);
        let costs = relative.map(|cost| options.tcp_cost.scale(cost / relative[0]));
        let profiles = services.iter().zip(walks).map(|(service, phases)| {
            let phases = phases
                .into_iter()
                .map(|phase| priced(phase, image, &costs, options));
            Ok(ServiceProfile {
                service: service.clone(),
                phases: phases.collect::<Result<_, _>>()?,
                requests: RecordedRequests::default(),
                drawn: Drawn::default(),
                stated: Vec::new(),
            })
        });
        let profiles = profiles.collect::<Result<_, PaperProfileError>>()?;
        let waits = options.waits.clone();
        let mut profile = Profile::new(profiles, waits, parameters(&costs, options));
        for accel in image.accelerators() {
            let typical = &mut profile.typical[accel.index()];
            *typical = typical.or(cost_of(accel, &costs, options));
        }
        Ok(profile)
    }
}

/// Returns the share of core time, from 0 to 1, that the services of `profile` spend on each kind
/// of work, in the order of [`ShareKind::ALL`]. `averaging` states how the services are averaged.
/// The time of custom accelerators does not count.
pub fn shares(profile: &Profile, averaging: Averaging) -> [f64; 7] {
    let times = profile.services().iter().map(|service| {
        let mut of = [0.0; 7];
        for operation in service.operations() {
            if let Some(kind) = ShareKind::of(operation.operation.accel) {
                of[kind as usize] += operation.cost.mean().as_ns_f64();
            }
        }
        of[ShareKind::App as usize] = service.app_time().as_ns_f64();
        of
    });
    mean_shares(&times.collect::<Vec<_>>(), averaging)
}

fn check(options: &PaperOptions) -> Result<(), PaperProfileError> {
    if options.tcp_cost == Time::ZERO || options.tcp_cost > Time::from_us(1_000_000) {
        return Err(PaperProfileError::TcpCost(options.tcp_cost));
    }
    for accel in Accel::ALL {
        let value = options.size_shares[accel.index()];
        if !(0.0..=1.0).contains(&value) {
            return Err(PaperProfileError::SizeShare { accel, value });
        }
    }
    Ok(())
}

/// The number of operations of each kind, and of CPU phases, in the walks of a service.
fn count(phases: &[PhaseWalk]) -> [f64; 7] {
    let mut of = [0.0; 7];
    for phase in phases {
        if *phase == PhaseWalk::Cpu {
            of[ShareKind::App as usize] += 1.0;
        }
        for call in phase.chains().iter().flat_map(|chain| &chain.operations) {
            if let Some(kind) = ShareKind::of(call.accel) {
                of[kind as usize] += 1.0;
            }
        }
    }
    of
}

/// The number of corrections of the costs. Each round multiplies the distance from the printed
/// shares by less than 0.1 for the eight services; from the twelfth on, nothing but rounding is
/// left.
const ROUNDS: usize = 64;

/// The cost of one operation of each kind, up to a common factor, that gives the paper's shares:
/// iterative proportional fitting, exact after one round for shares of time.
fn solve(counts: &[[f64; 7]], averaging: Averaging) -> [f64; 7] {
    let printed: f64 = PAPER_SHARES.iter().sum();
    let mut costs = [1.0; 7];
    for _ in 0..ROUNDS {
        let times: Vec<[f64; 7]> = counts
            .iter()
            .map(|of| std::array::from_fn(|kind| of[kind] * costs[kind]))
            .collect();
        let now = mean_shares(&times, averaging);
        for kind in 0..7 {
            costs[kind] *= PAPER_SHARES[kind] / printed / now[kind];
        }
    }
    costs
}

fn mean_shares(times: &[[f64; 7]], averaging: Averaging) -> [f64; 7] {
    let total = |of: &[f64; 7]| of.iter().sum::<f64>();
    let weigh = |kind: usize| match averaging {
        Averaging::Services => {
            times.iter().map(|of| of[kind] / total(of)).sum::<f64>() / times.len() as f64
        }
        Averaging::Time => {
            times.iter().map(|of| of[kind]).sum::<f64>() / times.iter().map(total).sum::<f64>()
        }
    };
    std::array::from_fn(weigh)
}

fn priced(
    phase: PhaseWalk,
    image: &Image,
    costs: &[Time; 7],
    options: &PaperOptions,
) -> Result<PhaseProfile, PaperProfileError> {
    let PhaseWalk::Traces(chains) = phase else {
        return Ok(PhaseProfile::Cpu(costs[ShareKind::App as usize]));
    };
    let priced = chains.into_iter().map(|chain| {
        let operations = chain.operations.into_iter().map(|operation| {
            let accel = operation.accel;
            let missing = || PaperProfileError::Kind {
                name: image.accel_name(accel).to_owned(),
            };
            Ok(OperationProfile {
                cost: cost_of(accel, costs, options).ok_or_else(missing)?,
                operation,
                payload: None,
                spread: None,
            })
        });
        operations.collect::<Result<_, PaperProfileError>>()
    });
    Ok(PhaseProfile::Traces(priced.collect::<Result<_, _>>()?))
}

fn cost_of(accel: Accel, costs: &[Time; 7], options: &PaperOptions) -> Option<Cost> {
    match (ShareKind::of(accel), accel.custom_number()) {
        (Some(kind), _) => {
            let share = options.size_shares[accel.index()];
            Some(Cost::new(costs[kind as usize], share))
        }
        (None, number) => *options.kinds.get(number?)?,
    }
}

fn parameters(costs: &[Time; 7], options: &PaperOptions) -> Vec<ProfileParameter> {
    let mut list = vec![number(
        "tcp_cost_ns".to_owned(),
        options.tcp_cost.as_ns_f64(),
        Provenance::Assumed,
        "the scale of all costs; the paper says only \"tens of us\"",
    )];
    for (index, kind) in ShareKind::ALL.into_iter().enumerate() {
        list.push(number(
            format!("share.{}", kind.name()),
            PAPER_SHARES[index],
            Provenance::Paper,
            "AccelFlow, section III, Q1",
        ));
        if kind == ShareKind::Tcp {
            continue;
        }
        let source = match kind {
            ShareKind::App => {
                "time of each CPU phase: from the share and the number of phases, \
                               all phases assumed equal"
            }
            _ => "from the shares, the operation counts of Table IV and tcp_cost_ns",
        };
        list.push(number(
            format!("cost.{}_ns", kind.name()),
            costs[index].as_ns_f64(),
            Provenance::Derived,
            source,
        ));
    }
    list.extend(size_share_parameters(&options.size_shares));
    list
}
