//! Message sizes from published data; `scripts/derive_size_quantiles.py` derives them again and
//! compares.

/// The share of Snappy calls (compression and decompression, 841 million samples) in Google's fleet
/// with at most this many uncompressed bytes.
///
/// Provenance: derived from google/fleetbench at 703e5e55,
/// compression call samples `Snappy_COMPRESS_Fleet.json` and `Snappy_DECOMPRESS_Fleet.json`.
pub(super) const FLEET: [(f64, u64); 31] = [
    (0.000021109, 1),
    (0.000086465, 2),
    (0.000153532, 4),
    (0.003857903, 8),
    (0.004551999, 16),
    (0.013693041, 32),
    (0.016632417, 64),
    (0.027750945, 128),
    (0.095856155, 256),
    (0.184028992, 512),
    (0.321329180, 1024),
    (0.455072869, 2048),
    (0.597742211, 4096),
    (0.709043193, 8192),
    (0.799158540, 16384),
    (0.903735846, 32768),
    (0.953524553, 65536),
    (0.980847459, 131072),
    (0.992145543, 262144),
    (0.996584961, 524288),
    (0.998067751, 1048576),
    (0.998796205, 2097152),
    (0.999797639, 4194304),
    (0.999938611, 8388608),
    (0.999978169, 16777216),
    (0.999995641, 33554432),
    (0.999999741, 67108864),
    (0.999999955, 134217728),
    (0.999999996, 268435456),
    (0.999999999, 536870912),
    (1.000000000, 1073741824),
];

/// The share of the calls that HyperCompressBench represents (Snappy and ZSTD, both ways, 35,475
/// files) with at most this many uncompressed bytes.
///
/// Provenance: derived from google/HyperCompressBench at 32f72601, `remapped_benchmarks`. Its
/// files are built of whole KiB, so the smallest bucket holds all calls up to 1 KiB.
pub(super) const HYPER_COMPRESS_BENCH: [(f64, u64); 16] = [
    (0.212544045, 1024),
    (0.288062016, 2048),
    (0.414207188, 4096),
    (0.507906977, 8192),
    (0.623988724, 16384),
    (0.722959831, 32768),
    (0.848231149, 65536),
    (0.937815363, 131072),
    (0.976772375, 262144),
    (0.988160677, 524288),
    (0.990500352, 1048576),
    (0.994756871, 2097152),
    (0.998280479, 4194304),
    (0.999492600, 8388608),
    (0.999971811, 16777216),
    (1.000000000, 33554432),
];

/// Bytes of the messages of DeathStarBench's SocialNetwork: minimum, median, 99th percentile and
/// maximum.
///
/// Provenance: derived from delimitrou/DeathStarBench at 6ecb0970: Thrift's framed binary protocol
/// with the interface `social_network.thrift`, field values as its load generator makes them, and
/// one carrier entry for tracing. Followers are those of the graph socfb-Reed98.
pub(super) const MESSAGES: [(&str, [u64; 4]); 26] = [
    ("HTTP compose body", [444, 714, 969, 984]),
    ("ComposePost req", [537, 782, 1013, 1028]),
    ("ComposePost rsp", [28, 28, 28, 28]),
    ("ComposeText req", [469, 684, 900, 900]),
    ("ComposeText rsp", [495, 963, 1427, 1427]),
    ("ComposeUrls req", [204, 354, 579, 579]),
    ("ComposeUrls rsp", [149, 375, 714, 714]),
    ("ComposeUserMentions req", [151, 198, 233, 233]),
    ("ComposeUserMentions rsp", [73, 165, 230, 230]),
    ("ComposeUniqueId req", [132, 132, 132, 132]),
    ("ComposeUniqueId rsp", [43, 43, 43, 43]),
    ("ComposeMedia req", [153, 183, 213, 213]),
    ("ComposeMedia rsp", [59, 103, 147, 147]),
    ("ComposeCreatorWithUserId req", [162, 164, 164, 164]),
    ("ComposeCreatorWithUserId rsp", [73, 75, 75, 75]),
    ("StorePost req", [690, 1199, 1684, 1710]),
    ("WriteUserTimeline req", [160, 160, 160, 160]),
    ("WriteHomeTimeline req", [176, 200, 216, 216]),
    ("Login req", [149, 153, 153, 153]),
    ("RegisterUserWithId req", [210, 218, 218, 218]),
    ("InsertUser req", [131, 131, 131, 131]),
    ("FollowWithUsername req", [162, 166, 166, 166]),
    ("ReadHomeTimeline req", [151, 151, 151, 151]),
    (
        "ReadHomeTimeline rsp (10 posts)",
        [8437, 10772, 12565, 13318],
    ),
    ("ReadPosts req (10 ids)", [207, 207, 207, 207]),
    ("GetFollowers rsp", [45, 269, 1293, 2541]),
];
