//! The software bodies of the nine accelerators, each an [`Accelerator`](crate::Accelerator).

pub(crate) mod cmp;
pub(crate) mod dcmp;
pub(crate) mod dser;
pub mod ldb;
pub(crate) mod rpc;
pub(crate) mod ser;
pub(crate) mod tcp;
pub(crate) mod tls;
