// What stock clients in several languages say to a server, with the types and the turns of phrase that
// their generated code treats differently.

include "shared.thrift"

namespace go interop
namespace java interop
namespace js interop

typedef map<i32, list<string>> Index

struct Point {
  1: double x
  2: double y
  3: optional string label
}

union Either {
  1: i64 number
  2: string text
  3: list<Point> path
}

struct Everything {
  1: bool yes
  2: bool no
  3: i8 tiny
  4: i16 small
  5: i32 medium
  6: i64 large
  7: double real
  8: string text
  9: binary blob
  10: shared.Colour colour
  11: list<i64> numbers
  12: set<string> names
  13: map<string, double> shares
  14: Index index
  15: list<Point> path
  200: Either either
  201: list<bool> flags
  202: optional Point absent
}

struct Defaults {
  1: i32 count = shared.DOZEN
  2: string text = "as \"usual\""
  3: shared.Colour colour = shared.Colour.BLUE
  4: list<i32> numbers = [1, 2]
  5: required bool sure = true
  6: Point origin = {"x": 0.5, "y": -1}
}

service Interop extends shared.Arithmetic {
  Everything echo(1: Everything value)
  /** The default values, as the server sends them. */
  Defaults standard()
  /** The argument as the handler sees it: JSON with its members in order. */
  string describe(1: Defaults value)
  void fail(1: string why)
  oneway void note(1: i64 number)
  bool noted(1: i64 number)
  /** Nobody handles this. */
  string missing()
}
