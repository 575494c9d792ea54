//! Requests that were recorded one by one.

#![allow(clippy::unwrap_used)]

use accelflow_workload::profile::{RecordedRequest, Recording};
use accelflow_workload::services::Phase;
use accelflow_workload::suites::social_network;

use crate::common::{measured, recording};

/// What the payload of T1 and of what follows the first read of Login says, 3 and 1 times.
fn login_requests() -> Vec<RecordedRequest> {
    let request = |count, hit: i64, found: i64| {
        let read = [
            ("T5".to_owned(), [("hit".to_owned(), hit)].into()),
            ("T6".to_owned(), [("found".to_owned(), found)].into()),
        ];
        let phases = social_network().unwrap()[4].path().to_vec();
        let chains = |(index, phase): (usize, &Phase)| match (index, phase) {
            (2, _) => vec![read.clone().into()],
            _ => vec![Default::default(); phase.chains().len()],
        };
        RecordedRequest {
            count,
            facts: phases.iter().enumerate().map(chains).collect(),
        }
    };
    vec![request(3, 1, 1), request(1, 0, 0)]
}

#[test]
fn recorded_requests_survive_their_file_and_older_files_have_none() {
    let mut recording = recording();
    recording.services[4].requests = login_requests();
    let text = recording.to_json().unwrap();
    assert!(text.contains("\"version\": 5"));
    assert_eq!(Recording::from_json(&text).unwrap(), recording);
    let profile = measured(&recording).unwrap();
    let login = profile.service("Login").unwrap();
    let hits: Vec<_> = login.requests().chains(2, 0).collect();
    let of = |place: usize, trace, field| (hits[place].0, hits[place].1.fact(trace, field));
    assert_eq!(
        [of(0, "T5", "hit"), of(1, "T5", "hit")],
        [(3, Some(1)), (1, Some(0))]
    );
    assert_eq!(of(1, "T6", "found"), (1, Some(0)));
    assert_eq!(
        of(1, "T7", "exception"),
        (1, Some(0)),
        "what was not recorded is the common"
    );
    assert_eq!(profile.service("CPost").unwrap().requests().count(), 0);
    // Version 1 is read as before, and has no requests.
    let second = |text: &str| text.replace("\"version\": 5", "\"version\": 1");
    let refused = Recording::from_json(&second(&text)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "service Login: 'requests': must be left out of a recording of version 1; versions from 2 on have it"
    );
    recording.services[4].requests.clear();
    let old = Recording::from_json(&second(&recording.to_json().unwrap())).unwrap();
    assert_eq!(old.version, 1);
    let [new, old] = [measured(&recording), measured(&old)].map(Result::unwrap);
    assert_eq!(new.services(), old.services());
}

#[test]
fn recorded_requests_must_be_those_of_their_service() {
    let refusal = |change: &dyn Fn(&mut Vec<RecordedRequest>)| {
        let mut recording = recording();
        recording.services[4].requests = login_requests();
        change(&mut recording.services[4].requests);
        measured(&recording).unwrap_err()
    };
    let login = "service Login, request 1";
    assert_eq!(
        refusal(&|requests| requests[1].count = 0),
        format!("{login}: count = 0: must be from 1 to 1e12")
    );
    assert_eq!(
        refusal(&|requests| requests[1].facts.truncate(2)),
        format!(
            "{login}: the service's path has {} phases, the recorded request has 2 phases",
            social_network().unwrap()[4].path().len()
        )
    );
    assert_eq!(
        refusal(&|requests| requests[1].facts[1].push(Default::default())),
        format!(
            "{login}: the service's path has 0 chains in phase 1, the recorded request has 1 chains in phase 1"
        )
    );
    let say = |trace: &str, field: &str| {
        let (trace, field) = (trace.to_owned(), field.to_owned());
        move |requests: &mut Vec<RecordedRequest>| {
            requests[1].facts[2][0].insert(trace.clone(), [(field.clone(), 1)].into());
        }
    };
    assert_eq!(
        refusal(&say("T99", "hit")),
        "recorded request 1: service Login, phase 2, chain 0: trace = 'T99': must be in the trace memory"
    );
    assert_eq!(
        refusal(&say("T5", "hot")),
        "recorded request 1: service Login, phase 2, chain 0: fact = 'T5.hot': must be a payload \
         value that a branch tests"
    );
    let many = |requests: &mut Vec<RecordedRequest>| *requests = vec![requests[0].clone(); 4_097];
    assert_eq!(
        refusal(&many),
        "service Login: requests in the recording = 4097: must be at most 4096 groups of equal requests"
    );
}
