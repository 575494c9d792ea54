//! The ensemble: the bodies of all accelerators, created from one set of settings.

use std::sync::Arc;

use accelflow_trace::{Accel, Kind, Transform};

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
use crate::custom::{self, CustomBody};
use crate::error::AccelError;
use crate::job::Job;
use crate::limits::Limits;
use crate::protocols::thrift::{FunctionSet, Schema};
use crate::transform;

/// The settings of the software accelerators of an [`Ensemble`]: limits on messages, the Thrift
/// interface, compression, and the form in which applications get arguments.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Limits on the messages that the accelerators process.
    pub limits: Limits,
    /// The Thrift interface whose functions RPC, Ser and Dser know.
    pub schema: Arc<Schema>,
    /// The codec of the compression accelerator Cmp. If a gRPC call states a codec, Cmp uses that
    /// codec for the call's messages instead.
    pub codec: Codec,
    /// The Zstandard level of Cmp, 1 (fastest) to 22.
    pub level: i32,
    /// The functions whose arguments Dser delivers as records (checked messages in their wire form)
    /// instead of JSON text. For a gRPC service, the set has the indices of methods in the
    /// service's schema.
    pub records: FunctionSet,
    /// Whether Dser stores the byte offsets of containers and structs with each Thrift record, so
    /// that an application can skip parts that it does not read. In Cerebros, the offsets are the
    /// half of the split schema that differs from message to message (MICRO 2021, section 4.3).
    /// Default false.
    pub split_schema: bool,
}

impl Default for Settings {
    /// Returns the SocialNetwork interface, Zstandard at [`DEFAULT_LEVEL`], and default limits.
    fn default() -> Settings {
        Settings {
            limits: Limits::default(),
            schema: Schema::social_network(),
            codec: Codec::Zstd,
            level: DEFAULT_LEVEL,
            records: FunctionSet::default(),
            split_schema: false,
        }
    }
}

/// The accelerators that process a program's messages: implementations (bodies) of the paper's nine
/// accelerators and of custom accelerators. It also converts messages between formats.
pub struct Ensemble {
    bodies: [Box<dyn Accelerator>; Accel::COUNT],
    own: Vec<Box<dyn CustomBody>>,
    limits: Limits,
}

impl Ensemble {
    /// Creates an ensemble of the nine accelerators in software, with `settings`. The load balancer
    /// LdB chooses a core for each message by `policy`, given the cores' `loads`.
    ///
    /// # Errors
    /// `out_of_range` for an invalid compression level.
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
            Box::new(
                Dser::new(schema(), limits)
                    .with_records(settings.records.clone())
                    .with_split_schema(settings.split_schema),
            ),
            Box::new(Cmp::new(settings.codec, settings.level, limits)?),
            Box::new(Dcmp::new(limits)),
            Box::new(Ldb::new(policy, loads)),
        ];
        let own = Vec::new();
        Ok(Ensemble {
            bodies,
            own,
            limits,
        })
    }

    /// Creates an ensemble of the nine accelerators in software, with default settings. The load
    /// balancer LdB picks the `cores` cores in turn; with 0 cores, it fails (`no_core`).
    ///
    /// # Errors
    /// No error occurs with the default settings.
    pub fn with_cores(cores: usize) -> Result<Ensemble, AccelError> {
        let policy = Box::new(RoundRobin::default());
        Ensemble::software(&Settings::default(), policy, CoreLoads::idle(cores))
    }

    /// Replaces the implementation of the accelerator `body.kind()` with `body`, for example a
    /// device instead of software.
    pub fn replace(&mut self, body: Box<dyn Accelerator>) {
        let place = body.kind().index();
        self.bodies[place] = body;
    }

    /// Adds `body`, the implementation of a custom accelerator. It replaces an earlier
    /// implementation of the accelerator with the same name.
    pub fn add(&mut self, body: Box<dyn CustomBody>) {
        self.own
            .retain(|known| known.kind().name() != body.kind().name());
        self.own.push(body);
    }

    /// Runs a custom accelerator on a job (a message). `kind` is the accelerator's declaration in
    /// the traces (programs of accelerator calls) that call it.
    ///
    /// # Errors
    /// - `no_body` if the accelerator has no body (implementation), `other_kind` if the body's
    ///   declaration differs from `kind`;
    /// - `wrong_direction` if the accelerator is declared only for messages of the other direction
    ///   (received or sent);
    /// - `wrong_facts` if the body's output does not have exactly the declared facts (values for
    ///   branches of traces);
    /// - `too_large` for an input or output beyond the limits;
    /// - the error that the body returns;
    /// - the errors of [`Record::to_json`](crate::Record::to_json) if the job holds a record.
    ///
    /// The job is then unchanged.
    pub fn run_own(&mut self, kind: &Kind, job: &mut Job) -> Result<(), AccelError> {
        let mut bodies = self.own.iter_mut();
        let body = bodies.find(|body| body.kind().name() == kind.name());
        let body = body.ok_or_else(|| AccelError::no_body(kind))?;
        custom::run(body.as_mut(), kind, job, &self.limits)
    }

    /// Replaces each of the nine accelerators by `wrap(accelerator)`, for example to measure it.
    #[must_use]
    pub fn wrapped(
        self,
        wrap: impl FnMut(Box<dyn Accelerator>) -> Box<dyn Accelerator>,
    ) -> Ensemble {
        let bodies = self.bodies.map(wrap);
        Ensemble { bodies, ..self }
    }

    /// Runs `accel`, one of the nine accelerators, on a job (a message).
    ///
    /// # Errors
    /// The accelerator's error, or `body_failed` if `accel` is a custom accelerator (see
    /// [`Ensemble::run_own`]). The job is then unchanged.
    pub fn run(&mut self, accel: Accel, job: &mut Job) -> Result<(), AccelError> {
        match self.bodies.get_mut(accel.index()) {
            Some(body) => body.run(job),
            // Only a trace memory has its name and declaration: see `run_own`.
            None => Err(AccelError::custom(
                &accel.to_string(),
                "not one of the paper's nine accelerators",
            )),
        }
    }

    /// Returns the limits on the messages that the accelerators process.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Converts a job's payload from the format `step.src` to `step.dst`, such as from JSON to
    /// BSON.
    ///
    /// # Errors
    /// The errors of [`transform::run`]; the job is then unchanged.
    pub fn transform(&mut self, step: Transform, job: &mut Job) -> Result<(), AccelError> {
        transform::run(job, step, &self.limits)
    }

    /// Frees the working memory of the nine accelerators that may hold data of earlier jobs, for
    /// use before a job of another tenant; see [`Accelerator::forget`]. Custom accelerators keep
    /// their memory.
    pub fn forget(&mut self) {
        self.bodies.iter_mut().for_each(|body| body.forget());
    }

    /// Returns the implementations of the nine accelerators in the order of [`Accel::ALL`].
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
