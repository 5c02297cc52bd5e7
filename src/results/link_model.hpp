// LinkModel: time = latency + bytes / rate, fitted to the transfers that a run has made, so that what a link of
// another speed would do can be told, and how far such a prediction can be trusted.
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

struct LinkModel {
  double latency_s = 0;
  double bytes_per_s = 0;
  std::size_t transfers = 0;      // that were fitted
  double apart_median = 0;        // |predicted - measured| / measured
  double apart_p90 = 0;

  bool known() const noexcept { return bytes_per_s > 0; }
  double seconds(double bytes) const noexcept { return latency_s + bytes / bytes_per_s; }
};

// The transfers of rows that began when nothing had left (start: after_prefill): the anchors, and all streams. Those
// of a streaming run overlap the prefill, and tell nothing of the link.
std::vector<TransferTime> transfers_of(std::span<const Row> rows);
// Theil and Sen: the median of the slopes between all pairs, then the median of what is left; a few slow transfers
// do not bend it. Not known() for less than three transfers or where their sizes do not differ.
LinkModel fit_link(std::vector<TransferTime> transfers);
// "0.41 ms + bytes / 0.1158 GB/s (24 transfers); predicted and measured times are 2.1 % apart at the median, ..."
std::string describe(const LinkModel& model);

}  // namespace lynxkv::results
