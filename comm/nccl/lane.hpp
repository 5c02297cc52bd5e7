// A lane: one end of a route in one class. It has a communicator of two ranks, a stream, and staging memory on the GPU
// (registered once) and on the host.
//
// No cycle can form, whatever the orders of grants on different routes are:
//   - A transfer waits for the earlier ones of its lane, in its own stream, and for its counterpart; for nothing else. Lanes
//     share no communicator, no stream that holds a transfer, and no staging.
//   - It is launched only when it is granted. The receiver grants the transfers of a lane in the order of their
//     announcements, and both ends launch in the order of the grants, so the two ends of a communicator have one order.
//   - When one end has launched, the grant is on its way or has come, and the other end launches as soon as it looks: this
//     takes no GPU work and no other transfer.
//   So the oldest transfer of a lane always ends, and then the next. Streams that carry several routes have no such
//   order: P0 sends to D0, then D1; P1 to D1, then D0; D0 receives from P1 first, D1 from P0: all wait.
// Copies to the GPU have a stream of their own, in which nothing waits for a peer. Copies from it follow their transfer in
// the lane's stream. A place in staging is used again only after the event behind its last use.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <span>

#include "comm/nccl/communicator.hpp"
#include "comm/nccl/device.hpp"
#include "comm/nccl_frames.hpp"
#include "comm/staging_ring.hpp"
#include "comm/transport.hpp"

namespace lynxkv::comm::nccl {

class Lane {
 public:
  Lane(Channel channel, int peer, std::size_t staging_bytes);
  Channel channel() const noexcept { return channel_; }
  int peer() const noexcept { return peer_; }

  // Set-up, in this order, each until it says true: join(), settled(), warm_up(), warmed_up(). The warm-up moves one byte:
  // NCCL connects the two GPUs then, which allocates, and must not happen while other transfers run.
  void join(const UniqueId& id, int rank, const Terms& terms);
  bool settled() { return communicator_->settled(); }
  void warm_up(bool sends);
  bool warmed_up();

  void begin_end() { communicator_->begin_end(); }
  void end() { communicator_->end(); }
  void abort() noexcept {
    if (communicator_) communicator_->abort();
  }

 protected:
  std::size_t staging_bytes_;
  StagingRing ring_;
  Pinned pinned_;
  NcclMemory device_;
  Stream stream_;
  Events events_;
  std::optional<Communicator> communicator_;

 private:
  Channel channel_;
  int peer_;
  std::optional<Event> warm_;
};

// The sending end.
class SendLane : public Lane {
 public:
  using Lane::Lane;
  // `bytes` stay until the ticket is through.
  void post(Ticket ticket, std::span<const std::byte> bytes) { waiting_.push_back({ticket, bytes}); }
  // The receiver has a place for the oldest transfer that was announced. Error{transport} where it says anything else.
  void granted(const NcclFrame& frame);
  // Does what can be done now. `say`: to the receiver. `through`: the ticket's bytes have been taken. True where
  // something moved.
  bool step(const Stream& copies, const std::function<void(const NcclFrame&)>& say, const std::function<void(Ticket)>& through);
  bool idle() const noexcept { return waiting_.empty() && announced_.empty() && granted_.empty() && !launching_ && flying_.empty(); }

 private:
  struct Waiting {
    Ticket ticket;
    std::span<const std::byte> bytes;
  };
  struct Transfer {
    Ticket ticket = 0;
    std::uint64_t number = 0;
    std::size_t at = 0, bytes = 0;
    std::optional<Event> event;  // of the copy to the GPU, then of the transfer; none where there are no bytes
  };
  bool stage(const Stream& copies, const std::function<void(const NcclFrame&)>& say);
  bool launch();

  std::deque<Waiting> waiting_;
  std::deque<Transfer> announced_, granted_, flying_;
  std::optional<Transfer> launching_;
  std::uint64_t last_number_ = 0;
};

// The receiving end.
class ReceiveLane : public Lane {
 public:
  using Lane::Lane;
  // Error{transport} for a transfer that no sender of this build announces.
  void announced(const NcclFrame& frame);
  // Grants what has room. False where nothing did.
  bool grant(const std::function<void(const NcclFrame&)>& say);
  bool step();
  // The oldest transfer that has arrived, into `bytes`; false without one.
  bool take(const std::function<std::vector<std::byte>(std::size_t)>& make_buffer, std::vector<std::byte>& bytes);
  // Something was announced and has not arrived.
  bool expects() const noexcept { return !announced_.empty() || !granted_.empty() || launching_ || !flying_.empty(); }
  bool idle() const noexcept { return !expects(); }

 private:
  struct Transfer {
    std::uint64_t number = 0;
    std::size_t at = 0, bytes = 0;
    std::optional<Event> event;
  };
  std::deque<Transfer> announced_, granted_, flying_, arrived_;
  std::optional<Transfer> launching_;
  std::uint64_t last_number_ = 0;
};

}  // namespace lynxkv::comm::nccl
