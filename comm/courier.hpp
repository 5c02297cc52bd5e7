// Courier: a rank's traffic. It owns the transport and the progress thread, the only caller of it, which
// sleeps between tests (at most 100 us late, 300 while residuals alone move) and so makes progress while the rank computes.
//   Priority: while an anchor parcel waits, no residual byte is posted; residual parcels go in chunks with
//             credits, acknowledged by the receiver. It holds across all peers of the rank.
//   Pacing:   an emulated link (gbps, latency) for everything the rank sends and receives on the data channels.
//   Watchdog: no bytes and no progress for stall_seconds while something is outstanding: the state is printed
//             and the job ends with the transport's exit code.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "comm/faults.hpp"
#include "comm/transport.hpp"

namespace lynxkv::comm {

// The same on all ranks of a job.
struct LinkOptions {
  double gbps = 0;                             // emulated rate of this rank's data traffic; 0: as it comes
  double latency_us = 0;                       // emulated one-way latency
  std::size_t residual_chunk_bytes = 256 * 1024;  // 0: adapts to the link
  bool strict = false;                         // true: not even a residual that is waited for ranks with anchors
  double stall_seconds = 60;
  FaultOptions faults;                         // each rank's own
  double close_seconds = 10;                   // how long a closing rank stays for peers that still send to it
};

// A courier puts something behind a parcel's bytes on the way: with that much room in their vector nothing is copied.
constexpr std::size_t parcel_room_bytes = 32;

// Bytes that the caller hands over. At most max_parcel_bytes().
struct Parcel {
  Channel channel = Channel::control;
  int peer = -1;
  std::uint64_t request = 0;  // age: among equals the smallest goes first
  std::vector<std::byte> bytes;
  // The receiver may get this parcel and its neighbours (same peer and channel) as one message, end to end.
  // For small pieces that tell their own length. Data channels only.
  bool joinable = false;
};

// What one rank has moved on one channel.
struct ChannelTotals {
  std::uint64_t sent_bytes = 0, sent_messages = 0, received_bytes = 0, received_messages = 0;
};

// The destructor brings what was sent to its receivers, tells the peers, and stays until none of them has more
// for this rank (at most close_seconds). While an exception unwinds it does not wait: the peers are told that this
// rank fails, and their receive() throws.
class Courier {
 public:
  Courier(std::unique_ptr<Transport> transport, const LinkOptions& options);
  ~Courier();
  Courier(const Courier&) = delete;
  Courier& operator=(const Courier&) = delete;

  int rank() const noexcept;
  int size() const noexcept;
  std::size_t max_parcel_bytes() const noexcept;
  // The size to cut large data into: several such parcels make one residual chunk, so that the wire stays busy
  // while receipts come back, and an urgent parcel waits for a part of a chunk only.
  std::size_t good_parcel_bytes() const noexcept;

  // A buffer of `bytes` bytes of no particular content for a parcel, out of those that have done their service: large
  // fresh ones cost page faults. recycle() gives a received message's bytes back for the same use.
  std::vector<std::byte> buffer(std::size_t bytes);
  void recycle(std::vector<std::byte> bytes);

  // Queues a parcel; never blocks. Any thread. A parcel to this rank itself takes the same road; one to a rank
  // that has closed is dropped.
  void send(Parcel parcel);
  // Residual parcels of `request` rank with anchors from now on (a decoder is waiting), unless strict.
  void hurry(std::uint64_t request);
  // More anchors of `request` come as fast as they can be made: until release_residuals() or forget() no residual
  // takes the wire in the moments in which none of them is ready yet. Hurried residuals still go.
  void hold_residuals(std::uint64_t request);
  void release_residuals(std::uint64_t request);
  // Drops the data parcels of `request` that are not posted yet, and what hurry() and hold_residuals() said of it.
  void forget(std::uint64_t request);
  // Bytes of a channel that were given to send() and are not on the wire yet.
  std::size_t waiting_bytes(Channel channel) const;

  // The next message in order of delivery; false where there is none.
  // Throws Error{transport} where the transport or a peer failed, after the last message that came before.
  bool receive(Message& out);
  // Sleeps until something was delivered, the wire took a parcel, notify() was called or time is up.
  void wait(std::chrono::microseconds at_most);
  void notify();
  // A step was made: tells the watchdog, here and at the peers, and what this rank is doing, for its report. Not for
  // a loop that finds nothing to do: it would hide a stall.
  void progress(const char* phase);
  // This rank waits for messages that a peer owes it: from now on silence is a stall, even with nothing of its own
  // on the way. False where it only idles.
  void expect_messages(bool owed);

  // Waits until all parcels are on the wire and acknowledged. Throws Error{transport} past `deadline`.
  void flush(std::chrono::seconds deadline);

  // Translates a time of `peer`'s clock into this rank's (ns). Measured by sync_clocks(); 0 where unmeasured.
  std::int64_t clock_offset_ns(int peer) const;
  std::int64_t clock_error_ns(int peer) const;
  // Measures anew: round trips with every peer, which need not call it but must have a courier.
  // Throws Error{transport} where a peer does not answer within stall_seconds.
  void sync_clocks();

  // What was sent and is not through is of no use to anybody any more: the destructor does not wait for it, and stays a
  // second at most. Control messages are still posted. The peers are not told of a failure.
  void abandon();

  ChannelTotals totals(Channel channel) const;
  // The residual bytes that may stand on the wire before an urgent parcel: fixed by the options, or what suits the
  // link as measured so far.
  std::size_t residual_chunk_bytes() const;
  // The rate at which the link takes residuals, known or measured; 0 while nothing is known.
  double link_bytes_per_second() const;
  std::string_view transport_name() const noexcept;
  // Ends the whole job, peers included.
  [[noreturn]] void abort(int exit_code);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lynxkv::comm
