#include "comm/nccl/lane.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "base/error.hpp"

namespace lynxkv::comm::nccl {
namespace {

Error bad_frame(int peer, const NcclFrame& frame, std::string_view why) {
  return Error(ErrorCode::transport, fmt::format("rank {}", peer),
               fmt::format("{} transfer {} of {} bytes on an NCCL route, {}", frame.kind == NcclFrameKind::grant ? "grants" : "announces",
                           frame.number, frame.bytes, why));
}

}  // namespace

Lane::Lane(Channel channel, int peer, std::size_t staging_bytes)
    : staging_bytes_(staging_bytes),
      ring_(staging_bytes),
      pinned_(make_pinned(staging_bytes)),
      device_(make_nccl_memory(staging_bytes)),
      stream_(channel == Channel::anchor),
      channel_(channel),
      peer_(peer) {}

void Lane::join(const UniqueId& id, int rank, const Terms& terms) { communicator_.emplace(id, rank, terms); }

void Lane::warm_up(bool sends) {
  communicator_->register_memory(device_.get(), staging_bytes_);
  if (sends)
    communicator_->send(device_.get(), 1, stream_.get());
  else
    communicator_->receive(device_.get(), 1, stream_.get());
}

bool Lane::warmed_up() {
  if (!communicator_->settled()) return false;
  if (!warm_) {
    warm_ = events_.take();
    stream_.record(*warm_);
  }
  if (!is_reached(*warm_)) return false;
  events_.give(std::move(*warm_));
  warm_.reset();
  return true;
}

bool SendLane::stage(const Stream& copies, const std::function<void(const NcclFrame&)>& say) {
  bool moved = false;
  while (!waiting_.empty()) {
    const Waiting& next = waiting_.front();
    const auto at = ring_.take(next.bytes.size());
    if (!at) break;
    Transfer transfer{next.ticket, ++last_number_, *at, next.bytes.size(), std::nullopt};
    if (transfer.bytes > 0) {
      std::memcpy(pinned_.get() + transfer.at, next.bytes.data(), transfer.bytes);
      copies.to_device(device_.get() + transfer.at, pinned_.get() + transfer.at, transfer.bytes);
      transfer.event = events_.take();
      copies.record(*transfer.event);
    }
    say({NcclFrameKind::announce, transfer.number, transfer.bytes});
    announced_.push_back(std::move(transfer));
    waiting_.pop_front();
    moved = true;
  }
  return moved;
}

void SendLane::granted(const NcclFrame& frame) {
  if (announced_.empty() || announced_.front().number != frame.number || announced_.front().bytes != frame.bytes)
    throw bad_frame(peer(), frame, announced_.empty() ? "but none is announced" : fmt::format("but {} comes next", announced_.front().number));
  granted_.push_back(std::move(announced_.front()));
  announced_.pop_front();
}

// One launch at a time: NCCL takes no call while it works on another.
bool SendLane::launch() {
  bool moved = false;
  while (true) {
    if (launching_) {
      if (!communicator_->settled()) return moved;
      stream_.record(*launching_->event);
      flying_.push_back(std::move(*launching_));
      launching_.reset();
      moved = true;
    }
    if (granted_.empty()) return moved;
    launching_ = std::move(granted_.front());
    granted_.pop_front();
    if (launching_->bytes == 0) {
      flying_.push_back(std::move(*launching_));
      launching_.reset();
      continue;
    }
    // The same event then stands behind the transfer: the stream already waits for what it stood for before.
    stream_.wait(*launching_->event);
    communicator_->send(device_.get() + launching_->at, launching_->bytes, stream_.get());
  }
}

bool SendLane::step(const Stream& copies, const std::function<void(const NcclFrame&)>& say, const std::function<void(Ticket)>& through) {
  bool moved = launch();
  while (!flying_.empty() && (!flying_.front().event || is_reached(*flying_.front().event))) {
    Transfer& done = flying_.front();
    if (done.event) events_.give(std::move(*done.event));
    through(done.ticket);
    ring_.give_back();
    flying_.pop_front();
    moved = true;
  }
  return stage(copies, say) || moved;
}

void ReceiveLane::announced(const NcclFrame& frame) {
  if (frame.number != last_number_ + 1) throw bad_frame(peer(), frame, fmt::format("but {} comes next", last_number_ + 1));
  if (frame.bytes > staging_bytes_ / 2)
    throw bad_frame(peer(), frame, fmt::format("but at most {} bytes are taken: run one build on all ranks", staging_bytes_ / 2));
  last_number_ = frame.number;
  announced_.push_back({frame.number, 0, static_cast<std::size_t>(frame.bytes), std::nullopt});
}

bool ReceiveLane::grant(const std::function<void(const NcclFrame&)>& say) {
  bool moved = false;
  while (!announced_.empty()) {
    Transfer& next = announced_.front();
    const auto at = ring_.take(next.bytes);
    if (!at) break;
    next.at = *at;
    // Said at once: this end's launch may need the other's to get through.
    say({NcclFrameKind::grant, next.number, next.bytes});
    granted_.push_back(std::move(next));
    announced_.pop_front();
    moved = true;
  }
  return moved;
}

bool ReceiveLane::step() {
  bool moved = false;
  while (true) {
    if (launching_) {
      if (!communicator_->settled()) break;
      stream_.to_host(pinned_.get() + launching_->at, device_.get() + launching_->at, launching_->bytes);
      launching_->event = events_.take();
      stream_.record(*launching_->event);
      flying_.push_back(std::move(*launching_));
      launching_.reset();
      moved = true;
    }
    if (granted_.empty()) break;
    launching_ = std::move(granted_.front());
    granted_.pop_front();
    if (launching_->bytes == 0) {
      flying_.push_back(std::move(*launching_));
      launching_.reset();
      continue;
    }
    communicator_->receive(device_.get() + launching_->at, launching_->bytes, stream_.get());
  }
  while (!flying_.empty() && (!flying_.front().event || is_reached(*flying_.front().event))) {
    if (flying_.front().event) events_.give(std::move(*flying_.front().event));
    arrived_.push_back({flying_.front().number, flying_.front().at, flying_.front().bytes, std::nullopt});
    flying_.pop_front();
    moved = true;
  }
  return moved;
}

bool ReceiveLane::take(const std::function<std::vector<std::byte>(std::size_t)>& make_buffer, std::vector<std::byte>& bytes) {
  if (arrived_.empty()) return false;
  const Transfer& first = arrived_.front();
  bytes = make_buffer(first.bytes);
  if (first.bytes > 0) std::memcpy(bytes.data(), pinned_.get() + first.at, first.bytes);
  ring_.give_back();
  arrived_.pop_front();
  return true;
}

}  // namespace lynxkv::comm::nccl
