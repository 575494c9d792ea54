//! The application's side of a server: requests, handlers and their results.

pub(crate) mod form;
pub(crate) mod kinds;
pub(crate) mod pending;
pub(crate) mod promise;
pub(crate) mod request;
pub(crate) mod returned;
pub(crate) mod table;
pub(crate) mod value;
