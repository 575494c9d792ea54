// Messages between a service and its database cache or database, as accelflow frames them:
// a 4-byte length, then one Message in Thrift's compact protocol.
// Meaning of every field: docs/message-conventions.md.

enum Operation {
  CACHE_GET = 0,
  CACHE_SET = 1,
  DB_FIND = 2,
  DB_INSERT = 3
}

enum DataFormat {
  STR = 0,
  JSON = 1,
  BSON = 2
}

enum Codec {
  ZSTD = 1,
  SNAPPY = 2
}

struct Request {
  1: required Operation operation,
  2: required string collection,
  3: required string key,
  // The next four only with CACHE_SET and DB_INSERT.
  4: optional i32 compressed,
  5: optional Codec codec,
  6: optional DataFormat format,
  7: optional binary data
}

struct Response {
  1: required Operation operation,
  // CACHE_GET: 1 if the key is there.
  2: optional i32 hit,
  // DB_FIND: 1 if the document is there.
  3: optional i32 found,
  // 1 if data is compressed with codec.
  4: optional i32 compressed,
  // DB_FIND: 1 if the cache keeps this collection compressed.
  5: optional i32 c_compressed,
  // 1 if the operation failed; message says why.
  6: optional i32 exception,
  7: optional Codec codec,
  8: optional DataFormat format,
  9: optional binary data,
  10: optional string message
}

union Message {
  1: Request request,
  2: Response response
}
