//! Services against Table IV, and what a wrong service is told.

#![allow(clippy::unwrap_used)]

use accelflow_trace::{Accel, Image, Library, source, templates};
use accelflow_workload::services::{
    Chain, ChainFacts, Phase, PhaseWalk, Service, ServiceError, invocations,
};
use accelflow_workload::suites::{SOCIAL_NETWORK_NAMES, social_network};

fn image() -> Image {
    templates().unwrap().link().unwrap()
}

fn service(name: &str) -> Service {
    social_network()
        .unwrap()
        .into_iter()
        .find(|s| s.name() == name)
        .unwrap()
}

#[test]
fn table_4() {
    let printed = [
        ("CPost", "T1-CPU-4x(T9-T10)-CPU-3x(T9-T10)-CPU-T2", 87, 4),
        ("ReadH", "T1-CPU-T4-T5-CPU-T9-T10-CPU-T3", 28, 1),
        ("StoreP", "T1-CPU-T8-T7-CPU-T2", 18, 1),
        ("Follow", "T1-CPU-3x(T8-T7)-CPU-T2", 30, 3),
        ("Login", "T1-CPU-T4-T5-T6-T7-CPU-T2", 29, 1),
        ("CUrls", "T1-CPU-T8-T7-CPU-T3", 19, 1),
        ("UniqId", "T1-CPU-T2", 9, 1),
        ("RegUsr", "T1-CPU-T8-T7-CPU-T9-T10-CPU-T2", 25, 1),
    ];
    let services = social_network().unwrap();
    assert_eq!(services.len(), printed.len());
    for (service, (name, path, total, parallel)) in services.iter().zip(printed) {
        let counts = invocations(service, &image()).unwrap();
        assert_eq!(
            (service.name(), counts.path.as_str(), counts.total),
            (name, path, total)
        );
        assert_eq!(counts.by_accel.iter().sum::<u32>(), total);
        assert_eq!(service.max_parallel_chains(), parallel, "{name}");
        assert_eq!(service.cpu_phases(), path.matches("CPU").count(), "{name}");
    }
    assert!(services.iter().map(Service::name).eq(SOCIAL_NETWORK_NAMES));
}

#[test]
fn operations_of_the_eight_services_by_kind() {
    let services = social_network().unwrap();
    let counts: Vec<_> = services
        .iter()
        .map(|s| invocations(s, &image()).unwrap())
        .collect();
    let sum = |accels: &[Accel]| -> u32 {
        counts
            .iter()
            .map(|c| accels.iter().map(|&a| c.of(a)).sum::<u32>())
            .sum()
    };
    assert_eq!(sum(&[Accel::Tcp]), 54);
    assert_eq!(sum(&[Accel::Encr, Accel::Decr]), 54);
    assert_eq!(sum(&[Accel::Rpc]), 34);
    assert_eq!(sum(&[Accel::Ser, Accel::Dser]), 54);
    assert_eq!(sum(&[Accel::Cmp, Accel::Dcmp]), 23);
    assert_eq!(sum(&[Accel::Ldb]), 26);
    // Section VII.B.3: services use 2 to 16 traces.
    let traces: Vec<_> = counts.iter().map(|c| c.traces.len()).collect();
    assert_eq!(
        (traces.iter().min(), traces.iter().max()),
        (Some(&2), Some(&16))
    );
}

#[test]
fn login_notifies_a_core_beside_the_write_that_ends_in_t7() {
    let phases = service("Login").walk(&image()).unwrap();
    let PhaseWalk::Traces(chains) = &phases[2] else {
        panic!("a read")
    };
    assert_eq!(chains[0].traces, ["T4", "T5", "T6", "T7"]);
    let arms_of = |trace: &str| -> Vec<(Accel, usize)> {
        let calls = chains[0]
            .operations
            .iter()
            .filter(|call| call.trace == trace);
        calls.map(|call| (call.accel, call.arm)).collect()
    };
    let ldb_arm = arms_of("T6")
        .iter()
        .find(|call| call.0 == Accel::Ldb)
        .unwrap()
        .1;
    let write_arm = arms_of("T7")[0].1;
    assert_ne!(ldb_arm, write_arm);
    assert_eq!(arms_of("T6").last(), Some(&(Accel::Tcp, write_arm)));
}

#[test]
fn only_a_tcp_that_is_first_in_its_trace_receives() {
    for service in social_network().unwrap() {
        for walk in service
            .walk(&image())
            .unwrap()
            .iter()
            .flat_map(PhaseWalk::chains)
        {
            let mut last = "";
            for call in &walk.operations {
                let first = call.trace != last;
                assert_eq!(call.receives, first && call.accel == Accel::Tcp, "{call:?}");
                last = &call.trace;
            }
        }
    }
}

