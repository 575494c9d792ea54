// Serves interop.thrift with Apache Thrift's C++ library: binary|compact [CERTIFICATE KEY].
// Prints its port once it listens on this machine, and serves until it is killed.

#include <cstdint>
#include <iostream>
#include <limits>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>

#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/protocol/TCompactProtocol.h>
#include <thrift/server/TServer.h>
#include <thrift/server/TThreadedServer.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TSSLServerSocket.h>
#include <thrift/transport/TSSLSocket.h>
#include <thrift/transport/TServerSocket.h>

#include "gen/Interop.h"

using namespace apache::thrift;

class Handler : public InteropIf {
 public:
  int64_t add(const int64_t a, const int64_t b) override {
    if (b > 0 && a > std::numeric_limits<int64_t>::max() - b) {
      Refused refused;
      refused.__set_code(7);
      refused.__set_why("overflow");
      throw refused;
    }
    return a + b;
  }

  void echo(Everything& result, const Everything& value) override { result = value; }

  void standard(Defaults& result) override { result = Defaults(); }

  void describe(std::string& result, const Defaults& value) override { result = value.text; }

  void fail(const std::string& why) override { throw std::runtime_error(why); }

  void note(const int64_t number) override {
    const std::lock_guard<std::mutex> held(lock_);
    noted_.insert(number);
  }

  bool noted(const int64_t number) override {
    const std::lock_guard<std::mutex> held(lock_);
    return noted_.count(number) > 0;
  }

  void missing(std::string&) override { throw std::runtime_error("nobody handles this"); }

 private:
  std::mutex lock_;
  std::set<int64_t> noted_;
};

/// Says the port, which the system has chosen, as soon as there is one.
class Announcer : public server::TServerEventHandler {
 public:
  explicit Announcer(std::shared_ptr<transport::TServerSocket> socket) : socket_(socket) {}

  void preServe() override { std::cout << socket_->getPort() << std::endl; }

 private:
  std::shared_ptr<transport::TServerSocket> socket_;
};

int main(int argc, char** argv) {
  if (argc != 2 && argc != 4) return 2;
  std::shared_ptr<transport::TSSLSocketFactory> secure;
  std::shared_ptr<transport::TServerSocket> socket;
  if (argc == 4) {
    secure = std::make_shared<transport::TSSLSocketFactory>(transport::SSLTLS);
    secure->server(true);
    secure->authenticate(false);
    secure->loadCertificate(argv[2]);
    secure->loadPrivateKey(argv[3]);
    socket = std::make_shared<transport::TSSLServerSocket>("127.0.0.1", 0, secure);
  } else {
    socket = std::make_shared<transport::TServerSocket>("127.0.0.1", 0);
  }
  std::shared_ptr<protocol::TProtocolFactory> protocols;
  if (std::string(argv[1]) == "compact") {
    protocols = std::make_shared<protocol::TCompactProtocolFactory>();
  } else {
    protocols = std::make_shared<protocol::TBinaryProtocolFactory>();
  }
  server::TThreadedServer server(std::make_shared<InteropProcessor>(std::make_shared<Handler>()),
                                 socket, std::make_shared<transport::TFramedTransportFactory>(),
                                 protocols);
  server.setServerEventHandler(std::make_shared<Announcer>(socket));
  server.serve();
}
