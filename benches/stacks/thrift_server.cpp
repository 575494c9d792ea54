// Apache Thrift's C++ servers for benches/stacks/capture.py: threaded|pool. Prints its port once it
// listens, and serves until it is killed.

#include <iostream>
#include <memory>
#include <string>

#include <thrift/concurrency/ThreadFactory.h>
#include <thrift/concurrency/ThreadManager.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/server/TThreadPoolServer.h>
#include <thrift/server/TThreadedServer.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TServerSocket.h>

#include "Users.h"
#include "handler.h"

using namespace apache::thrift;

class UsersHandler : public UsersIf {
 public:
  __attribute__((noinline)) void Login(std::string& token, const std::string& name,
                                       const std::string& password) override {
    token = table_.derive(name, password);
  }

 private:
  PasswordTable table_;
};

class Announcer : public server::TServerEventHandler {
 public:
  explicit Announcer(std::shared_ptr<transport::TServerSocket> listener) : listener_(listener) {}
  void preServe() override { std::cout << listener_->getPort() << std::endl; }

 private:
  std::shared_ptr<transport::TServerSocket> listener_;
};

static void serve(server::TServer& server, std::shared_ptr<transport::TServerSocket> listener) {
  server.setServerEventHandler(std::make_shared<Announcer>(listener));
  server.serve();
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  auto processor = std::make_shared<UsersProcessor>(std::make_shared<UsersHandler>());
  auto listener = std::make_shared<transport::TServerSocket>("127.0.0.1", 0);
  auto framed = std::make_shared<transport::TFramedTransportFactory>();
  auto binary = std::make_shared<protocol::TBinaryProtocolFactory>();
  if (std::string(argv[1]) == "threaded") {
    server::TThreadedServer server(processor, listener, framed, binary);
    serve(server, listener);
  } else {
    auto threads = concurrency::ThreadManager::newSimpleThreadManager(4);
    threads->threadFactory(std::make_shared<concurrency::ThreadFactory>());
    threads->start();
    server::TThreadPoolServer server(processor, listener, framed, binary, threads);
    serve(server, listener);
  }
}
