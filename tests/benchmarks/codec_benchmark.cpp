// One page tensor through every codec, in Google Benchmark's table: `build/bin/codec_benchmark`.
// For the project's own table with memcpy beside it: `lynxkv bench codec`.
#include <benchmark/benchmark.h>

#include <cmath>
#include <string>
#include <vector>

#include "codec/codec.hpp"

namespace {

using namespace lynxkv;

constexpr int tokens = 256, channels = 192;

std::vector<Bf16> page() {
  std::vector<Bf16> rows;
  for (int i = 0; i < tokens * channels; ++i)
    rows.push_back(to_bf16(std::sin(0.37f * static_cast<float>(i)) + 0.1f * std::cos(1.7f * static_cast<float>(i % channels))));
  return rows;
}

codec::TensorShape shape() {
  codec::TensorShape made;
  made.tokens = tokens;
  made.channels = channels;
  made.head_dim = 64;
  return made;
}

void count_bytes(benchmark::State& state) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * tokens * channels * 2);
}

void encode(benchmark::State& state, const std::string& mode) {
  const auto codec = codec::make_codec(mode, {});
  const auto rows = page();
  codec::Encoded out;
  for (auto _ : state) codec->encode(rows.data(), shape(), out).take();
  count_bytes(state);
}

void decode(benchmark::State& state, const std::string& mode) {
  const auto codec = codec::make_codec(mode, {});
  auto rows = page();
  codec::Encoded encoded;
  codec->encode(rows.data(), shape(), encoded).take();
  codec::Payloads in;
  for (std::size_t s = 0; s < codec::max_streams; ++s) in.payload[s] = encoded.payload[s];
  in.raw = encoded.raw;
  for (auto _ : state) codec->decode(codec->target(), in, shape(), rows.data()).take();
  count_bytes(state);
}

}  // namespace

int main(int argc, char** argv) {
  for (const std::string_view mode : codec::mode_names()) {
    const std::string name(mode);
    benchmark::RegisterBenchmark(("encode/" + name).c_str(), encode, name);
    benchmark::RegisterBenchmark(("decode/" + name).c_str(), decode, name);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
