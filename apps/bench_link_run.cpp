// The tests of `lynxkv bench link`, one after the other, on every rank alike.
#include <algorithm>

#include "apps/bench_link.hpp"
#include "base/error.hpp"
#include "codec/codec.hpp"
#include "model/model_file.hpp"

namespace lynxkv::apps {
namespace {

using comm::Channel;
using comm::LinkEnds;
using comm::Pattern;

int ranks_needed(Pattern pattern) {
  if (pattern == Pattern::pairs) return 4;
  return pattern == Pattern::incast || pattern == Pattern::all_to_all ? 3 : 2;
}

class LinkBench {
 public:
  LinkBench(const LinkBenchOptions& options, LinkEnds ends, LinkReport& report) : options_(options), ends_(ends), report_(report) {}

  void run() {
    measure_rate();
    if (first()) print_link_columns(report_);
    for (const Pattern pattern : comm::all_patterns) {
      if (pattern == Pattern::both_ways && wanted("page")) measure_pages();
      if (!wanted(comm::name_of(pattern)) || ends_.raw.size() < ranks_needed(pattern)) continue;
      for (const std::string& channel : options_.channels)
        for (double size = static_cast<double>(options_.min_bytes); size <= static_cast<double>(options_.max_bytes); size *= options_.factor)
          measure(comm::name_of(pattern), "", pattern, channel, static_cast<std::size_t>(size));
    }
    if (wanted("priority")) measure_priority(true);
    if (wanted("one-channel")) measure_priority(false);
  }

 private:
  bool first() const { return ends_.raw.rank() == 0; }
  bool wanted(const std::string& test) const {
    return options_.tests.empty() || std::find(options_.tests.begin(), options_.tests.end(), test) != options_.tests.end();
  }
  // The rate and the cost of a message decide how many messages make a repetition. The real link below an emulated
  // one has to take a message too, but messages need not wait for each other's emulated latency.
  void measure_rate() {
    const comm::Flow one{0, 1};
    constexpr std::size_t bytes = std::size_t{1} << 20;
    const LinkEnds real{ends_.courier, ends_.raw};
    static_cast<void>(comm::time_raw_transfer(real, {&one, 1}, {Channel::anchor, bytes, 2}));
    // The best of some: a slow start would make every repetition too short to tell more than starts.
    double seconds = comm::time_raw_transfer(real, {&one, 1}, {Channel::anchor, bytes, 8});
    for (int i = 0; i < 4; ++i) seconds = std::min(seconds, comm::time_raw_transfer(real, {&one, 1}, {Channel::anchor, bytes, 8}));
    rate_ = ends_.emulated.limits_rate() ? ends_.emulated.gbps * 1e9 / 8 : 8 * static_cast<double>(bytes) / seconds;
    const std::vector<double> trips = comm::time_raw_round_trips(real, 1, 20);
    message_s_ = ends_.raw.from_first(first() ? quantile(trips, 0.5) : 0) / 8;
    latency_s_ = 8 * message_s_ + ends_.emulated.latency_us * 1e-6;
  }

  int count_for(std::size_t bytes, int port_flows) const {
    if (options_.iterations > 0) return options_.iterations;
    const double each = std::max(static_cast<double>(bytes) / rate_, message_s_) * port_flows;
    return std::clamp(static_cast<int>(0.1 / each), 4, 4000);
  }

