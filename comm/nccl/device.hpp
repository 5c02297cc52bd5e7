// The GPU under the NCCL transport: streams, events and pinned memory. What fails throws Error{transport}.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/handle.hpp"

// The runtime's own opaque types, named as its headers name them.
struct CUstream_st;
struct CUevent_st;

namespace lynxkv::comm::nccl {

struct StreamTraits {
  using type = CUstream_st*;
  static type none() noexcept { return nullptr; }
  static void close(type stream) noexcept;
};
struct EventTraits {
  using type = CUevent_st*;
  static type none() noexcept { return nullptr; }
  static void close(type event) noexcept;
};
struct PinnedTraits {
  using type = std::byte*;
  static type none() noexcept { return nullptr; }
  static void close(type memory) noexcept;
};
using Event = Handle<EventTraits>;
using Pinned = Handle<PinnedTraits>;

class Stream {
 public:
  explicit Stream(bool urgent);  // at the highest priority of the GPU, or the lowest
  CUstream_st* get() const noexcept { return handle_.get(); }
  void record(const Event& event) const;
  void wait(const Event& event) const;
  void to_device(std::byte* device, const std::byte* pinned, std::size_t bytes) const;
  void to_host(std::byte* pinned, const std::byte* device, std::size_t bytes) const;

 private:
  Handle<StreamTraits> handle_;
};

// Events that are used again: making one costs more than recording it.
class Events {
 public:
  Event take();
  void give(Event event) { free_.push_back(std::move(event)); }

 private:
  std::vector<Event> free_;
};

bool is_reached(const Event& event);
Pinned make_pinned(std::size_t bytes);
void use_device(int device);
std::size_t free_device_bytes();

}  // namespace lynxkv::comm::nccl
