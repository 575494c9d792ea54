// The application logic of the servers that benches/stacks/capture.py samples.
#pragma once

#include <cstdint>
#include <string>

class PasswordTable {
 public:
  // Derives a token by many rounds of FNV-1a.
  __attribute__((noinline)) std::string derive(const std::string& name,
                                               const std::string& password) const {
    std::uint64_t state = 0xcbf29ce484222325;
    for (int round = 0; round < 400; ++round) {
      for (const char letter : name + password) {
        state = (state ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
      }
    }
    return std::to_string(state);
  }
};