  void measure(const std::string& test, const std::string& note, Pattern pattern, const std::string& channel, std::size_t bytes) {
    LinkRow row;
    row.test = test;
    row.note = note;
    row.channel = channel;
    row.bytes = bytes;
    const auto flows = comm::flows_of(pattern, ends_.raw.size());
    row.flows = static_cast<int>(flows.size());
    row.port_flows = comm::busiest_port(flows, ends_.raw.size());
    const comm::TransferLoad load{channel == "anchor" ? Channel::anchor : Channel::residual, bytes, count_for(bytes, row.port_flows)};
    row.count = load.count;
    row.raw_window = ends_.emulated.limits_rate() ? 0 : comm::raw_window(flows, ends_.raw.size(), bytes);
    std::uint64_t wrong = 0;
    static_cast<void>(time_transfer(ends_, flows, {load.channel, bytes, std::min(load.count, 100)}, true, wrong));
    for (int i = 0; i < options_.warm_up; ++i) {
      static_cast<void>(time_raw_transfer(ends_, flows, load));
      static_cast<void>(time_transfer(ends_, flows, load, false, wrong));
    }
    for (int i = 0; i < options_.repeats; ++i) {
      row.raw_seconds.push_back(time_raw_transfer(ends_, flows, load));
      row.seconds.push_back(time_transfer(ends_, flows, load, false, wrong));
    }
    if (pattern == Pattern::one_way && options_.latencies > 0) {
      const int trips = std::clamp(static_cast<int>(0.25 / (static_cast<double>(bytes) / rate_ + latency_s_)), 3, options_.latencies);
      row.raw_latency_s = time_raw_round_trips(ends_, bytes, trips);
      row.latency_s = time_round_trips(ends_, {load.channel, bytes, trips});
    }
    row.wrong = total(wrong);
    if (first()) print_link_row(row);
    report_.rows.push_back(std::move(row));
  }

  std::uint64_t total(std::uint64_t mine) {
    const double value = static_cast<double>(mine);
    double sum = 0;
    for (const auto& each : ends_.raw.gather({&value, 1})) sum += each.front();
    return static_cast<std::uint64_t>(ends_.raw.from_first(sum));
  }

  // Full pages, and what a codec makes of them.
  void measure_pages() {
    if (options_.model.empty()) return;
    const model::ModelConfig model = model::open_model(options_.model).config;
    const codec::TensorShape shape{256, model.kv_heads * model.head_dim, model.head_dim, 32, 256, 0, model.layers, page::Kind::key};
    for (const char* mode : {"bf16", "int8", "int4", "lynx"}) {
      const auto codec = codec::make_codec(mode, {});
      for (const codec::StreamSpec& stream : codec->streams()) {
        const bool anchor = stream.id == codec::StreamId::anchor;
        measure("page", std::string(mode) + (anchor ? " anchor" : " residual") + " of a page tensor", Pattern::one_way,
                anchor ? "anchor" : "residual", codec->payload_bytes(stream.id, shape, false));
      }
    }
  }

  void measure_priority(bool two_channels) {
    LinkPriority priority;
    priority.name = two_channels ? "two channels" : "one channel";
    priority.emulated = ends_.emulated.limits_rate();
    priority.load = options_.priority;
    priority.load.two_channels = two_channels;
    // Urgent traffic takes a twentieth of the link at most, and the whole a bounded time.
    if (priority.load.interval_s <= 0)
      priority.load.interval_s = std::max(0.002, 20 * static_cast<double>(priority.load.urgent_bytes) / rate_);
    const int most = static_cast<int>(options_.seconds / priority.load.interval_s);
    priority.load.urgent = std::max(priority.load.rounds, std::min(priority.load.urgent, most));
    if (!two_channels) priority.load.urgent = std::max(priority.load.rounds, priority.load.urgent / 4);
    priority.times = comm::measure_priority(ends_, priority.load);
    priority.times.wrong = total(priority.times.wrong);
    if (first()) print_link_priority(priority);
    report_.priorities.push_back(std::move(priority));
  }

  const LinkBenchOptions& options_;
  LinkEnds ends_;
  LinkReport& report_;
  double rate_ = 1, message_s_ = 1e-6, latency_s_ = 1e-6;
};

}  // namespace

void check_link_tests(const LinkBenchOptions& options, int ranks) {
  for (const std::string& test : options.tests) {
    if (test == "page" && options.model.empty())
      throw Error(ErrorCode::usage, "--tests page", "needs --model: the model tells the sizes of its pages");
    for (const Pattern pattern : comm::all_patterns)
      if (test == comm::name_of(pattern) && ranks < ranks_needed(pattern))
        throw Error(ErrorCode::usage, "--tests " + test, "needs " + std::to_string(ranks_needed(pattern)) + " ranks, the job has " + std::to_string(ranks));
  }
}

void run_link_tests(const LinkBenchOptions& options, LinkEnds ends, LinkReport& report) { LinkBench(options, ends, report).run(); }

}  // namespace lynxkv::apps
