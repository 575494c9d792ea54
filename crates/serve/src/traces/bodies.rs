//! The bodies (software) of custom accelerators, for the executors of a service's traces.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use accelflow_accel::{CustomBody, Ensemble};
use accelflow_parameters::Refusal;
use accelflow_trace::Image;

type Make = dyn Fn() -> Vec<Box<dyn CustomBody>> + Send + Sync;

/// A factory that creates the bodies (implementations in software) of custom accelerators, since
/// each executor of traces needs bodies of its own. A factory belongs to the traces that call the
/// accelerators, and is replaced together with these traces.
#[derive(Clone, Default)]
pub struct CustomBodies(Option<Arc<Make>>);

impl fmt::Debug for CustomBodies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.names();
        f.debug_tuple("CustomBodies").field(&names).finish()
    }
}

impl CustomBodies {
    /// Creates a factory that calls `make` for the bodies of each executor.
    pub fn new(
        make: impl Fn() -> Vec<Box<dyn CustomBody>> + Send + Sync + 'static,
    ) -> CustomBodies {
        CustomBodies(Some(Arc::new(make)))
    }

    fn make(&self) -> Vec<Box<dyn CustomBody>> {
        self.0.as_ref().map(|make| make()).unwrap_or_default()
    }

    fn names(&self) -> Vec<String> {
        let bodies = self.make();
        let names = bodies.iter().map(|body| body.kind().name().to_owned());
        names.collect()
    }

    /// Adds the bodies of the custom accelerators to `ensemble`. They replace bodies of
    /// accelerators with the same names.
    pub fn equip(&self, ensemble: &mut Ensemble) {
        for body in self.make() {
            ensemble.add(body);
        }
    }

    /// Checks that every custom accelerator that `image` calls has a body.
    ///
    /// # Errors
    /// The refusal of an accelerator without a body, or whose body has another declaration.
    pub(crate) fn check(&self, image: &Image) -> Result<(), Refusal> {
        if image.kinds().is_empty() {
            return Ok(());
        }
        let bodies = self.make();
        for kind in image.kinds() {
            let found = bodies.iter().find(|body| body.kind().name() == kind.name());
            let allowed = match found {
                Some(body) if *body.kind() == **kind => continue,
                Some(body) => format!("must be declared like its body, '{}'", body.kind()),
                None => "must have a body, registered before the traces are set".to_owned(),
            };
            let names = self.names();
            let names = names.iter().map(String::as_str);
            let refusal = Refusal::new("accelerator", format!("'{}'", kind.name()), allowed);
            return Err(refusal.proposing(kind.name(), names.filter(|name| *name != kind.name())));
        }
        Ok(())
    }
}

/// The bodies that the cores of an ensemble have now.
#[derive(Clone, Debug, Default)]
pub(crate) struct Equipment(Arc<RwLock<(CustomBodies, u64)>>);

impl Equipment {
    /// The bodies that an ensemble begins with.
    pub(crate) fn of(bodies: &CustomBodies) -> Equipment {
        Equipment(Arc::new(RwLock::new((bodies.clone(), 0))))
    }

    /// Gives `ensemble` the bodies.
    pub(crate) fn equip(&self, ensemble: &mut Ensemble) {
        let now = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let bodies = now.0.clone();
        drop(now);
        bodies.equip(ensemble);
    }

    /// Replaces the bodies by those of a later generation of traces. Returns whether it did.
    pub(crate) fn replace(&self, bodies: &CustomBodies, generation: u64) -> bool {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner).1;
        if generation <= known {
            return false;
        }
        let mut now = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let later = generation > now.1;
        if later {
            *now = (bodies.clone(), generation);
        }
        later
    }
}
