// Transport: moves bounded messages between ranks on three channels. One operation each: post, test, poll,
// abort. Implementations: MPI, an in-process loop, later NCCL. It sees bytes, never a page.
// Only the progress thread of a rank (comm/courier.hpp) calls a transport after its construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace lynxkv::comm {

class BufferPool;

// Each channel has a communicator of its own. Messages of one channel and pair arrive in posting order.
enum class Channel : std::uint8_t {
  control = 0,   // assignments, grants, acknowledgements, results: small
  anchor = 1,    // what a decoder waits for: high priority
  residual = 2,  // refinements: low priority
};
constexpr int channel_count = 3;

struct Message {
  Channel channel = Channel::control;
  int peer = -1;                   // the rank that sent it
  std::vector<std::byte> bytes;
  std::uint64_t number = 0;        // the courier's: of a residual message, from its sender
  std::int64_t arrived_ns = 0;     // base/clock.hpp of the receiving host, when it was delivered
};

using Ticket = std::uint64_t;

class Transport {
 public:
  virtual ~Transport() = default;

  virtual int rank() const noexcept = 0;
  virtual int size() const noexcept = 0;
  virtual std::string_view name() const noexcept = 0;  // "mpi", "loop"
  virtual std::size_t max_message_bytes() const noexcept = 0;

  // Starts sending. `bytes` stay untouched by the caller until test() of the ticket is true.
  virtual Ticket post(Channel channel, int peer, std::span<const std::byte> bytes) = 0;
  // True once the bytes may be reused; the ticket is then forgotten. Never blocks.
  virtual bool test(Ticket ticket) = 0;
  // The next message that has arrived whole, on any channel; false where there is none. Never blocks.
  virtual bool poll(Message& out) = 0;
  // Calls `wake` from any thread when poll() may have something, from now on; a null function ends that. False where
  // the transport cannot tell: then it has to be polled.
  virtual bool on_arrival(std::function<void()> wake) {
    static_cast<void>(wake);
    return false;
  }
  // Takes the buffers of received messages from `pool`, which outlives the transport's use.
  virtual void use_buffers(BufferPool* pool) { static_cast<void>(pool); }
  // Ends the whole job at once, peers included.
  [[noreturn]] virtual void abort(int exit_code) = 0;
};

}  // namespace lynxkv::comm
