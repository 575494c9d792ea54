//! The control plane of a running server: promises are admitted or refused, watched, and kept by
//! rates that change while it runs.
//!
//! No test depends on the machine's speed: each waits for the counts of the control plane.

use std::io::Write;
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use accelflow_accel::thrift::Protocol;
use accelflow_serve::{
    Config, Control, Running, ServeError, Server, Shaping, Tenant, TenantError, TenantSlo,
};
use accelflow_shaping::Registers;
use accelflow_shaping::control::{LatencySlo, TenantStatus, Verdict};
use accelflow_units::{Bytes, Time};
use serde_json::Value as Json;

use crate::common::*;

/// A capacity of one second a second, of which 0.8 may be promised, looked at every 5 ms.
fn control() -> Control {
    Control {
        period: Time::from_us(5_000),
        ..Control::new(1.0)
    }
}

fn slo(requests_per_s: f64, us: u64) -> TenantSlo {
    TenantSlo {
        time: Some(Time::from_us(us)),
        ..TenantSlo::new(requests_per_s)
    }
}

/// Tenants "a" and "b" at 127.0.0.2 and 127.0.0.3.
fn tenants() -> Vec<Tenant> {
    let tenant = |(name, last)| Tenant::new(name, vec![from(last).into()]);
    [("a", 2), ("b", 3)].map(tenant).into()
}

fn controlled(mut server: Server, tenants: Vec<Tenant>) -> Result<Running, ServeError> {
    server.set_tenants(tenants).expect("they can be told apart");
    server.set_control(control()).expect("in range");
    server.start(([127, 0, 0, 1], 0).into())
}

fn running() -> Running {
    controlled(server(), tenants()).expect("nothing is promised")
}

