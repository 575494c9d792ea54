//! The eight services on real messages, against the paths that the workload states.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use accelflow_accel::messages::{SERVICES, request, response};
use accelflow_runtime::{PhaseRun, ServiceRunError, ServiceRunner, run_service};
use accelflow_workload::services::{Chain, Phase, PhaseWalk, Service, invocations};
use accelflow_workload::suites::social_network;

use crate::common::{executor, json};

/// Table IV.
const OPERATIONS: [usize; 8] = [87, 28, 18, 30, 29, 19, 9, 25];

#[test]
fn real_messages_visit_the_accelerators_of_the_path() {
    let mut executor = executor();
    for (service, expected) in social_network().unwrap().iter().zip(OPERATIONS) {
        let run = run_service(&mut executor, service, 1, 2).unwrap();
        let walk = service.walk(executor.image()).unwrap();
        assert_eq!(run.phases.len(), walk.len());
        let mut total = 0;
        for (phase, walk) in run.phases.iter().zip(&walk) {
            assert_eq!(matches!(phase, PhaseRun::Cpu), *walk == PhaseWalk::Cpu);
            assert_eq!(phase.chains().len(), walk.chains().len());
            for (chain, walk) in phase.chains().iter().zip(walk.chains()) {
                let visited = chain
                    .steps
                    .iter()
                    .map(|step| (step.trace.as_str(), step.accel, step.receives, step.arm));
                let stated = walk.operations.iter().map(|operation| {
                    (
                        operation.trace.as_str(),
                        operation.accel,
                        operation.receives,
                        operation.arm,
                    )
                });
                assert!(visited.eq(stated), "{}: {:?}", service.name(), chain.steps);
                total += chain.steps.len();
            }
        }
        assert_eq!(total, expected, "{}", service.name());
        assert_eq!(
            invocations(service, executor.image()).unwrap().total as usize,
            total
        );
    }
}

#[test]
fn clients_get_the_response_and_services_the_request() {
    let mut executor = executor();
    let mut runner = ServiceRunner::new().unwrap();
    for (service, messages) in social_network().unwrap().iter().zip(SERVICES) {
        for index in 0..4 {
            let run = runner.run(&mut executor, service, 9, index).unwrap();
            let expected = request(messages.method, 9, index).unwrap();
            assert_eq!(json(&run.request), expected);
            let received = run.phases[0].chains()[0].result().unwrap();
            assert_eq!(crate::common::data(&received.job), expected);
            let expected = response(messages.method, 9, index).unwrap();
            assert_eq!(json(&run.response.unwrap()), expected, "{}", service.name());
        }
    }
    assert_eq!(executor.counters().runs(), executor.counters().completed);
}

#[test]
fn invocations_are_deterministic() {
    for service in social_network().unwrap() {
        let once = || {
            let run = run_service(&mut executor(), &service, 4, 5).unwrap();
            let chains = run.phases.into_iter().flat_map(|phase| match phase {
                PhaseRun::Cpu => vec![],
                PhaseRun::Chains(chains) => chains,
            });
            let chains: Vec<_> = chains
                .map(|chain| (chain.visits, chain.steps, chain.sent))
                .collect();
            (run.response, chains)
        };
        assert_eq!(once(), once());
    }
}

fn path(chains: Vec<Chain>) -> Vec<Phase> {
    let mut path = vec![Phase::one(Chain::new("T1").with("T1", "compressed", 0))];
    path.extend(chains.into_iter().map(Phase::one));
    path
}

fn refusal(name: &str, chains: Vec<Chain>) -> ServiceRunError {
    let service = Service::new(name, "Anything", path(chains)).unwrap();
    run_service(&mut executor(), &service, 1, 1).unwrap_err()
}

#[test]
fn services_without_messages_are_refused() {
    let error = refusal("Nobody", vec![]);
    assert!(matches!(error, ServiceRunError::NoMessages { .. }));
    assert!(
        error
            .to_string()
            .contains("service Nobody: method = 'Anything': must be"),
        "{error}"
    );

    let error = refusal("UniqId", vec![Chain::new("T4")]);
    let expected = "service UniqId, phase 1, chain 0: Ser cannot process this message: the trace \
                    reads or writes storage, but the service has no built-in data";
    assert_eq!(error.to_string(), expected);
    let error = refusal("UniqId", vec![Chain::new("T9")]);
    assert!(
        matches!(error, ServiceRunError::NoMessage { .. }),
        "{error}"
    );
    let error = refusal("UniqId", vec![Chain::new("T11")]);
    assert!(error.to_string().ends_with("begins with T11"), "{error}");
}

#[test]
fn an_exception_on_the_way_reaches_the_client() {
    let write = Chain::new("T8").with("T7", "exception", 1);
    let service = Service::new("StoreP", "StorePost", path(vec![write])).unwrap();
    let run = run_service(&mut executor(), &service, 1, 1).unwrap();
    let error = json(&run.response.unwrap());
    assert!(
        error["message"].as_str().unwrap().ends_with("refused"),
        "{error}"
    );
}

#[test]
fn a_path_that_ends_with_a_request_has_no_response() {
    let run = |name: &str, ends: &[&str]| {
        let chains = ends.iter().map(|end| Chain::new(end)).collect();
        let service = Service::new(name, "Anything", path(chains)).unwrap();
        run_service(&mut executor(), &service, 1, 1).unwrap()
    };
    for (name, ends) in [
        ("StoreP", &["T8"][..]),
        ("CPost", &["T9"]),
        ("StoreP", &["T2", "T8"]),
        ("StoreP", &[]),
    ] {
        let run = run(name, ends);
        assert_eq!(run.response, None, "{name} {ends:?}");
        let sent: usize = run
            .phases
            .iter()
            .flat_map(PhaseRun::chains)
            .map(|o| o.sent.len())
            .sum();
        assert_eq!(sent, ends.len(), "{name} {ends:?}");
    }
    // The client decodes the replies in the order in which they were encrypted.
    for ends in [&["T2", "T2"][..], &["T2", "T8", "T2"]] {
        let expected = response("StorePost", 1, 1).unwrap();
        assert_eq!(json(&run("StoreP", ends).response.unwrap()), expected);
    }
}

#[test]
fn a_trace_that_fails_is_named_with_its_place() {
    use accelflow_trace::source;
    let mut library = accelflow_trace::templates().unwrap();
    library.remove("T2");
    // A reply that is decompressed before it was compressed.
    library
        .register(
            "T2",
            source::seq(&["Dcmp", "Ser", "RPC", "Encr", "TCP"]).unwrap(),
        )
        .unwrap();
    let mut executor = executor();
    executor.set_image(library.link().unwrap());
    let service = Service::new("UniqId", "X", path(vec![Chain::new("T2")])).unwrap();
    let error = run_service(&mut executor, &service, 1, 1).unwrap_err();
    let ServiceRunError::Trace { phase, failure, .. } = error else {
        panic!("{error}")
    };
    assert_eq!(
        (phase, failure.error.reason, failure.error.step),
        (1, "no_call", Some(1))
    );
    assert_eq!(executor.counters().failed_for("no_call"), 1);
}
