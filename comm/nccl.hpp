// The NCCL transport: data goes from GPU to GPU, small messages go by a carrier (MPI, or the in-process loop in tests).
//   Communicators  one of two ranks for each class (anchor, residual) and each route (sender, receiver) in use, with a
//                  stream of its own, the anchor's at the highest priority.
//   A transfer     is announced by the sender, granted by the receiver once its staging has room, and only then launched
//                  on both ends, in the order of the grants. comm/nccl/lane.hpp says why no cycle can form.
//   Errors         NCCL's asynchronous ones are polled; one ends all communicators and comes out as Error{transport}.
// A build without NCCL has all of this; make_nccl then refuses.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/nccl_placement.hpp"
#include "comm/transport.hpp"

namespace lynxkv::comm {

struct NcclOptions {
  std::vector<Route> routes;                          // those that carry data; empty: every rank to every other
  std::size_t staging_bytes = std::size_t{8} << 20;   // for each route, class and end; a message is at most half of it
  int channels = 4;                                   // NCCL's for one transfer, at most: thread blocks and buffers
  int anchor_traffic_class = 104;                     // what NCCL hands to the network (InfiniBand: 8 bits); -1: nothing
  int residual_traffic_class = 32;
  double init_seconds = 120;
  double close_seconds = 10;
};

// Collective over the carrier's ranks; owns it from now on. Nothing else may use its data channels.
// Throws Error{usage}, on all ranks alike, where the ranks have no GPUs of their own; Error{transport} where NCCL fails
// or a rank does not come within init_seconds.
std::unique_ptr<Transport> make_nccl(std::unique_ptr<Transport> carrier, const NcclOptions& options);

// What this process would bring: its NCCL, its GPUs, or why there are none. Never throws.
NcclFacts nccl_facts();

}  // namespace lynxkv::comm
