//! Sizes of SocialNetwork's messages.

use crate::role::Role;

/// The measured sizes of a sample of the requests, or of the responses, of one method: minimum,
/// median, 99th percentile and maximum, in bytes. Messages are encoded in Thrift's binary protocol
/// with framed transport, and sizes include the 4 bytes of the frame length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageSize {
    /// The method whose messages were measured.
    pub method: &'static str,
    /// Whether the measured messages are requests or responses.
    pub role: Role,
    /// The smallest size in the sample, in bytes.
    pub min_bytes: usize,
    /// The median size in the sample, in bytes.
    pub p50_bytes: usize,
    /// The 99th percentile of the sizes in the sample, in bytes.
    pub p99_bytes: usize,
    /// The largest size in the sample, in bytes.
    pub max_bytes: usize,
}

const fn size(
    method: &'static str,
    role: Role,
    [min_bytes, p50_bytes, p99_bytes, max_bytes]: [usize; 4],
) -> MessageSize {
    MessageSize {
        method,
        role,
        min_bytes,
        p50_bytes,
        p99_bytes,
        max_bytes,
    }
}

/// The measured sizes of SocialNetwork's messages: minimum, median, 99th percentile and maximum in
/// bytes, for the requests, the responses or both of each method in [`METHODS`](super::METHODS).
/// The samples have the field values of DeathStarBench's load generator scripts (commit 6ecb0970,
/// wrk2). The `carrier` of each message, the map of tracing headers, has one `uber-trace-id`. The
/// messages were serialized with thriftpy2's binary protocol in framed transport. Messages outside
/// the samples can be smaller or larger.
pub const MESSAGE_SIZES: [MessageSize; 25] = [
    size("ComposePost", Role::Request, [537, 782, 1_013, 1_028]),
    size("ComposePost", Role::Response, [28, 28, 28, 28]),
    size("ComposeText", Role::Request, [469, 684, 900, 900]),
    size("ComposeText", Role::Response, [495, 963, 1_427, 1_427]),
    size("ComposeUrls", Role::Request, [204, 354, 579, 579]),
    size("ComposeUrls", Role::Response, [149, 375, 714, 714]),
    size("ComposeUserMentions", Role::Request, [151, 198, 233, 233]),
    size("ComposeUserMentions", Role::Response, [73, 165, 230, 230]),
    size("ComposeUniqueId", Role::Request, [132, 132, 132, 132]),
    size("ComposeUniqueId", Role::Response, [43, 43, 43, 43]),
    size("ComposeMedia", Role::Request, [153, 183, 213, 213]),
    size("ComposeMedia", Role::Response, [59, 103, 147, 147]),
    size(
        "ComposeCreatorWithUserId",
        Role::Request,
        [162, 164, 164, 164],
    ),
    size("ComposeCreatorWithUserId", Role::Response, [73, 75, 75, 75]),
    size("StorePost", Role::Request, [690, 1_199, 1_684, 1_710]),
    size("WriteUserTimeline", Role::Request, [160, 160, 160, 160]),
    size("WriteHomeTimeline", Role::Request, [176, 200, 216, 216]),
    size("Login", Role::Request, [149, 153, 153, 153]),
    size("RegisterUserWithId", Role::Request, [210, 218, 218, 218]),
    size("InsertUser", Role::Request, [131, 131, 131, 131]),
    size("FollowWithUsername", Role::Request, [162, 166, 166, 166]),
    size("ReadHomeTimeline", Role::Request, [151, 151, 151, 151]),
    size(
        "ReadHomeTimeline",
        Role::Response,
        [8_437, 10_772, 12_565, 13_318],
    ),
    size("ReadPosts", Role::Request, [207, 207, 207, 207]),
    size("GetFollowers", Role::Response, [45, 269, 1_293, 2_541]),
];
