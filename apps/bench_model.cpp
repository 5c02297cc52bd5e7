// lynxkv bench model: prefill and decode of the forward pass in tokens/s, and the memory traffic of decoding
// in GB/s beside memcpy measured in the same run.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "apps/bench.hpp"
#include "apps/cpus.hpp"
#include "apps/dates.hpp"
#include "apps/option_checks.hpp"
#include "apps/output_files.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "engine/host.hpp"
#include "kernels/parallel.hpp"
#include "model/forward.hpp"
#include "page/pool.hpp"

namespace lynxkv::apps {
namespace {

struct Options {
  std::string model, isa = "auto", json, csv;
  bool float32 = false;
  int threads = 0, repeats = 5, decode_tokens = 32;
  std::vector<int> prefill = {512, 2048}, depth = {0, 2048}, batch = {1, 8};
};

struct Row {
  std::string phase;  // "prefill" or "decode"
  int tokens, depth, batch;
  double tokens_per_second;  // median over the repeats; of all sequences together
  double best;
  double gb_per_second;  // decode: weights and KV that a step reads, over its time; prefill: 0
};

struct Report {
  std::string cpu, date, model, path, precision;
  int threads = 0;
  double load_seconds = 0, weight_gb = 0, memcpy_gb_per_second = 0;
  std::vector<Row> rows;
};

// Bytes copied in a second, on all threads, from a buffer that no cache holds.
double measure_memcpy(int threads) {
  const std::size_t part = std::size_t{256} << 20;
  std::vector<std::vector<std::byte>> from(static_cast<std::size_t>(threads)), to(from.size());
  for (auto& bytes : from) bytes.assign(part / from.size(), std::byte{1});
  for (auto& bytes : to) bytes.assign(part / to.size(), std::byte{2});
  double best = 0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const std::int64_t begin = now_ns();
    kernels::parallel_for(threads, [&](int i, int) {
      const auto at = static_cast<std::size_t>(i);
      std::memcpy(to[at].data(), from[at].data(), from[at].size());
    });
    best = std::max(best, static_cast<double>(part) / seconds_between(begin, now_ns()) * 1e-9);
  }
  return best;
}

// Seconds of each repeat, sorted; the first call is not counted.
std::vector<double> time_repeats(int repeats, const std::function<double()>& once) {
  once();
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i) seconds.push_back(once());
  std::sort(seconds.begin(), seconds.end());
  return seconds;
}

class Bench {
 public:
  Bench(model::Forward& forward, const Options& options)
      : forward_(forward),
        options_(options),
        pool_(forward.geometry(page::default_page_tokens, page::default_chunk_tokens), forward.kv_element(),
              1 << 24) {}

  Row prefill(int tokens) {
    const auto seconds = time_repeats(options_.repeats, [&] {
      page::SequenceKv kv(pool_);
      const std::int64_t begin = now_ns();
      fill(kv, tokens);
      return seconds_between(begin, now_ns());
    });
    return {"prefill", tokens, 0, 1, tokens / seconds[seconds.size() / 2], tokens / seconds.front(), 0};
  }

  Row decode(int depth, int batch) {
    std::vector<page::SequenceKv> caches;
    for (int i = 0; i < batch; ++i) {
      caches.emplace_back(pool_);
      fill(caches.back(), depth);
    }
    const auto seconds = time_repeats(options_.repeats, [&] {
      for (auto& kv : caches) kv.truncate(depth);
      const std::int64_t begin = now_ns();
      for (int token = 0; token < options_.decode_tokens; ++token) step(caches);
      return seconds_between(begin, now_ns());
    });
    const double made = static_cast<double>(options_.decode_tokens) * batch;
    const double median = seconds[seconds.size() / 2];
    const double positions = (depth + options_.decode_tokens / 2.0) * batch;
    const double bytes =
        static_cast<double>(forward_.weight_bytes()) + positions * static_cast<double>(kv_bytes_per_token());
    return {"decode",
            options_.decode_tokens,
            depth,
            batch,
            made / median,
            made / seconds.front(),
            bytes * options_.decode_tokens / median * 1e-9};
  }

 private:
  std::size_t kv_bytes_per_token() const {
    const page::Geometry& geometry = pool_.geometry();
    return static_cast<std::size_t>(geometry.tensors_per_page()) *
           static_cast<std::size_t>(geometry.channels()) * bytes_of(pool_.element());
  }

  // Prompt chunks as an engine runs them; only the last row's logits are wanted.
  void fill(page::SequenceKv& kv, int tokens) {
    std::vector<model::TokenId> ids;
    for (int first = 0; first < tokens; first += page::default_page_tokens) {
      const int count = std::min(page::default_page_tokens, tokens - first);
      ids.resize(static_cast<std::size_t>(count));
      for (int i = 0; i < count; ++i)
        ids[static_cast<std::size_t>(i)] = (first + i) * 31 % forward_.config().vocab;
      const model::SequenceRows rows[] = {{&kv, ids, first + count == tokens ? 1 : 0}};
      forward_.run(rows);
    }
  }

  // One token for each sequence, chosen as decoding does.
  void step(std::vector<page::SequenceKv>& caches) {
    const auto vocab = static_cast<std::size_t>(forward_.config().vocab);
    next_.resize(caches.size(), 1);
    std::vector<model::SequenceRows> rows;
    for (std::size_t i = 0; i < caches.size(); ++i) rows.push_back({&caches[i], std::span(&next_[i], 1), 1});
    const auto logits = forward_.run(rows);
    for (std::size_t i = 0; i < caches.size(); ++i)
      next_[i] = model::argmax(logits.subspan(i * vocab, vocab));
  }

