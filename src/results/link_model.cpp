#include "results/link_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace lynxkv::results {
namespace {

// Pairs grow with the square; so many transfers are plenty.
constexpr std::size_t most_transfers = 1000;
constexpr std::size_t fewest_transfers = 3;

// The smallest value that q of all do not exceed: of few values the 90th percentile is the worst one.
double quantile(std::vector<double>& values, double q) {
  if (values.empty()) return 0;
  const auto rank = static_cast<std::ptrdiff_t>(std::ceil(static_cast<double>(values.size()) * q));
  const auto at = values.begin() + std::max<std::ptrdiff_t>(rank, 1) - 1;
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// One request's time on the link, seconds since 1970.
struct Stay {
  bool dated = false;
  double begin = 0, end = 0;
  double others_end = 0;  // the last end of those on the same rank that began before
  double next_begin = std::numeric_limits<double>::infinity();  // of the first one on the same rank that began later

  bool alone_until(double when) const { return dated && others_end <= begin && next_begin >= when; }
};

// Of the requests in `stays` that share one rank.
void meet(std::vector<Stay*>& same_rank) {
  std::sort(same_rank.begin(), same_rank.end(), [](const Stay* a, const Stay* b) { return a->begin < b->begin; });
  double others_end = 0;
  for (std::size_t i = 0; i < same_rank.size(); ++i) {
    Stay& stay = *same_rank[i];
    stay.others_end = std::max(stay.others_end, others_end);
    if (i + 1 < same_rank.size()) stay.next_begin = std::min(stay.next_begin, same_rank[i + 1]->begin);
    others_end = std::max(others_end, stay.end);
  }
}

double bytes_of(const Row& row) {
  double bytes = 0;
  for (const std::uint64_t stream : row.stream_bytes) bytes += static_cast<double>(stream);
  return bytes;
}

bool crossed_a_link(const Row& row) {
  return row.prefill_rank != row.decode_rank && bytes_of(row) > 0;
}

// When a streaming request began to send is not noted: at its submission at the earliest, at t_kv at the latest.
enum class StreamingBegins { at_submission, at_t_kv };

std::vector<Stay> stays_of(std::span<const Row> rows, StreamingBegins streaming_begins) {
  std::vector<Stay> stays(rows.size());
  std::map<std::pair<bool, int>, std::vector<Stay*>> by_rank;  // prefill or not, rank
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    if (!(row.t_kv_unix_s > 0) || !crossed_a_link(row)) continue;
    const bool earlier = row.start != "after_prefill" && streaming_begins == StreamingBegins::at_submission;
    stays[i].begin = row.t_kv_unix_s - (earlier ? row.prefill_s : 0);
    stays[i].end = row.t_kv_unix_s + std::max(row.anchor_ready_s, row.residual_ready_s);
    stays[i].dated = std::isfinite(stays[i].begin) && std::isfinite(stays[i].end);  // a file may hold anything
    if (!stays[i].dated) continue;
    by_rank[{true, row.prefill_rank}].push_back(&stays[i]);
    by_rank[{false, row.decode_rank}].push_back(&stays[i]);
  }
  for (auto& [rank, same_rank] : by_rank) meet(same_rank);
  return stays;
}

std::string why_not(const Transfers& transfers) {
  if (transfers.requests == 0)
    return transfers.within_a_rank > 0 ? "one rank did prefill and decode, and nothing crossed a link" : "";
  if (transfers.measured == 0)
    return "what is sent during a prefill tells nothing of the link; transfer.start: after_prefill does";
  if (transfers.alone.empty() && transfers.undated == transfers.measured)
    return "the rows are of an earlier version and do not say when they were sent, and so not which shared the link";
  if (transfers.alone.size() < fewest_transfers)
    return fmt::format("{} of {} transfers had the link alone and {} are needed; engine.max_batch: 1 sends one request at a time",
                       transfers.alone.size(), transfers.measured, fewest_transfers);
  return fmt::format("the {} transfers that had the link alone are of one size, or do not take longer for more bytes; more "
                     "modes or lengths help", transfers.alone.size());
}

}  // namespace

Transfers transfers_of(std::span<const Row> rows) {
  Transfers transfers;
  // What is fitted must have been alone for certain; what is called shared must have been shared for certain.
  const std::vector<Stay> stays = stays_of(rows, StreamingBegins::at_submission);
  const std::vector<Stay> least = stays_of(rows, StreamingBegins::at_t_kv);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    const Stay& stay = stays[i];
    const auto anchor = static_cast<double>(row.stream_bytes[0]);
    const double all = bytes_of(row);
    if (all > 0 && !crossed_a_link(row)) ++transfers.within_a_rank;
    if (!crossed_a_link(row)) continue;
    ++transfers.requests;
    if (least[i].dated && !least[i].alone_until(least[i].end)) ++transfers.shared;
    if (row.start != "after_prefill") continue;
    const auto take = [&](double bytes, double seconds) {
      if (!(seconds > 0 && std::isfinite(seconds))) return;
      ++transfers.measured;
      if (!stay.dated) ++transfers.undated;
      if (stay.alone_until(row.t_kv_unix_s + seconds)) transfers.alone.push_back({bytes, seconds});
    };
    if (anchor > 0) take(anchor, row.anchor_ready_s);
    if (all > anchor) take(all, row.residual_ready_s);
  }
  return transfers;
}

LinkModel fit_link(const Transfers& measured) {
  std::vector<TransferTime> transfers = measured.alone;
  if (transfers.size() > most_transfers) {
    std::vector<TransferTime> some;
    for (std::size_t i = 0; i < most_transfers; ++i) some.push_back(transfers[i * transfers.size() / most_transfers]);
    transfers = std::move(some);
  }
  LinkModel model;
  model.transfers = transfers.size();
  model.measured = measured.measured;
  std::vector<double> slopes;
  for (std::size_t i = 0; i < transfers.size(); ++i)
    for (std::size_t j = i + 1; j < transfers.size(); ++j) {
      const double more = transfers[j].bytes - transfers[i].bytes;
      // Sizes that hardly differ tell the noise of their times, not the rate.
      if (std::fabs(more) < 0.05 * std::max(transfers[i].bytes, transfers[j].bytes)) continue;
      slopes.push_back((transfers[j].seconds - transfers[i].seconds) / more);
    }
  const double slope = transfers.size() < fewest_transfers ? 0 : quantile(slopes, 0.5);
  if (slope <= 0) {
    model.why_not = why_not(measured);
    return model;
  }
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
  if (!model.known()) return model.why_not.empty() ? "" : "not fitted: " + model.why_not;
  return fmt::format("fitted: time = {:.2f} ms + bytes / {:.4f} GB/s, by the {} of {} transfers that had the link alone; "
                     "predicted and measured times are {:.1f} % apart at the median, {:.1f} % at the 90th percentile",
                     model.latency_s * 1e3, model.bytes_per_s * 1e-9, model.transfers, model.measured,
                     model.apart_median * 100, model.apart_p90 * 100);
}

}  // namespace lynxkv::results
