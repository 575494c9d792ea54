//! The start of a server's connection: socket settings and TLS handshake.

use std::net::TcpStream;
use std::time::Instant;

use accelflow_runtime::Conversation;

use super::admission::Admission;
use super::peer::PeerAdmission;
use crate::config::Config;
use crate::transport::close::Close;
use crate::transport::inbound::Inbound;
use crate::transport::tls::accept;
use crate::transport::tls::control::Control;

/// A connection that is ready for its first message.
pub(crate) struct Greeted {
    /// Bytes received after the handshake.
    pub(crate) inbound: Inbound,
    /// The record keys, if the connection has TLS.
    pub(crate) conversation: Conversation,
    /// The control path of TLS; `None` without TLS.
    pub(crate) control: Option<Control>,
}

/// Starts a connection: performs the TLS handshake if the server uses TLS, and admits the peer by
/// its proven identity.
pub(crate) fn greet(
    config: &Config,
    admission: &Admission,
    stream: &TcpStream,
    peer: &mut PeerAdmission<'_>,
) -> Result<Greeted, Close> {
    stream.set_nodelay(true).map_err(Close::Io)?;
    let patience = Some(config.write_timeout);
    stream.set_write_timeout(patience).map_err(Close::Io)?;
    let mut greeted = Greeted {
        inbound: Inbound::new(),
        conversation: Conversation::default(),
        control: None,
    };
    if let Some(identity) = &admission.identity {
        let deadline = Instant::now() + config.handshake_timeout;
        let (session, control, identities) =
            accept::accept(&identity.now(), stream, &mut greeted.inbound, deadline)?;
        if identity.asks_clients {
            peer.admit(identities)?;
        }
        greeted.conversation.session.tls = Some(session);
        greeted.control = Some(control);
    }
    Ok(greeted)
}
