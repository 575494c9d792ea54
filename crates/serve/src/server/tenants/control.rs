//! The control plane of a running server: the SLOs of tenants, a thread that watches them, and the
//! rates of the tenants' traffic shapers.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use accelflow_shaping::Registers;
use accelflow_shaping::control::{ControlPlane, Limit, Slo, TenantStatus};
use accelflow_units::Time;
use serde_json::{Value as Json, json};

use super::gates::Tenants;
use super::parameters::{BURST_S, INTERVAL, LEAST_REQUESTS, WORTH};
use crate::config::{Control, SHAPING_CLOCK_HZ, TenantError, TenantSlo};

/// The control plane of a server, and its tenants.
pub(crate) struct Controlled {
    tenants: Arc<Tenants>,
    state: Mutex<State>,
    stop: Condvar,
}

struct State {
    plane: ControlPlane,
    /// The rates that the shapers have.
    written: Vec<f64>,
    stopped: bool,
}

/// The thread that watches promises; dropping it ends it.
pub(crate) struct Watch {
    controlled: Arc<Controlled>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.controlled.lock().stopped = true;
        self.controlled.stop.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Controlled {
    /// Creates the control plane of `tenants`, with their initial SLOs.
    pub(crate) fn new(tenants: Arc<Tenants>, control: Control) -> Result<Controlled, TenantError> {
        let plane = ControlPlane::new(control, tenants.names())?;
        let controlled = Controlled {
            state: Mutex::new(State {
                written: vec![0.0; plane.tenants().len()],
                plane,
                stopped: false,
            }),
            tenants,
            stop: Condvar::new(),
        };
        for (name, slo) in controlled.tenants.promises() {
            controlled.promise(name, slo)?;
        }
        controlled.write(&mut controlled.lock());
        Ok(controlled)
    }

    /// Starts the thread that watches promises.
    pub(crate) fn watch(self: &Arc<Self>) -> std::io::Result<Watch> {
        let watched = self.clone();
        let thread = thread::Builder::new()
            .name("accelflow-slo".to_owned())
            .spawn(move || watched.run())?;
        Ok(Watch {
            controlled: self.clone(),
            thread: Some(thread),
        })
    }

    fn run(&self) {
        let mut state = self.lock();
        let period = duration(state.plane.settings().period);
        let mut begun = Instant::now();
        while !state.stopped {
            let left = period.saturating_sub(begun.elapsed());
            let waited = self.stop.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            let elapsed = begun.elapsed();
            if elapsed < period {
                continue;
            }
            begun += elapsed;
            let sizes = state.plane.tenants().iter().map(|tenant| tenant.slo);
            let sizes: Vec<Option<Slo>> = sizes.collect();
            let counters = self.tenants.counters(&sizes);
            let elapsed = Time::from_ns(elapsed.as_nanos().try_into().unwrap_or(u64::MAX / 1_000));
            state.plane.tick(elapsed, &counters);
            self.write(&mut state);
        }
    }

    /// Sets a tenant's SLO.
    pub(crate) fn promise(&self, name: &str, slo: TenantSlo) -> Result<(), TenantError> {
        let number = self.tenants.number(name)?;
        let slo = self.resolved(name, slo)?;
        let mut state = self.lock();
        state.plane.promise(number, slo)?;
        let within = slo.latency.map(|latency| duration(latency.within));
        self.tenants.expect_within(number, within);
        // A bucket that grew to hold the promised requests would take as long to fill as the
        // promise allows.
        let shaped = state.plane.tenants()[number].shaped;
        if let Ok(registers) = registers(shaped, Some(slo.time)) {
            self.tenants.renew_time(number, registers);
            state.written[number] = shaped;
        }
        self.write(&mut state);
        Ok(())
    }

    /// Removes a tenant's SLO. Returns whether there was one.
    pub(crate) fn release(&self, name: &str) -> Result<bool, TenantError> {
        let number = self.tenants.number(name)?;
        let mut state = self.lock();
        let had = state.plane.release(number);
        self.tenants.expect_within(number, None);
        self.write(&mut state);
        Ok(had)
    }

    /// Returns the SLO with the time of a request, which is predicted from its size if it was not
    /// given.
    fn resolved(&self, name: &str, slo: TenantSlo) -> Result<Slo, TenantError> {
        let predicted = || slo.size.and_then(|size| self.tenants.predict(name, size));
        let time = slo.time.or_else(predicted);
        let time = time.ok_or_else(|| TenantError::Unmeasured {
            name: name.to_owned(),
            size: slo.size.map(|size| size.get()),
        })?;
        Ok(Slo {
            requests_per_s: slo.requests_per_s,
            time,
            size: slo.size,
            periods: slo.periods,
            latency: slo.latency,
        })
    }

    /// Returns the SLOs of all tenants and how well they are met.
    pub(crate) fn status(&self) -> Vec<TenantStatus> {
        self.lock().plane.tenants().to_vec()
    }

    /// Returns the status as JSON, with the remaining capacity.
    pub(crate) fn page(&self) -> Json {
        let state = self.lock();
        let (plane, settings) = (&state.plane, state.plane.settings());
        let (most, limit) = plane.largest_use();
        let promised = plane.promised();
        json!({
            "capacity_s_per_s": settings.capacity,
            "period_s": duration(settings.period).as_secs_f64(),
            "most_s_per_s": most,
            "limited_by": match limit {
                Limit::Capacity => "capacity".to_owned(),
                Limit::Latency(tenant) => format!("latency of {tenant}"),
            },
            "promised_s_per_s": promised,
            "left_s_per_s": (most - promised).max(0.0),
            "eased": plane.eased(),
            "tenants": plane.tenants().iter().map(row).collect::<Vec<_>>(),
        })
    }

    /// Writes the rates that have changed to the shapers.
    fn write(&self, state: &mut State) {
        for (number, tenant) in state.plane.tenants().iter().enumerate() {
            let (shaped, written) = (tenant.shaped, &mut state.written[number]);
            if (shaped - *written).abs() <= WORTH * *written {
                continue;
            }
            // The plane's rates are in the range of registers.
            if let Ok(registers) = registers(shaped, tenant.slo.map(|slo| slo.time)) {
                self.tenants.write_time(number, registers);
                *written = shaped;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the registers for a rate in accelerator seconds per second, and the time of a promised
/// request.
fn registers(share: f64, request: Option<Time>) -> Result<Registers, TenantError> {
    let refill = (share * 1e9 * INTERVAL as f64 / SHAPING_CLOCK_HZ as f64)
        .round()
        .max(1.0);
    // With a smaller bucket each request would wait for a part of its tokens, even those of a
    // tenant that asks for less than its promise.
    let requests = request.map_or(0.0, |time| time.as_us_f64() * 1e3 * LEAST_REQUESTS);
    let bucket = (share * 1e9 * BURST_S).max(refill).max(requests.ceil());
    Ok(Registers::new(refill as u64, bucket as u64, INTERVAL)?)
}

fn row(tenant: &TenantStatus) -> Json {
    let promise = tenant.slo.map(|slo| {
        json!({
            "requests_per_s": slo.requests_per_s,
            "request_us": slo.time.as_us_f64(),
            "request_bytes": slo.size.map(|size| size.get()),
            "percent_of_periods": slo.periods * 100.0,
            "latency": slo.latency.map(|latency| json!({
                "percentile": latency.quantile * 100.0,
                "within_us": latency.within.as_us_f64(),
            })),
        })
    });
    json!({
        "tenant": tenant.name,
        "promise": promise,
        "promised_s_per_s": tenant.promised(),
        "shaped_s_per_s": tenant.shaped,
        "measured_s_per_s": tenant.measured,
        "periods": tenant.periods,
        "missed": tenant.missed,
        "requests": tenant.requests,
        "late": tenant.late,
        "verdict": tenant.verdict().name(),
    })
}

fn duration(time: Time) -> Duration {
    Duration::from_nanos(time.as_ps() / 1_000)
}
