// RawLink: the link as a program without any of this would use it: plain MPI_Send and MPI_Recv on a communicator of
// its own. It is what measurements are compared with, and how measuring ranks agree on what comes next.
// Blocking and spinning: for benchmarks, not for a rank that shares cores.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/transport.hpp"

namespace lynxkv::comm {

class RawLink {
 public:
  struct Send {
    int peer;
    std::span<const std::byte> bytes;
  };
  struct Receive {
    int peer;
    std::span<std::byte> bytes;  // filled; a message of another size is Error{transport}
  };

  // `count` messages of `bytes` to each of `to` and from each of `from`, whatever is in them; `window` of each peer
  // are under way at once.
  struct Stream {
    Stream(std::vector<int> to_peers, std::vector<int> from_peers, std::size_t message_bytes, int messages, int most_under_way);
    std::span<std::byte> room(std::size_t peer, int number) noexcept;  // for a message from from[peer]

    std::vector<int> to, from;
    std::size_t bytes;
    int count, window;
    std::vector<std::byte> out, in;  // in: window messages of each of `from`
  };

  virtual ~RawLink() = default;
  virtual int rank() const noexcept = 0;
  virtual int size() const noexcept = 0;
  virtual const char* name() const noexcept = 0;  // "MPI_Send", "loop"

  // All of it, in any order; messages of a pair arrive in order. A single send or receive is the blocking call.
  virtual void exchange(std::span<const Send> sends, std::span<const Receive> receives) = 0;
  // With a window of 1 messages follow each other by the blocking call. Else, where the link can, a message that is
  // through makes room for the next; by default a window is exchanged as a whole.
  virtual void run(Stream& stream);

  void send(int peer, std::span<const std::byte> bytes);
  void receive(int peer, std::span<std::byte> bytes);
  // Holds every rank until all have come.
  void barrier();
  // Rank 0's value, on every rank.
  double from_first(double mine);
  // Each rank's values, by rank, on rank 0; empty on the others.
  std::vector<std::vector<double>> gather(std::span<const double> mine);
  // The largest of all ranks' values, on every rank.
  double largest(double mine);
};

// Collective over all ranks of a started MPI (comm/world.hpp).
std::unique_ptr<RawLink> make_raw_mpi();
// Over a transport that nobody else uses, polled without a pause.
std::unique_ptr<RawLink> make_raw_link(std::unique_ptr<Transport> transport);

}  // namespace lynxkv::comm
