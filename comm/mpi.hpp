// The MPI transport: a communicator for each channel, nonblocking calls only.
#pragma once

#include <memory>

#include "comm/transport.hpp"

namespace lynxkv::comm {

// Collective over all ranks of a started MPI (comm/world.hpp).
std::unique_ptr<Transport> make_mpi();

}  // namespace lynxkv::comm
