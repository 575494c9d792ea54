// Notes with tags; saving one asks another service for its words.
struct Tag { 1: string name, 2: i32 weight }

service Notes {
  i64 Save(1: i64 owner, 2: string text, 3: list<Tag> tags)
  string Find(1: i64 id)
}

service Words {
  i32 Count(1: string text)
}
