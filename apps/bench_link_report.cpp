#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "apps/bench_link.hpp"

namespace lynxkv::apps {
namespace {

constexpr double wanted_share = 0.95, wanted_p50 = 1.3, wanted_p99 = 2.0;

double median(const std::vector<double>& values) { return quantile(values, 0.5); }

double gb_per_s(const LinkRow& row, const std::vector<double>& seconds, int flows) {
  const double s = median(seconds);
  return s > 0 ? static_cast<double>(row.bytes) * row.count * flows / s * 1e-9 : 0;
}

double share(const LinkRow& row) {
  const double mine = median(row.seconds);
  return mine > 0 ? median(row.raw_seconds) / mine : 0;
}

struct Figures {
  double idle_p50, p50, p95, p99, p999, chunk, ratio_p50, ratio_p99, share;
};
Figures figures_of(const comm::PriorityTimes& times) {
  Figures f{};
  f.idle_p50 = median(times.idle_s);
  f.p50 = median(times.loaded_s);
  f.p95 = quantile(times.loaded_s, 0.95);
  f.p99 = quantile(times.loaded_s, 0.99);
  f.p999 = quantile(times.loaded_s, 0.999);
  f.chunk = times.chunk_s;
  f.ratio_p50 = f.idle_p50 > 0 ? (f.p50 - f.chunk) / f.idle_p50 : 0;
  f.ratio_p99 = f.idle_p50 > 0 ? (f.p99 - f.chunk) / f.idle_p50 : 0;
  f.share = times.seconds > 0 ? times.raw_seconds / times.seconds : 0;
  return f;
}

nlohmann::json options_json(const LinkBenchOptions& o) {
  return {{"gbps", o.link.gbps}, {"latency_us", o.link.latency_us}, {"residual_chunk_bytes", o.link.residual_chunk_bytes},
          {"min_bytes", o.min_bytes}, {"max_bytes", o.max_bytes}, {"factor", o.factor}, {"iterations", o.iterations},
          {"warm_up", o.warm_up}, {"repeats", o.repeats}, {"latencies", o.latencies}, {"seconds", o.seconds},
          {"tests", o.tests}, {"channels", o.channels}, {"model", o.model}, {"urgent", o.priority.urgent},
          {"urgent_bytes", o.priority.urgent_bytes}, {"interval_s", o.priority.interval_s},
          {"backlog_bytes", o.priority.backlog_bytes}, {"rounds", o.priority.rounds}, {"seed", o.priority.seed}};
}

}  // namespace

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto at = static_cast<std::size_t>(std::ceil(q * static_cast<double>(values.size())));
  return values[std::clamp<std::size_t>(at, 1, values.size()) - 1];
}

LinkSummary summary_of(const LinkReport& report) {
  LinkSummary summary;
  for (const LinkRow& row : report.rows) summary.wrong += row.wrong;
  for (const LinkPriority& priority : report.priorities) {
    summary.wrong += priority.times.wrong;
    if (!priority.load.two_channels || report.transport == "loop") continue;
    const Figures f = figures_of(priority.times);
    summary.has_priority = true;
    summary.share_of_raw = f.share;
    summary.urgent_p50_ratio = f.ratio_p50;
    summary.urgent_p99_ratio = f.ratio_p99;
  }
  return summary;
}

void print_link_header(const LinkReport& r) {
  std::printf("# lynxkv bench link, %s, lynxkv %s\n# %s\n", r.date.c_str(), r.version.c_str(), r.command.c_str());
  std::printf("# transport %s over %s; in use: %s\n", r.transport.c_str(), r.mpi.c_str(), r.components.c_str());
  for (std::size_t rank = 0; rank < r.ranks.size(); ++rank) {
    const auto& facts = r.ranks[rank];
    std::printf("# rank %zu: host %s, CPUs %s (%s), GPUs %s, NICs %s\n", rank, facts.at("host").c_str(),
                facts.at("cpus").c_str(), facts.at("cpu").c_str(), facts.at("gpus").c_str(), facts.at("nics").c_str());
  }
  for (const auto& [name, value] : r.environment) std::printf("# environment: %s=%s\n", name.c_str(), value.c_str());
  std::printf("# clock: %s\n", r.clock.c_str());
  if (!r.options.note.empty()) std::printf("# note: %s\n", r.options.note.c_str());
  if (r.options.link.gbps > 0) std::printf("# raw: the %s: %s\n", r.raw.c_str(), r.raw_method.c_str());
  else std::printf("# raw: plain %s of the same bytes in turn with the rest; %s\n", r.raw.c_str(), r.raw_method.c_str());
  std::printf("# time: median of a message's share of a repetition;\n"
              "# algbw: bytes through the busiest port a second (1 GB = 1e9); total: of all flows; lat: half a round trip, median;\n"
              "# wrong: messages whose bytes are not what was sent (all bytes in a repetition of its own, else numbers and lengths)\n");
}

