//! The arrival of requests at the server.

use accelflow_trace::Accel;
use accelflow_units::Time;

use crate::server::engine::Engine;
use crate::server::error::Failure;
use crate::server::observer::RequestEvent;
use crate::server::parts::Arrival;
use crate::server::state::{CoreId, Event, Path, Request, RequestId};
use crate::stats::Part;

/// The attribute of a request that chooses the core that its message is steered to.
const HOME_CORE: u64 = 0;
/// The attribute that chooses the TCP instance of its connection.
const HOME_TCP: u64 = 1;

impl Engine<'_> {
    /// Schedules the next arrival of a load.
    pub(crate) fn schedule_arrival(&mut self, load: usize) {
        if let Some(at) = self.arrivals.next(load) {
            self.schedule(at, Event::Arrive(load as u16));
        }
    }

    /// A request of a load arrives and starts its first phase.
    pub(crate) fn arrive(&mut self, load: usize, now: Time) -> Result<(), Failure> {
        let arrival = self.arrivals.arrive(load, now);
        self.schedule_arrival(load);
        // Requests are numbered by service, so that two loads on a service have different requests.
        let number = self.measures.arrived_at(arrival.service);
        let request = self.new_request(&arrival, number, now);
        self.measures.count_arrival(&request, now);
        if request.measured {
            self.open_window(now);
        }
        self.measures.enter(now);
        self.read_use(now);
        let id = self.requests.insert(request);
        self.show(id, now, |_| RequestEvent::Arrived);
        self.come_from_client(id, now)?;
        if self.arrivals.have_ended() {
            self.close_window(now);
        }
        Ok(())
    }

    /// Starts the first phase of a request after the client's part of its response time.
    ///
    /// The time that the client and the network add does not involve the server, so all of it
    /// passes before the server's work. A Poisson process whose requests are delayed independently
    /// remains a Poisson process.
    fn come_from_client(&mut self, id: RequestId, now: Time) -> Result<(), Failure> {
        let request = self.requests.get(id);
        let outside = self.requests.outside_client(request);
        if outside == Time::ZERO {
            return self.start_phase(id, now);
        }
        let at = now + outside;
        let request = self.requests.get_mut(id);
        request.path.spend(Part::Remote, at);
        request.remote = 1;
        self.schedule(at, Event::Received(id));
        Ok(())
    }

    /// A request has come from its client.
    pub(crate) fn received(&mut self, id: RequestId, now: Time) -> Result<(), Failure> {
        self.requests.get_mut(id).remote = 0;
        self.show_came_from_client(id, now);
        self.start_phase(id, now)
    }

    /// The request number `number` of its service.
    pub(crate) fn new_request(&self, arrival: &Arrival, number: u64, now: Time) -> Request {
        let mut request = Request {
            service: arrival.service,
            number,
            arrived: now,
            caller: None,
            phase: 0,
            outstanding: 0,
            remote: 0,
            core: 0,
            balanced: false,
            measured: arrival.measured,
            responded: false,
            is_part: false,
            terminated: false,
            tenant: self.tenancy.index_of(arrival.tenant),
            priority: arrival.priority,
            due: arrival.due,
            tcp: 0,
            path: Path::new(now),
            cpu: Time::ZERO,
            cold: Time::ZERO,
            overhead: Time::ZERO,
        };
        let cores = self.cores.count() as u64;
        request.core = (self.requests.attribute(&request, HOME_CORE) % cores) as CoreId;
        let instances = self.run.config.accelerator.instances_of(Accel::Tcp) as u64;
        if instances > 1 {
            request.tcp = (self.requests.attribute(&request, HOME_TCP) % instances) as u8;
        }
        request
    }
}
