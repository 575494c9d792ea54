//! Requests and responses.

/// Whether a message is a request or a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// From the client to the server, or from the service to the store.
    Request,
    /// From the server to the client, or from the store to the service.
    Response,
}
