#include "quality/speed.hpp"

#include <algorithm>
#include <cstring>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "quality/distortion.hpp"

namespace lynxkv::quality {
namespace {

constexpr int rounds = 7;
constexpr double round_seconds = 2e-3;

// GB/s of `bytes` that one call of `pass` handles.
template <class Pass>
double speed_of(double bytes, Pass pass) {
  pass();
  double best = 0;
  for (int round = 0; round < rounds; ++round) {
    const std::int64_t begin = now_ns();
    std::int64_t end = begin;
    int calls = 0;
    do {
      pass();
      ++calls;
      end = now_ns();
    } while (seconds_between(begin, end) < round_seconds);
    best = std::max(best, bytes * calls / seconds_between(begin, end) * 1e-9);
  }
  return best;
}

struct Pages {
  codec::TensorShape shape[2];
  std::span<const Bf16> rows[2];
  double bytes = 0;

  explicit Pages(const Capture& capture) {
    LYNXKV_CHECK(!capture.layers.empty() && capture.tokens > 0);
    const std::size_t middle = capture.layers.size() / 2;
    for (const page::Kind kind : {page::Kind::key, page::Kind::value}) {
      const auto i = static_cast<std::size_t>(kind);
      shape[i] = capture.shape(middle, kind, 0);
      rows[i] = capture.rows(middle, kind, 0);
      bytes += static_cast<double>(rows[i].size_bytes());
    }
  }
};

}  // namespace

CodecSpeed measure_speed(const codec::Codec& codec, const Capture& capture) {
  const Pages pages(capture);
  codec::Encoded encoded[2];
  std::vector<Bf16> decoded(std::max(pages.rows[0].size(), pages.rows[1].size()));
  CodecSpeed speed;
  speed.encode = speed_of(pages.bytes, [&] {
    for (std::size_t i = 0; i < 2; ++i) codec.encode(pages.rows[i].data(), pages.shape[i], encoded[i]).take();
  });
  for (const codec::Level level : levels_of(codec))
    speed.decode.push_back(speed_of(pages.bytes, [&] {
      for (std::size_t i = 0; i < 2; ++i) {
        const auto& payload = encoded[i].payload;
        codec.decode(level, {{payload[0], payload[1], payload[2]}, encoded[i].raw}, pages.shape[i], decoded.data()).take();
      }
    }));
  return speed;
}

double measure_memcpy(const Capture& capture) {
  const Pages pages(capture);
  std::vector<Bf16> copy(std::max(pages.rows[0].size(), pages.rows[1].size()));
  return speed_of(pages.bytes, [&] {
    for (const auto& rows : pages.rows) std::memcpy(copy.data(), rows.data(), rows.size_bytes());
  });
}

}  // namespace lynxkv::quality
