// lynxkv bench codec --model MODEL --text FILE..., or --kv FILE of `lynxkv capture`: what codecs do to a model's KV and
// (with a model) to its answers.
#pragma once

#include <string>
#include <vector>

#include "codec/codec.hpp"

namespace lynxkv::apps {

struct QualityOptions {
  std::string model, kv;  // one of them
  std::vector<std::string> texts;
  std::vector<std::string> variants;  // the first is what the others are compared with
  codec::CodecOptions lynx;           // that variants start from
  int prompt_tokens = 1600, continuation = 64, threads = 0;
  bool float32 = false;
  std::string json, csv, markdown;
};

int run_quality(const QualityOptions& options);

}  // namespace lynxkv::apps
