// The golden pages under tests/data/codec: KV in, bytes out.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "codec/codec.hpp"

namespace lynxkv::codec::golden {

inline std::string path(const std::string& file) { return std::string(LYNXKV_TEST_DATA) + "/codec/" + file; }

inline std::vector<std::byte> read(const std::string& file) {
  std::ifstream in(path(file), std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path(file));
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return {bytes, bytes + text.size()};
}

inline std::vector<Bf16> read_bf16(const std::string& file) {
  const std::vector<std::byte> bytes = read(file);
  std::vector<Bf16> values(bytes.size() / 2);
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), values.size() * 2);
  return values;
}

inline std::vector<float> read_float(const std::string& file) {
  const std::vector<std::byte> bytes = read(file);
  std::vector<float> values(bytes.size() / 4);
  std::memcpy(values.data(), bytes.data(), values.size() * 4);
  return values;
}

struct Case {
  std::string name;
  TensorShape shape;
  CodecOptions options;
};

inline std::vector<Case> cases() {
  const nlohmann::json index = nlohmann::json::parse(std::ifstream(path("index.json")));
  std::vector<Case> found;
  for (const auto& entry : index.at("cases")) {
    Case one;
    one.name = entry.at("name");
    one.shape.tokens = entry.at("tokens");
    one.shape.channels = entry.at("channels");
    one.shape.head_dim = one.shape.channels % 64 == 0 ? 64 : one.shape.channels;
    one.shape.chunk_tokens = entry.at("chunk");
    one.options.sinks = entry.at("sinks");
    one.options.alpha = entry.at("alpha").get<float>();
    one.options.levels = entry.at("levels");
    one.options.centre = entry.at("centre") == "mid" ? Centre::mid : Centre::mean;
    one.options.sigma = entry.at("sigma") == "log" ? Sigma::log : Sigma::linear;
    found.push_back(one);
  }
  return found;
}

}  // namespace lynxkv::codec::golden
