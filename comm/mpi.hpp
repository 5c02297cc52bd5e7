// The MPI transport: a communicator for each channel, nonblocking calls only.
#pragma once

#include <memory>

#include "comm/transport.hpp"

namespace lynxkv::comm {

// Collective over all ranks of a started MPI (comm/world.hpp).
std::unique_ptr<Transport> make_mpi();

// Throws Error{transport} for a return code of MPI that is not success. `call`: the function that gave it.
void check_mpi(int code, const char* call);

}  // namespace lynxkv::comm
