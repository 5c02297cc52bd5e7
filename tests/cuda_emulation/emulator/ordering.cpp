#include "tests/cuda_emulation/emulator/ordering.hpp"

#include <algorithm>

#include "tests/cuda_emulation/emulator/faults.hpp"
#include "tests/cuda_emulation/emulator/streams.hpp"

namespace cuda_emulation {
namespace {

bool overlap(const NotedAccess& access, std::uintptr_t begin, std::uintptr_t end) {
  return access.begin < end && begin < access.end;
}

bool over_for_the_host(const NotedAccess& access) { return access.index <= access.stream->host_seen; }

}  // namespace

void Ordering::forget_seen() { std::erase_if(accesses_, over_for_the_host); }

void Ordering::note(NotedAccess access) {
  if (access.begin == access.end) return;
  forget_seen();
  for (const NotedAccess& earlier : accesses_) {
    if (!overlap(earlier, access.begin, access.end) || earlier.stream == access.stream) continue;
    if (!(earlier.writes || access.writes) || !(earlier.transfer || access.transfer)) continue;
    const auto known = access.stream->after.find(earlier.stream);
    if (known != access.stream->after.end() && earlier.index <= known->second) continue;
    throw Fault{cudaErrorLaunchFailure, access.what + " and, before it, " + earlier.what +
                                            " use the same bytes, and no event orders them"};
  }
  accesses_.push_back(std::move(access));
}

void Ordering::check_freed(const void* at, std::size_t bytes) {
  forget_seen();
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  for (const NotedAccess& access : accesses_)
    if (access.transfer && overlap(access, begin, begin + bytes))
      throw Fault{cudaErrorLaunchFailure, "memory is freed before " + access.what + " was seen to end"};
}

void Ordering::forget(const std::string& what) {
  std::erase_if(accesses_, [&](const NotedAccess& access) { return access.transfer && access.what.rfind(what, 0) == 0; });
}

void host_has_seen(CUstream_st& stream, std::uint64_t index) { stream.host_seen = std::max(stream.host_seen, index); }

void host_has_seen(const After& after) {
  for (const auto& [stream, index] : after) host_has_seen(*stream, index);
}

}  // namespace cuda_emulation
