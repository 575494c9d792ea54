//! All nine software bodies from one set of settings.

use std::sync::Arc;

use accelflow_trace::{Accel, Transform};

use crate::accelerator::Accelerator;
use crate::bodies::cmp::{Cmp, DEFAULT_LEVEL};
use crate::bodies::dcmp::Dcmp;
use crate::bodies::dser::Dser;
use crate::bodies::ldb::{BalancingPolicy, CoreLoads, Ldb, RoundRobin};
use crate::bodies::rpc::Rpc;
use crate::bodies::ser::Ser;
use crate::bodies::tcp::Tcp;
use crate::bodies::tls::{Decr, Encr};
use crate::codec::Codec;
use crate::error::AccelError;
use crate::job::Job;
use crate::limits::Limits;
use crate::protocols::thrift::{FunctionSet, Schema};
use crate::transform;

/// Settings of the software bodies of an [`Ensemble`].
#[derive(Clone, Debug)]
pub struct Settings {
    /// Limits on messages.
    pub limits: Limits,
    /// The interface that RPC, Ser and Dser know.
    pub schema: Arc<Schema>,
    /// The method of Cmp.
    pub codec: Codec,
    /// The Zstandard level, 1 to 22.
    pub level: i32,
    /// The functions, or the gRPC methods by index, whose arguments Dser delivers as records
    /// instead of JSON text.
    pub records: FunctionSet,
}

impl Default for Settings {
    /// The SocialNetwork interface, Zstandard at [`DEFAULT_LEVEL`], default limits.
    fn default() -> Settings {
        Settings {
            limits: Limits::default(),
            schema: Schema::social_network(),
            codec: Codec::Zstd,
            level: DEFAULT_LEVEL,
            records: FunctionSet::default(),
        }
    }
}

/// One software body of each accelerator, and the transformation engine.
pub struct Ensemble {
    bodies: [Box<dyn Accelerator>; Accel::COUNT],
    limits: Limits,
}

impl Ensemble {
    /// Creates an ensemble of nine software bodies; its LdB chooses among the cores of `loads` by `policy`.
    ///
    /// # Errors
    /// `out_of_range` for a compression level that does not exist.
    pub fn software(
        settings: &Settings,
        policy: Box<dyn BalancingPolicy>,
        loads: CoreLoads,
    ) -> Result<Ensemble, AccelError> {
        let limits = settings.limits;
        let schema = || settings.schema.clone();
        let bodies: [Box<dyn Accelerator>; Accel::COUNT] = [
            Box::new(Tcp::new(limits)),
            Box::new(Encr::new(limits)),
            Box::new(Decr::new(limits)),
            Box::new(Rpc::new(schema(), limits)),
            Box::new(Ser::new(schema(), limits)),
            Box::new(Dser::new(schema(), limits).with_records(settings.records.clone())),
            Box::new(Cmp::new(settings.codec, settings.level, limits)?),
            Box::new(Dcmp::new(limits)),
            Box::new(Ldb::new(policy, loads)),
        ];
        Ok(Ensemble { bodies, limits })
    }

    /// Software bodies with default settings, balancing round robin over `cores` cores.
    ///
    /// # Errors
    /// None with these settings; the signature is that of [`Ensemble::software`].
    pub fn with_cores(cores: usize) -> Result<Ensemble, AccelError> {
        let policy = Box::new(RoundRobin::default());
        Ensemble::software(&Settings::default(), policy, CoreLoads::idle(cores))
    }

    /// Replaces the body of the same kind, for instance by a device.
    pub fn replace(&mut self, body: Box<dyn Accelerator>) {
        let place = body.kind().index();
        self.bodies[place] = body;
    }

    /// The ensemble with `wrap` around each body.
    #[must_use]
    pub fn wrapped(
        self,
        wrap: impl FnMut(Box<dyn Accelerator>) -> Box<dyn Accelerator>,
    ) -> Ensemble {
        let bodies = self.bodies.map(wrap);
        Ensemble { bodies, ..self }
    }

    /// Runs one accelerator on a job.
    ///
    /// # Errors
    /// That of the accelerator; the job is then unchanged.
    pub fn run(&mut self, accel: Accel, job: &mut Job) -> Result<(), AccelError> {
        self.bodies[accel.index()].run(job)
    }

    /// Runs one transformation on a job.
    ///
    /// # Errors
    /// Those of [`transform::run`]; the job is then unchanged.
    pub fn transform(&mut self, step: Transform, job: &mut Job) -> Result<(), AccelError> {
        transform::run(job, step, &self.limits)
    }

    /// Gives up what the bodies hold of earlier jobs; see [`Accelerator::forget`].
    pub fn forget(&mut self) {
        self.bodies.iter_mut().for_each(|body| body.forget());
    }

    /// The nine bodies in the order of [`Accel::ALL`], to run them elsewhere.
    pub fn into_bodies(self) -> [Box<dyn Accelerator>; Accel::COUNT] {
        self.bodies
    }
}

impl std::fmt::Debug for Ensemble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ensemble")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
