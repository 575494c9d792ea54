// Three services whose response times are easy to understand.
service Ladder {
  // Little work: half of a request is outside of it.
  string Short(1: string key)
  // The same work for every request.
  string Hash(1: string key)
  // Work that varies as an exponential distribution does.
  string Mixed(1: string key)
}
