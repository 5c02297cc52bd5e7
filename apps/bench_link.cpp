// lynxkv bench link: the link between the ranks of a job, as the couriers use it, beside plain MPI_Send.
#include "apps/bench_link.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <thread>

#include "apps/bench.hpp"
#include "apps/command_line.hpp"
#include "apps/dates.hpp"
#include "apps/option_checks.hpp"
#include "apps/output_files.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "comm/link_facts.hpp"
#include "comm/loop.hpp"
#include "comm/world.hpp"
#include "engine/host.hpp"
#include "engine/version.hpp"
#include "kernels/cuda/devices.hpp"
#include "model/model_file.hpp"

namespace lynxkv::apps {
namespace {

using comm::LinkEnds;

using Options = LinkBenchOptions;

const std::vector<std::string> all_tests = {"one-way", "page",       "both-ways", "pairs",
                                            "incast",  "all-to-all", "priority",  "one-channel"};
constexpr long long most_bytes = 1LL << 30;

std::string gpus() {
  const auto list = kernels::cuda::list_devices();
  if (list.devices.empty()) return "none (" + list.note + ")";
  std::string text;
  for (const auto& device : list.devices) text += (text.empty() ? "" : ", ") + device.name;
  return text;
}

std::map<std::string, std::string> own_facts(const comm::World& world) {
  return {{"host", world.host()}, {"cpus", engine::cpu_mask()}, {"cpu", engine::cpu_name()}, {"gpus", gpus()},
          {"nics", comm::network_interfaces()}};
}

std::string clock_text(const comm::Courier& courier) {
  std::string text = "CLOCK_MONOTONIC of each host; offsets to rank 0 from the shortest of 64 round trips:";
  for (int peer = 1; peer < courier.size(); ++peer) {
    char part[80];
    std::snprintf(part, sizeof part, " rank %d %+.1f +- %.1f us%s", peer, static_cast<double>(courier.clock_offset_ns(peer)) * 1e-3,
                  static_cast<double>(courier.clock_error_ns(peer)) * 1e-3, peer + 1 < courier.size() ? "," : "");
    text += part;
  }
  return text;
}

std::string raw_name(const LinkEnds& ends) {
  if (!ends.emulated.limits_rate()) return ends.raw.name();
  char text[80];
  std::snprintf(text, sizeof text, "emulated link of %g Gbit/s and %g us", ends.emulated.gbps, ends.emulated.latency_us);
  return text;
}

std::string raw_method(const LinkEnds& ends) {
  if (ends.emulated.limits_rate()) return "latency + bytes / rate of the busiest port; nothing of it is measured";
  const comm::Flow two[] = {{0, 1}, {1, 0}};
  std::string text = "one flow (one-way, page, priority): blocking calls, one message after the other; several flows: a window of " +
                     std::to_string(comm::raw_window(two, 2, 1)) + " messages of each, " +
                     std::to_string(comm::raw_window(two, 2, std::size_t{1} << 20)) + " where they have 1 MiB (at least 2)";
  if (ends.emulated.latency_us > 0) text += "; the emulated latency is added to its times";
  return text;
}

std::string command_line(const Options& options, int ranks) {
  std::ifstream in("/proc/self/cmdline");
  std::string text((std::istreambuf_iterator<char>(in)), {});
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text + "(" + std::to_string(ranks) + " ranks, transport " + options.transport + ")";
}

int finish(const Options& options, const LinkReport& report) {
  print_link_verdict(report);
  write_output(options.json, link_json(report));
  write_output(options.csv, link_csv(report));
  return summary_of(report).wrong > 0 ? exit_code(ErrorCode::promise) : 0;
}

LinkReport begin_report(const Options& options, int ranks) {
  LinkReport report;
  report.date = utc_now();
  report.version = std::string(engine::version()) + " (" + std::string(engine::revision()) + ")";
  report.transport = options.transport;
  report.command = command_line(options, ranks);
  report.environment = comm::link_environment();
  report.size = ranks;
  report.options = options;
  return report;
}

// What would be missed only during or after the measurement.
void check_before(const Options& options, int ranks) {
  check_link_tests(options, ranks);
  check_outputs({options.json, options.csv});
  if (!options.model.empty()) static_cast<void>(model::open_model(options.model));
}

int run_one(const Options& options, LinkEnds ends, LinkReport& report) {
  ends.courier.sync_clocks();
  ends.raw.barrier();
  report.good_parcel_bytes = ends.courier.good_parcel_bytes();
  report.clock = clock_text(ends.courier);
  ends.emulated = {options.link.gbps, options.link.latency_us};
  report.raw = raw_name(ends);
  report.raw_method = raw_method(ends);
  if (ends.raw.rank() == 0) print_link_header(report);
  run_link_tests(options, ends, report);
  ends.raw.barrier();
  return ends.raw.rank() == 0 ? finish(options, report) : 0;
}

// All ranks as threads of this process.
int run_loop(const Options& options, const comm::World& world) {
  auto transports = comm::make_loop(options.ranks), raws = comm::make_loop(options.ranks);
  std::vector<std::unique_ptr<comm::Courier>> couriers;
  for (auto& transport : transports) couriers.push_back(std::make_unique<comm::Courier>(std::move(transport), options.link));
  std::vector<int> codes(static_cast<std::size_t>(options.ranks), 0);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < options.ranks; ++rank)
    threads.emplace_back([&, rank] {
      const auto at = static_cast<std::size_t>(rank);
      LinkReport report = begin_report(options, options.ranks);
      report.mpi = "memory of one process";
      report.components = "none";
      for (int other = 0; other < options.ranks; ++other) report.ranks.push_back(own_facts(world));
      const auto raw = comm::make_raw_link(std::move(raws[at]));
      try {
        codes[at] = run_one(options, {*couriers[at], *raw}, report);
      } catch (const Error& error) {
        std::fprintf(stderr, "lynxkv: rank %d: %s\n", rank, error.what());
        std::_Exit(exit_code(error.code()));  // the others wait for it
      }
    });
  for (std::thread& thread : threads) thread.join();
  return codes[0];
}

int run_ranks(const Options& options, comm::World& world) {
  if (world.size() < 2)
    throw Error(ErrorCode::usage, "bench link",
                "needs two ranks or more: mpirun -n 2 lynxkv bench link, or --transport loop for threads of one process");
  LinkReport report = begin_report(options, world.size());
  report.mpi = comm::mpi_version();
  const auto mine = own_facts(world);
  for (const char* name : {"host", "cpus", "cpu", "gpus", "nics"}) {
    const auto all = world.gather(mine.at(name));
    report.ranks.resize(all.size());
    for (std::size_t rank = 0; rank < all.size(); ++rank) report.ranks[rank][name] = all[rank];
  }
  const auto raw = comm::make_raw_mpi();
  comm::Courier courier(world.make_transport(options.transport), options.link);
  raw->barrier();
  report.components = comm::mpi_components();
  return run_one(options, {courier, *raw}, report);
}

int run(Options options) {
  if (options.max_bytes < options.min_bytes) throw Error(ErrorCode::usage, "--min-bytes", "must be at most --max-bytes");
  options.link.residual_chunk_bytes = static_cast<std::size_t>(options.chunk_kib * 1024);
  comm::World world;
  log::configure(log::Level::warning, world.size() > 1 ? "rank " + std::to_string(world.rank()) : "");
  if (options.transport == "loop") {
    check_before(options, options.ranks);
    return run_loop(options, world);
  }
  try {
    if (world.size() >= 2 && world.rank() == 0) check_before(options, world.size());
    return run_ranks(options, world);
  } catch (const Error& error) {
    if (world.size() == 1) throw;
    std::fprintf(stderr, "lynxkv: rank %d: %s\n", world.rank(), error.what());
    world.abort(exit_code(error.code()));
  }
}

}  // namespace

