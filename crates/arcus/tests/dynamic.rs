//! Flows that come and go while the platform runs; storage and two limits in the control plane.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use accelflow_arcus::control::{
    AdmissionRequest, Command, CommandOutcome, Manager, Rate, Runtime, STORAGE, ServiceClass,
};
use accelflow_arcus::parameters::{ipsec, synthetic};
use accelflow_arcus::{
    Action, Arrivals, Controller, Counters, Flow, Mechanism, Order, Path, Platform, PlatformError,
    RunResult, Settings, Sizes, StorageConfig, simulate_with,
};
use accelflow_shaping::{FlowConfig, Registers, Unit};
use accelflow_units::{Bytes, Time};

fn request(name: &str, gbit_per_s: f64) -> AdmissionRequest {
    let slo = Rate::GbitPerS(gbit_per_s);
    AdmissionRequest::new(name, "ipsec", Path::InlineRx, Bytes(1_500), slo)
}

fn settings() -> Settings {
    Settings::lasting(Time::from_us(4_000))
}

/// Runs the manager's flows and what the runtime is told, all with a backlog.
fn run(platform: &Platform, runtime: &mut Runtime) -> RunResult {
    let (flows, arcus) = runtime.manager().deploy(|_| Arrivals::Backlogged);
    simulate_with(platform, &flows, &arcus, &settings(), runtime).unwrap()
}

/// Four tenants that come, of which one goes and one is refused, and a release of nobody.
fn coming_and_going(platform: &Platform) -> Runtime {
    let mut manager = Manager::new(platform.clone());
    manager.register(request("first", 12.0)).unwrap();
    let register =
        |name, rate| Command::Register(Box::new(request(name, rate)), Arrivals::Backlogged);
    Runtime::new(manager)
        .at(Time::from_us(1_000), register("second", 10.0))
        .at(Time::from_us(1_500), register("third", 15.0))
        .at(Time::from_us(2_500), Command::Release("first".to_owned()))
        // By then what the first had queued, a millisecond's worth, is served.
        .at(Time::from_us(3_600), register("fourth", 15.0))
        .at(Time::from_us(3_600), Command::Release("nobody".to_owned()))
}

#[test]
fn commands_are_decided_in_order_and_only_what_fits_is_admitted() {
    let platform = Platform::prototype(vec![ipsec()]);
    let mut runtime = coming_and_going(&platform);
    run(&platform, &mut runtime);
    let decided: Vec<(u64, &str)> = runtime
        .decisions()
        .iter()
        .map(|decision| (decision.at.as_ps() / 1_000_000, decision.name.as_str()))
        .collect();
    let expected = [
        (1_000, "second"),
        (1_500, "third"),
        (2_500, "first"),
        (3_600, "fourth"),
        (3_600, "nobody"),
    ];
    assert_eq!(decided, expected);
    let outcomes: Vec<&CommandOutcome> = runtime
        .decisions()
        .iter()
        .map(|decision| &decision.outcome)
        .collect();
    let admitted = |outcome: &CommandOutcome| match outcome {
        CommandOutcome::Admitted(status) => status.request.name.clone(),
        _ => panic!("{outcome:?}"),
    };
    assert_eq!(admitted(outcomes[0]), "second");
    let CommandOutcome::Refused(PlatformError::NotAdmitted { asked, left, .. }) = outcomes[1]
    else {
        panic!("{outcomes:?}");
    };
    assert_eq!(*asked, 15.0);
    assert!((9.0..=10.1).contains(left), "32 - 22 Gbit/s: {left}");
    assert_eq!(outcomes[2], &CommandOutcome::Released(0));
    assert_eq!(admitted(outcomes[3]), "fourth");
    let unknown = PlatformError::UnknownFlow("nobody".to_owned());
    assert_eq!(outcomes[4], &CommandOutcome::Refused(unknown));
}

#[test]
fn a_flow_is_admitted_while_others_run_and_all_get_their_slos() {
    let platform = Platform::prototype(vec![ipsec()]);
    let mut runtime = coming_and_going(&platform);
    let result = run(&platform, &mut runtime);
    for (flow, slo) in [(0, 12.0), (1, 10.0), (2, 15.0)] {
        let got = result.gbit_per_s_present(flow).unwrap();
        assert!(
            (got / slo - 1.0).abs() < 0.015,
            "flow {flow}: {got} of {slo}"
        );
    }
    let first = &result.flows[0];
    assert_eq!(first.until, Some(Time::from_us(2_500)));
    let late = first.completions.last().unwrap().at;
    assert!(
        late < Time::from_us(3_600),
        "what it brought is served: {late:?}"
    );
    assert_eq!(first.arrived, first.before + first.completions.len() as u64);
    let names = runtime.manager().flows().iter();
    let names: Vec<&str> = names.map(|flow| flow.request.name.as_str()).collect();
    assert_eq!(names, ["second", "fourth"]);
    for it in runtime.manager().flows() {
        let measured = it.measured_gbit_per_s.unwrap();
        assert!(
            (measured / it.slo_gbit_per_s().unwrap() - 1.0).abs() < 0.05,
            "{it:?}"
        );
        assert_eq!(runtime.violations_of(&it.request.name), Some(0));
    }
    assert_eq!(runtime.violations_of("first"), None);
}

