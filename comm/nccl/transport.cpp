// The transport over lanes: what a rank posts and polls, grants by priority, errors, and the end.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <optional>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "comm/buffer_pool.hpp"
#include "comm/nccl.hpp"
#include "comm/nccl/setup.hpp"

namespace lynxkv::comm {
namespace {

using namespace nccl;

constexpr std::int64_t error_look_interval_ns = 1'000'000;
// Tickets are asked for one by one; the lanes need not be looked at for each.
constexpr std::int64_t step_interval_ns = 5'000;

class Nccl final : public Transport {
 public:
  Nccl(std::unique_ptr<Transport> carrier, const NcclOptions& options)
      : carrier_(std::move(carrier)), options_(options), outbox_(*carrier_) {
    LYNXKV_CHECK(options.staging_bytes % (2 * StagingRing::alignment) == 0 && options.staging_bytes > 0);
    Setup setup(*carrier_, outbox_, options_);
    device_ = setup.choose_device();
    if (device_ >= 0) {
      use_device(device_);
      thread_ = std::this_thread::get_id();
      const std::size_t free_before = free_device_bytes();
      const std::int64_t begun = now_ns();
      for (const bool urgent : {true, false}) copies_.emplace_back(urgent);
      setup.make_lanes(lanes_);
      note(free_before, begun);
    } else {
      setup.make_lanes(lanes_);
    }
    for (Message& message : setup.take_early()) dispatch(std::move(message));
  }

  // With nothing on the way: together with the peers, within the deadline. Else the communicators are aborted.
  ~Nccl() override {
    if (device_ < 0) return;
    try {
      if (!failed_ && end_in_order()) return;
    } catch (const std::exception& error) {
      log::error("NCCL: {}", error.what());
    }
    abort_lanes();
  }

  int rank() const noexcept override { return carrier_->rank(); }
  int size() const noexcept override { return carrier_->size(); }
  std::string_view name() const noexcept override { return "nccl"; }
  std::size_t max_message_bytes() const noexcept override {
    return std::min(options_.staging_bytes / 2, carrier_->max_message_bytes());
  }

  Ticket post(Channel channel, int peer, std::span<const std::byte> bytes) override {
    LYNXKV_CHECK(peer >= 0 && peer < size() && bytes.size() <= max_message_bytes());
    const Ticket ticket = ++last_ticket_;
    if (channel == Channel::control || peer == rank()) {
      carried_.emplace(ticket, carrier_->post(channel, peer, bytes));
      return ticket;
    }
    SendLane* lane = lanes_.send[class_of(channel)][static_cast<std::size_t>(peer)].get();
    if (lane == nullptr)
      throw Error(ErrorCode::transport, fmt::format("rank {}", rank()),
                  fmt::format("has data for rank {}, but this job has no NCCL route there", peer));
    lane->post(ticket, bytes);
    open_.insert(ticket);
    guarded([&] { step_send(*lane); });
    return ticket;
  }

  bool test(Ticket ticket) override {
    if (const auto found = carried_.find(ticket); found != carried_.end()) {
      if (!carrier_->test(found->second)) return false;
      carried_.erase(found);
      return true;
    }
    LYNXKV_CHECK(ticket > 0 && ticket <= last_ticket_);
    if (open_.count(ticket) == 0) return true;
    if (now_ns() - stepped_ns_ > step_interval_ns) guarded([&] { step(); });
    return open_.count(ticket) == 0;
  }

  bool poll(Message& out) override {
    guarded([&] { step(); });
    if (!arrived_[0].empty()) return take_carried(0, out);
    for (const Channel channel : {Channel::anchor, Channel::residual}) {
      const auto& lanes = lanes_.receive[class_of(channel)];
      for (std::size_t i = 0; i < lanes.size(); ++i) {
        const std::size_t peer = (next_peer_ + i) % lanes.size();
        if (!lanes[peer] || !lanes[peer]->take([&](std::size_t bytes) { return buffer(bytes); }, out.bytes)) continue;
        out.channel = channel;
        out.peer = static_cast<int>(peer);
        next_peer_ = peer + 1;
        return true;
      }
      if (!arrived_[static_cast<int>(channel)].empty()) return take_carried(static_cast<int>(channel), out);
    }
    return false;
  }

  void use_buffers(BufferPool* pool) override {
    buffers_ = pool;
    carrier_->use_buffers(pool);
  }

  // Whoever sees the stall may be another thread than the one that is inside NCCL: the process's end frees the GPU.
  [[noreturn]] void abort(int exit_code) override {
    if (thread_ == std::this_thread::get_id()) abort_lanes();
    carrier_->abort(exit_code);
    std::_Exit(exit_code);
  }

 private:
  template <class Body>
  void each_lane(Body body) {
    for (int of = 0; of < 2; ++of) {
      for (auto& lane : lanes_.send[of])
        if (lane) body(*lane);
      for (auto& lane : lanes_.receive[of])
        if (lane) body(*lane);
    }
  }

  void note(std::size_t free_before, std::int64_t begun) {
    std::size_t lanes = 0;
    each_lane([&](Lane&) { ++lanes; });
    const std::size_t free_now = free_device_bytes();
    log::info("NCCL: {} communicators on GPU {} in {:.1f} s, {} MiB of its memory ({} of that for staging, and as much of the host's)",
              lanes, device_, seconds_between(begun, now_ns()), (free_before - std::min(free_before, free_now)) >> 20,
              lanes * options_.staging_bytes >> 20);
  }

