// Calls the shop of tests/test_server_grpc.py with gRPC's library for Node, with and without gzip:
//   node client.js ADDRESS INTERFACE [CA]
// Prints one line of JSON for each call, in order.
const fs = require("node:fs");
const grpc = require("@grpc/grpc-js");
const loader = require("@grpc/proto-loader");

const [, , address, file, ca] = process.argv;
const { Shop } = grpc.loadPackageDefinition(loader.loadSync(file, { longs: String })).shop.v1;
const trusted = ca
  ? grpc.credentials.createSsl(fs.readFileSync(ca))
  : grpc.credentials.createInsecure();

const { identity, gzip } = grpc.compressionAlgorithms;

async function main() {
  for (const algorithm of [identity, gzip]) {
    const client = new Shop(address, trusted, {
      "grpc.default_compression_algorithm": algorithm,
    });
    const call = (method, request, options = {}) =>
      new Promise((resolve) =>
        client[method](request, new grpc.Metadata(), options, (error, response) =>
          resolve(error ? [error.code, error.details] : response),
        ),
      );
    const say = (value) => console.log(JSON.stringify(value));
    say((await call("Add", { firstNumber: "40", secondNumber: "2" })).sum);
    say((await call("Echo", { text: "x".repeat(500000) })).text.length);
    say(await call("Add", { firstNumber: "9223372036854775807", secondNumber: "1" }));
    const soon = { deadline: Date.now() + 200 };
    say((await call("Slow", { firstNumber: "60000" }, soon))[0]);
    client.close();
  }
}

main();
