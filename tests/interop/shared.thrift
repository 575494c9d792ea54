// What interop.thrift includes.

namespace go shared
namespace java shared
namespace js shared

enum Colour { RED = 1, GREEN, BLUE = 7 }

const i32 DOZEN = 12

exception Refused {
  1: i32 code
  2: string why
}

service Arithmetic {
  i64 add(1: i64 a, 2: i64 b) throws (1: Refused refused)
}
