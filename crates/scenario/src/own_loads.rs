//! The part of a workload file's arrivals that a simulation uses. The file may list arrival times,
//! or state a table of rates; both may be longer or shorter than the simulation.

use accelflow_sim::compare::Comparison;
use accelflow_workload::arrivals::ArrivalProcess;
use accelflow_workload::file::{Arrivals, Workload};
use serde_json::{Value, json};

use crate::checked::Checked;
use crate::choice::OrOwn;

/// How many requests the services have, and from where.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnLoads {
    /// The most requests of a service, warm-up included, and how many of them are the warm-up.
    pub(crate) most: (u64, u64),
    /// The number of requests of each service that has any, if the numbers differ.
    pub(crate) requests: Vec<(String, u64)>,
    /// A row for each service whose arrivals are a list of times or a table of rates.
    pub(crate) arrivals: Vec<Value>,
}

impl OwnLoads {
    /// The loads of `comparison`, whose services are those of `checked`.
    pub(crate) fn new(checked: &Checked, workload: &Workload, comparison: &Comparison<'_>) -> Self {
        let mut found = OwnLoads::default();
        for (index, service) in checked.services.iter().enumerate() {
            let planned = comparison.planned(index);
            if planned.0 == 0 {
                continue;
            }
            found.most = found.most.max(planned);
            found.requests.push((service.name().to_owned(), planned.0));
            let own = comparison.own_arrivals.get(index).and_then(Option::as_ref);
            let stated = workload.service(service.name());
            let stated = stated.and_then(|stated| workload.arrivals_of(stated));
            let share = comparison.rate_shares.get(index).copied().unwrap_or(1.0);
            let mean_rps = checked.resolved.rate_rps * share;
            let row = own.zip(stated);
            let row = row.and_then(|(own, stated)| of_list(own, stated, planned, mean_rps));
            found.arrivals.extend(row.map(|mut row| {
                row["service"] = service.name().into();
                row
            }));
        }
        if found
            .requests
            .iter()
            .all(|(_, requests)| *requests == found.most.0)
        {
            found.requests.clear();
        }
        let asked = (checked.resolved.requests, checked.resolved.warmup_requests);
        if found.most.0 >= asked.0 || checked.resolved.arrivals != OrOwn::Own {
            found.most = asked;
        }
        found
    }
}

/// The row of a service whose arrivals are `own`: what the simulation takes of the list or table
/// `stated`, if it is one. `mean_rps` is the mean of the table's rates in the simulation.
fn of_list(
    own: &ArrivalProcess,
    stated: &Arrivals,
    (requests, warmup): (u64, u64),
    mean_rps: f64,
) -> Option<Value> {
    match (own, stated) {
        (ArrivalProcess::Trace(times), _) => Some(json!({
            "process": "times",
            "requests": requests,
            "warmup_requests": warmup,
            "listed": times.len(),
        })),
        (ArrivalProcess::Rates(table), Arrivals::Rates { rates, from_us, .. }) => {
            let rows = rates.as_deref().unwrap_or_default();
            let (from_us, (end_us, _)) = (from_us.unwrap_or(0.0), rows.last()?);
            let highest = |all: (f64, f64), row: &(f64, f64)| match row.1 > all.1 {
                true => *row,
                false => all,
            };
            let peak = rows.iter().fold((0.0, 0.0), highest);
            let warm = table.expects(warmup as f64)?;
            let until = table.expects(requests as f64)?;
            let counted_s = (until - warm).as_s_f64();
            // The simulated table is the stated one, scaled; both end with the same row.
            let (last, simulated) = (rows.last()?.1, table.rows().last()?.1);
            Some(json!({
                "process": "rates",
                "requests": requests,
                "warmup_requests": warmup,
                "from_s": from_us * 1e-6,
                "until_s": from_us * 1e-6 + until.as_s_f64(),
                "rate_rps": (requests - warmup) as f64 / counted_s.max(1e-12),
                "table": {
                    "until_s": end_us * 1e-6,
                    "mean_rps": mean_rps,
                    "peak_rps": peak.1 * simulated / last,
                    "peak_from_us": peak.0,
                },
            }))
        }
        _ => None,
    }
}
