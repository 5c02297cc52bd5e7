#include "engine/config_keys.hpp"

#include <yaml-cpp/yaml.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <type_traits>

namespace lynxkv::engine {
namespace {

template <class T>
constexpr const char* type_name() {
  if constexpr (std::is_same_v<T, bool>) return "true or false";
  else if constexpr (std::is_integral_v<T>) return "a whole number";
  else if constexpr (std::is_floating_point_v<T>) return "a number";
  else return "a text";
}

template <class T>
struct ItemOf {};
template <class T>
struct ItemOf<std::vector<T>> {
  using type = T;
};

template <class T>
std::string kind_of_value() {
  if constexpr (requires { typename ItemOf<T>::type; }) return std::string("a list, each ") + type_name<typename ItemOf<T>::type>();
  else return type_name<T>();
}

template <class T>
T scalar(const YAML::Node& node) {
  if (!node.IsScalar()) throw std::invalid_argument(type_name<T>());
  try {
    return node.as<T>();
  } catch (const YAML::Exception&) {
    throw std::invalid_argument(type_name<T>());
  }
}

template <class T>
void assign(T& out, const YAML::Node& node) {
  out = scalar<T>(node);
}

// A list, or one value for a list of one.
template <class T>
void assign(std::vector<T>& out, const YAML::Node& node) {
  std::vector<T> read;
  if (node.IsSequence()) {
    for (const YAML::Node& item : node) read.push_back(scalar<T>(item));
  } else if (node.IsScalar()) {
    read.push_back(scalar<T>(node));
  } else {
    throw std::invalid_argument(kind_of_value<std::vector<T>>());
  }
  out = std::move(read);
}

template <class Section, class T>
ConfigKey key(std::string_view name, KeyKind kind, Section Config::*section, T Section::*field, std::string_view meaning,
              std::string_view example) {
  return {name, kind, meaning, kind_of_value<T>(), example,
          [=](Config& config, const YAML::Node& node) { assign(config.*section.*field, node); },
          [=](const Config& config) { return nlohmann::json(config.*section.*field).dump(); }};
}

// roles.prefill / roles.decode: a count, or a list of ranks.
ConfigKey role_key(std::string_view name, int RolesSection::*count, std::vector<int> RolesSection::*ranks, std::string_view meaning,
                   std::string_view example) {
  return {name, KeyKind::placement, meaning, "a whole number, or a list of ranks", example,
          [=](Config& config, const YAML::Node& node) {
            if (node.IsSequence()) {
              assign(config.roles.*ranks, node);
              config.roles.*count = static_cast<int>((config.roles.*ranks).size());
            } else {
              assign(config.roles.*count, node);
              (config.roles.*ranks).clear();
            }
          },
          [=](const Config& config) {
            const auto& listed = config.roles.*ranks;
            return listed.empty() ? nlohmann::json(config.roles.*count).dump() : nlohmann::json(listed).dump();
          }};
}

// Name, kind, place, meaning, a value to take as an example. A test reads each example.
std::vector<ConfigKey> make_keys() {
  constexpr auto result = KeyKind::result, placement = KeyKind::placement;
  using C = Config;
  return {
      // The model's identity is the hash of its contents; its path may move.
      key("model.path", placement, &C::model, &ModelSection::path,
          "The model: a .gguf file, or a folder with config.json and *.safetensors. Its contents count, not "
          "its path", "/models/SmolLM2-135M-Instruct-Q4_1.gguf"),
      key("model.kv_dtype", result, &C::model, &ModelSection::kv_dtype,
          "Number format of the KV cache; bf16 is the only one", "bf16"),
      role_key("roles.prefill", &RolesSection::prefill, &RolesSection::prefill_ranks,
          "Ranks that prefill: how many (the first ones), or which. A job of one rank does both", "2"),
      role_key("roles.decode", &RolesSection::decode, &RolesSection::decode_ranks,
          "Ranks that decode: how many (behind those that prefill), or which", "[1, 3]"),
      key("transfer.modes", result, &C::transfer, &TransferSection::modes,
          "How KV pages travel; the prompt is prefilled once and replayed in each mode: bf16, int8, int4, "
          "int8-channel, int4-channel, int4-chunk, lynx-int4, lynx-int8, lynx, lynx-exact, quantspec, kivi4, "
          "fp8, cachegen-code, cachegen-paper", "[bf16, int8, lynx]"),
      key("transfer.start", result, &C::transfer, &TransferSection::start,
          "streaming: pages leave while prefill computes the next ones; after_prefill: nothing leaves before "
          "the prompt is computed", "after_prefill"),
      key("transfer.page_tokens", result, &C::transfer, &TransferSection::page_tokens,
          "Tokens of a page, 32 to 256: a multiple of transfer.chunk_tokens", "128"),
      key("transfer.chunk_tokens", result, &C::transfer, &TransferSection::chunk_tokens,
          "Tokens that share the scalars of a channel; 32 is what the page format defines", "32"),
      // What it stands for is in the keys below it.
      key("transfer.preset", placement, &C::transfer, &TransferSection::preset,
          "Sets all options of lynx below at once: default, plain or paper; a key beside it changes that one", "plain"),
      key("transfer.alpha", result, &C::transfer, &TransferSection::alpha,
          "Companding of lynx, 0.001 to 1000: small is nearly linear, large has finer steps near the centre", "0.05"),
      key("transfer.alpha_v", result, &C::transfer, &TransferSection::alpha_v,
          "The same for V; 0: as transfer.alpha", "0.02"),
      key("transfer.levels", result, &C::transfer, &TransferSection::levels,
          "Magnitude levels of a value, anchor and residual together: 112 or 120", "112"),
      key("transfer.centre", result, &C::transfer, &TransferSection::centre,
          "Centre of a chunk's values: mid (of its extremes) or mean", "mean"),
      key("transfer.sigma", result, &C::transfer, &TransferSection::sigma,
          "The grid that a chunk's scale is stored on: log or linear", "linear"),
      key("transfer.sinks", result, &C::transfer, &TransferSection::sinks,
          "First tokens of a sequence that travel raw, 0 to 255", "8"),
      key("transfer.fit", result, &C::transfer, &TransferSection::fit,
          "How a chunk's scalars are chosen: extremes (of its values), or least_error of the anchor", "extremes"),
      key("transfer.chunk_tokens_v", result, &C::transfer, &TransferSection::chunk_tokens_v,
          "Tokens of V that share scalars, 1 to 256; 0: as K", "32"),
      key("transfer.early_channels_k", result, &C::transfer, &TransferSection::early_channels_k,
          "Channels of K whose residual travels with the anchor, an even number", "8"),
      key("transfer.early_channels_v", result, &C::transfer, &TransferSection::early_channels_v,
          "The same of V", "8"),
      key("transfer.early_tokens_k", result, &C::transfer, &TransferSection::early_tokens_k,
          "Newest tokens of K whose residual travels with the anchor", "24"),
      key("transfer.early_tokens_v", result, &C::transfer, &TransferSection::early_tokens_v,
          "The same of V", "24"),
      key("link.transport", result, &C::link, &LinkSection::transport,
          "mpi, nccl (needs a GPU for each rank) or loop (a job of one rank)", "loop"),
      key("link.gbps", result, &C::link, &LinkSection::gbps,
          "Paces what each rank sends and receives to so many Gbit/s; 0: as fast as it goes", "0.75"),
      key("link.latency_us", result, &C::link, &LinkSection::latency_us,
          "Latency of the paced link, microseconds", "50"),
      key("link.residual_chunk_kib", result, &C::link, &LinkSection::residual_chunk_kib,
          "Largest piece of residuals on the wire, KiB, at most 256: what an urgent anchor may wait for; 0: "
          "adapts to the link", "64"),
      key("link.strict", result, &C::link, &LinkSection::strict,
          "true: residuals never rank with anchors, not even those that a decoder waits for", "true"),
      key("link.faults.flip", result, &C::link, &LinkSection::fault_flip,
          "Fault on purpose: probability that a data message has a bit flipped", "0.01"),
      key("link.faults.drop", result, &C::link, &LinkSection::fault_drop,
          "Fault on purpose: probability that a data message is lost", "0.01"),
      key("link.faults.delay", result, &C::link, &LinkSection::fault_delay_ms,
          "Fault on purpose: each message is held for a random time up to this, milliseconds", "5"),
      key("link.faults.stall", result, &C::link, &LinkSection::fault_stall_s,
          "Fault on purpose: so many seconds without any arrival, at a random moment of every ten or so", "0.5"),
      key("link.faults.control", result, &C::link, &LinkSection::fault_control,
          "true: flip and drop hit control messages too, which ends the job with exit code 4", "true"),
      key("link.faults.seed", result, &C::link, &LinkSection::fault_seed,
          "Seed of the faults: the same arrivals meet the same ones; a resumed run meets others", "7"),
      key("link.stall_s", placement, &C::link, &LinkSection::stall_s,
          "Seconds without any progress after which the job is ended with exit code 4", "30"),
      key("link.traffic_classes", placement, &C::link, &LinkSection::traffic_classes,
          "NCCL's traffic classes for the network, [anchor, residual], 0 to 255 each; []: none is set", "[104, 32]"),
      key("speculation.cap", result, &C::speculation, &SpeculationSection::cap,
          "Most tokens drafted before the full data is here, 0 to 1024; 0: no drafting", "32"),
      key("speculation.temperature", result, &C::speculation, &SpeculationSection::temperature,
          "0 (greedy) is what this version offers", "0"),
      key("speculation.exactness", result, &C::speculation, &SpeculationSection::exactness,
          "strict: the output is, token for token, that of the full data; the only one offered", "strict"),
      key("engine.max_batch", placement, &C::engine, &EngineSection::max_batch,
          "Most requests that a rank works on at a time, 1 to 1024", "1"),
      key("engine.prefill_chunk", result, &C::engine, &EngineSection::prefill_chunk,
          "Prompt tokens of one forward pass: a multiple of transfer.page_tokens, at most 65536", "512"),
      key("engine.backend", placement, &C::engine, &EngineSection::backend,
          "Where the model is computed; cpu is what this version offers", "cpu"),
      key("engine.threads", placement, &C::engine, &EngineSection::threads,
          "Threads of each rank, at most 512; 0: the host's cores divided among its ranks", "4"),
      // What "auto" came to is hashed by the run, not this spelling.
      key("engine.isa", placement, &C::engine, &EngineSection::isa,
          "Kernel path: auto (the best that every CPU of the job has), amx, avx512_bf16, avx512 or avx2", "avx2"),
      key("engine.kv_memory_gib", placement, &C::engine, &EngineSection::kv_memory_gib,
          "Memory for KV pages of each rank, GiB; 0: what the requests need, at most half of what is free", "4"),
      key("suite.name", result, &C::suite, &SuiteSection::name,
          "Where prompts come from: ruler (generated at any length, or read) or qa (questions over a text)", "qa"),
      key("suite.tasks", result, &C::suite, &SuiteSection::tasks,
          "The suite's tasks; ruler: niah_single, niah_single_text, niah_multikey, niah_multivalue, "
          "niah_multiquery, vt; qa: qa", "[niah_single, vt]"),
      key("suite.lengths", result, &C::suite, &SuiteSection::lengths,
          "Prompt lengths, tokens; 0: the text as it is", "[2048, 4096]"),
      key("suite.samples", result, &C::suite, &SuiteSection::samples,
          "Prompts of each task and length; 0: all that the file has", "4"),
      key("suite.file", result, &C::suite, &SuiteSection::file,
          "JSONL of prompts in place of generated ones; for qa: of question and answers", "/data/niah_single_1.jsonl"),
      key("suite.text", result, &C::suite, &SuiteSection::text,
          "The text that prompts are made from; for qa: that the questions are about", "/data/essays.txt"),
      key("suite.seed", result, &C::suite, &SuiteSection::seed,
          "Seed of generated prompts", "7"),
      key("suite.max_tokens", result, &C::suite, &SuiteSection::max_tokens,
          "Most tokens of an answer; 0: the task's own", "24"),
      key("suite.template", result, &C::suite, &SuiteSection::chat_template,
          "auto: the model's chat template, where it has one; none: prompts as they are", "none"),
      key("suite.truncation", result, &C::suite, &SuiteSection::truncation,
          "A prompt longer than the model's context: error (refused), middle or left (what is cut away)", "middle"),
      key("output.dir", placement, &C::output, &OutputSection::dir,
          "Folder of the results; a run that finds its own earlier ones there continues them", "out/first"),
      key("output.fsync_s", placement, &C::output, &OutputSection::fsync_s,
          "Seconds between two syncs of the journal to the disk; 0: after each sample", "0"),
      key("output.progress_s", placement, &C::output, &OutputSection::progress_s,
          "Seconds between progress lines of a batch log", "60"),
      key("output.stop_before_end_s", placement, &C::output, &OutputSection::stop_before_end_s,
          "Seconds before the end of the Slurm job from which on no new samples are started", "300"),
      key("output.stop_grace_s", placement, &C::output, &OutputSection::stop_grace_s,
          "Seconds without progress after which a run that was asked to stop leaves", "20"),
  };
}

}  // namespace

std::span<const ConfigKey> config_keys() {
  static const std::vector<ConfigKey> keys = make_keys();
  return keys;
}

}  // namespace lynxkv::engine
