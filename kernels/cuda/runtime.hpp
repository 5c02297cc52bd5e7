// Streams, events, memory and asynchronous copies: the edge between our rooms and the CUDA runtime. Using it needs
// no CUDA header. What fails throws Error; in a build without CUDA everything here does.
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>

#include "base/handle.hpp"

// The runtime's own opaque types, named as its headers name them.
struct CUstream_st;
struct CUevent_st;

namespace lynxkv::kernels::cuda {

using StreamHandle = CUstream_st*;
using EventHandle = CUevent_st*;

struct StreamTraits {
  using type = StreamHandle;
  static type none() noexcept { return nullptr; }
  static void close(type stream) noexcept;
};
struct EventTraits {
  using type = EventHandle;
  static type none() noexcept { return nullptr; }
  static void close(type event) noexcept;
};
struct DeviceMemoryTraits {
  using type = std::byte*;
  static type none() noexcept { return nullptr; }
  static void close(type memory) noexcept;
};
struct PinnedMemoryTraits {
  using type = std::byte*;
  static type none() noexcept { return nullptr; }
  static void close(type memory) noexcept;
};

// A point in a stream's work that the host or another stream can wait for.
class Event {
 public:
  Event();
  EventHandle get() const noexcept { return handle_.get(); }
  // True once everything in the stream before the latest record() is done.
  bool ready() const;
  void synchronise() const;  // the calling thread sleeps

 private:
  Handle<EventTraits> handle_;
};

enum class StreamPriority { low, high };  // high: the anchor's

// Work in a stream runs in order; between streams only events order it (the default stream does not).
class Stream {
 public:
  explicit Stream(StreamPriority priority = StreamPriority::low);
  StreamHandle get() const noexcept { return handle_.get(); }
  void record(const Event& event) const;
  void wait(const Event& event) const;  // later work waits for the event's latest record; the host does not
  void synchronise() const;

 private:
  Handle<StreamTraits> handle_;
};

// Memory of the current device, 256-byte aligned, undefined until written. Freeing waits for the device.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  explicit DeviceMemory(std::size_t bytes);
  std::byte* data() const noexcept { return handle_.get(); }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  Handle<DeviceMemoryTraits> handle_;
  std::size_t bytes_ = 0;
};

// Page-locked host memory: copies to and from it run beside the host.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  explicit PinnedMemory(std::size_t bytes);
  std::byte* data() const noexcept { return handle_.get(); }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  Handle<PinnedMemoryTraits> handle_;
  std::size_t bytes_ = 0;
};

// Enqueued; the host side has to be pinned and to stay as it is until the stream has passed the copy.
void copy_to_device(void* device, const void* host, std::size_t bytes, StreamHandle stream);
void copy_to_host(void* host, const void* device, std::size_t bytes, StreamHandle stream);
// A page that travels raw is its own payload: this copies it.
void copy_on_device(void* to, const void* from, std::size_t bytes, StreamHandle stream);
void fill_device(void* device, int byte, std::size_t bytes, StreamHandle stream);

static_assert(!std::is_copy_constructible_v<Stream> && std::is_nothrow_move_constructible_v<Stream>);
static_assert(!std::is_copy_constructible_v<DeviceMemory> && std::is_nothrow_move_constructible_v<DeviceMemory>);

}  // namespace lynxkv::kernels::cuda
