// gRPC's C++ servers for benches/stacks/capture.py: sync|callback. Prints its port once it listens,
// and serves until it is killed.

#include <iostream>
#include <memory>
#include <string>

#include <grpcpp/grpcpp.h>

#include "handler.h"
#include "users.grpc.pb.h"

class UsersImpl final : public users::Users::Service {
 public:
  __attribute__((noinline)) grpc::Status Login(grpc::ServerContext*, const users::Credentials* request,
                                               users::Token* token) override {
    token->set_text(table_.derive(request->name(), request->password()));
    return grpc::Status::OK;
  }

 private:
  PasswordTable table_;
};

class UsersCallbacks final : public users::Users::CallbackService {
 public:
  __attribute__((noinline)) grpc::ServerUnaryReactor* Login(grpc::CallbackServerContext* context,
                                                            const users::Credentials* request,
                                                            users::Token* token) override {
    token->set_text(table_.derive(request->name(), request->password()));
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

 private:
  PasswordTable table_;
};

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  UsersImpl sync;
  UsersCallbacks callbacks;
  const bool is_sync = std::string(argv[1]) == "sync";
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(is_sync ? static_cast<grpc::Service*>(&sync) : &callbacks);
  auto server = builder.BuildAndStart();
  std::cout << port << std::endl;
  server->Wait();
}
