#![allow(clippy::unwrap_used)]

use accelflow_trace::templates;
use accelflow_units::Time;
use accelflow_workload::arrivals::ArrivalProcess;
use accelflow_workload::profile::{PaperOptions, Profile};
use accelflow_workload::sizes::{PayloadSizes, SizePreset};
use accelflow_workload::suites::social_network;

use super::*;
use crate::config::Config;
use crate::orchestrators::AccelFlow;
use crate::plan::{PhasePlan, Plan};
use crate::server::run::{Load, Run};
use crate::server::state::{LegId, Path, Request, RequestId, Unit};

fn plan() -> Plan {
    let (image, services) = (
        templates().unwrap().link().unwrap(),
        social_network().unwrap(),
    );
    let profile = Profile::paper(&services, &image, &PaperOptions::default()).unwrap();
    let sizes = PayloadSizes::preset(SizePreset::SocialNetwork);
    Plan::new(&profile, &image, &sizes).unwrap()
}

fn request(service: u16, phase: u16, number: u64) -> Request {
    Request {
        service,
        number,
        arrived: Time::ZERO,
        caller: None,
        phase,
        outstanding: 0,
        remote: 0,
        core: 0,
        balanced: false,
        measured: true,
        responded: false,
        is_part: false,
        terminated: false,
        tenant: 0,
        priority: 0,
        due: Time::MAX,
        tcp: 0,
        path: Path::new(Time::ZERO),
        cpu: Time::ZERO,
        cold: Time::ZERO,
        overhead: Time::ZERO,
    }
}

/// A job at the beginning of a chain.
fn job(requests: &Requests<'_>, id: RequestId, index: u16, chain: &ChainPlan) -> Job {
    let unit = Unit {
        accel: Accel::Tcp,
        instance: 0,
        share: 0,
        station: 0,
    };
    let (cursor, payload) = requests.begin(id, index, chain);
    let request = requests.get(id);
    let attributes = requests.attributes(request);
    Job::new((id, request), attributes, cursor, unit, payload)
}

/// What reading determines.
fn read_state(job: &Job, reading: Reading) -> String {
    let Cursor {
        trace,
        word,
        mark,
        ordinal,
        ..
    } = job.cursor;
    let place = (trace, word, mark, ordinal);
    let (payload, next_step) = (job.payload, job.next_step);
    format!(
        "{place:?} {:?} {payload:?} {next_step:?} {reading:?}",
        (job.accel, job.operation)
    )
}

/// Reads a chain to the ends of all its executions, by legs and word by word. Returns the numbers
/// of legs and of readings.
fn read_both(requests: &Requests<'_>, job: Job) -> (usize, usize) {
    let mut words = job;
    words.cursor.leg = LegId::NONE;
    words.cursor.script = u32::MAX;
    let (mut left, mut legs, mut all) = (vec![(job, words)], 0, 0);
    while let Some((mut job, mut words)) = left.pop() {
        for _ in 0..100 {
            all += 1;
            legs += usize::from(requests.scripts.leg(job.cursor.leg).is_some());
            let (mut forked, mut other) = (Vec::new(), Vec::new());
            let by_legs = requests.read(&mut job, &mut forked).unwrap();
            let by_words = requests.read(&mut words, &mut other).unwrap();
            assert_eq!(read_state(&job, by_legs), read_state(&words, by_words));
            assert_eq!(forked.len(), other.len());
            left.extend(forked.iter().zip(&other).map(|(a, b)| (a.job, b.job)));
            if job.next_step.next == Next::End {
                break;
            }
        }
    }
    (legs, all)
}

#[test]
fn legs_are_read_like_words() {
    let fixed = plan();
    let odds = Config::default().facts.odds().unwrap();
    let drawn = fixed.clone().with_odds(&odds);
    let arrivals = ArrivalProcess::Trace(vec![Time::ZERO]);
    let config = Config::default();
    for (plan, least) in [(&fixed, 0.95), (&drawn, 0.6)] {
        let services = 0..plan.services.len();
        let loads: Vec<Load> = services
            .map(|service| Load::new(service, arrivals.clone(), 1, 0))
            .collect();
        let mut requests = Requests::new(&Run {
            config: &config,
            plan,
            orchestrator: &AccelFlow,
            loads: &loads,
            seed: 3,
        });
        let (mut legs, mut all) = (0, 0);
        for number in 0..200 {
            for (service, of) in plan.services.iter().enumerate() {
                for (phase, chains) in of.phases.iter().enumerate() {
                    let PhasePlan::Chains(chains) = chains else {
                        continue;
                    };
                    let id = requests.insert(request(service as u16, phase as u16, number));
                    for (index, chain) in chains.iter().enumerate() {
                        let job = job(&requests, id, index as u16, chain);
                        let read = read_both(&requests, job);
                        (legs, all) = (legs + read.0, all + read.1);
                    }
                    requests.remove(id);
                }
            }
        }
        let share = legs as f64 / all as f64;
        assert!(share > least, "{share} of all is compiled");
    }
}
