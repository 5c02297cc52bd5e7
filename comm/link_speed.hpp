// LinkSpeed: what receipts tell of a link: the rate at which it takes bytes, and how late receipts come behind their bytes.
// No clock of its own. Times in ns, rates in bytes per second.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace lynxkv::comm {

class LinkSpeed {
 public:
  // A receipt for `bytes`, the last of which were posted at `posted_ns`.
  void delivered(std::size_t bytes, std::int64_t posted_ns, std::int64_t now_ns) noexcept {
    // Only what waited behind other bytes shows how fast they leave.
    if (receipt_ns_ == 0 || posted_ns > receipt_ns_) {
      span_began_ns_ = now_ns;
      span_bytes_ = 0;
    } else {
      span_bytes_ += bytes;
    }
    receipt_ns_ = now_ns;
    // Sleeping threads see receipts in bunches: one right behind another says nothing of the wire.
    if (span_bytes_ == 0 || now_ns - span_began_ns_ < least_span_ns) return;
    paces_[paces_seen_++ % paces_.size()] = static_cast<double>(now_ns - span_began_ns_) / static_cast<double>(span_bytes_);
    span_began_ns_ = now_ns;
    span_bytes_ = 0;
    pace_ns_per_byte_ = quantile(paces_, paces_seen_, 0.5);
  }
  // The receipt of a message took `delay_ns` from its posting, when `ahead_bytes` (its own among them) were on the wire.
  void receipt(std::int64_t delay_ns, std::size_t ahead_bytes) noexcept {
    if (!known()) return;
    const double own_ns = static_cast<double>(ahead_bytes) * 1e9 / rate();
    late_[next_++ % late_.size()] = std::max(0.0, static_cast<double>(delay_ns) - own_ns);
  }

  bool known() const noexcept { return paces_seen_ >= 8; }
  // By the median time between receipts, for some come late and others right behind those. 0 where it is unknown.
  double rate() const noexcept { return known() && pace_ns_per_byte_ > 0 ? 1e9 / pace_ns_per_byte_ : 0; }
  // Three of four receipts come at most this late.
  double lateness_ns() const noexcept { return quantile(late_, next_, 0.75); }

 private:
  static constexpr std::int64_t least_span_ns = 500'000;

  template <std::size_t N>
  static double quantile(std::array<double, N> values, std::size_t seen, double q) noexcept {
    const std::size_t count = std::min(seen, N);
    if (count == 0) return 0;
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(static_cast<double>(count) * q);
    std::nth_element(values.begin(), at, values.begin() + static_cast<std::ptrdiff_t>(count));
    return *at;
  }

  std::int64_t receipt_ns_ = 0;
  std::int64_t span_began_ns_ = 0;
  std::size_t span_bytes_ = 0;
  std::array<double, 64> paces_ = {};  // ns a byte
  std::size_t paces_seen_ = 0;
  double pace_ns_per_byte_ = 0;
  std::array<double, 64> late_ = {};
  std::size_t next_ = 0;
};

}  // namespace lynxkv::comm
