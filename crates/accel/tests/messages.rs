//! The generated messages have the sizes of SocialNetwork's.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use accelflow_accel::messages::{
    MESSAGE_SIZES, METHODS, MessageSize, SERVICES, document, request, response,
};
use accelflow_accel::rpc::{ThriftCall, write_message};
use accelflow_accel::storage::Role;
use accelflow_accel::thrift::{Protocol, Schema, struct_from_json};
use accelflow_accel::{AccelError, Limits};

const SAMPLES: u64 = 1_000;

fn framed_size(method: &str, role: Role, seed: u64, index: u64) -> Result<usize, AccelError> {
    let (schema, limits) = (Schema::social_network(), Limits::default());
    let mut call = ThriftCall::request(&schema, method, Protocol::Binary, 1)?;
    let function = schema.function(call.function).unwrap();
    let (id, json) = match role {
        Role::Request => (function.arguments, request(method, seed, index)?),
        Role::Response => (function.result, response(method, seed, index)?),
    };
    if role == Role::Response {
        call = call.reply();
    }
    let json = json.to_string();
    let body = struct_from_json(&schema, id, Protocol::Binary, json.as_bytes(), &limits)?;
    Ok(write_message(&call, &body, &limits)?.len())
}

fn within(found: usize, expected: usize, tolerance: f64) -> bool {
    (found as f64 - expected as f64).abs() <= tolerance * expected as f64
}

/// The bytes that one more mention, link or medium adds: the median of a count from 1 to 6 may fall
/// on either side of the middle.
fn item_bytes(method: &str, role: Role) -> usize {
    match (method, role) {
        ("ComposeUrls", Role::Request) => 75,
        ("ComposeUrls", Role::Response) => 113,
        ("ComposeUserMentions", Role::Request) => 16,
        ("ComposeUserMentions", Role::Response) => 31,
        ("ComposeMedia", Role::Request) => 15,
        ("ComposeMedia", Role::Response) => 22,
        _ => 0,
    }
}

/// Fixed sizes and medians are close; extremes of a sample scatter, most for sums of many draws
/// (a page of ten posts) and for the steep tail of the follower counts.
fn check(size: &MessageSize) {
    let (method, role) = (size.method, size.role);
    let mut sizes: Vec<usize> = (0..SAMPLES)
        .map(|index| framed_size(method, role, 42, index).unwrap())
        .collect();
    sizes.sort_unstable();
    let (least, median, most) = (sizes[0], sizes[sizes.len() / 2], sizes[sizes.len() - 1]);
    let extremes = match method {
        "ReadHomeTimeline" => 0.06,
        "GetFollowers" => 0.25,
        _ => 0.01,
    };
    let found = format!("{method} {role:?}: {least} {median} {most}, expected {size:?}");
    assert!(within(least, size.min_bytes, extremes), "{found}");
    let few_percent = size.p50_bytes / 20;
    let allowed = few_percent.max(item_bytes(method, role));
    assert!(median.abs_diff(size.p50_bytes) <= allowed, "{found}");
    assert!(within(most, size.max_bytes, extremes), "{found}");
}

#[test]
fn sizes_follow_the_published_ones() {
    MESSAGE_SIZES.iter().for_each(check);
}

#[test]
fn every_method_has_a_request_and_a_response_of_its_interface() {
    for method in METHODS {
        for role in [Role::Request, Role::Response] {
            framed_size(method, role, 7, 3).unwrap();
        }
    }
    let error = request("NoSuchMethod", 0, 0).unwrap_err();
    assert_eq!(error.reason(), "unknown_method");
}

#[test]
fn services_name_known_methods_and_have_documents() {
    for service in SERVICES {
        for method in service.nested.iter().chain([&service.method]) {
            assert!(METHODS.contains(method), "{method}");
        }
        let found = document(service.name, 1, 2);
        assert_eq!(
            found.as_ref().map(|found| found.collection),
            service.collection
        );
        assert!(found.is_none_or(|found| !found.key.is_empty() && found.value.is_object()));
    }
    assert_eq!(document("NoSuchService", 1, 2), None);
}

#[test]
fn a_message_depends_on_seed_and_index_alone() {
    for method in METHODS {
        assert_eq!(
            request(method, 5, 9).unwrap(),
            request(method, 5, 9).unwrap()
        );
        assert_ne!(
            request(method, 5, 9).unwrap(),
            request(method, 5, 10).unwrap()
        );
        assert_ne!(
            request(method, 5, 9).unwrap(),
            request(method, 6, 9).unwrap()
        );
    }
    let stored = document("StoreP", 5, 9).unwrap();
    assert_eq!(request("StorePost", 5, 9).unwrap()["post"], stored.value);
}
