// Calls Calculator.add with Apache Thrift's C++ library: PORT binary|compact [CA_FILE].
// What the compiler would generate is written out, since there is only one function.

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

#include <thrift/TApplicationException.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/protocol/TCompactProtocol.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TSSLSocket.h>
#include <thrift/transport/TSocket.h>

using namespace apache::thrift;
using protocol::TProtocol;

static void call(TProtocol& out, const std::string& method, int32_t sequence, int64_t a, int64_t b) {
  out.writeMessageBegin(method, protocol::T_CALL, sequence);
  out.writeStructBegin("args");
  out.writeFieldBegin("a", protocol::T_I64, 1);
  out.writeI64(a);
  out.writeFieldEnd();
  out.writeFieldBegin("b", protocol::T_I64, 2);
  out.writeI64(b);
  out.writeFieldEnd();
  out.writeFieldStop();
  out.writeStructEnd();
  out.writeMessageEnd();
  out.getTransport()->writeEnd();
  out.getTransport()->flush();
}

static int64_t result(TProtocol& in, int32_t expected) {
  std::string name;
  protocol::TMessageType kind;
  int32_t sequence = 0;
  in.readMessageBegin(name, kind, sequence);
  if (sequence != expected) throw std::runtime_error("out of step");
  if (kind == protocol::T_EXCEPTION) {
    TApplicationException error;
    error.read(&in);
    in.readMessageEnd();
    in.getTransport()->readEnd();
    throw error;
  }
  int64_t value = 0;
  std::string field;
  protocol::TType type;
  int16_t id = 0;
  in.readStructBegin(name);
  for (;;) {
    in.readFieldBegin(field, type, id);
    if (type == protocol::T_STOP) break;
    if (type == protocol::T_I64 && id == 0) in.readI64(value);
    else in.skip(type);
    in.readFieldEnd();
  }
  in.readStructEnd();
  in.readMessageEnd();
  in.getTransport()->readEnd();
  return value;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  std::shared_ptr<transport::TSSLSocketFactory> factory;
  std::shared_ptr<transport::TTransport> socket;
  if (argc > 3) {
    factory = std::make_shared<transport::TSSLSocketFactory>(transport::SSLTLS);
    factory->loadTrustedCertificates(argv[3]);
    factory->authenticate(true);
    socket = factory->createSocket("localhost", std::atoi(argv[1]));
  } else {
    socket = std::make_shared<transport::TSocket>("localhost", std::atoi(argv[1]));
  }
  auto framed = std::make_shared<transport::TFramedTransport>(socket);
  std::shared_ptr<TProtocol> protocol;
  if (std::string(argv[2]) == "compact") {
    protocol = std::make_shared<protocol::TCompactProtocol>(framed);
  } else {
    protocol = std::make_shared<protocol::TBinaryProtocol>(framed);
  }
  framed->open();
  int64_t sum = 0;
  for (int32_t turn = 1; turn <= 100; ++turn) {
    call(*protocol, "add", turn, sum, turn);
    sum = result(*protocol, turn);
  }
  std::cout << sum << "\n";
  call(*protocol, "subtract", 101, 1, 1);
  try {
    result(*protocol, 101);
  } catch (const TApplicationException& error) {
    std::cout << error.getType() << "\n";
  }
  framed->close();
}