void print_link_columns(const LinkReport& r) {
  const bool emulated = r.options.link.gbps > 0;
  std::printf("#\n#%-10s %-8s %12s %8s %11s %9s %9s %9s %7s %10s %10s %6s\n", "test", "channel", "size", "count", "time",
              "algbw", "total", emulated ? "emulbw" : "rawbw", "share", "lat", emulated ? "emul_lat" : "raw_lat", "wrong");
  std::printf("#%-10s %-8s %12s %8s %11s %9s %9s %9s %7s %10s %10s %6s\n", "", "", "(B)", "", "(us)", "(GB/s)", "(GB/s)",
              "(GB/s)", "(%)", "(us)", "(us)", "");
}

void print_link_row(const LinkRow& row) {
  std::printf(" %-10s %-8s %12zu %8d %11.2f %9.4f %9.4f %9.4f %7.1f", row.test.c_str(), row.channel.c_str(), row.bytes,
              row.count, median(row.seconds) / row.count * 1e6, gb_per_s(row, row.seconds, row.port_flows),
              gb_per_s(row, row.seconds, row.flows), gb_per_s(row, row.raw_seconds, row.port_flows), 100 * share(row));
  if (row.latency_s.empty()) std::printf(" %10s %10s", "-", "-");
  else std::printf(" %10.2f %10.2f", median(row.latency_s) * 1e6, median(row.raw_latency_s) * 1e6);
  std::printf(" %6llu%s%s\n", static_cast<unsigned long long>(row.wrong), row.note.empty() ? "" : "  # ", row.note.c_str());
  std::fflush(stdout);
}

void print_link_priority(const LinkPriority& p) {
  const Figures f = figures_of(p.times);
  std::printf("#\n# urgent messages of %zu B from rank 0 to 1 under bulk, %s, %zu of them\n", p.load.urgent_bytes,
              p.name.c_str(), p.times.loaded_s.size());
  std::printf("#%-13s %9s %9s %9s %9s %9s %9s %9s %7s %6s\n", "", "p50", "p95", "p99", "p99.9", "max", "algbw", p.emulated ? "emulbw" : "rawbw",
              "share", "wrong");
  std::printf("#%-13s %9s %9s %9s %9s %9s %9s %9s %7s %6s\n", "", "(us)", "(us)", "(us)", "(us)", "(us)", "(GB/s)",
              "(GB/s)", "(%)", "");
  const auto line = [](const char* name, const std::vector<double>& s) {
    std::printf(" %-13s %9.1f %9.1f %9.1f %9.1f %9.1f", name, median(s) * 1e6, quantile(s, 0.95) * 1e6,
                quantile(s, 0.99) * 1e6, quantile(s, 0.999) * 1e6, quantile(s, 1) * 1e6);
  };
  line("idle link", p.times.idle_s);
  std::printf("\n");
  line("under bulk", p.times.loaded_s);
  std::printf(" %9.4f %9.4f %7.1f %6llu\n", static_cast<double>(p.times.bytes) / p.times.seconds * 1e-9,
              static_cast<double>(p.times.bytes) / p.times.raw_seconds * 1e-9, 100 * f.share,
              static_cast<unsigned long long>(p.times.wrong));
  std::printf("# one chunk: %zu B, %.1f us of the %s; (time - chunk) / idle p50: p50 %.2f, p99 %.2f; clocks +- %.1f us\n",
              p.times.chunk_bytes, f.chunk * 1e6, p.emulated ? "emulated link" : "raw link", f.ratio_p50, f.ratio_p99, p.times.clock_error_s * 1e6);
  std::fflush(stdout);
}

void print_link_verdict(const LinkReport& report) {
  const LinkSummary s = summary_of(report);
  std::printf("#\n# %s\n", s.wrong == 0 ? "OK: every byte came as it was sent" : "WRONG: bytes differ from what was sent");
  if (!s.has_priority) return;
  const bool good = s.share_of_raw >= wanted_share && s.urgent_p50_ratio <= wanted_p50 && s.urgent_p99_ratio <= wanted_p99;
  std::printf("# %s: %.1f %% of the %s link with urgent traffic (%.0f wanted), urgent p50 %.2f (%.1f), p99 %.2f (%.1f)\n",
              good ? "PRIORITY HOLDS" : "PRIORITY IS MISSED", 100 * s.share_of_raw, report.options.link.gbps > 0 ? "emulated" : "raw", 100 * wanted_share, s.urgent_p50_ratio,
              wanted_p50, s.urgent_p99_ratio, wanted_p99);
}

