//! Methods of [`Plan`] for calls between services, the assignment of services to servers, and
//! retries.

use accelflow_parameters::Refusal;
use accelflow_workload::profile::WaitDistribution;

use super::retry::MAX_ATTEMPTS;
use super::{ChainPlan, MAX_SERVER, PhasePlan, Plan, Retry};

impl Plan {
    /// Returns the plan in which a chain of operations calls another service: the service with
    /// index `callee` answers the chain's messages. Requests to `callee` are simulated, and their
    /// response times replace the chain's waits for messages. The chain is given by three indices:
    /// `service` in the plan, `phase` in the service's path and `chain` in the phase.
    ///
    /// # Errors
    /// [`Refusal`] for an unknown index, for a chain without a trace that waits for a message, and
    /// for a service that would call itself, directly or through others.
    pub fn with_call(
        mut self,
        service: usize,
        phase: usize,
        chain: usize,
        callee: usize,
    ) -> Result<Plan, Refusal> {
        let place = self.place(service, phase, chain, "calls");
        self.check_service(&place, callee)?;
        let name = self.services[callee].name.clone();
        let entry = self.chain_mut(service, phase, chain)?.facts.entry();
        if !self.image.can_wait(entry) {
            let allowed =
                "must not be set, as no trace of the chain waits for an answer (T9 and T11 do)";
            return Err(Refusal::new(place, format!("'{name}'"), allowed));
        }
        if callee == service || self.calls(callee, service) {
            let allowed = format!(
                "must be a service that does not call {}, directly or through others",
                self.services[service].name
            );
            return Err(Refusal::new(place, format!("'{name}'"), allowed));
        }
        self.chain_mut(service, phase, chain)?.calls = Some(callee);
        Ok(self)
    }

    /// Returns the plan in which a chain of operations may fail and is then retried, with the
    /// probability, the number of attempts and the pause in `retry`. The chain is given by three
    /// indices: `service` in the plan, `phase` in the service's path and `chain` in the phase.
    ///
    /// # Errors
    /// [`Refusal`] for an unknown index and for values outside the ranges of [`Retry`]. A chain of
    /// the first or last phase is refused too, because these phases receive the request and send
    /// the response only once.
    pub fn with_retry(
        mut self,
        service: usize,
        phase: usize,
        chain: usize,
        retry: Retry,
    ) -> Result<Plan, Refusal> {
        let place = self.place(service, phase, chain, "retry");
        self.chain_mut(service, phase, chain)?;
        if phase == 0 || phase + 1 == self.services[service].phases.len() {
            let allowed = "must not be set in the first or the last phase, which receive the \
                           request and send the response once";
            return Err(Refusal::given(place, allowed));
        }
        if !(0.0..=1.0).contains(&retry.odds) {
            let place = format!("{place}.odds");
            return Err(Refusal::number(
                place,
                retry.odds,
                "must be a probability from 0 to 1",
            ));
        }
        if !(1..=MAX_ATTEMPTS).contains(&retry.attempts) {
            let allowed = format!("must be a whole number from 1 to {MAX_ATTEMPTS}");
            let place = format!("{place}.attempts");
            return Err(Refusal::new(place, retry.attempts, allowed));
        }
        self.chain_mut(service, phase, chain)?.retry = Some(retry);
        Ok(self)
    }

    /// Returns the plan with the service `service` (an index) on the server `server` (an ID). By
    /// default, all services are on server 0. Services with the same ID share a server.
    ///
    /// # Errors
    /// [`Refusal`] for an unknown service or a server ID above [`MAX_SERVER`].
    pub fn on_server(mut self, service: usize, server: usize) -> Result<Plan, Refusal> {
        self.check_service("service", service)?;
        if server > MAX_SERVER {
            let place = format!("services.{}.server", self.services[service].name);
            let allowed = format!("must be a whole number from 0 to {MAX_SERVER}");
            return Err(Refusal::new(place, server, allowed));
        }
        self.services[service].server = server;
        Ok(self)
    }

    /// Returns the plan in which each message of a call from one server to another takes a time on
    /// the network, drawn from the distribution `time`. By default, and between services of one
    /// server, messages take no time on the network.
    #[must_use]
    pub fn with_one_way(self, time: WaitDistribution) -> Plan {
        Plan {
            one_way: time,
            ..self
        }
    }

    /// Returns the plan in which the calls of one chain have their own distribution of network
    /// times. The times of request and response are drawn from `time`, not from the distribution of
    /// [`Plan::with_one_way`]. The chain is given by three indices: `service` in the plan, `phase`
    /// in the service's path and `chain` in the phase.
    ///
    /// # Errors
    /// [`Refusal`] for an unknown index.
    pub fn with_chain_one_way(
        mut self,
        service: usize,
        phase: usize,
        chain: usize,
        time: WaitDistribution,
    ) -> Result<Plan, Refusal> {
        self.chain_mut(service, phase, chain)?.one_way = Some(time);
        Ok(self)
    }

    /// Returns the plan in which one chain of operations is detached: neither the chain's phase nor
    /// the response of the request waits for the chain. The chain runs and costs like any other.
    /// The chain is given by three indices: `service` in the plan, `phase` in the service's path
    /// and `chain` in the phase.
    ///
    /// # Errors
    /// [`Refusal`] for an unknown index, and for a chain of the first or last phase, which receive
    /// the request and send the response.
    pub fn with_detached(
        mut self,
        service: usize,
        phase: usize,
        chain: usize,
    ) -> Result<Plan, Refusal> {
        let place = self.place(service, phase, chain, "detached");
        self.chain_mut(service, phase, chain)?;
        if phase == 0 || phase + 1 == self.services[service].phases.len() {
            let allowed = "must be left out of the first and the last phase, which receive the \
                           request and send the response";
            return Err(Refusal::new(place, true, allowed));
        }
        self.chain_mut(service, phase, chain)?.detached = true;
        Ok(self)
    }

