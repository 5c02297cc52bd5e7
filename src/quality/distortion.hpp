// How far a codec's pages are from what it was given, without a model: errors of K and of V, and the bits they cost.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "codec/codec.hpp"
#include "quality/capture.hpp"

namespace lynxkv::quality {

// Sums over values x of a tensor and what x' it became. Sums of several tensors add up.
struct Distortion {
  double error = 0;   // of (x' - x)^2
  double energy = 0;  // of x^2
  std::int64_t count = 0;

  void add(std::span<const Bf16> before, std::span<const Bf16> after);
  void add(const Distortion& other);
  double rms() const;   // sqrt(error / count); 0 where nothing was added
  double nmse() const;  // error / energy; 0 where all values were 0 and came back as 0
};

// Payload bits an element, stream by stream.
struct Bits {
  std::array<std::int64_t, codec::max_streams> bytes = {};
  std::int64_t elements = 0;

  void add(const codec::Encoded& encoded, std::size_t count);
  void add(const Bits& other);
  double of(codec::StreamId stream) const;
  double up_to(codec::StreamId stream) const;  // this stream and those before it
};

struct LevelDistortion {
  codec::Level level = codec::Level::target;
  Distortion keys, values;
};

// What a codec makes of a capture. Levels in the codec's order: those that it decodes to.
struct CodecDistortion {
  Bits bits;
  std::vector<LevelDistortion> levels;
};

// Levels that `codec` has, in order; of a level that two streams enable, the first counts.
std::vector<codec::Level> levels_of(const codec::Codec& codec);
// The stream with which `level` is reached.
codec::StreamId stream_for(const codec::Codec& codec, codec::Level level);

// One decoded page tensor: `index` counts capture.layers.
using PageSink = std::function<void(codec::Level level, std::size_t index, page::Kind kind, int page,
                                    std::span<const Bf16> rows)>;

// Encodes and decodes every page tensor. Throws what the codec finds wrong with it.
CodecDistortion run_codec(const codec::Codec& codec, const Capture& capture, const PageSink& sink = {});

}  // namespace lynxkv::quality
