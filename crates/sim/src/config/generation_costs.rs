//! The costs of software on a generation of processors (AccelFlow, section VII.C.4, Fig. 20).
//!
//! "While newer processors indeed improve the performance of the main service logic, they offer
//! less benefit to datacenter tax operations." All generations have the clock, caches, networks and
//! accelerators of the base server, so only the time of software differs. For all generations, an
//! accelerator's time is the time of a core of the base server, divided by the speedup.

use accelflow_units::Time;

use super::parts::Generation;
use super::server::Config;

impl Config {
    /// Converts the time `base` of application logic on a core of the base server (Ice Lake) to the
    /// time on this server's cores.
    pub fn application_time(&self, base: Time) -> Time {
        self.on_generation(base, 1.0)
    }

    /// Converts the time `base` of a datacenter tax operation (such as encryption) on a core of the
    /// base server (Ice Lake) to the time on this server's cores.
    pub fn tax_time(&self, base: Time) -> Time {
        self.on_generation(base, self.core.tax_gain)
    }

    /// Converts the time `base` of operating system work on a core of the base server (Ice Lake) to
    /// the time on this server's cores.
    pub fn system_time(&self, base: Time) -> Time {
        self.on_generation(base, self.core.system_gain)
    }

    /// Scales a time by the generation's gain. `share` is the exponent of the gain: 1 for all of
    /// it, 0 for none.
    fn on_generation(&self, base: Time, share: f64) -> Time {
        if self.core.generation == Generation::default() {
            return base;
        }
        base.scale(self.core.generation.gain().powf(-share))
    }

    /// This server with the software costs of its generation's cores. The costs of Enqueue,
    /// software queues and flags stay the same: they depend on the networks and the cache, not on
    /// the core.
    pub(crate) fn with_generation_costs(&self) -> Config {
        let mut config = self.clone();
        let core = &mut config.core;
        for cost in [
            &mut core.context_switch,
            &mut core.interrupt,
            &mut core.submit,
            &mut config.exception.handling,
            &mut config.tlb.fault_service,
        ] {
            *cost = self.system_time(*cost);
        }
        core.transform_per_kib = self.tax_time(core.transform_per_kib);
        config
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn newer_generations_improve_application_more_than_tax_and_tax_more_than_the_system() {
        let base = Time::from_us(100);
        let times = Generation::ALL.map(|generation| {
            let mut config = Config::default();
            config.core.generation = generation;
            [
                config.application_time(base),
                config.tax_time(base),
                config.system_time(base),
            ]
        });
        for kind in 0..3 {
            assert!(times.windows(2).all(|pair| pair[0][kind] > pair[1][kind]));
        }
        for [application, tax, system] in &times[..2] {
            assert!(application > tax && tax > system && *system > base);
        }
        assert_eq!(times[2], [base; 3]);
        for [application, tax, system] in &times[3..] {
            assert!(application < tax && tax < system && *system < base);
        }
    }

    #[test]
    fn the_base_generation_costs_what_parameters_say() {
        let mut config = Config::default();
        assert_eq!(config.with_generation_costs(), config);
        config.set("core.generation", 3.0).unwrap();
        config.set("core.interrupt_ns", 2_000.0).unwrap();
        config.set("core.system_gain", 1.0).unwrap();
        config.set("core.tax_gain", 0.0).unwrap();
        let costs = config.with_generation_costs();
        assert_eq!(
            costs.core.interrupt,
            Time::from_ps(1_680_672),
            "2 us / 1.19"
        );
        assert_eq!(costs.core.context_switch, Time::from_ps(840_336));
        assert_eq!(costs.core.submit, Time::from_ps(672_269));
        assert_eq!(costs.cohort, config.cohort);
        assert_eq!(costs.exception.handling, Time::from_ps(840_336));
        assert_eq!(costs.tlb.fault_service, Time::from_ps(1_680_672));
        assert_eq!(costs.core.transform_per_kib, Time::from_us(1));
        assert_eq!(costs.core.enqueue, config.core.enqueue);
        assert_eq!(costs.core.notice, config.core.notice);
    }
}
