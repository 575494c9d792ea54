//! Groups of services that must be simulated together, since they share a server or call each
//! other.

use std::collections::BTreeMap;

use crate::plan::Plan;

/// Groups of services that share a server or call each other, so that they must be simulated
/// together. Each group has the indices of its services in the plan, in ascending order.
pub(crate) fn groups(plan: &Plan) -> Vec<Vec<usize>> {
    let mut group: Vec<usize> = (0..plan.services.len()).collect();
    let mut unite = |a: usize, b: usize| {
        let (from, to) = (group[a].max(group[b]), group[a].min(group[b]));
        for number in group.iter_mut().filter(|number| **number == from) {
            *number = to;
        }
    };
    for service in 0..plan.services.len() {
        let server = plan.services[service].server;
        let first = plan.services.iter().position(|s| s.server == server);
        first
            .into_iter()
            .chain(plan.callees(service))
            .for_each(|other| unite(service, other));
    }
    let mut groups = BTreeMap::new();
    for (service, number) in group.into_iter().enumerate() {
        groups.entry(number).or_insert_with(Vec::new).push(service);
    }
    groups.into_values().collect()
}