#[test]
fn an_opportunistic_flow_makes_room_for_who_comes_and_gets_it_back() {
    let platform = Platform::prototype(vec![ipsec()]);
    let mut manager = Manager::new(platform.clone());
    let scavenger = AdmissionRequest {
        class: ServiceClass::Opportunistic,
        ..request("scavenger", 30.0)
    };
    manager.register(scavenger).unwrap();
    let come = Command::Register(Box::new(request("tenant", 20.0)), Arrivals::Backlogged);
    let mut runtime = Runtime::new(manager)
        .at(Time::from_us(1_500), come)
        .at(Time::from_us(3_000), Command::Release("tenant".to_owned()));
    let result = run(&platform, &mut runtime);
    let got = |from, to| -> f64 {
        let (from, to) = (Time::from_us(from), Time::from_us(to));
        let done = result.flows[0].completions.iter();
        let bytes: u64 = done
            .filter(|completion| (from..to).contains(&completion.at))
            .map(|completion| completion.size.get())
            .sum();
        bytes as f64 * 8.0 / (to - from).as_ns_f64()
    };
    let tenant = result.gbit_per_s_present(1).unwrap();
    assert!((tenant / 20.0 - 1.0).abs() < 0.02, "{tenant}");
    let (before, beside, after) = (got(500, 1_500), got(1_800, 3_000), got(3_600, 4_400));
    assert!(before > 28.0, "{before}");
    assert!((8.0..=12.0).contains(&beside), "{beside}");
    assert!(after > 28.0, "{after}");
}

#[test]
fn without_the_runtime_the_same_flows_come_and_go() {
    let platform = Platform::prototype(vec![ipsec()]);
    let mut manager = Manager::new(platform.clone());
    manager.register(request("first", 12.0)).unwrap();
    let small = AdmissionRequest {
        sizes: Sizes::Fixed(Bytes(256)),
        ..request("second", 4.0)
    };
    let mut runtime = Runtime::new(manager)
        .at(
            Time::from_us(1_000),
            Command::Register(Box::new(small), Arrivals::Backlogged),
        )
        .at(Time::from_us(3_000), Command::Release("second".to_owned()));
    let (flows, _) = runtime.manager().deploy(|_| Arrivals::Backlogged);
    let shaped = run(&platform, &mut runtime);
    let mut timetable = runtime.timetable();
    let turns = Mechanism::NoShaping;
    let free = simulate_with(&platform, &flows, &turns, &settings(), &mut timetable).unwrap();
    for result in [&shaped, &free] {
        let it = &result.flows[1];
        assert_eq!(it.since, Time::from_us(1_000));
        assert_eq!(it.until, Some(Time::from_us(3_000)));
    }
    assert!((shaped.gbit_per_s_present(1).unwrap() / 4.0 - 1.0).abs() < 0.015);
    // Turns by message: 256 bytes for each 1500.
    let during = free.gbit_per_s_present(1).unwrap();
    assert!(during < 4.0, "{during}");
}

/// One change at a time.
pub(crate) struct Once(pub(crate) Option<Action>);

impl Controller for Once {
    fn tick(&mut self, _: Time, _: Time, _: &[Counters]) -> Vec<Action> {
        self.0.take().into_iter().collect()
    }
}

#[test]
fn a_flow_that_comes_late_is_owed_no_service_and_what_cannot_come_is_refused() {
    let platform = Platform::prototype(vec![synthetic("one")]);
    let flow = Flow::new(0, Path::InlineRx, Bytes(4_096), Arrivals::Backlogged);
    let come = |flow: &Flow, shaping| Once(Some(Action::Add(Box::new(flow.clone()), shaping)));
    let fair = Mechanism::Panic {
        order: Order::WeightedFair,
        buffer: 1 << 16,
    };
    let flows = [flow.clone()];
    let result = simulate_with(
        &platform,
        &flows,
        &fair,
        &settings(),
        &mut come(&flow, None),
    )
    .unwrap();
    let [first, second] = [0, 1].map(|flow| result.gbit_per_s_present(flow).unwrap());
    assert!((first / second - 1.0).abs() < 0.05, "{first} and {second}");

    let registers = Registers::new(4_096, 4_096, 800).unwrap();
    let arcus = Mechanism::arcus(vec![FlowConfig::new(Unit::Bytes, registers)]);
    let refused = |flow: &Flow| {
        let error = simulate_with(
            &platform,
            &flows,
            &arcus,
            &settings(),
            &mut come(flow, None),
        );
        error.unwrap_err().to_string()
    };
    assert_eq!(
        refused(&flow),
        "mechanism Arcus: number of flows with settings = 1: must be 2, the number of flows in the \
         simulation"
    );
    let nowhere = flow.clone().through(&[7]);
    assert!(refused(&nowhere).contains("accelerator = 7: must be below"));
    let mut gone = Once(Some(Action::Remove(3)));
    let error = simulate_with(&platform, &flows, &arcus, &settings(), &mut gone).unwrap_err();
    assert!(
        error.to_string().contains("flow = 3: must be below"),
        "{error}"
    );
}

