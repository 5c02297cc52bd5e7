// What carries the bytes between ranks, as far as it can be told: for reports that others shall be able to repeat.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace lynxkv::comm {

// "Open MPI v4.1.4", of a started MPI.
std::string mpi_version();
// The point-to-point components that a started Open MPI has in use, "btl self, btl tcp, pml ob1"; "unknown" elsewhere.
std::string mpi_components();
// Network interfaces of this host that are up, but for the loopback: "eth0 (25000 Mbit/s), ib0".
std::string network_interfaces();
// Variables of this process's environment that steer communication, sorted by name.
std::vector<std::pair<std::string, std::string>> link_environment();

}  // namespace lynxkv::comm
