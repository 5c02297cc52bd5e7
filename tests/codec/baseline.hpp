// What the tests of the published baselines share.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <random>
#include <vector>

#include "tests/codec/golden.hpp"

namespace lynxkv::codec::baseline {

inline std::vector<Bf16> rows_of(const std::vector<float>& values) {
  std::vector<Bf16> rows;
  for (const float x : values) rows.push_back(to_bf16(x));
  return rows;
}
inline std::vector<int> bytes_of(const Encoded& out, std::size_t stream) {
  std::vector<int> bytes;
  for (const std::byte b : out.payload[stream]) bytes.push_back(static_cast<int>(b));
  return bytes;
}
inline Payloads views(const Encoded& out) {
  return {{out.payload[0], out.payload[1], out.payload[2]}, out.raw};
}

inline std::vector<float> decoded(const Codec& codec, Level level, const Encoded& out,
                                  const TensorShape& shape) {
  std::vector<Bf16> rows(static_cast<std::size_t>(shape.tokens * shape.channels));
  codec.decode(level, views(out), shape, rows.data()).take();
  std::vector<float> values;
  for (const Bf16 x : rows) values.push_back(to_float(x));
  return values;
}

// bf16 values in [-1, 1).
inline std::vector<float> uniform_values(int count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values;
  for (int i = 0; i < count; ++i)
    values.push_back(
        to_float(to_bf16(static_cast<float>(static_cast<int>(random() % 4001) - 2000) / 2048.0f)));
  return values;
}

inline void expect_near(const std::vector<float>& found, const std::vector<float>& expected, double largest) {
  double error = 0;
  for (std::size_t i = 0; i < expected.size(); ++i)
    error = std::fmax(error, std::fabs(static_cast<double>(found[i]) - static_cast<double>(expected[i])));
  EXPECT_LE(error, largest);
}

struct Bounds {
  const char* page;
  const char* mode;
  Level level;
  double least, largest;  // RMS error over RMS of the page, first four tokens left out
};

inline void expect_distortion(std::initializer_list<Bounds> all) {
  for (const Bounds& bounds : all)
    for (const golden::Case& one : golden::cases()) {
      const std::string name = one.name;
      if (name != bounds.page) continue;
      TensorShape shape = one.shape;
      shape.layers = 30;
      shape.layer = std::stoi(name.substr(6));
      shape.kind = name.find("_v_") == std::string::npos ? page::Kind::key : page::Kind::value;
      const std::vector<Bf16> kv = golden::read_bf16(name + ".kv.bin");
      const auto codec = make_codec(bounds.mode, {});
      Encoded out;
      codec->encode(kv.data(), shape, out).take();
      const std::vector<float> values = decoded(*codec, bounds.level, out, shape);
      double error = 0, power = 0;
      for (std::size_t i = 4 * static_cast<std::size_t>(shape.channels); i < kv.size(); ++i) {
        const double x = to_float(kv[i]), y = values[i];
        error += (x - y) * (x - y);
        power += x * x;
      }
      const double found = std::sqrt(error / power);
      EXPECT_GE(found, bounds.least) << bounds.page << ", " << bounds.mode;
      EXPECT_LE(found, bounds.largest) << bounds.page << ", " << bounds.mode;
    }
}

}  // namespace lynxkv::codec::baseline
