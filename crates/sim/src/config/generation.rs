//! Generations of processors (AccelFlow, section VII.C.4, Fig. 20).
//!
//! "While newer processors indeed improve the performance of the main service logic, they offer
//! less benefit to datacenter tax operations." All generations have the clock, caches, networks
//! and accelerators of the base server, so what differs is what software takes. An accelerator's
//! time is that of a core of the base server over its speedup, whatever cores are beside it.

use accelflow_units::Time;

use super::Config;

/// A generation of processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Generation {
    /// Xeon E5 v3, of 2014.
    Haswell,
    /// The first Xeon Scalable, of 2017.
    Skylake,
    /// The third, of 2021: the base server, which profiles are of.
    #[default]
    IceLake,
    /// The fourth, of 2023.
    SapphireRapids,
    /// The fifth, of 2023.
    EmeraldRapids,
}

impl Generation {
    /// From the oldest to the newest, by their number in `core.generation`.
    pub const ALL: [Generation; 5] = [
        Generation::Haswell,
        Generation::Skylake,
        Generation::IceLake,
        Generation::SapphireRapids,
        Generation::EmeraldRapids,
    ];

    /// The name that people know it by.
    pub const fn name(self) -> &'static str {
        match self {
            Generation::Haswell => "Haswell",
            Generation::Skylake => "Skylake",
            Generation::IceLake => "Ice Lake",
            Generation::SapphireRapids => "Sapphire Rapids",
            Generation::EmeraldRapids => "Emerald Rapids",
        }
    }

    /// How many instructions of application logic it executes while the base executes one.
    ///
    /// Assumed, from what Intel is reported to have said about equal clocks (statements at launches,
    /// not found again): Broadwell 5.5 % above Haswell (2014),
    /// Skylake-SP 10 % above Broadwell (2017), Ice Lake-SP 18 % above Cascade Lake (Hot Chips
    /// 2020), whose core is Skylake's, and Golden Cove 19 % above Cypress Cove (2021), which is
    /// Ice Lake's core in an older process. For Emerald Rapids there is only a figure of whole
    /// sockets: 21 % on average, 64 cores over 56 (2023), which leaves 6 % for a core.
    pub const fn gain(self) -> f64 {
        match self {
            Generation::Haswell => 1.0 / (1.055 * 1.10 * 1.18),
            Generation::Skylake => 1.0 / 1.18,
            Generation::IceLake => 1.0,
            Generation::SapphireRapids => 1.19,
            Generation::EmeraldRapids => 1.19 * 1.06,
        }
    }
}

impl Config {
    /// What takes `base` on a core of the base server in application logic, on this one's cores.
    pub fn application_time(&self, base: Time) -> Time {
        self.on_generation(base, 1.0)
    }

    /// The same of an operation that there is an accelerator for.
    pub fn tax_time(&self, base: Time) -> Time {
        self.on_generation(base, self.core.tax_gain)
    }

    /// The same of the operating system.
    pub fn system_time(&self, base: Time) -> Time {
        self.on_generation(base, self.core.system_gain)
    }

    /// `share` is the exponent of the gain: 1 for all of it, 0 for none.
    fn on_generation(&self, base: Time, share: f64) -> Time {
        if self.core.generation == Generation::default() {
            return base;
        }
        base.scale(self.core.generation.gain().powf(-share))
    }

    /// This server with what software on its generation's cores costs. Enqueue, software queues and
    /// seeing a flag stay: they wait for the networks and the cache, not for the core.
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
