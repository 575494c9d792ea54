//! The reasons why connections end.

use std::io;

use accelflow_accel::AccelError;

/// The reason why a connection ended. [`Close::reason`] is its label in the metrics.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Close {
    /// The client has closed it between two messages.
    #[error("closed by the other end")]
    Done,
    /// The client has closed it within a message.
    #[error("closed by the other end within a message")]
    Cut,
    /// The server is stopping and has answered all received requests.
    #[error("the server is stopping")]
    Drained,
    /// The client never sent anything.
    #[error("the client sent nothing in time")]
    Silent,
    /// The client sent nothing for too long.
    #[error("idle for longer than the limit")]
    Idle,
    /// Closed after a pause, to make room for another connection.
    #[error("idle, and closed to make room for another connection")]
    Evicted {
        /// Whether the client may have sent something that is not read any more.
        leaves_unread: bool,
    },
    /// A message, a reply or a handshake took too long.
    #[error("not complete within the time limit: {0}")]
    Slow(&'static str),
    /// A malformed frame, record or message header.
    #[error("{0}")]
    Malformed(AccelError),
    /// The handshake failed.
    #[error("TLS: {0}")]
    Handshake(rustls::Error),
    /// The client has reported an error of TLS.
    #[error("TLS {} from the other end", alert(*.0))]
    Alert(u8),
    /// The peer has sent more key updates than allowed.
    #[error(
        "TLS: more key updates than allowed ({})",
        crate::transport::tls::key_updates::ALLOWED
    )]
    KeyUpdates,
    /// The server itself failed to handle the connection; the reason.
    #[error("{0}")]
    Failed(String),
    /// The peer does not speak HTTP/2.
    #[error("HTTP/2: {0}")]
    Http2(String),
    /// The peer sent too many frames that cause work but have no part of a request.
    #[error("too many frames that are not part of a request")]
    Flood,
    /// The server stopped while a request waited for admission.
    #[error("the server is stopping")]
    Stopped,
    /// The client's tenant has its maximum number of connections.
    #[error("the client's tenant has as many connections as it may have")]
    TooManyOfTenant,
    /// The socket failed.
    #[error(transparent)]
    Io(io::Error),
}

/// The name and number of a TLS alert (RFC 8446, section 6).
pub(crate) fn alert(description: u8) -> String {
    let name = rustls::AlertDescription::from(description);
    format!("alert {description} ({name:?})")
}

impl Close {
    /// Returns the reason for a connection on which nothing has ever been received.
    pub(crate) fn before_anything(self) -> Close {
        match self {
            Close::Idle => Close::Silent,
            close => close,
        }
    }

    /// Whether unread data may be on the socket while the client has not yet read the last reply.
    pub(crate) fn leaves_unread(&self) -> bool {
        match self {
            Close::Evicted { leaves_unread } => *leaves_unread,
            Close::Drained
            | Close::Stopped
            | Close::Malformed(_)
            | Close::KeyUpdates
            | Close::Handshake(_)
            | Close::Failed(_) => true,
            Close::Done
            | Close::Cut
            | Close::Idle
            | Close::Silent
            | Close::Slow(_)
            | Close::Alert(_)
            | Close::Http2(_)
            | Close::Flood
            | Close::TooManyOfTenant
            | Close::Io(_) => false,
        }
    }

    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Close::Done | Close::Drained => "done",
            Close::Silent => "silent",
            Close::Cut => "cut",
            Close::Idle => "idle",
            Close::Evicted { .. } => "evicted",
            Close::Slow(_) => "slow",
            Close::Malformed(error) => error.reason(),
            Close::Handshake(_) => "handshake",
            Close::Alert(_) => "alert",
            Close::KeyUpdates => "key_updates",
            Close::Failed(_) => "failed",
            Close::Http2(_) => "http2",
            Close::Flood => "flood",
            Close::Stopped => "stopped",
            Close::TooManyOfTenant => "too_many_of_tenant",
            Close::Io(_) => "io",
        }
    }
}

impl From<AccelError> for Close {
    fn from(error: AccelError) -> Close {
        Close::Malformed(error)
    }
}
