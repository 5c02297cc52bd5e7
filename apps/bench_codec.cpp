// lynxkv bench codec: encode, draft decode and full decode of page tensors, in GB/s of bf16, beside memcpy measured
// in the same run: one page again and again (in cache), and many pages in turn (streaming).
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "apps/bench.hpp"
#include "apps/command_line.hpp"
#include "apps/dates.hpp"
#include "apps/bench_quality.hpp"
#include "apps/lynx_options.hpp"
#include "apps/option_checks.hpp"
#include "apps/output_files.hpp"
#include "base/clock.hpp"
#include "base/nearest.hpp"
#include "codec/codec.hpp"
#include "engine/host.hpp"
#include "kernels/codec.hpp"
#include "kernels/runtime.hpp"
#include "results/hdf5_capture.hpp"
#include "results/posix_file.hpp"

namespace lynxkv::apps {
namespace {

struct Options {
  std::vector<std::string> codecs;
  int tokens = 256, channels = 192, head_dim = 64, threads = 1, repeats = 9;
  int streaming_mib = 128;
  std::string kernels, plain, kv, json, csv;
  LynxArguments given;
  codec::CodecOptions lynx;  // what they come to
  QualityOptions quality;  // with a model: what codecs do to it, in place of speeds alone
};

struct Speed {
  double best = 0, median = 0;  // GB/s of bf16: bytes of the page tensor, not of the payload, over time
};

struct Row {
  std::string codec, pass, place;
  double bits = 0;  // payload bits an element that the pass writes or reads
  Speed speed;
  long wrong = -1;  // bytes that differ from the plain kernels'; -1 where there is nothing to compare
};

struct Pages {
  codec::TensorShape shape;
  std::size_t values, count;
  std::vector<Bf16> rows;  // [count][values]
  const Bf16* page(std::size_t i) const { return rows.data() + i * values; }
};

// Channels of unlike mean and spread, and a few large ones, as in real K.
std::vector<Bf16> synthetic_page(const Options& options) {
  std::mt19937 random(42);
  std::normal_distribution<float> normal;
  std::vector<float> mean, spread;
  for (int c = 0; c < options.channels; ++c) {
    mean.push_back(normal(random) * (c % 16 == 0 ? 8.0f : 1.0f));
    spread.push_back(0.3f + std::fabs(normal(random)));
  }
  std::vector<Bf16> rows;
  for (int t = 0; t < options.tokens; ++t)
    for (std::size_t c = 0; c < mean.size(); ++c) rows.push_back(to_bf16(mean[c] + spread[c] * normal(random)));
  return rows;
}

std::vector<Bf16> page_of(const Options& options) {
  if (options.kv.empty()) return synthetic_page(options);
  const std::size_t expected = static_cast<std::size_t>(options.tokens) * static_cast<std::size_t>(options.channels) * 2;
  const std::vector<std::byte> bytes = results::read_whole_file(options.kv).take();
  if (bytes.size() != expected)
    throw Error(ErrorCode::bad_data, options.kv,
                "expected bf16[" + std::to_string(options.tokens) + "][" + std::to_string(options.channels) + "], " +
                    std::to_string(expected) + " bytes, found " + std::to_string(bytes.size()) +
                    "; --tokens and --channels state another shape");
  std::vector<Bf16> rows(expected / 2);
  std::memcpy(rows.data(), bytes.data(), expected);
  return rows;
}

// `pass(i)` handles page i; the passes over all pages are timed one by one.
Speed measure(const Options& options, const Pages& pages, const std::function<void(std::size_t)>& pass) {
  const double bytes = static_cast<double>(pages.values * 2 * pages.count);
  const auto once = [&] {
    const std::int64_t begin = now_ns();
    for (std::size_t i = 0; i < pages.count; ++i) pass(i);
    return seconds_between(begin, now_ns());
  };
  once();
  // One page is too short to time: enough rounds for a millisecond.
  const int rounds = std::max(1, static_cast<int>(1e-3 / std::max(once(), 1e-7)));
  std::vector<double> speeds;
  for (int repeat = 0; repeat < options.repeats; ++repeat) {
    double seconds = 0;
    for (int round = 0; round < rounds; ++round) seconds += once();
    speeds.push_back(bytes * rounds / seconds * 1e-9);
  }
  std::sort(speeds.begin(), speeds.end());
  return {speeds.back(), speeds[speeds.size() / 2]};
}

long differences(std::span<const std::byte> a, std::span<const std::byte> b) {
  long count = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) count += a[i] != b[i] ? 1 : 0;
  return count;
}

codec::Payloads views(const codec::Encoded& out) { return {{out.payload[0], out.payload[1], out.payload[2]}, out.raw}; }

// What the kernels give without vectors.
struct Expected {
  codec::Encoded payloads;
  std::vector<Bf16> draft, full;
};
Expected expected_of(const Options& options, const codec::Codec& codec, const Pages& pages, bool drafts) {
  kernels::use_codec_target(options.plain);
  Expected expected;
  codec.encode(pages.page(0), pages.shape, expected.payloads).take();
  expected.draft.resize(pages.values);
  expected.full.resize(pages.values);
  if (drafts) codec.decode(codec::Level::draft, views(expected.payloads), pages.shape, expected.draft.data()).take();
  codec.decode(codec.target(), views(expected.payloads), pages.shape, expected.full.data()).take();
  kernels::use_codec_target(options.kernels);
  return expected;
}

void bench_one(const Options& options, const std::string& name, const Pages& pages, const char* place, std::vector<Row>& rows) {
  const auto codec = codec::make_codec(name, options.lynx);
  const bool drafts = codec->streams().front().enables == codec::Level::draft;
  const Expected expected = expected_of(options, *codec, pages, drafts);
  std::vector<codec::Encoded> out(pages.count);
  std::vector<Bf16> decoded(pages.count * pages.values);
  const auto bits = [&](bool all) {
    std::size_t bytes = 0;
    for (const auto& payload : out[0].payload) bytes += all || bytes == 0 ? payload.size() : 0;
    return static_cast<double>(bytes) * 8 / static_cast<double>(pages.values);
  };
  const auto decode_at = [&](codec::Level level) {
    return measure(options, pages, [&](std::size_t i) {
      codec->decode(level, views(out[i]), pages.shape, decoded.data() + i * pages.values).take();
    });
  };
  const auto first_page = [&] { return std::as_bytes(std::span(decoded).first(pages.values)); };
  const Speed encode = measure(options, pages, [&](std::size_t i) { codec->encode(pages.page(i), pages.shape, out[i]).take(); });
  long wrong = 0;
  for (std::size_t i = 0; i < out[0].payload.size(); ++i)
    wrong += differences(out[0].payload[i], expected.payloads.payload[i]);
  rows.push_back({name, "encode", place, bits(true), encode, wrong});
  if (drafts) {
    const Speed draft = decode_at(codec::Level::draft);
    rows.push_back({name, "draft", place, bits(false), draft, differences(first_page(), std::as_bytes(std::span(expected.draft)))});
  }
  const Speed full = decode_at(codec->target());
  rows.push_back({name, codec->target() == codec::Level::exact ? "exact" : "full", place, bits(true), full, differences(first_page(), std::as_bytes(std::span(expected.full)))});
}

void bench_place(const Options& options, std::size_t count, const char* place, std::vector<Row>& rows) {
  const std::vector<Bf16> page = page_of(options);
  Pages pages{{options.tokens, options.channels, options.head_dim, 32, 0}, page.size(), count, {}};
  pages.shape.tokens_behind = 1 << 20;  // a first page with many behind it
  for (std::size_t i = 0; i < count; ++i) pages.rows.insert(pages.rows.end(), page.begin(), page.end());
  {
    std::vector<Bf16> copy(pages.rows.size());
    const Speed speed = measure(options, pages, [&](std::size_t i) {
      std::memcpy(copy.data() + i * pages.values, pages.page(i), pages.values * 2);
    });
    rows.push_back({"memcpy", "copy", place, 16, speed, -1});
  }
  for (const std::string& name : options.codecs) bench_one(options, name, pages, place, rows);
}

void print(const Options& options, const std::vector<Row>& rows) {
  std::printf("# lynxkv bench codec, %s\n# %s, kernels %s, %d thread%s\n", today().c_str(), engine::cpu_name().c_str(),
              kernels::codec_target().c_str(), options.threads, options.threads == 1 ? "" : "s");
  std::printf("# page tensor: %d tokens x %d channels bf16 (%.0f KiB), %s; streaming: %d MiB of them\n", options.tokens,
              options.channels, options.tokens * options.channels / 512.0,
              options.kv.empty() ? "synthetic" : options.kv.c_str(), options.streaming_mib);
  std::printf("# GB/s: 1e9 bytes of bf16 page tensor a second; best and median of %d\n", options.repeats);
  std::printf("%-14s %-7s %-10s %8s %8s %8s %8s %6s\n", "codec", "pass", "place", "bits", "best", "median", "/memcpy", "wrong");
  std::printf("%-14s %-7s %-10s %8s %8s %8s %8s %6s\n", "", "", "", "/element", "GB/s", "GB/s", "", "bytes");
  double copy = 0;
  long wrong = 0;
  for (const Row& row : rows) {
    if (row.codec == "memcpy") copy = row.speed.best;
    std::printf("%-14s %-7s %-10s %8.3f %8.2f %8.2f %8.2f", row.codec.c_str(), row.pass.c_str(), row.place.c_str(),
                row.bits, row.speed.best, row.speed.median, row.speed.best / copy);
    if (row.wrong < 0)
      std::printf(" %6s\n", "-");
    else
      std::printf(" %6ld\n", row.wrong);
    wrong += std::max(row.wrong, 0L);
  }
  std::printf("# %s\n", wrong == 0 ? "all bytes equal those of the plain kernels" : "WRONG: bytes differ from those of the plain kernels");
}

void write_files(const Options& options, const std::vector<Row>& rows) {
  nlohmann::json document = {{"schema_version", 1}, {"bench", "codec"}, {"date", today()}, {"cpu", engine::cpu_name()},
                             {"kernels", kernels::codec_target()}, {"threads", options.threads},
                             {"tokens", options.tokens}, {"channels", options.channels}, {"head_dim", options.head_dim},
                             {"streaming_mib", options.streaming_mib}, {"alpha", options.lynx.alpha},
                             {"levels", options.lynx.levels}, {"sinks", options.lynx.sinks}};
  std::string lines = "codec,pass,place,bits_per_element,best_gb_per_s,median_gb_per_s,wrong_bytes\n";
  for (const Row& row : rows) {
    document["rows"].push_back({{"codec", row.codec}, {"pass", row.pass}, {"place", row.place},
                                {"bits_per_element", row.bits}, {"best_gb_per_s", row.speed.best},
                                {"median_gb_per_s", row.speed.median},
                                {"wrong_bytes", row.wrong < 0 ? nlohmann::json() : nlohmann::json(row.wrong)}});
    char line[160];
    std::snprintf(line, sizeof line, "%s,%s,%s,%.4f,%.4f,%.4f,%s\n", row.codec.c_str(), row.pass.c_str(),
                  row.place.c_str(), row.bits, row.speed.best, row.speed.median,
                  row.wrong < 0 ? "" : std::to_string(row.wrong).c_str());
    lines += line;
  }
  write_output(options.json, document.dump(2) + "\n");
  write_output(options.csv, lines);
}

int run(Options options) {
  options.lynx = lynx_options(options.given);
  check_outputs({options.json, options.csv, options.quality.markdown});
  const bool captured = !options.kv.empty() && results::is_hdf5_file(options.kv);
  if (!options.quality.model.empty() || !options.quality.texts.empty() || captured) {
    if (options.quality.model.empty() != options.quality.texts.empty())
      throw Error(ErrorCode::usage, "bench codec", "quality on a model needs both --model and --text");
    if (captured) options.quality.kv = options.kv;
    options.quality.lynx = options.lynx;
    options.quality.variants = options.codecs;
    options.quality.json = options.json;
    options.quality.csv = options.csv;
    return run_quality(options.quality);
  }
  kernels::start_runtime(options.threads, kernels::best_isa());
  const std::vector<std::string> targets = kernels::codec_targets();
  if (!options.kernels.empty() && std::find(targets.begin(), targets.end(), options.kernels) == targets.end())
    throw Error(ErrorCode::usage, "--kernels",
                unknown_name("instruction set", options.kernels, std::vector<std::string_view>(targets.begin(), targets.end())));
  options.plain = targets.back();
  kernels::use_codec_target(options.kernels);
  if (options.codecs.empty())
    for (const std::string_view name : codec::mode_names()) options.codecs.emplace_back(name);
  for (const std::string& name : options.codecs) as_option("--codec", [&] { return codec::make_codec(name, options.lynx); });  // a wrong name fails first
  std::vector<Row> rows;
  bench_place(options, 1, "in cache", rows);
  const std::size_t page_bytes = static_cast<std::size_t>(options.tokens) * static_cast<std::size_t>(options.channels) * 2;
  const std::size_t count = (static_cast<std::size_t>(options.streaming_mib) << 20) / page_bytes;
  if (count > 0) bench_place(options, count, "streaming", rows);
  print(options, rows);
  write_files(options, rows);
  return std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.wrong > 0; }) ? 5 : 0;
}

}  // namespace

