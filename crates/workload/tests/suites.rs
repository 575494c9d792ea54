//! The suites: what their paths are, that every way through them ends, how often they branch.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use accelflow_kernel::Stream;
use accelflow_trace::{Image, source, templates};
use accelflow_units::Time;
use accelflow_workload::arrivals::{ASSUMED_DWELL, ArrivalProcess, Arrivals, Modulation};
use accelflow_workload::profile::{PaperOptions, Profile};
use accelflow_workload::services::{
    Chain, Phase, Service, branching_share, invocations, sequences,
};
use accelflow_workload::suites::{Suite, social_network};

fn image() -> Image {
    templates().unwrap().link().unwrap()
}

/// Sequences with a conditional, and all, of a suite.
fn branching(suite: Suite) -> (usize, usize) {
    let image = image();
    let all: Vec<_> = suite
        .services()
        .unwrap()
        .iter()
        .flat_map(|service| sequences(service, &image).unwrap())
        .collect();
    (
        all.iter()
            .filter(|sequence| sequence.conditionals > 0)
            .count(),
        all.len(),
    )
}

#[test]
fn the_share_of_branching_sequences_is_the_papers_for_socialnetwork_and_near_it_elsewhere() {
    // 69.2 % is printed: 18 of 26.
    assert_eq!(branching(Suite::SocialNetwork), (18, 26));
    // 62.5 % is printed; ours is 68.0 %.
    assert_eq!(branching(Suite::HotelReservation), (17, 25));
    // 82.5 % is printed; ours is 72.7 %.
    assert_eq!(branching(Suite::MediaServices), (40, 55));
    for suite in Suite::ALL {
        let (some, all) = branching(suite);
        let share = branching_share(&suite.services().unwrap(), &image()).unwrap();
        assert!((share - some as f64 / all as f64).abs() < 1e-12);
    }
}

#[test]
fn trainticket_branches_more_than_printed_and_less_without_the_test_in_http_responses() {
    // 53.8 % is printed. Ours is 78.4 %; without T12's test for compression it is 48.0 %.
    let (with, all) = branching(Suite::TrainTicket);
    let services = Suite::TrainTicket.services().unwrap();
    let calls: usize = services
        .iter()
        .flat_map(|service| sequences(service, &image()).unwrap())
        .filter(|sequence| sequence.entry == "T11")
        .count();
    assert_eq!((with, calls, all), (80, 31, 102));
    let share = |branching: usize| branching as f64 / all as f64;
    let printed = Suite::TrainTicket.printed_branching_share().unwrap();
    assert!(share(with - calls) < printed && printed < share(with));
}

#[test]
fn the_most_conditionals_are_those_of_a_read_that_misses() {
    // "Some sequences have up to four": hit, found, compressed and compressed in the cache. The
    // write to the cache that follows adds T7's exception.
    let mut most = 0;
    for suite in Suite::ALL {
        for service in suite.services().unwrap() {
            for sequence in sequences(&service, &image()).unwrap() {
                most = most.max(sequence.conditionals);
                assert_eq!(sequence.conditionals == 5, sequence.entry == "T4");
            }
        }
    }
    assert_eq!(most, 5);
}

#[test]
fn parallel_chains_of_one_kind_are_one_sequence_and_of_two_kinds_are_two() {
    let of = |name: &str| {
        let services = Suite::MediaServices.services().unwrap();
        let service = services
            .iter()
            .find(|service| service.name() == name)
            .unwrap();
        let found = sequences(service, &image()).unwrap();
        found
            .into_iter()
            .map(|sequence| sequence.entry)
            .collect::<Vec<_>>()
    };
    assert_eq!(of("RdPage"), ["T1", "T9", "T9", "T3"]);
    assert_eq!(of("UpRating"), ["T1", "T8", "T9", "T2"]);
}

#[test]
fn every_service_ends_whatever_its_payloads_say() {
    let image = image();
    for suite in Suite::ALL {
        for service in suite.services().unwrap() {
            invocations(&service, &image).unwrap();
            for (place, chain) in service.chains() {
                let ways = chain.outcomes(&place, &image).unwrap();
                assert!(!ways.is_empty());
                for way in ways {
                    invocations(&with_chain(&service, place.phase, &way.chain), &image).unwrap();
                }
            }
        }
    }
}

/// `service` with one phase replaced by a single chain.
fn with_chain(service: &Service, phase: usize, chain: &Chain) -> Service {
    let mut path = service.path().to_vec();
    path[phase] = Phase::one(chain.clone());
    Service::new(service.name(), service.method(), path).unwrap()
}

#[test]
fn a_read_can_go_eight_ways_and_end_in_an_error() {
    let services = social_network().unwrap();
    let login = services
        .iter()
        .find(|service| service.name() == "Login")
        .unwrap();
    let (place, read) = login.chains().nth(1).unwrap();
    let ways = read.outcomes(&place, &image()).unwrap();
    // A hit, compressed or not; a miss not found; a miss found, times compressed, compressed in
    // the cache, and an exception of the write.
    assert_eq!(ways.len(), 2 + 1 + 8);
    let counts: BTreeSet<u32> = ways.iter().map(|way| way.conditionals).collect();
    assert_eq!(counts, BTreeSet::from([2, 5]));
}