std::string link_json(const LinkReport& r) {
  using nlohmann::json;
  const LinkSummary s = summary_of(r);
  json document = {{"schema_version", 1}, {"bench", "link"}, {"date", r.date}, {"version", r.version},
                   {"command", r.command}, {"transport", r.transport}, {"raw", r.raw}, {"raw_method", r.raw_method}, {"note", r.options.note}, {"options", options_json(r.options)}, {"mpi", r.mpi},
                   {"components", r.components}, {"clock", r.clock}, {"size", r.size},
                   {"good_parcel_bytes", r.good_parcel_bytes}, {"ranks", r.ranks}, {"environment", json::object()},
                   {"rows", json::array()}, {"priority", json::array()}};
  for (const auto& [name, value] : r.environment) document["environment"][name] = value;
  for (const LinkRow& row : r.rows)
    document["rows"].push_back({{"test", row.test}, {"channel", row.channel}, {"note", row.note}, {"size_bytes", row.bytes},
                                {"count", row.count}, {"flows", row.flows}, {"port_flows", row.port_flows}, {"raw_window", row.raw_window},
                                {"time_us", median(row.seconds) / row.count * 1e6},
                                {"algbw_gb_per_s", gb_per_s(row, row.seconds, row.port_flows)},
                                {"total_gb_per_s", gb_per_s(row, row.seconds, row.flows)},
                                {"raw_gb_per_s", gb_per_s(row, row.raw_seconds, row.port_flows)},
                                {"share_of_raw", share(row)}, {"wrong", row.wrong},
                                {"seconds", row.seconds}, {"raw_seconds", row.raw_seconds},
                                {"latency_s", row.latency_s}, {"raw_latency_s", row.raw_latency_s}});
  for (const LinkPriority& p : r.priorities) {
    const Figures f = figures_of(p.times);
    document["priority"].push_back(
        {{"name", p.name}, {"two_channels", p.load.two_channels}, {"urgent_message_bytes", p.load.urgent_bytes},
         {"interval_s", p.load.interval_s}, {"backlog_bytes", p.load.backlog_bytes}, {"chunk_bytes", p.times.chunk_bytes},
         {"chunk_s", f.chunk}, {"idle_p50_s", f.idle_p50}, {"p50_s", f.p50}, {"p95_s", f.p95}, {"p99_s", f.p99},
         {"p999_s", f.p999}, {"p50_ratio", f.ratio_p50}, {"p99_ratio", f.ratio_p99}, {"share_of_raw", f.share},
         {"shares_by_round", p.times.shares}, {"bytes", p.times.bytes}, {"seconds", p.times.seconds},
         {"raw_seconds", p.times.raw_seconds}, {"clock_error_s", p.times.clock_error_s}, {"wrong", p.times.wrong},
         {"idle_s", p.times.idle_s}, {"loaded_s", p.times.loaded_s}});
  }
  document["summary"] = {{"wrong", s.wrong}};
  const auto measured = [&](double value) { return s.has_priority ? json(value) : json(); };
  document["summary"]["share_of_raw"] = measured(s.share_of_raw);
  document["summary"]["urgent_p50_ratio"] = measured(s.urgent_p50_ratio);
  document["summary"]["urgent_p99_ratio"] = measured(s.urgent_p99_ratio);
  return document.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string link_csv(const LinkReport& r) {
  std::string text = "test,channel,note,size_bytes,count,flows,time_us,algbw_gb_per_s,total_gb_per_s,raw_gb_per_s,"
                     "share_of_raw,latency_us,raw_latency_us,wrong\n";
  char line[400];
  for (const LinkRow& row : r.rows) {
    std::snprintf(line, sizeof line, "%s,%s,%s,%zu,%d,%d,%.3f,%.6f,%.6f,%.6f,%.4f,", row.test.c_str(), row.channel.c_str(),
                  row.note.c_str(), row.bytes, row.count, row.flows, median(row.seconds) / row.count * 1e6,
                  gb_per_s(row, row.seconds, row.port_flows), gb_per_s(row, row.seconds, row.flows),
                  gb_per_s(row, row.raw_seconds, row.port_flows), share(row));
    text += line;
    if (row.latency_s.empty()) std::snprintf(line, sizeof line, ",,%llu\n", static_cast<unsigned long long>(row.wrong));
    else std::snprintf(line, sizeof line, "%.3f,%.3f,%llu\n", median(row.latency_s) * 1e6, median(row.raw_latency_s) * 1e6,
                       static_cast<unsigned long long>(row.wrong));
    text += line;
  }
  for (const LinkPriority& p : r.priorities) {
    const Figures f = figures_of(p.times);
    std::snprintf(line, sizeof line, "urgent,%s,p50 ratio %.3f p99 ratio %.3f,%zu,%zu,1,,%.6f,,%.6f,%.4f,%.3f,%.3f,%llu\n",
                  p.name.c_str(), f.ratio_p50, f.ratio_p99, p.load.urgent_bytes, p.times.loaded_s.size(),
                  static_cast<double>(p.times.bytes) / p.times.seconds * 1e-9,
                  static_cast<double>(p.times.bytes) / p.times.raw_seconds * 1e-9, f.share, f.p50 * 1e6, f.idle_p50 * 1e6,
                  static_cast<unsigned long long>(p.times.wrong));
    text += line;
  }
  return text;
}

}  // namespace lynxkv::apps
