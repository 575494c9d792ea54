//! The role of a message: request or response.

/// Whether a message is a request or a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A message from the client to the server, or from the service to the cache or the database.
    Request,
    /// A message from the server to the client, or from the cache or the database to the service.
    Response,
}
