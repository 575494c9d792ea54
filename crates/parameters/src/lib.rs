//! The parameters of models: names, units, allowed values, defaults, and the sources of defaults.
//!
//! * [`Parameter`] describes one parameter; [`Kind`] is the kind of its allowed values.
//! * [`Table`] binds parameters to the fields of a configuration. Every engine (simulator, model or
//!   server) declares a table.
//! * [`Refusal`] is the error for a value that is not allowed. All of accelflow prints such errors
//!   in this form: `KEY = VALUE: must be ..., did you mean ...?`.
//!
//! ```
//! use accelflow_parameters::{Choice, Kind, Parameter, Provenance, Row, Table};
//!
//! #[derive(Default)]
//! struct Oven {
//!     degrees: f64,
//!     fan: bool,
//! }
//!
//! const TABLE: Table<Oven> = Table::new(&[&[
//!     Row {
//!         parameter: Parameter {
//!             key: "oven.temperature",
//!             unit: "C",
//!             kind: Kind::whole(50.0, 250.0),
//!             default: 180.0,
//!             provenance: Provenance::Paper,
//!             source: "the cookbook, page 12",
//!             why: "",
//!         },
//!         get: |oven| oven.degrees,
//!         set: |oven, value| oven.degrees = value,
//!     },
//!     Row {
//!         parameter: Parameter {
//!             key: "oven.heat",
//!             unit: "",
//!             kind: Kind::Choice(&[
//!                 Choice { value: 0.0, name: "still", meaning: "from above and below" },
//!                 Choice { value: 1.0, name: "fan", meaning: "circulated by a fan" },
//!             ]),
//!             default: 0.0,
//!             provenance: Provenance::Assumed,
//!             source: "no source",
//!             why: "Most ovens start in this mode.",
//!         },
//!         get: |oven| f64::from(u8::from(oven.fan)),
//!         set: |oven, value| oven.fan = value == 1.0,
//!     },
//! ]]);
//!
//! let mut oven = Oven::default();
//! TABLE.set_defaults(&mut oven);
//! TABLE.set_by_name(&mut oven, "oven.heat", "fan")?;
//! assert!(oven.fan && oven.degrees == 180.0);
//!
//! let error = TABLE.set(&mut oven, "oven.temperature", 300.0).unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "oven.temperature = 300: must be a whole number from 50 to 250 C"
//! );
//! let error = TABLE.set(&mut oven, "oven.temprature", 200.0).unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "parameter = 'oven.temprature': must be the key of a parameter, \
//!      did you mean oven.temperature?"
//! );
//! # Ok::<(), accelflow_parameters::Refusal>(())
//! ```

mod kind;
mod number;
mod parameter;
mod provenance;
mod refusal;
mod similar;
mod syntax;
mod system;
mod table;

pub use kind::{Choice, Kind};
pub use number::number_text;
pub use parameter::Parameter;
pub use provenance::Provenance;
pub use refusal::{Refusal, any_of, quoted};
pub use similar::similar;
pub use syntax::syntax_text;
pub use system::system_text;
pub use table::{Row, Table};