fn add(stream: &mut TcpStream) -> String {
    call(stream, "add", Protocol::Binary, r#"{"a":1,"b":1}"#).1
}

/// Waits until the status of the tenant with this number is as wanted; returns it.
fn await_status(
    running: &Running,
    tenant: usize,
    wanted: impl Fn(&TenantStatus) -> bool,
) -> TenantStatus {
    for _ in 0..3_000 {
        let found = running.slo_status().swap_remove(tenant);
        if wanted(&found) {
            return found;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("{:?}", running.slo_status());
}

fn page(running: &Running) -> Json {
    let text = running.slo_page().expect("a control plane");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn a_tenant_within_its_promise_does_not_wait() {
    // 5 ms of the promise are 2 us, less than a request takes; the rest would come in seconds. All
    // requests take less than the two promised ones that the bucket holds from the beginning, but
    // more than the 5 ms of the capacity that it held before.
    let running = running();
    running.set_slo("a", slo(0.001, 400_000)).expect("room");
    let mut stream = connect_from(&running, from(2));
    for _ in 0..500 {
        assert_eq!(add(&mut stream), r#"{"success":2}"#);
    }
    let text = running.metrics();
    let waited = text
        .lines()
        .find_map(|line| line.strip_prefix(r#"accelflow_tenant_wait_seconds_sum{tenant="a"} "#))
        .map(|value| value.parse::<f64>().expect("a number"));
    assert!(waited.is_some_and(|waited| waited < 0.5), "{waited:?}");
}

#[test]
fn promises_are_given_as_long_as_there_is_room() {
    let running = running();
    running.set_slo("a", slo(10_000.0, 50)).expect("0.5 of 0.8");
    let refused = running
        .set_slo("b", slo(10_000.0, 50))
        .expect_err("0.3 are left");
    assert_eq!(
        refused.to_string(),
        "tenant 'b': requests_per_s = 10000: must be at most 6000 for requests of 50 us: 10000 of \
         them need 0.5 s of accelerator time per second, but only 0.3 s are left of the 0.8 s that \
         may be promised"
    );
    running
        .set_slo("b", slo(6_000.0, 50))
        .expect("what is left");
    assert_eq!(page(&running)["left_s_per_s"], 0.0);
    assert_eq!(running.remove_slo("a"), Ok(true));
    assert_eq!(running.remove_slo("a"), Ok(false));
    let unknown = running
        .set_slo("c", slo(1.0, 1))
        .expect_err("no such tenant");
    assert_eq!(unknown.to_string(), "tenant = 'c': must be one of a, b");
    let time = Some(Registers::new(1, 1, 1).expect("they fit"));
    let shaping = Shaping {
        time,
        ..Shaping::default()
    };
    let refused = running.reshape("a", shaping);
    assert_eq!(
        refused,
        Err(TenantError::TimeLimitUnderControl("a".to_owned()))
    );
    running
        .reshape("a", Shaping::default())
        .expect("other limits are the operator's");
}

#[test]
fn what_cannot_be_promised_at_the_start_is_refused() {
    let started = |slo, shaping| {
        let mut tenants = tenants();
        (tenants[1].slo, tenants[1].shaping) = (slo, shaping);
        controlled(server(), tenants)
            .expect_err("refused")
            .to_string()
    };
    let none = Shaping::default();
    let text = started(Some(slo(20_000.0, 50)), none);
    assert!(
        text.contains("tenant 'b': requests_per_s = 20000: must be at most "),
        "{text}"
    );
    let sized = TenantSlo {
        size: Some(Bytes(512)),
        ..TenantSlo::new(10.0)
    };
    let text = started(Some(sized), none);
    assert!(
        text.contains("'b': accelerator time of requests of 512 bytes is left out: must be given"),
        "{text}"
    );
    let text = started(Some(TenantSlo::new(10.0)), none);
    assert!(
        text.contains("'b': accelerator time of a request is left out: must be given"),
        "{text}"
    );
    let time = Some(Registers::new(1, 1, 1).expect("they fit"));
    let text = started(None, Shaping { time, ..none });
    assert!(
        text.contains("'b': the limit in accelerator time must be left out"),
        "{text}"
    );
    let mut server = server();
    server.set_tenants(tenants()).expect("good");
    let refused = server
        .set_control(Control {
            most: 1.5,
            ..control()
        })
        .expect_err("too much");
    assert_eq!(
        refused.to_string(),
        "control: most = 1.5: must be above 0 and at most 1, as a share of the capacity"
    );
    let running = start(server);
    let refused = running.set_slo("a", slo(1.0, 1)).expect_err("uncontrolled");
    assert_eq!(
        refused.to_string(),
        "tenant 'a': an SLO needs a control plane, but the server has none"
    );
    assert!(running.slo_status().is_empty() && running.slo_page().is_none());
}

#[test]
fn a_promise_by_size_takes_what_such_requests_took_before() {
    let running = running();
    let message = frame("add", Protocol::Binary, 77, r#"{"a":1,"b":1}"#);
    let sized = TenantSlo {
        size: Some(Bytes(message.len() as u64)),
        ..TenantSlo::new(10.0)
    };
    let refused = running
        .set_slo("a", sized)
        .expect_err("nothing was measured");
    assert!(
        matches!(refused, TenantError::Unmeasured { .. }),
        "{refused}"
    );
    let mut stream = connect_from(&running, from(2));
    for _ in 0..20 {
        assert_eq!(add(&mut stream), r#"{"success":2}"#);
    }
    await_count(
        &running,
        r#"accelflow_tenant_charged_total{tenant="a"}"#,
        20,
    );
    // Of a tenant that has sent nothing yet, others' requests tell.
    running.set_slo("b", sized).expect("it was measured");
    running.set_slo("a", sized).expect("it was measured");
    let [a, b] = [0, 1].map(|tenant| running.slo_status()[tenant].slo.expect("promised").time);
    assert!(a > Time::ZERO && b > Time::ZERO, "{a} {b}");
}

#[test]
fn a_missed_promise_is_seen_and_takes_from_those_without_one() {
    let running = running();
    let before = await_status(&running, 1, |tenant| tenant.shaped > 0.0).shaped;
    // A thousand requests a second of a nanosecond each: real ones take far more, so most of them
    // wait.
    let tiny = TenantSlo {
        time: Some(Time::from_ns(1)),
        ..TenantSlo::new(1_000.0)
    };
    running.set_slo("a", tiny).expect("next to nothing");
    let message = frame("add", Protocol::Binary, 77, r#"{"a":1,"b":1}"#);
    let mut flood = connect_from(&running, from(2));
    flood.write_all(&message.repeat(50)).expect("buffered");
    let missed = await_status(&running, 0, |tenant| tenant.missed >= 3);
    assert_eq!(missed.rate_verdict(), Verdict::Missed);
    let shaped = await_status(&running, 1, |tenant| tenant.shaped < 0.6 * before);
    assert!(shaped.shaped > 0.0);
    let series = r#"accelflow_tenant_periods{tenant="a",result="missed"}"#;
    assert!(counted(&running, series) >= 3);
    // Without the promise the flood is let pass, and nobody is held back for it.
    assert_eq!(running.remove_slo("a"), Ok(true));
    for _ in 0..50 {
        let (_, _, body) = read_reply(&receive(&mut flood).expect("a reply"));
        assert_eq!(body, r#"{"success":2}"#);
    }
    await_status(&running, 1, |tenant| tenant.shaped > 0.9 * before);
}

#[test]
fn late_answers_are_counted() {
    let mut server = Server::new(schema());
    let slow = |_: &accelflow_serve::Request<'_>| {
        thread::sleep(Duration::from_millis(20));
        Ok(Vec::new())
    };
    server.handle("Test.nothing", slow).expect("declared");
    let within = Time::from_us(1_000);
    let mut tenants = tenants();
    tenants[0].slo = Some(TenantSlo {
        latency: Some(LatencySlo {
            quantile: 0.5,
            within,
        }),
        ..slo(1_000.0, 100)
    });
    let running = controlled(server, tenants).expect("it fits");
    let mut stream = connect_from(&running, from(2));
    for _ in 0..4 {
        call(&mut stream, "nothing", Protocol::Binary, "{}");
    }
    let status = await_status(&running, 0, |tenant| tenant.requests == 4);
    assert_eq!(
        (status.late, status.latency_verdict()),
        (4, Verdict::Missed)
    );
}

#[test]
fn operators_see_promises_and_connections_without_a_tenant_are_limited_too() {
    let mut server = server();
    server.set_config(Config {
        admin: Some(([127, 0, 0, 1], 0).into()),
        ..verbose()
    });
    let mut asking = tenants();
    asking[0].slo = Some(slo(1_000.0, 100));
    let running = controlled(server, asking).expect("it fits");
    let mut stranger = connect_from(&running, from(9));
    for _ in 0..10 {
        assert_eq!(add(&mut stranger), r#"{"success":2}"#);
    }
    await_count(&running, r#"accelflow_tenant_charged_total{tenant=""}"#, 10);
    let address = running.admin_address().expect("asked for");
    let mut answer = ureq::get(format!("http://{address}/slo"))
        .call()
        .expect("answered");
    let text = answer.body_mut().read_to_string().expect("text");
    let page: Json = serde_json::from_str(&text).expect("JSON");
    assert_eq!(page["tenants"][0]["promise"]["requests_per_s"], 1_000.0);
    assert_eq!(page["tenants"][2]["tenant"], "");
    let rate = |row: usize| {
        page["tenants"][row]["shaped_s_per_s"]
            .as_f64()
            .expect("a number")
    };
    // The promise, and what is left but a quarter of it.
    assert!(
        (rate(0) - 0.1).abs() < 1e-9 && rate(2) > 0.0 && rate(2) <= 0.8,
        "{page}"
    );
    let metrics = running.metrics();
    let promised = r#"accelflow_tenant_rate{tenant="a",kind="promised"} 0.1"#;
    assert!(metrics.contains(promised), "{metrics}");
}