#[test]
fn operations_after_a_join_count_once() {
    let mut nodes = source::seq(&["TCP", "Dser"]).unwrap();
    let arm = source::branch("hit", source::seq(&["Cmp"]).unwrap(), vec![]).unwrap();
    let other = source::seq(&["Ser"]).unwrap();
    nodes.push(source::join(vec![vec![arm], other]));
    nodes.extend(source::seq(&["Cmp"]).unwrap());
    let found = source::branch("found", source::seq(&["Encr"]).unwrap(), vec![]);
    nodes.push(found.unwrap());
    let mut library = templates().unwrap();
    library.register("gather", nodes).unwrap();
    let image = library.link().unwrap();
    let chain = Chain::new("gather");
    let path = vec![Phase::one(chain.clone()), Phase::one(Chain::new("T2"))];
    let service = Service::new("Gather", "Gather", path).unwrap();
    let (place, _) = service.chains().next().unwrap();
    let ways = chain.outcomes(&place, &image).unwrap();
    assert_eq!(ways.len(), 4);
    assert!(ways.iter().all(|way| way.conditionals == 2));

    let facts = chain.with("gather", "hit", 1).with("gather", "found", 1);
    let service = with_chain(&service, 0, &facts);
    let counts = invocations(&service, &image).unwrap();
    // TCP, Dser, Cmp beside Ser, Cmp, Encr, and the four of T2.
    assert_eq!(counts.total, 10);
}

#[test]
fn no_two_services_have_the_same_name() {
    let mut names = BTreeSet::new();
    for suite in Suite::ALL {
        assert_eq!(suite.name().parse::<Suite>().unwrap(), suite);
        for service in suite.services().unwrap() {
            assert!(
                names.insert(service.name().to_owned()),
                "{}",
                service.name()
            );
        }
    }
    let error = "netflix".parse::<Suite>().unwrap_err().to_string();
    assert_eq!(
        error,
        "workload = 'netflix': must be socialnetwork, hotelreservation, mediaservices, \
         trainticket, serverless or usuite"
    );
}

#[test]
fn rates_are_shared_with_mean_one() {
    for (suite, shares) in [
        (Suite::SocialNetwork, "alibaba"),
        (Suite::Serverless, "azure"),
        (Suite::MediaServices, "equal"),
    ] {
        let services = suite.services().unwrap();
        let of = |service: &Service| suite.rate_share(service.name(), shares).unwrap();
        let mean = services.iter().map(of).sum::<f64>() / services.len() as f64;
        assert!((mean - 1.0).abs() < 1e-12, "{suite} {shares} {mean}");
    }
    let rates = &Suite::SocialNetwork.workload().unwrap().rates["alibaba"];
    let mean = rates.values().map(|rate| rate.0).sum::<f64>() / 8.0;
    assert!((mean - 13_450.0).abs() < 5.0, "{mean}");
    let error = Suite::TrainTicket.rate_share("Seats", "alibaba");
    assert_eq!(
        error.unwrap_err().to_string(),
        "rates = 'alibaba': must be equal (the rates that trainticket has)"
    );
    let error = Suite::SocialNetwork
        .rate_share("Cpost", "equal")
        .unwrap_err();
    assert!(error.to_string().starts_with("service = 'Cpost': must be "));
    assert!(error.to_string().ends_with(", did you mean CPost?"));
}

#[test]
fn equal_operations_cost_the_same_in_all_suites() {
    let image = image();
    let reference = social_network().unwrap();
    let options = PaperOptions::default();
    let printed = Profile::paper(&reference, &image, &options).unwrap();
    for suite in Suite::ALL {
        let services = suite.services().unwrap();
        let profile = Profile::paper_like(&services, &reference, &image, &options).unwrap();
        for accel in accelflow_trace::Accel::ALL {
            let (ours, theirs) = (profile.typical_cost(accel), printed.typical_cost(accel));
            let difference = ours.unwrap().mean().as_ns_f64() - theirs.unwrap().mean().as_ns_f64();
            assert!(difference.abs() < 1.0, "{suite} {accel} {difference}");
        }
    }
}

#[test]
fn serverless_functions_compute_as_long_as_azures_scaled() {
    let services = Suite::Serverless.services().unwrap();
    let reference = social_network().unwrap();
    let profile =
        Profile::paper_like(&services, &reference, &image(), &PaperOptions::default()).unwrap();
    let workload = Suite::Serverless.workload().unwrap();
    let profile = profile.with_cpu_times(|name| workload.cpu_times(name));
    let time = |name: &str| profile.service(name).unwrap().app_time();
    assert_eq!(time("ImgRot"), Time::from_us(10));
    assert_eq!(time("VidProc"), Time::from_us(14_577));
    assert!(
        profile
            .parameters()
            .iter()
            .any(|parameter| parameter.key == "app.ImgRot_ns")
    );
    // Times beyond the service's phases of application logic are ignored.
    let (us, more) = (Time::from_us, vec![None; 1_000]);
    let times = |_: &str| ([more.clone(), vec![Some(us(9)); 3]].concat(), Some(us(7)));
    let profile = profile.with_cpu_times(times);
    assert_eq!(profile.service("ImgRot").unwrap().app_time(), us(7));
}

#[test]
fn azure_arrivals_keep_their_mean_and_burst() {
    let modulation = Modulation::azure(ASSUMED_DWELL).unwrap();
    assert!((modulation.coefficient_of_variation() - 0.490721).abs() < 1e-6);
    let process = ArrivalProcess::Bursty {
        rate_rps: 10_000.0,
        modulation,
    };
    let count = 200_000;
    let last = |process: ArrivalProcess| {
        let arrivals = Arrivals::new(process, Stream::new(7, 0)).unwrap();
        arrivals.take(count).last().unwrap().as_s_f64()
    };
    let seconds = last(process.clone());
    // The rate's integral over 1,389 dwell times varies by about 0.49 * sqrt(2 / 1389) = 1.9 %.
    assert!((seconds / 20.0 - 1.0).abs() < 0.08, "{seconds}");
    let faster = last(process.scaled(4.0));
    assert!((faster / 5.0 - 1.0).abs() < 0.15, "{faster}");
}
