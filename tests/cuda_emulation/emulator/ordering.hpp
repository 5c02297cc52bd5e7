// Which queued accesses to device memory are ordered: by their stream, by events, or by what the host has seen to end.
// Copies and the transfers of a communication library are noted; a transfer that nothing orders against another access
// to its bytes is a fault, whatever the order was that this run happened to take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

struct CUstream_st;

namespace cuda_emulation {

// By stream: up to which piece of its work something comes after it.
using After = std::map<CUstream_st*, std::uint64_t>;

struct NotedAccess {
  CUstream_st* stream;
  std::uint64_t index;  // of the piece of work in its stream
  std::uintptr_t begin, end;
  bool writes;
  bool transfer;
  std::string what;
};

class Ordering {
 public:
  // Throws a Fault where the access and an earlier one are unordered, one of them writes and one is a transfer.
  void note(NotedAccess access);
  // The host frees memory: every transfer that touches it has to be over, to the host's knowledge.
  void check_freed(const void* at, std::size_t bytes);
  // Transfers that were broken off: those whose text begins with `what`.
  void forget(const std::string& what);

 private:
  void forget_seen();
  std::vector<NotedAccess> accesses_;
};

// The host knows that the stream has come that far.
void host_has_seen(CUstream_st& stream, std::uint64_t index);
void host_has_seen(const After& after);

}  // namespace cuda_emulation