BenchPart add_bench_codec(CLI::App& bench) {
  CLI::App* app = bench.add_subcommand("codec", "Encode and decode page tensors: GB/s beside memcpy; with a model, what is lost");
  app->footer("Example:\n  " + as_called("lynxkv bench codec --codec lynx --repeats 25") +
              "\n  " + as_called("lynxkv bench codec --model $(jobs/fetch-model.sh) --text README.md --prompt-tokens 800 --codec int4-chunk lynx"));
  auto options = std::make_shared<Options>();
  app->add_option("--codec", options->codecs, "Transfer modes to measure (default: all)");
  app->add_option("--tokens", options->tokens, "Rows of a page tensor")->check(whole_between(1, 256))->capture_default_str();
  app->add_option("--channels", options->channels, "Values a row, even")->check(whole_between(2, 1 << 20))->capture_default_str();
  app->add_option("--head-dim", options->head_dim, "Values a head")->check(whole_between(1, 1 << 20))->capture_default_str();
  app->add_option("--kv", options->kv, "Real KV in place of synthetic values: bf16[tokens][channels],\n"
                                     "or a file of lynxkv capture, whose errors are measured, too");
  app->add_option("--threads", options->threads, "Threads of the kernels")->check(whole_between(1, 512))->capture_default_str();
  app->add_option("--kernels", options->kernels, "Instruction set, such as AVX2 (default: the best here)");
  app->add_option("--repeats", options->repeats, "Timings of each pass")->check(whole_between(1, 10000))->capture_default_str();
  app->add_option("--streaming-mib", options->streaming_mib, "Size of the streaming set; 0 leaves it out")
      ->check(whole_between(0, 1 << 16))->capture_default_str();
  app->add_option("--preset", options->given.preset, "Options of lynx to start from: default, plain, paper")->capture_default_str();
  app->add_option("--set", options->given.set, "Options of lynx, as alpha=0.1,fit=extremes (codec --help lists them)")->allow_extra_args(false);
  for (const char* name : {"alpha", "levels", "sinks"})
    app->add_option_function<std::string>(
        std::string("--") + name, [options, name](const std::string& value) { options->given.named.emplace_back(name, value); },
        "As --set " + std::string(name) + "=VALUE");
  QualityOptions& quality = options->quality;
  app->add_option("--model", quality.model, "Measure quality on this model's KV, too; --codec then also takes\n"
                                            "NAME:CODEC,option=value,... and all are compared with the first");
  app->add_option("--text", quality.texts, "With --model: text files, or folders of them");
  app->add_option("--prompt-tokens", quality.prompt_tokens, "Of each text")->check(at_least(1))->capture_default_str();
  app->add_option("--continue", quality.continuation, "Greedy tokens behind each prompt")->check(at_least(1))
      ->capture_default_str();
  app->add_option("--model-threads", quality.threads, "0: every CPU that this process may use")->check(whole_between(0, 512));
  app->add_flag("--float32", quality.float32, "Compute in float32, on a float32 KV");
  app->add_option("--markdown", quality.markdown, "Also write quality as a Markdown table here");
  app->add_option("--json", options->json, "Also write the result here");
  app->add_option("--csv", options->csv, "Also write the table here");
  return {app, [options] { return run(*options); }};
}

}  // namespace lynxkv::apps
