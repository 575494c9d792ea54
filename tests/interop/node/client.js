// Calls a server of interop.thrift with Apache Thrift's Node library: PORT binary|compact [CA_FILE].
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const Int64 = require("node-int64");
const thrift = require("thrift");

const Interop = require("./gen/Interop");
const { Defaults, Either, Everything, Point } = require("./gen/interop_types");
const { Colour, Refused } = require("./gen/shared_types");

function everything(size, compact) {
  return new Everything({
    yes: true,
    no: false,
    tiny: -128,
    small: 32767,
    medium: -(2 ** 31),
    large: new Int64("7fffffffffffffff"),
    real: -1e300,
    text: 'grüße "\\\n\0' + "x".repeat(size),
    blob: Buffer.from([0, 1, 0x80, 0xff]),
    colour: Colour.BLUE,
    numbers: [0, -1, 2 ** 40, ...new Array(size >> 6).fill(3)].map((it) => new Int64(it)),
    names: ["", "one"],
    shares: { "": 0.1, b: 2 },
    index: { "-1": ["minus"], 1073741824: [] },
    path: [new Point({ x: 1, y: 2 }), new Point({ x: 3, y: 4, label: "ß" })],
    either: new Either({ path: [new Point({ x: 5, y: 0 })] }),
    // The library reads every bool in a list of the compact protocol as false (0.22.0, and later ones).
    flags: compact ? undefined : [true, false, true],
  });
}

// Int64 keeps a buffer, of which only eight bytes are its value.
function plain(value) {
  if (value instanceof Int64) return "i64 " + value.toOctetString();
  if (Buffer.isBuffer(value) || value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map(plain);
  return Object.fromEntries(Object.entries(value).map(([name, it]) => [name, plain(it)]));
}

async function echo(client, compact) {
  for (const size of [0, 1 << 10, 1 << 16, 1 << 20]) {
    const value = everything(size, compact);
    assert.deepStrictEqual(plain(await client.echo(value)), plain(value), `echo of ${size}`);
  }
}

async function arithmetic(client) {
  let sum = 0;
  for (let turn = 1; turn <= 100; turn += 1) {
    const found = (await client.add(sum, turn)).toNumber();
    assert.strictEqual(found, sum + turn);
    sum = found;
  }
  await assert.rejects(client.add(new Int64("7fffffffffffffff"), 1), (error) => {
    assert.ok(error instanceof Refused, String(error));
    assert.deepStrictEqual([error.code, error.why], [7, "overflow"]);
    return true;
  });
}

async function failures(client) {
  const kinds = thrift.Thrift.TApplicationExceptionType;
  await assert.rejects(client.fail("on purpose"), { type: kinds.INTERNAL_ERROR, message: /purpose/ });
  await assert.rejects(client.missing(), { type: kinds.UNKNOWN_METHOD });
}

async function defaults(client) {
  assert.deepStrictEqual(plain(await client.standard()), plain(new Defaults({ sure: true })));
  const expected =
    '{"colour":7,"count":5,"numbers":[1,2],"origin":{"x":0.5,"y":-1.0},' +
    '"sure":true,"text":"as \\"usual\\""}';
  assert.strictEqual(await client.describe(new Defaults({ count: 5, sure: true })), expected);
}

async function note(client) {
  client.note(process.pid);
  assert.strictEqual(await client.noted(process.pid), true);
}

async function main(port, protocol, ca) {
  const compact = protocol === "compact";
  const options = {
    transport: thrift.TFramedTransport,
    protocol: compact ? thrift.TCompactProtocol : thrift.TBinaryProtocol,
  };
  // Left to itself, the library asks for TLS 1.2 at most.
  const secure = {
    ca: ca && fs.readFileSync(ca),
    servername: "localhost",
    secureProtocol: "TLS_method",
  };
  const connection = ca
    ? thrift.createSSLConnection("localhost", port, { ...options, ...secure })
    : thrift.createConnection("localhost", port, options);
  connection.on("error", (error) => {
    console.error(error);
    process.exit(1);
  });
  const multiplexer = new thrift.Multiplexer();
  const clients = [
    () => thrift.createClient(Interop, connection),
    () => multiplexer.createClient("Interop", Interop, connection),
  ];
  for (const make of clients) {
    const client = make();
    for (const step of [echo, arithmetic, failures, defaults, note]) await step(client, compact);
  }
  connection.end();
  console.log("ok");
}

const [port, protocol, ca] = process.argv.slice(2);
main(Number(port), protocol, ca).catch((error) => {
  console.error(error);
  process.exit(1);
});