#[test]
fn both_limits_hold_and_the_smaller_is_promised() {
    let platform = Platform::prototype(vec![ipsec()]);
    let mut manager = Manager::new(platform.clone());
    let both = AdmissionRequest {
        // At 1500 B, 1 million a second are 12 Gbit/s.
        also: Some(Rate::OperationsPerS(1e6)),
        ..request("both", 20.0)
    };
    let status = manager.register(both.clone()).unwrap();
    assert!((status.slo_gbit_per_s().unwrap() - 12.0).abs() < 1e-9);
    let units: Vec<Unit> = status.limits().map(|limit| limit.0).collect();
    assert_eq!(units, [Unit::Bytes, Unit::Operations]);
    let mut runtime = Runtime::new(manager.clone());
    let result = run(&platform, &mut runtime);
    let got = result.gbit_per_s(0);
    assert!((got / 12.0 - 1.0).abs() < 0.01, "{got}");
    let same = AdmissionRequest {
        name: "same".to_owned(),
        also: Some(Rate::GbitPerS(1.0)),
        ..both.clone()
    };
    let error = manager.register(same).unwrap_err().to_string();
    assert!(
        error.contains("one in Gbit/s, one in messages per second"),
        "{error}"
    );
    let none = AdmissionRequest {
        name: "none".to_owned(),
        also: Some(Rate::OperationsPerS(f64::NAN)),
        ..both
    };
    assert!(manager.register(none).is_err());
}

#[test]
fn storage_is_promised_what_its_mixture_of_reads_and_writes_delivers() {
    let mut platform = Platform::prototype(vec![ipsec()]);
    platform.storage = Some(StorageConfig::paper(1));
    // 4 KB each over the SSD's own link, which its units could fill.
    let most = 3e9 / 4_096.0;
    assert!(StorageConfig::paper(1).reads_per_s() > most);
    let mut manager = Manager::new(platform.clone());
    let reader = |name: &str, per_s| AdmissionRequest {
        accelerator: STORAGE.to_owned(),
        path: Path::StorageRead,
        sizes: Sizes::Fixed(Bytes(4_096)),
        slo: Some(Rate::OperationsPerS(per_s)),
        ..request(name, 1.0)
    };
    let left = manager.left(&reader("all", 2.0 * most)).unwrap();
    let left_per_s = left * 1e9 / 8.0 / 4_096.0;
    assert!(
        (left_per_s / most - 1.0).abs() < 0.02,
        "{left_per_s} of {most}"
    );
    manager.register(reader("reads", 300e3)).unwrap();
    // A write keeps a unit 55 times as long as a read: hardly any fit.
    let writer = AdmissionRequest {
        path: Path::StorageWrite,
        ..reader("writes", 300e3)
    };
    let error = manager.register(writer).unwrap_err().to_string();
    assert!(
        error.contains("of accelerator") || error.contains("'storage'"),
        "{error}"
    );
    let mut runtime = Runtime::new(manager.clone());
    let result = run(&platform, &mut runtime);
    let got = result.per_s(0);
    assert!((got / 300e3 - 1.0).abs() < 0.02, "{got}");
    let call = AdmissionRequest {
        path: Path::FunctionCall,
        ..reader("call", 1.0)
    };
    assert_eq!(
        manager.register(call).unwrap_err().to_string(),
        "flow 'call': path = function_call: needs an accelerator, but the flow names 'storage'"
    );
}

/// One buffer for both: what does not fit does not come, and neither waits for ever.
#[test]
fn backlogs_share_a_small_buffer() {
    let platform = Platform::prototype(vec![synthetic("one")]);
    let flow = Flow::new(0, Path::InlineRx, Bytes(4_096), Arrivals::Backlogged);
    let panic = Mechanism::Panic {
        order: Order::Priority,
        buffer: 16,
    };
    let flows = [flow.clone(), flow];
    let result = simulate_with(&platform, &flows, &panic, &settings(), &mut Once(None)).unwrap();
    let [first, second] = [0, 1].map(|flow| result.gbit_per_s(flow));
    assert!((first / second - 1.0).abs() < 0.05, "{first} and {second}");
    assert_eq!(result.flows[0].dropped + result.flows[1].dropped, 0);
}
