// Communicator: one of NCCL's, of two ranks: 0 sends, 1 receives. Non-blocking: a call that NCCL works on in the background
// is over once settled() is true, and until then none other may be made. A single send may even report success before it
// is in its stream, so settled() is asked after each; only then does an event that is recorded stand behind it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/handle.hpp"

// NCCL's and the runtime's own opaque types, named as their headers name them.
struct ncclComm;
struct CUstream_st;

namespace lynxkv::comm::nccl {

using UniqueId = std::array<std::byte, 128>;
UniqueId make_unique_id();

struct Terms {
  std::string name;         // what profilers and NCCL's log call it
  int channels = 4;         // at most
  int traffic_class = -1;   // -1: NCCL's own
};

class Communicator {
 public:
  // Begins to join; settled() says when both have.
  Communicator(const UniqueId& id, int rank, const Terms& terms);
  ~Communicator() { abort(); }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  const std::string& name() const noexcept { return name_; }
  // Throws Error{transport} for an asynchronous error.
  bool settled();
  // Into the stream, or on the way there until settled().
  void send(const std::byte* device, std::size_t bytes, CUstream_st* stream);
  void receive(std::byte* device, std::size_t bytes, CUstream_st* stream);
  // All that this communicator ever sends from or receives into.
  void register_memory(std::byte* device, std::size_t bytes);

  // The end in order: begin_end(), settled(), end().
  void begin_end();
  void end();
  void abort() noexcept;

 private:
  void check(int result, const char* call);

  std::string name_;
  ncclComm* raw_ = nullptr;
  void* registered_ = nullptr;
};

// Device memory that NCCL can reach without a copy of its own.
struct NcclMemoryTraits {
  using type = std::byte*;
  static type none() noexcept { return nullptr; }
  static void close(type memory) noexcept;
};
using NcclMemory = Handle<NcclMemoryTraits>;
NcclMemory make_nccl_memory(std::size_t bytes);

}  // namespace lynxkv::comm::nccl