#[test]
fn resolved_facts_answer_as_the_chain_does() {
    use accelflow_trace::{Facts, Field};
    let image = image();
    let fields = image.predicates().fields();
    for service in social_network().unwrap() {
        for (place, chain) in service.chains() {
            let resolved = ChainFacts::resolve(chain, &place, &image).unwrap();
            assert_eq!(image.name(resolved.entry()), chain.entry());
            for name in image.names() {
                let Some(address) = image.entry(name) else {
                    continue;
                };
                for (index, field) in fields.iter().enumerate() {
                    let answer = resolved.of(address).get(Field { index, name: field });
                    assert_eq!(answer, chain.fact(name, field), "{place} {name} {field}");
                }
            }
        }
    }
}

#[test]
fn chains_of_different_kinds_are_printed_side_by_side() {
    let write = Chain::new("T8").with("T7", "exception", 0);
    let call = Chain::new("T11").with("T12", "compressed", 1);
    let first = Chain::new("T1").with("T1", "compressed", 0);
    let path = vec![
        Phase::one(first),
        Phase::Traces(vec![write.clone(), write, call]),
    ];
    let counts = invocations(&Service::new("X", "X", path).unwrap(), &image()).unwrap();
    assert_eq!(counts.path, "T1-2x(T8-T7)|1x(T11-T12)");
    assert_eq!(counts.total, 5 + 2 * 7 + 3 + 5);
}

#[test]
fn a_failed_write_reports_to_the_caller() {
    let first = Phase::one(Chain::new("T1").with("T1", "compressed", 0));
    let write = Phase::one(
        Chain::new("T8")
            .with("T7", "exception", 0)
            .with("T7", "exception", 1),
    );
    let failed = Service::new("X", "X", vec![first, write]).unwrap();
    let counts = invocations(&failed, &image()).unwrap();
    assert_eq!(counts.path, "T1-T8-T7-T7_error");
}

fn message(path: Vec<Phase>) -> String {
    let service = match Service::new("X", "Do", path) {
        Ok(service) => service,
        Err(error) => return error.to_string(),
    };
    service.walk(&image()).unwrap_err().to_string()
}

#[test]
fn errors_name_the_place() {
    let first = || Phase::one(Chain::new("T1").with("T1", "compressed", 0));
    let then = |chain: Chain| message(vec![first(), Phase::Cpu, Phase::one(chain)]);
    let beginning = "service X: the path must begin with exactly one chain of traces, which receives \
                     the request";
    assert_eq!(message(vec![]), beginning);
    assert_eq!(message(vec![Phase::Cpu]), beginning);
    assert_eq!(
        message(vec![first(), Phase::Traces(vec![])]),
        "service X, phase 1: chains = 0: must be from 1 to 64"
    );
    assert_eq!(
        message(vec![Phase::one(Chain::new("T2"))]),
        "service X, phase 0, chain 0: trace = 'T2': must be a trace that begins with TCP, since the client's request starts it"
    );
    assert_eq!(
        then(Chain::new("T1").with("T1", "compressed", 0)),
        "service X, phase 2, chain 0: trace = 'T1': must be a trace that does not begin with TCP, since a core starts it"
    );
    assert_eq!(
        then(Chain::new("T99")),
        "service X, phase 2, chain 0: trace = 'T99': must be in the trace memory"
    );
    assert_eq!(
        then(Chain::new("T2").with("T99", "hit", 1)),
        "service X, phase 2, chain 0: trace = 'T99': must be in the trace memory"
    );
    assert_eq!(
        then(Chain::new("T8").with("T7", "exeption", 1)),
        "service X, phase 2, chain 0: fact = 'T7.exeption': must be a payload value that a branch tests"
    );
    assert_eq!(
        then(Chain::new("T8")),
        "service X, phase 2, chain 0, trace T7: a branch tests field 'exception', which the \
         payload does not have"
    );
}

#[test]
fn another_trace_memory_gives_other_counts() {
    let mut library = Library::new();
    library
        .register("T1", source::seq(&["TCP", "Dser", "LdB"]).unwrap())
        .unwrap();
    library
        .register("T2", source::seq(&["Ser", "TCP"]).unwrap())
        .unwrap();
    let path = vec![
        Phase::one(Chain::new("T1")),
        Phase::Cpu,
        Phase::one(Chain::new("T2")),
    ];
    let service = Service::new("UniqId", "UniqId", path).unwrap();
    assert_eq!(
        invocations(&service, &library.link().unwrap())
            .unwrap()
            .total,
        5
    );
    let error = invocations(&self::service("UniqId"), &library.link().unwrap()).unwrap_err();
    assert!(
        matches!(error, ServiceError::UnknownField { .. }),
        "{error}"
    );
}
