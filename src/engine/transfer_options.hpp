// The config's transfer section and the codec's options: one for the other.
#pragma once

#include "codec/codec.hpp"
#include "engine/config.hpp"

namespace lynxkv::engine {

codec::CodecOptions codec_options_of(const TransferSection& transfer);
// Sets the keys that stand for codec options; leaves the others.
void set_codec_options(TransferSection& transfer, const codec::CodecOptions& options);

}  // namespace lynxkv::engine
