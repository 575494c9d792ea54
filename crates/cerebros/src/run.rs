//! The simulation of a service under a design of the RPC layer.

use accelflow_model::cerebros::Design;

use crate::Platform;
use crate::load::{Arrivals, Load, MOST_SECONDS};
use crate::outcome::SimulationResult;
use crate::server::Server;
use crate::services::Service;
use crate::steering::Steering;
use accelflow_parameters::{Refusal, number_text};

/// Simulates the requests of `load` to `service` on `platform`, with the RPC layer of `design`. The
/// NIC chooses a core for each request by the rule `steering`.
///
/// [`Steering::Affinity`] needs to know the function before the core is chosen, which only
/// [`Design::Full`] provides.
///
/// # Errors
/// [`Refusal`] for an invalid platform, service or load, for a load that takes longer than the
/// simulated clock can count, and for [`Steering::Affinity`] under a design other than
/// [`Design::Full`].
pub fn simulate(
    service: &Service,
    platform: &Platform,
    design: Design,
    steering: Steering,
    load: &Load,
) -> Result<SimulationResult, Refusal> {
    platform.check()?;
    service.check()?;
    load.check()?;
    if steering == Steering::Affinity && design != Design::Full {
        let allowed =
            "must be Full, the only design in which the function is known before a core is chosen";
        return Err(Refusal::new(
            "design for steering by affinity",
            design.name(),
            allowed,
        ));
    }
    check_time(service, platform, design, steering, load)?;
    let Arrivals::Share(share) = load.arrivals else {
        return Ok(Server::new(service, platform, design, steering, load)?.run());
    };
    let senders =
        4 * platform.workers().min(service.most_cores) * platform.core_threads.min(1e4) as usize;
    let requests = load.requests.clamp(20 * senders, 10_000.max(20 * senders));
    let full = Load {
        arrivals: Arrivals::Closed(senders),
        requests,
        warmup: 0,
        ..*load
    };
    // The capacity of the cores is measured without a limit on memory, and refused requests would
    // count as progress.
    let ample = Platform {
        buffer_bytes: 1e12,
        ..platform.clone()
    };
    let most = Server::new(service, &ample, design, steering, &full)?.run();
    let rate_rps = share * most.throughput_rps;
    load.check_span("load_ratio", share, rate_rps)?;
    let open = Load {
        arrivals: Arrivals::Rate(rate_rps),
        ..*load
    };
    Ok(Server::new(service, platform, design, steering, &open)?.run())
}

/// Refuses a load that takes longer than the clock can count if requests are served one after the
/// other. Two requests alone tell how long one takes.
fn check_time(
    service: &Service,
    platform: &Platform,
    design: Design,
    steering: Steering,
    load: &Load,
) -> Result<(), Refusal> {
    let two = Load::new(Arrivals::Closed(1), 2);
    let alone = Server::new(service, platform, design, steering, &two)?.run();
    let most = MOST_SECONDS * alone.throughput_rps;
    if load.requests as f64 <= most || alone.throughput_rps == 0.0 {
        return Ok(());
    }
    let allowed = format!(
        "must be at most {most:.0}, since a request alone takes {} s and a run can simulate at most \
         {MOST_SECONDS} s",
        number_text(1.0 / alone.throughput_rps)
    );
    Err(Refusal::new("requests", load.requests, allowed))
}