  model::Forward& forward_;
  const Options& options_;
  page::PagePool pool_;
  std::vector<model::TokenId> next_;
};

void print(const Report& r) {
  std::printf("# lynxkv bench model, %s\n# CPU: %s; path %s, %s, %d threads; memcpy %.1f GB/s copied\n",
              r.date.c_str(), r.cpu.c_str(), r.path.c_str(), r.precision.c_str(), r.threads,
              r.memcpy_gb_per_second);
  std::printf("# model: %s; weights %.3f GB, loaded in %.2f s\n", r.model.c_str(), r.weight_gb,
              r.load_seconds);
  std::printf("%-8s %7s %7s %6s %12s %12s %9s\n", "phase", "tokens", "depth", "batch", "median", "best",
              "memory");
  std::printf("%-8s %7s %7s %6s %12s %12s %9s\n", "", "", "", "", "tokens/s", "tokens/s", "GB/s");
  for (const Row& row : r.rows)
    std::printf("%-8s %7d %7d %6d %12.1f %12.1f %9.1f\n", row.phase.c_str(), row.tokens, row.depth, row.batch,
                row.tokens_per_second, row.best, row.gb_per_second);
}

nlohmann::json to_json(const Report& r) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Row& row : r.rows)
    rows.push_back({{"phase", row.phase},
                    {"tokens", row.tokens},
                    {"depth", row.depth},
                    {"batch", row.batch},
                    {"tokens_per_s", row.tokens_per_second},
                    {"best_tokens_per_s", row.best},
                    {"gb_per_s", row.gb_per_second}});
  return {{"schema_version", 1},
          {"bench", "model"},
          {"date", r.date},
          {"cpu", r.cpu},
          {"model", r.model},
          {"isa", r.path},
          {"precision", r.precision},
          {"threads", r.threads},
          {"load_s", r.load_seconds},
          {"weight_gb", r.weight_gb},
          {"memcpy_gb_per_s", r.memcpy_gb_per_second},
          {"results", rows}};
}

std::string to_csv(const Report& r) {
  std::string text = "phase,tokens,depth,batch,tokens_per_s,best_tokens_per_s,gb_per_s\n";
  for (const Row& row : r.rows)
    text += row.phase + "," + std::to_string(row.tokens) + "," + std::to_string(row.depth) + "," +
            std::to_string(row.batch) + "," + std::to_string(row.tokens_per_second) + "," +
            std::to_string(row.best) + "," + std::to_string(row.gb_per_second) + "\n";
  return text;
}

int run(const Options& options) {
  check_outputs({options.json, options.csv});
  Report report;
  report.threads = options.threads > 0 ? options.threads : usable_cpus();
  const auto precision = options.float32 ? model::Precision::float32 : model::Precision::bf16;
  const model::Isa isa = as_option("--isa", [&] { return model::isa_from(options.isa); });
  const std::int64_t begin = now_ns();
  model::Forward forward(model::open_model(options.model), {precision, isa, report.threads});
  report.load_seconds = seconds_between(begin, now_ns());
  report.cpu = engine::cpu_name();
  report.date = utc_now();
  report.model = options.model;
  report.path = name_of(isa);
  report.precision = options.float32 ? "float32" : "bf16";
  report.weight_gb = static_cast<double>(forward.weight_bytes()) * 1e-9;
  report.memcpy_gb_per_second = measure_memcpy(report.threads);
  Bench bench(forward, options);
  for (const int tokens : options.prefill) report.rows.push_back(bench.prefill(tokens));
  for (const int depth : options.depth)
    for (const int batch : options.batch) report.rows.push_back(bench.decode(depth, batch));
  print(report);
  write_output(options.json, to_json(report).dump(2) + "\n");
  write_output(options.csv, to_csv(report));
  return 0;
}

}  // namespace

BenchPart add_bench_model(CLI::App& bench) {
  CLI::App* app = bench.add_subcommand("model", "prefill and decode: tokens/s, and GB/s against memcpy");
  auto options = std::make_shared<Options>();
  options->model = cached_model_path();
  app->add_option("MODEL", options->model,
                  "a .gguf file or a checkpoint folder (default: what jobs/fetch-model.sh fetched)");
  app->add_option("--prefill", options->prefill, "prompt lengths")
      ->check(at_least(1))
      ->expected(0, -1)
      ->capture_default_str();
  app->add_option("--depth", options->depth, "positions in front of the decoded tokens")
      ->check(at_least(0))
      ->expected(0, -1)
      ->capture_default_str();
  app->add_option("--batch", options->batch, "sequences decoded together")
      ->check(at_least(1))
      ->capture_default_str();
  app->add_option("--tokens", options->decode_tokens, "tokens decoded by each sequence")
      ->check(at_least(1))
      ->capture_default_str();
  app->add_option("--threads", options->threads, "0: every CPU that this process may use")
      ->check(whole_between(0, 512));
  app->add_option("--isa", options->isa, "kernel path: auto, amx, avx512_bf16, avx512, avx2");
  app->add_option("--repeats", options->repeats, "measurements of each row")
      ->check(at_least(1))
      ->capture_default_str();
  app->add_flag("--float32", options->float32, "compute in float32");
  app->add_option("--json", options->json, "write the results to FILE");
  app->add_option("--csv", options->csv, "write the table to FILE");
  return {app, [options] { return run(*options); }};
}

}  // namespace lynxkv::apps
