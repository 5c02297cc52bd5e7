// What the ranks of one communicator share: a piece of memory that each maps, threads and processes alike.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace nccl_double {

constexpr int most_ranks = 16;
constexpr std::size_t chunk_most_bytes = 64 * 1024;

// A send or receive that stands at its end of a pair.
struct Posted {
  std::uint64_t bytes;
  std::uint32_t type;
};

// From one rank to another. Operations are numbered from 1; both ends count their own.
struct Pair {
  std::atomic<std::uint64_t> sends_called, receives_called;
  std::atomic<std::uint64_t> sends_posted, receives_posted;  // the latest number that stands there
  Posted send[2], receive[2];                                // by number, modulo 2
  std::atomic<std::uint32_t> chunk_bytes;                    // in `chunk`; 0 where it is free
  std::byte chunk[chunk_most_bytes];
};

struct Member {
  std::atomic<std::uint32_t> joined, finalised, left, aborted;
  std::int32_t pid;
  char bus[64];  // of its GPU
  // Of the group of operations that runs: the numbers of the unfinished ones, by peer; 0 for none.
  std::atomic<std::uint64_t> version;
  std::atomic<std::uint64_t> waits_to_send[most_ranks], waits_to_receive[most_ranks];
};

struct Shared {
  std::atomic<std::uint32_t> ranks;
  Member members[most_ranks];
  Pair pairs[most_ranks][most_ranks];  // [from][to]
};

// A mapping of it. `name`: what the unique id carries.
class Segment {
 public:
  static std::string create();
  explicit Segment(const std::string& name);  // throws std::runtime_error where there is none
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;
  Shared* operator->() const noexcept { return shared_; }
  Shared& operator*() const noexcept { return *shared_; }
  // All have mapped it: the name may go.
  void forget_name() noexcept;

 private:
  std::string name_;
  Shared* shared_ = nullptr;
};

}  // namespace nccl_double
