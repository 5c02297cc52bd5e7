#include "comm/credits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace lynxkv::comm {
namespace {

constexpr std::int64_t span_ns = 2'000'000'000;
constexpr std::size_t emulated_window_chunks = 8;
constexpr std::size_t largest_window_bytes = std::size_t{64} << 20;
constexpr double adapted_chunk_s = 0.002;
constexpr std::size_t least_chunk_bytes = 32 * 1024;
constexpr std::size_t largest_chunk_bytes = 256 * 1024;
// Where receipts come late because threads share cores, so many chunks at most make up for it.
constexpr std::size_t late_window_chunks = 4;
// What naps at both ends add to a receipt's way while residuals alone move.
constexpr double naps_ns = 450'000;

}  // namespace

Credits::Credits(int peers, std::size_t chunk_bytes, double bytes_per_second, std::int64_t latency_ns)
    : peers_(static_cast<std::size_t>(peers)),
      chunk_bytes_(chunk_bytes),
      fixed_rate_(bytes_per_second),
      latency_ns_(latency_ns) {
  LYNXKV_CHECK(peers > 0);
}

std::size_t Credits::chunk_bytes() const noexcept {
  if (chunk_bytes_ > 0) return chunk_bytes_;
  if (rate() <= 0) return largest_chunk_bytes;
  return std::clamp(static_cast<std::size_t>(rate() * adapted_chunk_s), least_chunk_bytes, largest_chunk_bytes);
}

// A part is a quarter of a chunk: one is on the wire while the receipt of the one before comes back.
std::size_t Credits::adapted_window() const noexcept {
  const std::size_t chunk = chunk_bytes();
  if (!speed_.known()) return chunk;
  // With one chunk on the way a fast link shows the rate at which sleeping threads see receipts, not its own.
  const double late_ns = std::max({static_cast<double>(round_trip_ns_), speed_.lateness_ns(), naps_ns});
  const double needed = static_cast<double>(chunk) / 4 + 2 * speed_.rate() * 1e-9 * late_ns;
  const double path = 2 * speed_.rate() * 1e-9 * static_cast<double>(round_trip_ns_);
  const double most = std::max(static_cast<double>(late_window_chunks * chunk),
                               std::min(path, static_cast<double>(largest_window_bytes)));
  return static_cast<std::size_t>(std::clamp(needed, static_cast<double>(chunk), most));
}

std::size_t Credits::window() const noexcept {
  if (chunk_bytes_ == 0 && fixed_rate_ <= 0) return adapted_window();
  const double rate = fixed_rate_ > 0 ? fixed_rate_ : std::max(rate_now_, rate_before_);
  const auto twice_product = [&](std::int64_t delay_ns) {
    const double bytes = 2 * rate * 1e-9 * static_cast<double>(delay_ns);
    return static_cast<std::size_t>(std::min(bytes, static_cast<double>(largest_window_bytes)));
  };
  const std::size_t window = std::max(chunk_bytes(), twice_product(round_trip_ns_ + latency_ns_));
  if (fixed_rate_ <= 0) return window;
  const std::size_t late = twice_product(std::max(delay_now_ns_, delay_before_ns_));
  return std::max(window, std::min(late, emulated_window_chunks * chunk_bytes()));
}

std::size_t Credits::in_flight_bytes(int peer) const noexcept {
  return peers_[static_cast<std::size_t>(peer)].flying_bytes;
}

void Credits::sent(int peer, std::size_t bytes, std::int64_t left_ns) {
  // The time since the last receipt counts only while something was on the way.
  if (in_flight_ == 0) delivered_ns_ = left_ns;
  Peer& to = peers_[static_cast<std::size_t>(peer)];
  to.flying.push_back({bytes, left_ns, in_flight_ + bytes, delivered_bytes_, delivered_ns_});
  to.flying_bytes += bytes;
  in_flight_ += bytes;
}

Result<void> Credits::acknowledged(int peer, std::uint64_t count, std::int64_t now_ns) {
  Peer& from = peers_[static_cast<std::size_t>(peer)];
  const std::uint64_t most = from.acknowledged + from.flying.size();
  if (count < from.acknowledged || count > most)
    return Error(ErrorCode::transport, fmt::format("rank {}", peer),
                 fmt::format("acknowledged {} residual messages; between {} and {} were possible", count,
                             from.acknowledged, most));
  const std::size_t before = in_flight_;
  std::int64_t posted_ns = 0;
  while (from.acknowledged < count) {
    const Sent sent = from.flying.front();
    from.flying.pop_front();
    from.flying_bytes -= sent.bytes;
    in_flight_ -= sent.bytes;
    delivered_bytes_ += sent.bytes;
    ++from.acknowledged;
    posted_ns = sent.left_ns;
    if (from.acknowledged == count) note(sent, now_ns);
  }
  if (before != in_flight_) speed_.delivered(before - in_flight_, posted_ns, now_ns);
  // A receipt that says nothing new is no movement.
  if (before != in_flight_) delivered_ns_ = now_ns;
  return {};
}

void Credits::note(const Sent& sent, std::int64_t now_ns) noexcept {
  if (now_ns - span_began_ns_ > span_ns) {
    rate_before_ = std::exchange(rate_now_, 0);
    delay_before_ns_ = std::exchange(delay_now_ns_, 0);
    span_began_ns_ = now_ns;
  }
  speed_.receipt(now_ns - sent.left_ns, sent.ahead_bytes);
  delay_now_ns_ = std::max(delay_now_ns_, now_ns - sent.left_ns);
  const std::int64_t span = now_ns - sent.delivered_ns;
  if (span <= 0) return;
  const double rate = static_cast<double>(delivered_bytes_ - sent.delivered_bytes) * 1e9 / static_cast<double>(span);
  rate_now_ = std::max(rate_now_, rate);
}

void Credits::round_trip(std::int64_t ns) noexcept {
  if (ns > 0 && (round_trip_ns_ == 0 || ns < round_trip_ns_)) round_trip_ns_ = ns;
}

void Credits::drop_peer(int peer) {
  Peer& gone = peers_[static_cast<std::size_t>(peer)];
  in_flight_ -= gone.flying_bytes;
  gone.acknowledged += gone.flying.size();
  gone.flying.clear();
  gone.flying_bytes = 0;
}

}  // namespace lynxkv::comm
