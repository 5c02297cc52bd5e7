// The codecs that have CUDA kernels, on a GPU: the same streams, bytes, checks and errors as make_codec
// gives. Pages are the host's: each call uploads, runs, downloads and waits. For the command line and tests,
// not for the data path.
#pragma once

#include <memory>
#include <string_view>

#include "codec/codec.hpp"

namespace lynxkv::codec {

// Null where the mode has no CUDA kernels. Throws as make_codec does; a GPU that fails throws
// Error{transport}.
std::unique_ptr<Codec> make_codec_on_cuda(std::string_view mode, const CodecOptions& options);

}  // namespace lynxkv::codec
