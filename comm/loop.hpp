// The in-process loop: `size` transports that hand messages to each other in memory. Used where one process
// holds both roles, and by tests with one thread a rank.
#pragma once

#include <memory>
#include <vector>

#include "comm/transport.hpp"

namespace lynxkv::comm {

std::vector<std::unique_ptr<Transport>> make_loop(int size);

}  // namespace lynxkv::comm
