// How fast a codec is on one core, on real page tensors that stay in its cache, beside memcpy of the same bytes.
#pragma once

#include <vector>

#include "codec/codec.hpp"
#include "quality/capture.hpp"

namespace lynxkv::quality {

// GB/s: 1e9 bytes of bf16 page tensor a second, the better of several rounds.
struct CodecSpeed {
  double encode = 0;
  std::vector<double> decode;  // in the order of levels_of(codec)
};

// The first page of K and of V in the middle of the captured layers, in turn. The kernels' threads are the caller's
// to set. Throws what the codec finds wrong.
CodecSpeed measure_speed(const codec::Codec& codec, const Capture& capture);
double measure_memcpy(const Capture& capture);

}  // namespace lynxkv::quality