    /// Returns the plan with each service alone on a server. The ID of the server is the index of
    /// the service.
    #[must_use]
    pub fn isolated(mut self) -> Plan {
        for (index, service) in self.services.iter_mut().enumerate() {
            service.server = index;
        }
        self
    }

    /// Returns the plan with all services on server 0.
    #[must_use]
    pub fn on_one_server(mut self) -> Plan {
        for service in &mut self.services {
            service.server = 0;
        }
        self
    }

    /// Returns the indices of the services that the service with index `service` calls, in the
    /// order of the calling service's chains. A called service appears once for each chain that
    /// calls it.
    pub fn callees(&self, service: usize) -> impl Iterator<Item = usize> {
        let phases = self.services.get(service).map(|service| &service.phases);
        let phases = phases.into_iter().flatten();
        phases.flat_map(chains_of).filter_map(|chain| chain.calls)
    }

    /// Returns the indices of the services that other services call, in ascending order.
    pub fn called(&self) -> Vec<usize> {
        let services = 0..self.services.len();
        let mut called: Vec<usize> = services.flat_map(|service| self.callees(service)).collect();
        called.sort_unstable();
        called.dedup();
        called
    }

    /// Returns whether any service calls another.
    pub fn has_calls(&self) -> bool {
        !self.called().is_empty()
    }

    /// Returns whether any chain of the plan may fail and be retried.
    pub fn has_retries(&self) -> bool {
        let phases = self.services.iter().flat_map(|service| &service.phases);
        phases
            .flat_map(chains_of)
            .any(|chain| chain.retry.is_some())
    }

    /// Returns the distribution of the time that a message of `chain`'s call takes on the network
    /// from one server to another. The request and the response have the same distribution.
    pub fn one_way<'p>(&'p self, chain: &'p ChainPlan) -> &'p WaitDistribution {
        chain.one_way.as_ref().unwrap_or(&self.one_way)
    }

    /// Returns the indices of the services in `services` and of all services that these call,
    /// directly or indirectly. The indices are in ascending order; unknown ones are left out.
    pub fn reached_from(&self, services: impl IntoIterator<Item = usize>) -> Vec<usize> {
        let mut left: Vec<usize> = services.into_iter().collect();
        let mut reached = vec![false; self.services.len()];
        while let Some(service) = left.pop() {
            if let Some(new) = reached.get_mut(service).filter(|reached| !**reached) {
                *new = true;
                left.extend(self.callees(service));
            }
        }
        (0..reached.len()).filter(|&index| reached[index]).collect()
    }

    /// The services, each after all that it calls.
    pub(crate) fn callees_first(&self) -> Vec<usize> {
        let mut order = Vec::with_capacity(self.services.len());
        let mut left: Vec<usize> = (0..self.services.len()).rev().collect();
        while let Some(&service) = left.last() {
            let open = |callee: &usize| !order.contains(callee);
            let before: Vec<usize> = self.callees(service).filter(open).collect();
            if before.is_empty() {
                left.pop();
                if !order.contains(&service) {
                    order.push(service);
                }
            }
            left.extend(before);
        }
        order
    }

    /// Whether `caller` calls `callee`, directly or through others.
    fn calls(&self, caller: usize, callee: usize) -> bool {
        self.reached_from(self.callees(caller)).contains(&callee)
    }

    fn chain_mut(
        &mut self,
        service: usize,
        phase: usize,
        chain: usize,
    ) -> Result<&mut ChainPlan, Refusal> {
        self.check_service("service", service)?;
        let service = &mut self.services[service];
        let count = service.phases.len();
        let Some(phase_plan) = service.phases.get_mut(phase) else {
            let allowed = format!(
                "must be the index of a phase, from 0 to {}",
                count.saturating_sub(1)
            );
            let place = format!("services.{}.path", service.name);
            return Err(Refusal::new(place, phase, allowed));
        };
        let chains = match phase_plan {
            PhasePlan::Chains(chains) => chains.as_mut_slice(),
            PhasePlan::Cpu(_) => &mut [],
        };
        let count = chains.len();
        chains.get_mut(chain).ok_or_else(|| {
            let place = format!("services.{}.path[{phase}]", service.name);
            let allowed = match count {
                0 => "must be a chain, but this phase is application logic and has none".to_owned(),
                _ => format!("must be the index of a chain, from 0 to {}", count - 1),
            };
            Refusal::new(place, chain, allowed)
        })
    }

    fn check_service(&self, place: &str, service: usize) -> Result<(), Refusal> {
        let count = self.services.len();
        if service < count {
            return Ok(());
        }
        let allowed = format!(
            "must be the index of a service, from 0 to {}",
            count.saturating_sub(1)
        );
        Err(Refusal::new(place, service, allowed))
    }

    /// The place of `field` of a chain, as error messages name it.
    fn place(&self, service: usize, phase: usize, chain: usize, field: &str) -> String {
        let found = self.services.get(service);
        let name = found.map_or("?", |service| service.name.as_str());
        format!("services.{name}.path[{phase}][{chain}].{field}")
    }
}

fn chains_of(phase: &PhasePlan) -> &[ChainPlan] {
    match phase {
        PhasePlan::Chains(chains) => chains,
        PhasePlan::Cpu(_) => &[],
    }
}
