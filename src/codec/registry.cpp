// The registry: one line a mode. The line declares the factory that the codec's own file defines, and lists it.
#include <algorithm>
#include <array>
#include <vector>

#include "base/nearest.hpp"
#include "codec/codec.hpp"

#define LYNXKV_CODECS(CODEC)              \
  CODEC("bf16", make_bf16)                \
  CODEC("int8", make_int8)                \
  CODEC("int4", make_int4)                \
  CODEC("int8-channel", make_int8_channel) \
  CODEC("int4-channel", make_int4_channel) \
  CODEC("int4-chunk", make_int4_chunk)    \
  CODEC("lynx-int4", make_lynx_int4)      \
  CODEC("lynx-int8", make_lynx_int8)      \
  CODEC("lynx", make_lynx)                \
  CODEC("lynx-exact", make_lynx_exact)    \
  CODEC("quantspec", make_quantspec)      \
  CODEC("kivi4", make_kivi4)              \
  CODEC("fp8", make_fp8)                  \
  CODEC("cachegen-code", make_cachegen_code)   \
  CODEC("cachegen-paper", make_cachegen_paper)

namespace lynxkv::codec {

#define LYNXKV_DECLARE(name, factory) std::unique_ptr<Codec> factory(const CodecOptions& options);
LYNXKV_CODECS(LYNXKV_DECLARE)
#undef LYNXKV_DECLARE

namespace {

using Factory = std::unique_ptr<Codec> (*)(const CodecOptions&);

#define LYNXKV_NAME(name, factory) std::string_view(name),
constexpr std::array names{LYNXKV_CODECS(LYNXKV_NAME)};
#undef LYNXKV_NAME
#define LYNXKV_FACTORY(name, factory) &factory,
constexpr std::array<Factory, names.size()> factories{LYNXKV_CODECS(LYNXKV_FACTORY)};
#undef LYNXKV_FACTORY

}  // namespace

std::span<const std::string_view> mode_names() noexcept { return names; }

std::unique_ptr<Codec> make_codec(std::string_view mode, const CodecOptions& options) {
  const auto found = std::find(names.begin(), names.end(), mode);
  if (found == names.end()) throw Error(ErrorCode::usage, "transfer mode", unknown_name("mode", mode, names));
  return factories[static_cast<std::size_t>(found - names.begin())](options);
}

}  // namespace lynxkv::codec
