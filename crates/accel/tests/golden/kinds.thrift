// Every type once, for the golden vectors. Field numbers are apart, out of order and negative-going
// on purpose: the compact protocol codes them as differences.

enum Colour { RED = 1, GREEN = 2, BLUE = 7 }

typedef i64 Identifier

struct Point {
  1: double x,
  2: double y,
  3: optional string label
}

struct Kinds {
  1: bool yes,
  2: bool no,
  3: i8 tiny,
  4: i16 small,
  5: i32 medium,
  6: Identifier large,
  7: double real,
  40: string text,
  41: binary blob,
  42: Colour colour,
  43: list<bool> flags,
  44: list<i32> numbers,
  45: set<string> names,
  46: map<string, i64> counts,
  47: map<i32, Point> points,
  48: list<list<string>> nested,
  300: Point point,
  301: list<Point> path,
  302: map<string, string> empty
}

service KindsService {
  Kinds echo(1: Kinds kinds)
}
