// What the servers of benches/server_thrift.py echo.
struct Item { 1: string text, 2: list<i64> numbers }
service Bench { Item echo(1: Item value) }
