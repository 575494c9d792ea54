//! The requests of clients, as in DeathStarBench's scripts for wrk2.

use accelflow_accel::{AccelError, messages};
use serde_json::{Value, json};

/// The users of the initial graph: those of socfb-Reed98, DeathStarBench's smallest.
pub(crate) const USERS: u64 = 962;

/// The seed of the contents of messages.
const CONTENTS: u64 = 1;

/// A kind of request: the eight services of AccelFlow's evaluation, and the third of the mixed
/// workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    ComposePost,
    ReadHome,
    StorePost,
    Follow,
    Login,
    ComposeUrls,
    UniqueId,
    Register,
    ReadUser,
    /// A request to the server that does nothing.
    Floor,
}

/// The eight services in the order of AccelFlow's Table IV.
pub(crate) const EIGHT: [Kind; 8] = [
    Kind::ComposePost,
    Kind::ReadHome,
    Kind::StorePost,
    Kind::Follow,
    Kind::Login,
    Kind::ComposeUrls,
    Kind::UniqueId,
    Kind::Register,
];

/// The mixed workload of wrk2/mixed-workload.lua.
pub(crate) const MIXED: [(Kind, f64); 3] = [
    (Kind::ReadHome, 0.6),
    (Kind::ReadUser, 0.3),
    (Kind::ComposePost, 0.1),
];

impl Kind {
    /// The paper's name, or a similar one.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::ComposePost => "CPost",
            Kind::ReadHome => "ReadH",
            Kind::StorePost => "StoreP",
            Kind::Follow => "Follow",
            Kind::Login => "Login",
            Kind::ComposeUrls => "CUrls",
            Kind::UniqueId => "UniqId",
            Kind::Register => "RegUsr",
            Kind::ReadUser => "ReadU",
            Kind::Floor => "floor",
        }
    }

    pub(crate) fn method(self) -> &'static str {
        match self {
            Kind::ComposePost => "ComposePost",
            Kind::ReadHome => "ReadHomeTimeline",
            Kind::StorePost => "StorePost",
            Kind::Follow => "Follow",
            Kind::Login => "Login",
            Kind::ComposeUrls => "ComposeUrls",
            Kind::UniqueId | Kind::Floor => "ComposeUniqueId",
            Kind::Register => "RegisterUserWithId",
            Kind::ReadUser => "ReadUserTimeline",
        }
    }

    /// The service that handles it.
    pub(crate) fn service(self) -> &'static str {
        match self {
            Kind::ComposePost => "ComposePostService",
            Kind::ReadHome => "HomeTimelineService",
            Kind::StorePost => "PostStorageService",
            Kind::Follow => "SocialGraphService",
            Kind::Login | Kind::Register => "UserService",
            Kind::ComposeUrls => "UrlShortenService",
            Kind::UniqueId => "UniqueIdService",
            Kind::ReadUser => "UserTimelineService",
            Kind::Floor => crate::floor::NAME,
        }
    }

    /// `Service.method`, as recordings name it.
    pub(crate) fn function(self) -> String {
        format!("{}.{}", self.service(), self.method())
    }

    /// Whether its arguments are compressed in Table IV.
    pub(crate) fn compressed(self) -> bool {
        matches!(
            self,
            Kind::ComposePost | Kind::StorePost | Kind::ComposeUrls
        )
    }

    /// The arguments of request `number`; they differ between numbers.
    pub(crate) fn arguments(self, number: u64) -> Result<Value, AccelError> {
        let user = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let (user, other) = (user % USERS, (user / USERS) % (USERS - 1));
        Ok(match self {
            Kind::Follow => {
                let of_login = messages::request("Login", CONTENTS, number)?;
                let followee = (user + 1 + other) % USERS;
                json!({"req_id": of_login["req_id"], "user_id": user, "followee_id": followee,
                    "carrier": of_login["carrier"]})
            }
            Kind::ReadUser => messages::request("ReadHomeTimeline", CONTENTS, number)?,
            Kind::Register => {
                let mut arguments = messages::request(self.method(), CONTENTS, number)?;
                arguments["username"] = json!(format!("newcomer_{number}"));
                arguments["user_id"] = json!(USERS + number);
                arguments
            }
            _ => messages::request(self.method(), CONTENTS, number)?,
        })
    }
}
