// Calls a server of interop.thrift with Apache Thrift's C++ library: PORT binary|compact [CA_FILE].

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>

#include <thrift/TApplicationException.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/protocol/TCompactProtocol.h>
#include <thrift/protocol/TMultiplexedProtocol.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TSSLSocket.h>
#include <thrift/transport/TSocket.h>

#include "gen/Interop.h"

using apache::thrift::TApplicationException;
using apache::thrift::protocol::TProtocol;
using namespace apache::thrift;

static void expect(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

static Point point(double x, double y) {
  Point made;
  made.__set_x(x);
  made.__set_y(y);
  return made;
}

static Everything everything(std::size_t size) {
  Everything value;
  value.__set_yes(true);
  value.__set_no(false);
  value.__set_tiny(std::numeric_limits<int8_t>::min());
  value.__set_small(std::numeric_limits<int16_t>::max());
  value.__set_medium(std::numeric_limits<int32_t>::min());
  value.__set_large(std::numeric_limits<int64_t>::max());
  value.__set_real(-1e300);
  value.__set_text("gr\u00fc\u00dfe \"\\\n" + std::string(1, '\0') + std::string(size, 'x'));
  value.__set_blob(std::string("\x00\x01\x80\xff", 4));
  value.__set_colour(Colour::BLUE);
  std::vector<int64_t> numbers{0, -1, std::numeric_limits<int64_t>::min(),
                               std::numeric_limits<int64_t>::max()};
  numbers.resize(numbers.size() + size / 64);
  value.__set_numbers(numbers);
  value.__set_names({"", "one"});
  value.__set_shares({{"", 0.1}, {"b", 2.0}});
  value.__set_index({{-1, {"minus"}}, {1 << 30, {}}});
  Point labelled = point(3, 4);
  labelled.__set_label("\u00df");
  value.__set_path({point(1, 2), labelled});
  Either either;
  either.__set_path({point(5, 0)});
  value.__set_either(either);
  value.__set_flags({true, false, true});
  return value;
}

static void calls(InteropClient& client) {
  for (std::size_t size : {0u, 1u << 10, 1u << 16, 1u << 20}) {
    const Everything value = everything(size);
    Everything found;
    client.echo(found, value);
    expect(found == value, "echo of " + std::to_string(size));
  }
  int64_t sum = 0;
  for (int64_t turn = 1; turn <= 100; ++turn) sum = client.add(sum, turn);
  expect(sum == 5050, "add");
  Defaults standard;
  client.standard(standard);
  expect(standard == Defaults(), "standard");
  Defaults changed;
  changed.__set_count(5);
  std::string text;
  client.describe(text, changed);
  expect(text == "{\"colour\":7,\"count\":5,\"numbers\":[1,2],\"origin\":{\"x\":0.5,\"y\":-1.0},"
                 "\"sure\":true,\"text\":\"as \\\"usual\\\"\"}",
         "describe: " + text);
  client.note(getpid());
  expect(client.noted(getpid()), "noted");
}

static void failures(InteropClient& client) {
  try {
    client.add(std::numeric_limits<int64_t>::max(), 1);
    expect(false, "add beyond 64 bits");
  } catch (const Refused& refused) {
    expect(refused.code == 7 && refused.why == "overflow", "refused");
  }
  try {
    client.fail("on purpose");
    expect(false, "fail");
  } catch (const TApplicationException& failed) {
    expect(failed.getType() == TApplicationException::INTERNAL_ERROR, failed.what());
  }
  try {
    std::string none;
    client.missing(none);
    expect(false, "missing");
  } catch (const TApplicationException& failed) {
    expect(failed.getType() == TApplicationException::UNKNOWN_METHOD, failed.what());
  }
}

static void run(int port, const std::string& protocol, const char* ca) {
  std::shared_ptr<transport::TSSLSocketFactory> factory;
  std::shared_ptr<transport::TTransport> socket;
  if (ca != nullptr) {
    factory = std::make_shared<transport::TSSLSocketFactory>(transport::SSLTLS);
    factory->loadTrustedCertificates(ca);
    factory->authenticate(true);
    socket = factory->createSocket("localhost", port);
  } else {
    socket = std::make_shared<transport::TSocket>("localhost", port);
  }
  auto framed = std::make_shared<transport::TFramedTransport>(socket);
  std::shared_ptr<TProtocol> wire;
  if (protocol == "compact") {
    wire = std::make_shared<protocol::TCompactProtocol>(framed);
  } else {
    wire = std::make_shared<protocol::TBinaryProtocol>(framed);
  }
  framed->open();
  auto named = std::make_shared<protocol::TMultiplexedProtocol>(wire, "Interop");
  for (const std::shared_ptr<TProtocol>& out : {wire, std::shared_ptr<TProtocol>(named)}) {
    InteropClient client(wire, out);
    calls(client);
    failures(client);
  }
  framed->close();
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  try {
    run(std::atoi(argv[1]), argv[2], argc > 3 ? argv[3] : nullptr);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  std::cout << "ok\n";
}
