// Kernels of the page codecs over one page tensor: `lynx` (encode, draft decode, full decode) and plain integers.
// The CPU bodies run over strips of channels (Kokkos where the caller may use it), each strip vectorised for the
// CPU at hand (Highway); `reference` is the plain form that defines the bytes. All give the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bf16.hpp"
#include "kernels/codec_math.hpp"

namespace lynxkv::kernels {

enum class PageOutcome {
  coded,
  raw,         // a value of 2^126 or more: the page has to travel as it is; the payloads are undefined
  not_finite,  // a NaN or an infinity, sinks included; the payloads are undefined
};

// What `count` values call for. No alignment is needed.
PageOutcome page_outcome(const Bf16* values, std::size_t count);

// Where the parts of one page tensor's two payloads lie. Little-endian, no padding:
//   anchor:   sinks bf16[sinks][channels], gmin bf16[channels], gscale bf16[channels],
//             mu8 u8[chunks][channels], sg8 u8[chunks][channels], nibbles u8[tokens - sinks][channels / 2]
//   residual: nibbles u8[tokens - sinks][channels / 2]
// Channel 2j is in the low half of a nibble byte. Chunks count from the page's first token, sinks included.
struct LynxLayout {
  int tokens = 0;        // 1 .. 256
  int channels = 0;      // even
  int sinks = 0;         // 0 .. tokens
  int chunk_tokens = 32;

  LYNXKV_HOST_DEVICE int chunks() const { return (tokens + chunk_tokens - 1) / chunk_tokens; }
  LYNXKV_HOST_DEVICE std::size_t row_bytes() const { return static_cast<std::size_t>(channels) * 2; }
  LYNXKV_HOST_DEVICE std::size_t gmin_at() const { return static_cast<std::size_t>(sinks) * row_bytes(); }
  LYNXKV_HOST_DEVICE std::size_t gscale_at() const { return gmin_at() + row_bytes(); }
  LYNXKV_HOST_DEVICE std::size_t mu8_at() const { return gscale_at() + row_bytes(); }
  LYNXKV_HOST_DEVICE std::size_t sg8_at() const { return mu8_at() + static_cast<std::size_t>(chunks()) * static_cast<std::size_t>(channels); }
  LYNXKV_HOST_DEVICE std::size_t nibbles_at() const { return sg8_at() + static_cast<std::size_t>(chunks()) * static_cast<std::size_t>(channels); }
  LYNXKV_HOST_DEVICE std::size_t nibble_bytes() const { return static_cast<std::size_t>(tokens - sinks) * static_cast<std::size_t>(channels / 2); }
  LYNXKV_HOST_DEVICE std::size_t anchor_bytes() const { return nibbles_at() + nibble_bytes(); }
  LYNXKV_HOST_DEVICE std::size_t raw_bytes() const { return static_cast<std::size_t>(tokens) * row_bytes(); }
  // int16 values of scratch that lynx_encode needs.
  LYNXKV_HOST_DEVICE std::size_t workspace() const { return static_cast<std::size_t>(chunks()) * 2 * static_cast<std::size_t>(channels); }
};

// A cheap approximation of L * log1p(alpha u) / log1p(alpha), from which m is rounded. Where it comes within
// `near` of a tie between two values of m, the tables decide.
struct LynxGuess {
  bool of_logarithm = false;  // coefficients are of log2(1 + t), t in [0, 1), after v = 1 + alpha u = 2^e (1 + t)
  int degree = 3;             // 3, 5 or 7
  float coefficient[8] = {};
  float scale = 1;            // L / log2(1 + alpha), of_logarithm only
  float near = 0;
};

struct LynxCoding {
  LynxTables tables;
  LynxGuess guess;
  float alpha = 0;
  LynxCentre centre = LynxCentre::mid;
  LynxSigma sigma = LynxSigma::log;
  LynxFit fit = LynxFit::extremes;  // of the encoder alone: codec_math.hpp has the rule
  float signed_level[256] = {};  // [anchor nibble << 4 | residual nibble]: lynx_full_magnitude
  float signed_draft[16] = {};   // [anchor nibble]: lynx_draft_magnitude
  // [a << 4 | residual nibble], a = 0 .. 7: the magnitude's upper and lower 16 bits
  std::uint16_t level_upper[128] = {}, level_lower[128] = {};
};

// alpha in [0.001, 1000], levels 112 or 120. Tables are computed in double and rounded once.
LynxCoding make_lynx_coding(float alpha, int levels, LynxCentre centre, LynxSigma sigma,
                            LynxFit fit = LynxFit::extremes);

// rows: [tokens][channels]. anchor: layout.anchor_bytes(); residual: layout.nibble_bytes(), or null where only the
// anchor is wanted. workspace: layout.workspace() values. No alignment is needed.
PageOutcome lynx_encode(const Bf16* rows, const LynxLayout& layout, const LynxCoding& coding, std::byte* anchor,
                        std::byte* residual, std::int16_t* workspace);

// Whether every page scalar (gmin, gscale) and sink is finite. A decoder refuses what no encoder writes.
bool lynx_scalars_are_finite(const std::byte* anchor, const LynxLayout& layout);

// rows: [tokens][channels], written whole. The payloads have the layout's sizes and finite scalars.
void lynx_decode_draft(const std::byte* anchor, const LynxLayout& layout, const LynxCoding& coding, Bf16* rows);
void lynx_decode_full(const std::byte* anchor, const std::byte* residual, const LynxLayout& layout,
                      const LynxCoding& coding, Bf16* rows);

// The plain form, channel by channel: it defines the bytes.
namespace reference {
PageOutcome lynx_encode(const Bf16* rows, const LynxLayout& layout, const LynxCoding& coding, std::byte* anchor,
                        std::byte* residual);
void lynx_decode_draft(const std::byte* anchor, const LynxLayout& layout, const LynxCoding& coding, Bf16* rows);
void lynx_decode_full(const std::byte* anchor, const std::byte* residual, const LynxLayout& layout,
                      const LynxCoding& coding, Bf16* rows);
}  // namespace reference

// Plain integers of 4 or 8 bits with an affine scale for each group of values: lo + q * step.
// The groups are a token's head (head_dim values) or, per_channel, a channel of the page (tokens values).
//   payload: lo bf16[groups], step bf16[groups] (token-major, or by channel), then the codes token-major;
//            4 bits: two a byte, the even channel low
// A page with a value of 2^126 or more travels raw, as with `lynx`.
struct UniformLayout {
  int tokens = 0;
  int channels = 0;  // even
  int head_dim = 0;  // divides channels
  int bits = 8;      // 4 or 8
  bool per_channel = false;

