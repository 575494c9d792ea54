//! The interface to peers, the other ends of a trace's connections: services over real connections,
//! or a replacement in this process ([`LoopbackPeer`]).

mod answers;
mod error;
mod interface;
mod loopback;
mod parties;
mod reply;

pub use answers::{Answers, CacheAnswer, DatabaseAnswer, HttpAnswer, RpcAnswer};
pub use error::PeerError;
pub use interface::{NoPeer, Peer};
pub use loopback::LoopbackPeer;
pub use parties::Party;
pub use reply::Reply;
