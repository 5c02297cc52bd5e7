#include "results/link_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace lynxkv::results {
namespace {

// Pairs grow with the square; so many transfers are plenty.
constexpr std::size_t most_transfers = 1000;

double quantile(std::vector<double>& values, double q) {
  if (values.empty()) return 0;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(static_cast<double>(values.size() - 1) * q);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

std::vector<TransferTime> transfers_of(std::span<const Row> rows) {
  std::vector<TransferTime> transfers;
  for (const Row& row : rows) {
    if (row.start != "after_prefill") continue;
    const auto anchor = static_cast<double>(row.stream_bytes[0]);
    const double all = anchor + static_cast<double>(row.stream_bytes[1]) + static_cast<double>(row.stream_bytes[2]);
    if (anchor > 0 && row.anchor_ready_s > 0) transfers.push_back({anchor, row.anchor_ready_s});
    if (all > anchor && row.residual_ready_s > 0) transfers.push_back({all, row.residual_ready_s});
  }
  return transfers;
}

LinkModel fit_link(std::vector<TransferTime> transfers) {
  std::erase_if(transfers, [](const TransferTime& t) { return !(t.bytes > 0 && t.seconds > 0 && std::isfinite(t.seconds)); });
  if (transfers.size() > most_transfers) {
    std::vector<TransferTime> some;
    for (std::size_t i = 0; i < most_transfers; ++i) some.push_back(transfers[i * transfers.size() / most_transfers]);
    transfers = std::move(some);
  }
  LinkModel model;
  model.transfers = transfers.size();
  std::vector<double> slopes;
  for (std::size_t i = 0; i < transfers.size(); ++i)
    for (std::size_t j = i + 1; j < transfers.size(); ++j) {
      const double more = transfers[j].bytes - transfers[i].bytes;
      // Sizes that hardly differ tell the noise of their times, not the rate.
      if (std::fabs(more) < 0.05 * std::max(transfers[i].bytes, transfers[j].bytes)) continue;
      slopes.push_back((transfers[j].seconds - transfers[i].seconds) / more);
    }
  if (transfers.size() < 3 || slopes.empty()) return model;
  const double slope = quantile(slopes, 0.5);
  if (slope <= 0) return model;
  model.bytes_per_s = 1 / slope;
  std::vector<double> left, apart;
  for (const TransferTime& t : transfers) left.push_back(t.seconds - t.bytes * slope);
  model.latency_s = std::max(0.0, quantile(left, 0.5));
  for (const TransferTime& t : transfers) apart.push_back(std::fabs(model.seconds(t.bytes) - t.seconds) / t.seconds);
  model.apart_median = quantile(apart, 0.5);
  model.apart_p90 = quantile(apart, 0.9);
  return model;
}

std::string describe(const LinkModel& model) {
  return fmt::format("{:.2f} ms + bytes / {:.4f} GB/s ({} transfers); predicted and measured times are {:.1f} % apart at "
                     "the median, {:.1f} % at the 90th percentile",
                     model.latency_s * 1e3, model.bytes_per_s * 1e-9, model.transfers, model.apart_median * 100,
                     model.apart_p90 * 100);
}

}  // namespace lynxkv::results
