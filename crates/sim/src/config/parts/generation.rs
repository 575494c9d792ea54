//! Generations of processors (AccelFlow, section VII.C.4, Fig. 20).

/// A generation of Intel's server processors, which determines the speed of the cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Generation {
    /// Xeon E5 v3 of 2014.
    Haswell,
    /// The first Xeon Scalable of 2017.
    Skylake,
    /// The third Xeon Scalable of 2021: the processor of the base server, on which the costs of
    /// operations were measured.
    #[default]
    IceLake,
    /// The fourth Xeon Scalable of 2023.
    SapphireRapids,
    /// The fifth Xeon Scalable of 2023.
    EmeraldRapids,
}

impl Generation {
    /// All generations from the oldest to the newest, indexed by the numeric value of the parameter
    /// `core.generation`.
    pub const ALL: [Generation; 5] = [
        Generation::Haswell,
        Generation::Skylake,
        Generation::IceLake,
        Generation::SapphireRapids,
        Generation::EmeraldRapids,
    ];

    /// Returns the common name of the generation, such as `Ice Lake`.
    pub const fn name(self) -> &'static str {
        match self {
            Generation::Haswell => "Haswell",
            Generation::Skylake => "Skylake",
            Generation::IceLake => "Ice Lake",
            Generation::SapphireRapids => "Sapphire Rapids",
            Generation::EmeraldRapids => "Emerald Rapids",
        }
    }

    /// Returns the performance of application logic on a core, relative to a core of the base
    /// server (Ice Lake): the ratio of instructions per cycle.
    ///
    /// The values are assumed: they come from reports of what Intel stated at launches, for equal
    /// clocks. The values could not be checked, because Intel's own statements were not found.
    ///
    /// - Broadwell: 5.5 % above Haswell (2014).
    /// - Skylake-SP: 10 % above Broadwell (2017).
    /// - Ice Lake-SP: 18 % above Cascade Lake (Hot Chips 2020), which has Skylake's core.
    /// - Sapphire Rapids: its core, Golden Cove, is 19 % above Cypress Cove (2021). Cypress Cove is
    ///   Ice Lake's core in an older process.
    /// - Emerald Rapids: Intel compared only whole sockets. 21 % more on average (2023), with 64
    ///   cores instead of 56, is 6 % more per core.
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
