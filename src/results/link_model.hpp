// LinkModel: time = latency + bytes / rate, fitted to the transfers of a run that had the link alone, so that what a
// link of another speed would do can be told, and how far such a prediction can be trusted.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "results/row.hpp"

namespace lynxkv::results {

struct TransferTime {
  double bytes = 0;    // payloads, of all streams that had to come
  double seconds = 0;  // from the moment at which nothing had left yet
};

// What rows say of their transfers. A request's time on the link reaches from its t_kv (streaming: from its submission)
// until all of it is ready; it had the link alone where that of no other request with the same prefill or the same
// decode rank overlaps it.
struct Transfers {
  std::vector<TransferTime> alone;  // began after the prefill and had the link alone: anchors, and all streams
  std::size_t measured = 0;         // that began after the prefill, alone or not
  std::size_t undated = 0;          // of these, whose row does not say when it was (of an earlier version)
  std::size_t requests = 0;         // that something crossed the link for
  std::size_t shared = 0;           // requests during whose time on the link another one was on it, for certain
  std::size_t within_a_rank = 0;    // requests that one rank prefilled and decoded: there is no link
};
Transfers transfers_of(std::span<const Row> rows);

struct LinkModel {
  double latency_s = 0;
  double bytes_per_s = 0;
  std::size_t transfers = 0;  // that had the link alone: what the fit rests on
  std::size_t measured = 0;   // of how many that began after the prefill
  double apart_median = 0;    // |predicted - measured| / measured
  double apart_p90 = 0;
  std::string why_not;        // where it is not known: why; empty where nothing was sent at all

  bool known() const noexcept { return bytes_per_s > 0; }
  double seconds(double bytes) const noexcept { return latency_s + bytes / bytes_per_s; }
};

// Theil and Sen: the median of the slopes between all pairs, then the median of what is left; a few slow transfers
// do not bend it. Not known() for less than three transfers or where their sizes do not differ.
LinkModel fit_link(const Transfers& transfers);
// "fitted: time = 0.41 ms + bytes / 0.1158 GB/s, by the 24 of 30 transfers that had the link alone; predicted and ..."
// or "not fitted: ..."; empty where nothing was sent.
std::string describe(const LinkModel& model);

}  // namespace lynxkv::results