  LYNXKV_HOST_DEVICE std::size_t values() const { return static_cast<std::size_t>(tokens) * static_cast<std::size_t>(channels); }
  LYNXKV_HOST_DEVICE std::size_t groups() const {
    return per_channel ? static_cast<std::size_t>(channels) : values() / static_cast<std::size_t>(head_dim);
  }
  LYNXKV_HOST_DEVICE std::size_t step_at() const { return groups() * 2; }
  LYNXKV_HOST_DEVICE std::size_t codes_at() const { return groups() * 4; }
  LYNXKV_HOST_DEVICE std::size_t payload_bytes() const { return codes_at() + (bits == 8 ? values() : values() / 2); }
};
PageOutcome uniform_encode(const Bf16* rows, const UniformLayout& layout, std::byte* payload);
bool uniform_scalars_are_finite(const std::byte* payload, const UniformLayout& layout);
void uniform_decode(const std::byte* payload, const UniformLayout& layout, Bf16* rows);

namespace reference {
PageOutcome uniform_encode(const Bf16* rows, const UniformLayout& layout, std::byte* payload);
void uniform_decode(const std::byte* payload, const UniformLayout& layout, Bf16* rows);
}  // namespace reference

// Instruction sets that the vector kernels were compiled for and this CPU has, best first.
std::vector<std::string> codec_targets();
// The one in use. Tests choose another with use_codec_target; an empty name gives the best one back.
std::string codec_target();
void use_codec_target(std::string_view name);

}  // namespace lynxkv::kernels
