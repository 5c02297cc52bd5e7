// The configuration of a run: YAML, every key with a default, `--set a.b=value` on top.
// Keys are either `result` (they change what comes out: part of the settings hash, refused when they differ
// for the same output) or `placement` (who computes what where: stored per attempt).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lynxkv::engine {

struct ModelSection {
  std::string path;
  std::string kv_dtype = "bf16";
};
// Counts, or explicit rank lists. With one rank both roles live in it.
struct RolesSection {
  int prefill = 1, decode = 1;
  std::vector<int> prefill_ranks, decode_ranks;
};
struct TransferSection {
  std::vector<std::string> modes = {"lynx"};
  std::string start = "streaming";  // streaming | after_prefill
  int page_tokens = 256, chunk_tokens = 32;
  // Of the lynx family (codec/options.hpp). `preset` sets all of them at once; a key beside it changes that one.
  std::string preset = "default";  // default | plain | paper
  double alpha = 0.01, alpha_v = 0;
  int levels = 120;
  std::string centre = "mid", sigma = "log", fit = "least_error";
  int sinks = 4, chunk_tokens_v = 64;
  int early_channels_k = 16, early_channels_v = 0, early_tokens_k = 12, early_tokens_v = 12;
};
struct LinkSection {
  std::string transport = "mpi";  // mpi | nccl (a GPU a rank) | loop (one rank only)
  double gbps = 0, latency_us = 0;
  int residual_chunk_kib = 0;  // 0: adapts to the link, at most 256
  bool strict = false;
  // Faults on purpose (comm/faults.hpp), for tests and studies.
  double fault_flip = 0, fault_drop = 0, fault_delay_ms = 0, fault_stall_s = 0;
  bool fault_control = false;
  std::int64_t fault_seed = 1;
  double stall_s = 120;
  // NCCL's for the network, [anchor, residual]: on InfiniBand and RoCE the 8 bits of the traffic class. []: none is set.
  std::vector<int> traffic_classes = {104, 32};
};
struct SpeculationSection {
  int cap = 64;
  double temperature = 0;
  std::string exactness = "strict";
};
struct EngineSection {
  int max_batch = 8, prefill_chunk = 256;
  std::string backend = "cpu";
  int threads = 0;  // 0: the host's cores divided among its ranks
  std::string isa = "auto";
  double kv_memory_gib = 0;  // 0: what the requests need, at most half of the free memory
};
struct SuiteSection {
  std::string name = "ruler";
  std::vector<std::string> tasks = {"niah_single"};
  std::vector<int> lengths = {2048};
  int samples = 8;
  std::string file, text;
  std::int64_t seed = 42;
  int max_tokens = 0;               // 0: the task's own
  std::string chat_template = "auto";  // auto | none
  std::string truncation = "error";    // error | middle | left
};
struct OutputSection {
  std::string dir = "out";
  double fsync_s = 5;
  double progress_s = 10;           // seconds between progress lines of a batch log
  double stop_before_end_s = 120;   // of the Slurm job's end time
  double stop_grace_s = 8;          // a stopping run in which nothing moves for so long leaves
};

struct Config {
  ModelSection model;
  RolesSection roles;
  TransferSection transfer;
  LinkSection link;
  SpeculationSection speculation;
  EngineSection engine;
  SuiteSection suite;
  OutputSection output;
};

// Reads the file (an empty path: all defaults), then the overrides "key=value" in order, then checks ranges.
// Throws Error{usage}: unknown keys with the nearest valid one, wrong types, values out of range.
Config load_config(const std::string& path, const std::vector<std::string>& overrides);

// The whole effective config, as YAML that load_config takes back.
std::string to_yaml(const Config& config);
// The same with each key's meaning, kind of value, default and an example above it, as comments.
std::string explained_yaml(const Config& config);
// Only the keys that change results, as canonical JSON (sorted, one spelling for each value).
std::string result_keys_json(const Config& config);

}  // namespace lynxkv::engine