  // The first failure is everyone's: the peers' transfers with this rank can never end.
  template <class Body>
  void guarded(Body body) {
    if (failed_) throw *failed_;
    try {
      if (device_ >= 0 && thread_ != std::this_thread::get_id()) {
        use_device(device_);
        thread_ = std::this_thread::get_id();
      }
      body();
    } catch (const Error& error) {
      failed_ = error;
      abort_lanes();
      throw;
    }
  }

  void abort_lanes() noexcept {
    each_lane([](Lane& lane) { lane.abort(); });
  }

  void say(const Lane& lane, const NcclFrame& frame) { outbox_.send(lane.channel(), lane.peer(), to_bytes(frame)); }

  void dispatch(Message message) {
    if (message.channel == Channel::control || message.peer == rank()) {
      arrived_[static_cast<int>(message.channel)].push_back(std::move(message));
      return;
    }
    const NcclFrame frame = parse_nccl_frame(message.bytes).take();
    const int of = class_of(message.channel);
    const auto peer = static_cast<std::size_t>(message.peer);
    const bool grants = frame.kind == NcclFrameKind::grant;
    if (grants ? !lanes_.send[of][peer] : !lanes_.receive[of][peer])
      throw Error(ErrorCode::transport, fmt::format("rank {}", message.peer), "uses an NCCL route that this job does not have");
    if (grants)
      lanes_.send[of][peer]->granted(frame);
    else
      lanes_.receive[of][peer]->announced(frame);
  }

  bool step_send(SendLane& lane) {
    return lane.step(copies_[static_cast<std::size_t>(class_of(lane.channel()))], [&](const NcclFrame& frame) { say(lane, frame); },
                     [&](Ticket ticket) { open_.erase(ticket); });
  }

  // Anchors are granted as they come. No residual is, while an anchor that was announced to this rank has not arrived:
  // they share its network card. Anchors never wait for residuals, so this adds no cycle.
  void grant() {
    bool anchors = false;
    for (auto& lane : lanes_.receive[0]) {
      if (!lane) continue;
      lane->grant([&](const NcclFrame& frame) { say(*lane, frame); });
      anchors |= lane->expects();
    }
    if (anchors) return;
    for (auto& lane : lanes_.receive[1])
      if (lane) lane->grant([&](const NcclFrame& frame) { say(*lane, frame); });
  }

  void step() {
    for (Message message; carrier_->poll(message);) {
      dispatch(std::move(message));
      message = Message{};
    }
    if (device_ >= 0) {
      grant();
      for (int of = 0; of < 2; ++of) {
        for (auto& lane : lanes_.send[of])
          if (lane) step_send(*lane);
        for (auto& lane : lanes_.receive[of])
          if (lane) lane->step();
      }
      look_for_errors();
    }
    outbox_.sweep();
    stepped_ns_ = now_ns();
  }

  void look_for_errors() {
    const std::int64_t now = now_ns();
    if (now - looked_ns_ < error_look_interval_ns) return;
    looked_ns_ = now;
    each_lane([](Lane& lane) { lane.settled(); });
  }

  bool take_carried(int channel, Message& out) {
    out = std::move(arrived_[channel].front());
    arrived_[channel].pop_front();
    return true;
  }

  std::vector<std::byte> buffer(std::size_t bytes) {
    return buffers_ != nullptr ? buffers_->take(bytes) : std::vector<std::byte>(bytes);
  }

  template <class Done>
  bool within(std::int64_t until_ns, Done done) {
    while (!done()) {
      if (now_ns() > until_ns) return false;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return true;
  }

  bool end_in_order() {
    const std::int64_t until = now_ns() + static_cast<std::int64_t>(options_.close_seconds * 1e9);
    const bool idle = within(until, [&] {
      guarded([&] { step(); });
      bool all = outbox_.sweep();
      for (int of = 0; of < 2; ++of) {
        for (auto& lane : lanes_.send[of]) all &= !lane || lane->idle();
        for (auto& lane : lanes_.receive[of]) all &= !lane || lane->idle();
      }
      return all;
    });
    if (!idle) {
      log::warning("NCCL: transfers are still under way after {} s; the communicators are aborted", options_.close_seconds);
      return false;
    }
    each_lane([](Lane& lane) { lane.begin_end(); });
    const bool ended = within(until, [&] {
      bool all = true;
      each_lane([&](Lane& lane) { all &= lane.settled(); });
      return all;
    });
    if (!ended) log::warning("NCCL: the peers did not end within {} s; the communicators are aborted", options_.close_seconds);
    if (ended) each_lane([](Lane& lane) { lane.end(); });
    return ended;
  }

  std::unique_ptr<Transport> carrier_;
  NcclOptions options_;
  Outbox outbox_;
  int device_ = -1;
  std::atomic<std::thread::id> thread_{};  // for which the device is the current one
  std::vector<Stream> copies_;  // to the GPU, by class; nothing in them waits for a peer
  Lanes lanes_;
  std::deque<Message> arrived_[channel_count];      // by the carrier
  std::unordered_map<Ticket, Ticket> carried_;      // this transport's ticket, the carrier's
  std::unordered_set<Ticket> open_;                 // of transfers that are not through
  Ticket last_ticket_ = 0;
  std::size_t next_peer_ = 0;
  std::int64_t stepped_ns_ = 0, looked_ns_ = 0;
  std::optional<Error> failed_;
  BufferPool* buffers_ = nullptr;
};

}  // namespace

std::unique_ptr<Transport> make_nccl(std::unique_ptr<Transport> carrier, const NcclOptions& options) {
  return std::make_unique<Nccl>(std::move(carrier), options);
}

}  // namespace lynxkv::comm
