#include "comm/courier.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <thread>
#include <utility>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "comm/progress_loop.hpp"

namespace lynxkv::comm {
namespace {

constexpr int sync_rounds = 64;

}  // namespace

struct Courier::State {
  State(std::unique_ptr<Transport> owned, const LinkOptions& wanted)
      : options(wanted),
        transport(std::move(owned)),
        shared(options, 0, transport->size()),
        loop(*transport, options, shared),
        exceptions(std::uncaught_exceptions()),
        thread([this] { loop.run(); }),
        sentinel([this] { watch_progress_thread(shared, *transport, options.stall_seconds); }) {}

  void require_alive() const {
    if (shared.failure) throw *shared.failure;
  }
  std::int64_t deadline_ns(double seconds) const { return now_ns() + static_cast<std::int64_t>(seconds * 1e9); }

  LinkOptions options;
  std::unique_ptr<Transport> transport;
  Shared shared;
  ProgressLoop loop;
  int exceptions;
  std::thread thread;
  std::thread sentinel;
};

Courier::Courier(std::unique_ptr<Transport> transport, const LinkOptions& options) {
  LYNXKV_CHECK(transport != nullptr && options.stall_seconds > 0);
  state_ = std::make_unique<State>(with_faults(std::move(transport), options.faults), options);
}

Courier::~Courier() {
  {
    const std::lock_guard lock(state_->shared.mutex);
    state_->shared.closing = true;
    state_->shared.failing = std::uncaught_exceptions() > state_->exceptions;
    state_->shared.wake = true;
    state_->shared.for_progress.notify_all();
  }
  state_->thread.join();
  state_->sentinel.join();
}

int Courier::rank() const noexcept { return state_->transport->rank(); }
int Courier::size() const noexcept { return state_->transport->size(); }
std::string_view Courier::transport_name() const noexcept { return state_->transport->name(); }

std::size_t Courier::max_parcel_bytes() const noexcept {
  // A control message begins with its type, and every message has a seal behind it.
  return state_->transport->max_message_bytes() - parcel_room_bytes;
}

std::size_t Courier::good_parcel_bytes() const noexcept {
  const std::lock_guard lock(state_->shared.mutex);
  return state_->shared.good_parcel_bytes;
}

std::vector<std::byte> Courier::buffer(std::size_t bytes) {
  // With room for what is put behind it on the way.
  std::vector<std::byte> made = state_->shared.buffers.take(bytes + parcel_room_bytes);
  made.resize(bytes);
  return made;
}
void Courier::recycle(std::vector<std::byte> bytes) { state_->shared.buffers.give(std::move(bytes)); }

std::size_t Courier::residual_chunk_bytes() const {
  const std::lock_guard lock(state_->shared.mutex);
  return state_->shared.residual_chunk_bytes;
}

double Courier::link_bytes_per_second() const {
  const std::lock_guard lock(state_->shared.mutex);
  return state_->shared.link_bytes_per_second;
}

void Courier::send(Parcel parcel) {
  LYNXKV_CHECK(parcel.peer >= 0 && parcel.peer < size() && parcel.bytes.size() <= max_parcel_bytes());
  if (parcel.channel == Channel::control) {
    const auto type = static_cast<std::byte>(FrameType::user);
    parcel.bytes.insert(parcel.bytes.begin(), type);
  }
  Shared& shared = state_->shared;
  const std::lock_guard lock(shared.mutex);
  if (shared.closed[static_cast<std::size_t>(parcel.peer)]) return;
  const std::int64_t now = now_ns();
  shared.stepped_ns = now;
  const bool wake = shared.queue.leads(parcel);
  shared.queue.push(std::move(parcel), now);
  if (!wake) return;
  shared.wake = true;
  shared.for_progress.notify_all();
}

void Courier::hurry(std::uint64_t request) {
  const std::lock_guard lock(state_->shared.mutex);
  state_->shared.queue.hurry(request);
  state_->shared.wake = true;
  state_->shared.for_progress.notify_all();
}

void Courier::hold_residuals(std::uint64_t request) {
  const std::lock_guard lock(state_->shared.mutex);
  state_->shared.queue.hold_bulk(request);
}

void Courier::release_residuals(std::uint64_t request) {
  const std::lock_guard lock(state_->shared.mutex);
  state_->shared.queue.release_bulk(request);
  if (state_->shared.queue.waiting_bytes(Channel::anchor) > 0) return;  // they come first anyway
  state_->shared.wake = true;
  state_->shared.for_progress.notify_all();
}

void Courier::forget(std::uint64_t request) {
  const std::lock_guard lock(state_->shared.mutex);
  state_->shared.queue.forget(request);
  state_->shared.for_user.notify_all();
}

std::size_t Courier::waiting_bytes(Channel channel) const {
  const std::lock_guard lock(state_->shared.mutex);
  return state_->shared.queue.waiting_bytes(channel);
}

bool Courier::receive(Message& out) {
  Shared& shared = state_->shared;
  const std::lock_guard lock(shared.mutex);
  if (shared.inbox.empty()) {
    state_->require_alive();
    return false;
  }
  out = std::move(shared.inbox.front());
  shared.inbox.pop_front();
  return true;
}

void Courier::wait(std::chrono::microseconds at_most) {
  Shared& shared = state_->shared;
  std::unique_lock lock(shared.mutex);
  shared.for_user.wait_for(lock, at_most, [&] {
    return !shared.inbox.empty() || shared.notified || shared.wire_moved || shared.failure;
  });
  shared.notified = shared.wire_moved = false;
  if (shared.inbox.empty()) state_->require_alive();
}

void Courier::notify() {
  const std::lock_guard lock(state_->shared.mutex);
  state_->shared.notified = true;
  state_->shared.for_user.notify_all();
}

void Courier::progress(const char* phase) {
  const std::lock_guard lock(state_->shared.mutex);
  state_->shared.phase = phase;
  state_->shared.stepped_ns = state_->shared.progress_ns = now_ns();
}

void Courier::expect_messages(bool owed) {
  const std::lock_guard lock(state_->shared.mutex);
  if (owed && !state_->shared.expecting) state_->shared.stepped_ns = now_ns();
  state_->shared.expecting = owed;
}

void Courier::flush(std::chrono::seconds deadline) {
  Shared& shared = state_->shared;
  std::unique_lock lock(shared.mutex);
  shared.for_user.wait_for(lock, deadline,
                           [&] { return (shared.queue.empty() && !shared.unfinished) || shared.failure; });
  state_->require_alive();
  if (!shared.queue.empty() || shared.unfinished)
    throw Error(ErrorCode::transport, fmt::format("rank {}", rank()),
                fmt::format("{} parcels were not taken by their receivers within {} s", shared.queue.size(),
                            deadline.count()));
}

void Courier::sync_clocks() {
  Shared& shared = state_->shared;
  std::unique_lock lock(shared.mutex);
  for (int peer = 0; peer < size(); ++peer) {
    const auto at = static_cast<std::size_t>(peer);
    if (peer == rank() || shared.closed[at]) continue;
    shared.clocks[at] = ClockOffset();
    shared.sync_left[at] = sync_rounds;
  }
  shared.wake = true;
  shared.for_progress.notify_all();
  const auto done = [&] {
    return std::all_of(shared.sync_left.begin(), shared.sync_left.end(), [](int left) { return left <= 0; });
  };
  shared.for_user.wait_for(lock, std::chrono::duration<double>(state_->options.stall_seconds),
                           [&] { return done() || shared.failure; });
  state_->require_alive();
  if (done()) return;
  const auto silent = std::find_if(shared.sync_left.begin(), shared.sync_left.end(), [](int left) { return left > 0; });
  throw Error(ErrorCode::transport, fmt::format("rank {}", silent - shared.sync_left.begin()),
              fmt::format("did not answer {} clock questions within {} s", sync_rounds, state_->options.stall_seconds));
}

std::int64_t Courier::clock_offset_ns(int peer) const {
  const std::lock_guard lock(state_->shared.mutex);
  return state_->shared.clocks[static_cast<std::size_t>(peer)].offset_ns();
}

std::int64_t Courier::clock_error_ns(int peer) const {
  const std::lock_guard lock(state_->shared.mutex);
  return state_->shared.clocks[static_cast<std::size_t>(peer)].error_ns();
}

void Courier::abandon() {
  const std::lock_guard lock(state_->shared.mutex);
  state_->shared.abandoned = true;
}

ChannelTotals Courier::totals(Channel channel) const {
  const std::lock_guard lock(state_->shared.mutex);
  return state_->shared.totals[static_cast<int>(channel)];
}

void Courier::abort(int exit_code) {
  state_->transport->abort(exit_code);
  std::_Exit(exit_code);  // the compiler does not see that a virtual call never returns
}

}  // namespace lynxkv::comm
