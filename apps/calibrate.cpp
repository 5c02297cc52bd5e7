// lynxkv calibrate MODEL --text FILE...: codec options that suit a model's KV, as config lines.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/command.hpp"
#include "apps/cpus.hpp"
#include "apps/lynx_options.hpp"
#include "apps/option_checks.hpp"
#include "apps/output_files.hpp"
#include "base/error.hpp"
#include "quality/calibration.hpp"
#include "quality/prefill.hpp"

namespace lynxkv::apps {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Options {
  std::string model, json_path, isa = "auto";
  LynxArguments start;
  std::vector<std::string> texts;
  int tokens = 1600, threads = 0;
};

void print(const quality::Calibration& found, const Options& options, std::size_t documents) {
  fmt::print("# lynxkv calibrate: {} document{} of {} tokens; squared error of the draft over squared values\n", documents,
             documents == 1 ? "" : "s", options.tokens);
  fmt::print("{:<8} {:>8} {:>8} {:>11} {:>11}\n", "option", "value", "bits", "nmse K", "nmse V");
  for (const quality::Tried& tried : found.tried)
    fmt::print("{:<8} {:>8} {:>8.3f} {:>10.4g}{} {:>10.4g}{}\n", tried.option, tried.value, tried.bits, tried.nmse_k,
               tried.best_k ? "*" : " ", tried.nmse_v, tried.best_v ? "*" : " ");
  fmt::print("# {}: K {:.4g}, V {:.4g}; chosen: K {:.4g}, V {:.4g} at {:.3f} bits\n", options.start.preset, found.start_k.nmse(),
             found.start_v.nmse(), found.chosen_k.nmse(), found.chosen_v.nmse(), found.chosen_bits);
  const std::string difference = codec::difference_text(found.chosen, codec::preset_options(options.start.preset));
  fmt::print("# for the config of a run:\ntransfer:\n  preset: {}\n", options.start.preset);
  for (const std::string_view name : codec::option_names())
    if (codec::option_value(found.chosen, name) != codec::option_value(codec::preset_options(options.start.preset), name))
      fmt::print("  {}: {}\n", name, codec::option_value(found.chosen, name));
  if (difference.empty()) fmt::print("# the preset as it is suits this model best\n");
}

json json_of(const quality::Calibration& found, const Options& options, const std::vector<quality::Document>& documents) {
  json document = {{"schema_version", 1},
                   {"model", fs::path(options.model).filename().string()},
                   {"tokens", options.tokens},
                   {"preset", options.start.preset},
                   {"start", {{"nmse_k", found.start_k.nmse()}, {"nmse_v", found.start_v.nmse()}, {"bits", found.start_bits}}},
                   {"chosen", {{"nmse_k", found.chosen_k.nmse()}, {"nmse_v", found.chosen_v.nmse()}, {"bits", found.chosen_bits}}},
                   {"options", codec::difference_text(found.chosen, codec::preset_options(options.start.preset))}};
  for (const quality::Document& text : documents) document["documents"].push_back(text.name);
  for (const quality::Tried& tried : found.tried)
    document["tried"].push_back({{"option", tried.option}, {"value", tried.value}, {"bits", tried.bits},
                                 {"nmse_k", tried.nmse_k}, {"nmse_v", tried.nmse_v}, {"best_k", tried.best_k},
                                 {"best_v", tried.best_v}});
  return document;
}

int run(const Options& options) {
  const codec::CodecOptions start = lynx_options(options.start);
  const model::Isa isa = as_option("--isa", [&] { return model::isa_from(options.isa); });
  check_outputs({options.json_path});
  const model::ModelFile file = model::open_model(options.model);
  const auto documents = quality::read_documents(file, options.texts, options.tokens);
  model::Forward forward(file, {model::Precision::bf16, isa,
                                options.threads > 0 ? options.threads : usable_cpus()});
  std::vector<quality::Capture> captures;
  for (const quality::Document& document : documents) captures.push_back(quality::prefilled(forward, document));
  const quality::Calibration found = quality::calibrate(captures, start);
  print(found, options, documents.size());
  write_output(options.json_path, json_of(found, options, documents).dump(2) + "\n");
  return 0;
}

Run set_up(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("MODEL", options->model, "a .gguf file or a folder with config.json and *.safetensors")->required();
  app.add_option("--text", options->texts, "Text files, or folders of them: like what the model will read")->required();
  app.add_option("--tokens", options->tokens, "Read of each text")->check(at_least(1))->capture_default_str();
  app.add_option("--preset", options->start.preset, "Options to start from: default, plain, paper")->capture_default_str();
  app.add_option("--set", options->start.set, "Options to change first, as sinks=8,chunk_tokens_v=32")->allow_extra_args(false);
  app.add_option("--threads", options->threads, "0: every CPU that this process may use")->check(whole_between(0, 512));
  app.add_option("--isa", options->isa, "Kernel path: auto, amx, avx512_bf16, avx512, avx2");
  app.add_option("--json", options->json_path, "Also write what was tried and chosen here");
  return [options] { return run(*options); };
}

}  // namespace

extern const Command calibrate_command;
const Command calibrate_command{"calibrate", "codec options that suit a model's KV, alpha for K and V apart",
                                "lynxkv calibrate $(jobs/fetch-model.sh) --text README.md --tokens 1000", set_up};

}  // namespace lynxkv::apps