BenchPart add_bench_link(CLI::App& bench) {
  CLI::App* app = bench.add_subcommand("link", "The link between ranks: bandwidth, latency and priority beside plain MPI_Send");
  app->footer("Example:\n  " + as_called("mpirun -n 2 --bind-to none lynxkv bench link -b 1K -e 1M -f 4 --json link.json") + "\n  " +
              as_called("lynxkv bench link --transport loop --tests one-way,priority") +
              "\nExit codes: 0 all was measured; 2 an option, or a test that this job cannot run; 3 a bad model file;\n"
              "  4 the link failed; 5 bytes came that were not sent. The verdict on priority does not change it.");
  auto o = std::make_shared<Options>();
  app->add_option("--transport", o->transport, "mpi, nccl, or loop: threads of one process")->check(one_of("transport", {"mpi", "nccl", "loop"}))->capture_default_str();
  app->add_option("-b,--min-bytes,--minbytes", o->min_bytes, "Smallest message; K, M and G are understood")->transform(size_between(1, most_bytes))->capture_default_str();
  app->add_option("-e,--max-bytes,--maxbytes", o->max_bytes, "Largest message")->transform(size_between(1, most_bytes))->capture_default_str();
  app->add_option("-f,--factor,--stepfactor", o->factor, "Each size is this times the one before")->check(between(1.1, 1e6))->capture_default_str();
  app->add_option("-n,--iterations,--iters", o->iterations, "Messages of a repetition; 0: about 0.1 s of the link")->check(whole_between(0, 1 << 20))->capture_default_str();
  app->add_option("-w,--warm-up,--warmup_iters", o->warm_up, "Repetitions that do not count")->check(whole_between(0, 1000))->capture_default_str();
  app->add_option("--repeats", o->repeats, "Repetitions that do")->check(whole_between(1, 10000))->capture_default_str();
  app->add_option("--latencies", o->latencies, "Round trips for each size, at most; 0: none")->check(whole_between(0, 1 << 20))->capture_default_str();
  app->add_option("--tests", o->tests, "Which (default: all that the ranks allow)")->delimiter(',')->check(one_of("test", all_tests));
  app->add_option("--channels", o->channels, "anchor, residual")->delimiter(',')->check(one_of("channel", {"anchor", "residual"}))->capture_default_str();
  app->add_option("--model", o->model, "Adds the page tensors of this model, in the sizes that the codecs make of them");
  app->add_option("--ranks", o->ranks, "Threads of --transport loop")->check(whole_between(2, 64))->capture_default_str();
  app->add_option("--urgent-bytes", o->priority.urgent_bytes, "Size of an urgent message")->transform(size_between(16, 1 << 20))->capture_default_str();
  app->add_option("--urgent", o->priority.urgent, "Urgent messages that are measured, at most")->check(whole_between(1, 1 << 20))->capture_default_str();
  o->priority.interval_s = 0;
  app->add_option("--interval-s", o->priority.interval_s, "Mean time between them; 0: a twentieth of the link")->check(between(0.0, 10.0))->capture_default_str();
  app->add_option("--backlog-bytes", o->priority.backlog_bytes, "Bulk that waits for the wire")->transform(size_between(0, most_bytes))->capture_default_str();
  app->add_option("--rounds", o->priority.rounds, "Turns between the loaded and the raw link")->check(whole_between(1, 1000))->capture_default_str();
  app->add_option("--seconds", o->seconds, "Time for the urgent messages, about")->check(between(0.1, 3600.0))->capture_default_str();
  app->add_option("--residual-chunk-kib", o->chunk_kib, "link.residual_chunk_kib; 0: adapts to the link")->check(between(0.0, 256.0))->capture_default_str();
  app->add_option("--gbps", o->link.gbps, "link.gbps: an emulated link, which is then what this compares with")->check(between(0.0, 1e6))->capture_default_str();
  app->add_option("--latency-us", o->link.latency_us, "link.latency_us: of an emulated link")->check(between(0.0, 1e7))->capture_default_str();
  app->add_option("--note", o->note, "What the link is, for the header and the JSON")->take_last();
  app->add_option("--json", o->json, "Write everything, raw samples too, to FILE");
  app->add_option("--csv", o->csv, "Write the rows to FILE");
  return {app, [o] { return run(*o); }};
}

}  // namespace lynxkv::apps
