#include "apps/bench_quality.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/cpus.hpp"
#include "apps/dates.hpp"
#include "apps/option_checks.hpp"
#include "apps/output_files.hpp"
#include "base/error.hpp"
#include "codec/shape.hpp"
#include "engine/host.hpp"
#include "kernels/codec.hpp"
#include "quality/prefill.hpp"
#include "quality/reference.hpp"
#include "quality/speed.hpp"
#include "quality/study.hpp"
#include "results/hdf5_capture.hpp"

namespace lynxkv::apps {
namespace {

namespace fs = std::filesystem;
using quality::Summary;

struct Speeds {
  double memcpy = 0;
  std::vector<quality::CodecSpeed> codecs;  // [variants]
};

struct Result {
  std::vector<Summary> summaries;
  Speeds speeds;
  std::vector<std::string> documents;
};

std::string protocol(const QualityOptions& options, const Result& result) {
  if (!options.kv.empty()) return "captured KV " + result.documents.front() + ": no model is run, so nothing is said of its answers";
  return fmt::format(
      "{} documents of {} tokens; {} greedy tokens teacher-forced against the {} KV, the prompt's KV quantised",
      result.documents.size(), options.prompt_tokens, options.continuation, options.float32 ? "float32" : "bf16");
}

// One line of the table, whatever its form.
struct Line {
  std::string name, level;
  double bits, rms_k, nmse_k, rms_v, nmse_v, attention, kl, kl_error, argmax, kl_ratio, kl_ratio_error, argmax_gain,
      argmax_gain_error, encode, decode;
};

// Where no model answered, or one document has no spread, there is nothing to say; a table shows "-", JSON null, CSV no
// text at all.
constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

// The numbers of a line with `sign` for each that is nothing.
std::string without_nan(std::string numbers, std::string_view sign) {
  for (std::size_t at = 0; (at = numbers.find("nan", at)) != std::string::npos;) numbers.replace(at, 3, sign);
  return numbers;
}

// "0.0123 +- 0.0004"; without a spread the mean alone.
std::string spread(const std::string& mean, double error, const std::string& error_text) {
  return std::isnan(error) ? mean : mean + " +- " + error_text;
}

void forget_answers(Result& result) {
  for (Summary& summary : result.summaries)
    for (quality::LevelSummary& level : summary.levels)
      for (quality::Mean* mean : {&level.kl, &level.argmax, &level.attention, &level.argmax_gain, &level.kl_ratio})
        *mean = {nothing, nothing};
}

// One document says nothing of the spread between documents.
void forget_errors(Result& result) {
  for (Summary& summary : result.summaries)
    for (quality::LevelSummary& level : summary.levels)
      for (quality::Mean* mean : {&level.kl, &level.argmax, &level.attention, &level.argmax_gain, &level.kl_ratio})
        mean->error = nothing;
}

std::vector<Line> lines_of(const Result& result) {
  std::vector<Line> lines;
  for (std::size_t i = 0; i < result.summaries.size(); ++i) {
    const Summary& summary = result.summaries[i];
    for (std::size_t j = 0; j < summary.levels.size(); ++j) {
      const quality::LevelSummary& level = summary.levels[j];
      lines.push_back({summary.name, std::string(codec::name_of(level.level)), level.bits, level.keys.rms(),
                       level.keys.nmse(), level.values.rms(), level.values.nmse(), level.attention.value, level.kl.value,
                       level.kl.error, level.argmax.value, level.kl_ratio.value, level.kl_ratio.error,
                       level.argmax_gain.value, level.argmax_gain.error, result.speeds.codecs[i].encode,
                       result.speeds.codecs[i].decode[j]});
    }
  }
  return lines;
}

void print(const QualityOptions& options, const Result& result) {
  fmt::print("# lynxkv bench codec, {}\n# {}, kernels {}\n# {}\n", today(), engine::cpu_name(), kernels::codec_target(),
             protocol(options, result));
  fmt::print("# bits: payload up to this level an element; nmse: |x' - x|^2 / |x|^2; attn: that of attention outputs\n");
  fmt::print("# xKL: geometric mean of KL over that of the first row, +- its standard error in percent\n");
  fmt::print("# GB/s: of bf16, one core, page in cache; memcpy {:.1f}\n", result.speeds.memcpy);
  fmt::print("{:<22} {:<6} {:>7} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7} {:>7} {:>4} {:>6} {:>6}\n", "codec", "level", "bits",
             "rms K", "nmse K", "rms V", "nmse V", "attn", "KL", "argmax", "xKL", "+-", "encode", "decode");
  fmt::print("{:<22} {:<6} {:>7} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7} {:>7} {:>4} {:>6} {:>6}\n", "", "", "/elem", "", "",
             "", "", "", "nats", "share", "", "%", "GB/s", "GB/s");
  for (const Line& line : lines_of(result)) {
    const std::string text = fmt::format("{:<22} {:<6} {:>7.3f} {:>9.3g} {:>9.3g} {:>9.3g} {:>9.3g} {:>9.3g} {:>9.3g} {:>7.4f} {:>7.3f} {:>4.0f} {:>6.1f} {:>6.1f}\n",
               line.name, line.level, line.bits, line.rms_k, line.nmse_k, line.rms_v, line.nmse_v, line.attention,
               line.kl, line.argmax, line.kl_ratio, 100 * line.kl_ratio_error, line.encode, line.decode);
    fmt::print("{}{}", text.substr(0, line.name.size()), without_nan(text.substr(line.name.size()), "  -"));
  }
}

std::string csv(const Result& result) {
  std::string text =
      "codec,level,bits_per_element,rms_k,nmse_k,rms_v,nmse_v,attention_nmse,kl_nats,kl_standard_error,argmax_agreement,"
      "kl_ratio,kl_ratio_relative_error,argmax_gain,argmax_gain_standard_error,encode_gb_per_s,decode_gb_per_s\n";
  for (const Line& l : lines_of(result))
    text += l.name + without_nan(fmt::format(",{},{:.4f},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6f},{:.6g},{:.6g},{:.6f},{:.6f},{:.3f},{:.3f}\n",
                        l.level, l.bits, l.rms_k, l.nmse_k, l.rms_v, l.nmse_v, l.attention, l.kl, l.kl_error, l.argmax,
                        l.kl_ratio, l.kl_ratio_error, l.argmax_gain, l.argmax_gain_error, l.encode, l.decode), "");
  return text;
}

std::string markdown(const QualityOptions& options, const Result& result) {
  std::string text = fmt::format("{}, {}, kernels {}, memcpy {:.0f} GB/s. {}.\n\n", today(), engine::cpu_name(),
                                 kernels::codec_target(), result.speeds.memcpy, protocol(options, result));
  text +=
      "| codec | level | bits | nmse K | nmse V | attention | KL (nats) | argmax | KL ratio | encode | decode |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const Line& l : lines_of(result))
    text += "| " + l.name + without_nan(fmt::format(" | {} | {:.3f} | {:.2e} | {:.2e} | {:.2e} | {} | {:.4f} | {} | {:.1f} | {:.1f} |\n",
                        l.level, l.bits, l.nmse_k, l.nmse_v, l.attention,
                        spread(fmt::format("{:.2e}", l.kl), l.kl_error, fmt::format("{:.0e}", l.kl_error)), l.argmax,
                        spread(fmt::format("{:.2f}", l.kl_ratio), l.kl_ratio_error, fmt::format("{:.0f} %", 100 * l.kl_ratio_error)),
                        l.encode, l.decode), "-");
  text += "\nOptions:\n\n";
  for (const Summary& summary : result.summaries)
    text += fmt::format("- `{}`: {}{}\n", summary.name, summary.codec_name,
                        summary.options.empty() ? "" : ", `" + summary.options + "`");
  return text;
}

nlohmann::json json_of(const QualityOptions& options, const Result& result) {
  nlohmann::json document = {{"schema_version", 1},
                             {"bench", "codec-quality"},
                             {"date", today()},
                             {"cpu", engine::cpu_name()},
                             {"kernels", kernels::codec_target()},
                             {"model", fs::path(options.model).filename().string()},
                             {"documents", result.documents},
                             {"prompt_tokens", options.prompt_tokens},
                             {"continuation_tokens", options.continuation},
                             {"float32", options.float32},
                             {"memcpy_gb_per_s", result.speeds.memcpy}};
  for (std::size_t i = 0; i < result.summaries.size(); ++i) {
    const Summary& summary = result.summaries[i];
    nlohmann::json row = {{"name", summary.name}, {"codec", summary.codec_name}, {"options", summary.options},
                          {"encode_gb_per_s", result.speeds.codecs[i].encode}};
    for (const codec::StreamId stream : {codec::StreamId::anchor, codec::StreamId::residual, codec::StreamId::exact})
      row["bits_per_element"][std::string(codec::name_of(stream))] = summary.bits.of(stream);
    for (std::size_t j = 0; j < summary.levels.size(); ++j) {
      const quality::LevelSummary& l = summary.levels[j];
      const auto mean = [](const quality::Mean& m) { return nlohmann::json{{"mean", m.value}, {"standard_error", m.error}}; };
      row["levels"].push_back({{"level", codec::name_of(l.level)},
                               {"bits_per_element", l.bits},
                               {"k", {{"rms", l.keys.rms()}, {"nmse", l.keys.nmse()}}},
                               {"v", {{"rms", l.values.rms()}, {"nmse", l.values.nmse()}}},
                               {"attention_nmse", mean(l.attention)},
                               {"kl_nats", mean(l.kl)},
                               {"argmax_agreement", mean(l.argmax)},
                               {"kl_ratio", mean(l.kl_ratio)},
                               {"argmax_gain", mean(l.argmax_gain)},
                               {"decode_gb_per_s", result.speeds.codecs[i].decode[j]}});
    }
    document["rows"].push_back(std::move(row));
  }
  return document;
}

std::vector<quality::Variant> variants_of(const QualityOptions& options) {
  std::vector<quality::Variant> variants;
  for (const std::string& text : options.variants) variants.push_back(as_option("--codec", [&] { return quality::parse_variant(text, options.lynx); }));
  for (std::size_t i = 0; options.variants.empty() && i < codec::mode_names().size(); ++i)
    variants.push_back(quality::parse_variant(codec::mode_names()[i], options.lynx));
  return variants;
}

// The model's documents through every variant; the first document's KV, for timing.
quality::Capture examine(const QualityOptions& options, quality::Study& study, Result& result) {
  const model::ModelFile file = model::open_model(options.model);
  const auto documents = quality::read_documents(file, options.texts, options.prompt_tokens);
  model::Forward forward(file, {options.float32 ? model::Precision::float32 : model::Precision::bf16, model::best_isa(),
                                options.threads > 0 ? options.threads : usable_cpus()});
  std::optional<quality::Capture> capture;
  for (const quality::Document& document : documents) {
    quality::Reference reference(forward, document, options.continuation);
    study.add(reference);
    result.documents.push_back(document.name);
    if (!capture) capture = reference.capture();
    fmt::print(stderr, "\rlynxkv: {} of {} documents", study.documents(), documents.size());
  }
  fmt::print(stderr, "\n");
  return *capture;
}

quality::Capture read_capture(const std::string& path) {
  const results::KvFile file = results::read_kv_file(path).take();
  const page::Geometry geometry{file.model_layers, file.kv_heads, file.head_dim};
  quality::Capture capture =
      quality::make_capture(geometry, static_cast<int>(file.token_ids.size()), {file.layers.begin(), file.layers.end()});
  for (std::size_t i = 0; i < capture.keys.size(); ++i) capture.keys[i] = Bf16{file.key[i]};
  for (std::size_t i = 0; i < capture.values.size(); ++i) capture.values[i] = Bf16{file.value[i]};
  return capture;
}

}  // namespace

int run_quality(const QualityOptions& options) {
  quality::Study study(variants_of(options));  // a wrong name fails before the model is read
  Result result;
  quality::Capture capture;
  if (options.kv.empty()) {
    capture = examine(options, study, result);
  } else {
    kernels::start_runtime(1, kernels::best_isa());
    capture = read_capture(options.kv);
    study.add(capture);
    result.documents.push_back(fs::path(options.kv).filename().string());
  }
  result.summaries = study.summaries();
  if (!options.kv.empty()) forget_answers(result);
  else if (result.documents.size() < 2) forget_errors(result);
  kernels::start_runtime(1, kernels::best_isa());
  result.speeds.memcpy = quality::measure_memcpy(capture);
  for (const quality::Variant& variant : study.variants())
    result.speeds.codecs.push_back(quality::measure_speed(*variant.codec, capture));
  print(options, result);
  write_output(options.json, json_of(options, result).dump(2) + "\n");
  write_output(options.csv, csv(result));
  write_output(options.markdown, markdown(options, result));
  return 0;
}

}  // namespace lynxkv::apps
