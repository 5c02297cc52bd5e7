// The plain integer codecs, vectorised: along a token's head, or along neighbouring channels of the page.
#include <limits>

#include "kernels/codec.hpp"
#include "kernels/codec_uniform_math.hpp"
#include "kernels/parallel.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/codec_uniform.cpp"
#include <hwy/foreach_target.h>
// After foreach_target: the helpers of each instruction set.
#include <hwy/highway.h>

#include "kernels/cpu/codec_lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace lynxkv::kernels::strips::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR  // no vectors at all: only LargestSize is ever called
int LargestSize(const Bf16* values, std::size_t count) {
  int largest = 0;
  for (std::size_t i = 0; i < count; ++i) largest = HWY_MAX(largest, values[i].bits & 0x7fff);
  return largest;
}
int UniformPairs() { return std::numeric_limits<int>::max(); }
void EncodeTokens(const Bf16*, const UniformLayout&, std::byte*, int, int) {}
void EncodeChannels(const Bf16*, const UniformLayout&, std::byte*, int) {}
void DecodeTokens(const std::byte*, const UniformLayout&, Bf16*, int, int) {}
#else

// The largest |x| as bf16 bits without the sign.
int LargestSize(const Bf16* values, std::size_t count) {
  const std::size_t lanes = hn::Lanes(Halves());
  const auto* bits = reinterpret_cast<const std::int16_t*>(values);
  const Half mask = hn::Set(Halves(), 0x7fff);
  Half largest = hn::Zero(Halves());
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) largest = hn::Max(largest, hn::And(hn::LoadU(Halves(), bits + i), mask));
  HWY_ALIGN std::int16_t each[HWY_MAX_BYTES / 2];
  hn::Store(largest, Halves(), each);
  int most = 0;
  for (std::size_t lane = 0; lane < lanes; ++lane) most = HWY_MAX(most, static_cast<int>(each[lane]));
  for (; i < count; ++i) most = HWY_MAX(most, values[i].bits & 0x7fff);
  return most;
}

int UniformPairs() { return static_cast<int>(hn::Lanes(Words())); }

struct Affine {
  Float lo, step;
};
HWY_INLINE Affine same(Bf16 lo, Bf16 step) {
  return {hn::Set(Floats(), to_float(lo)), hn::Set(Floats(), to_float(step))};
}

HWY_INLINE Word code(Float x, const Affine& group, Float top) {
  const Float half = hn::Set(Floats(), 0.5f);
  const Float scaled = hn::Add(hn::Div(hn::Sub(x, group.lo), group.step), half);
  const auto spread = hn::Gt(group.step, hn::Zero(Floats()));
  return floor_of(hn::Min(hn::IfThenElseZero(spread, scaled), top));
}

HWY_INLINE void encode_pairs(Word pairs, const Affine& even, const Affine& odd, int bits, Float top, std::byte* codes) {
  const Word low = code(even_values(pairs), even, top), high = code(odd_values(pairs), odd, top);
  if (bits == 8)
    store_byte_pairs(low, high, codes);
  else
    store_bytes(hn::Or(low, hn::ShiftLeft<4>(high)), codes);
}

HWY_INLINE Word decode_pairs(const std::byte* codes, const Affine& even, const Affine& odd, int bits) {
  const Word both = bits == 8 ? load_byte_pairs(codes) : load_bytes(codes);
  const Word low = hn::And(both, hn::Set(Words(), bits == 8 ? 0xff : 0x0f));
  const Word high = bits == 8 ? hn::ShiftRight<8>(both) : hn::ShiftRight<4>(both);
  const Float even_value = hn::Add(hn::Mul(float_of(low), even.step), even.lo);
  const Float odd_value = hn::Add(hn::Mul(float_of(high), odd.step), odd.lo);
  return to_pairs(even_value, odd_value);
}

struct Extremes {
  Half least, largest;
  HWY_INLINE Extremes() : least(hn::Set(Halves(), 0x7fff)), largest(hn::Set(Halves(), -0x7fff - 1)) {}
  HWY_INLINE void add(Word pairs) {
    const Half x = ordered(hn::BitCast(Halves(), pairs));
    least = hn::Min(least, x);
    largest = hn::Max(largest, x);
  }
};

// Over all lanes, as bf16.
HWY_INLINE Bf16 over_lanes(Half extreme, bool largest) {
  using Wide = hn::Vec<Signed>;
  const Wide low = hn::ShiftRight<16>(hn::ShiftLeft<16>(hn::BitCast(Signed(), extreme)));
  const Wide high = hn::ShiftRight<16>(hn::BitCast(Signed(), extreme));
  const std::int32_t most = hn::GetLane(largest ? hn::MaxOfLanes(Signed(), hn::Max(low, high))
                                                : hn::MinOfLanes(Signed(), hn::Min(low, high)));
  return Bf16{static_cast<std::uint16_t>(most < 0 ? most ^ 0x7fff : most)};
}

// Visits the pairs of [0, pairs) a vector at a time; the last one overlaps where the width does not divide.
template <class Visit>
HWY_INLINE void over_pairs(std::size_t pairs, Visit visit) {
  const std::size_t lanes = hn::Lanes(Words());
  std::size_t pair = 0;
  for (; pair + lanes <= pairs; pair += lanes) visit(pair);
  if (pair < pairs) visit(pairs - lanes);
}

struct Place {  // of one token's head
  const UniformLayout& layout;
  std::size_t head_dim, heads, code_bytes;  // code bytes of a row
  explicit Place(const UniformLayout& of)
      : layout(of), head_dim(static_cast<std::size_t>(of.head_dim)), heads(static_cast<std::size_t>(of.channels) / head_dim),
        code_bytes(static_cast<std::size_t>(of.channels) * static_cast<std::size_t>(of.bits) / 8) {}
  std::size_t row(std::size_t token) const { return token * static_cast<std::size_t>(layout.channels); }
  std::size_t codes(std::size_t token) const { return layout.codes_at() + token * code_bytes; }
};

void EncodeTokens(const Bf16* rows, const UniformLayout& layout, std::byte* payload, int first, int last) {
  const Place place(layout);
  const int largest_code = (1 << layout.bits) - 1;
  const Float top = hn::Set(Floats(), static_cast<float>(largest_code));
  for (auto token = static_cast<std::size_t>(first); token < static_cast<std::size_t>(last); ++token)
    for (std::size_t head = 0; head < place.heads; ++head) {
      const Bf16* values = rows + place.row(token) + head * place.head_dim;
      Extremes extremes;
      over_pairs(place.head_dim / 2, [&](std::size_t pair) { extremes.add(load_pairs(values + pair * 2)); });
      const UniformScale scale =
          uniform_scale(over_lanes(extremes.least, false), over_lanes(extremes.largest, true), largest_code);
      const std::size_t group = token * place.heads + head;
      std::memcpy(payload + group * 2, &scale.lo, 2);
      std::memcpy(payload + layout.step_at() + group * 2, &scale.step, 2);
      const Affine affine = same(scale.lo, scale.step);
      std::byte* codes = payload + place.codes(token) + head * (place.code_bytes / place.heads);
      over_pairs(place.head_dim / 2, [&](std::size_t pair) {
        encode_pairs(load_pairs(values + pair * 2), affine, affine, layout.bits, top,
                     codes + pair * static_cast<std::size_t>(layout.bits) / 4);
      });
    }
}

void EncodeChannels(const Bf16* rows, const UniformLayout& layout, std::byte* payload, int first_pair) {
  const Place place(layout);
  const float largest_code = static_cast<float>((1 << layout.bits) - 1);
  const Float top = hn::Set(Floats(), largest_code);
  const auto pair = static_cast<std::size_t>(first_pair), tokens = static_cast<std::size_t>(layout.tokens);
  Extremes extremes;
  for (std::size_t token = 0; token < tokens; ++token) extremes.add(load_pairs(rows + place.row(token) + pair * 2));
  const Word least = hn::BitCast(Words(), ordered(extremes.least)), largest = hn::BitCast(Words(), ordered(extremes.largest));
  const auto step = [&](Float range) { return range_bits(hn::Div(range, top)); };
  const Word even_step = step(hn::Sub(even_values(largest), even_values(least)));
  const Word odd_step = step(hn::Sub(odd_values(largest), odd_values(least)));
  const Word lo = without_negative_zeros(least);
  store_pairs(lo, payload + pair * 4);
  store_pairs(hn::Or(hn::ShiftRight<16>(even_step), odd_step), payload + layout.step_at() + pair * 4);
  const Affine even{even_values(lo), hn::BitCast(Floats(), even_step)}, odd{odd_values(lo), hn::BitCast(Floats(), odd_step)};
  for (std::size_t token = 0; token < tokens; ++token)
    encode_pairs(load_pairs(rows + place.row(token) + pair * 2), even, odd, layout.bits, top,
                 payload + place.codes(token) + pair * static_cast<std::size_t>(layout.bits) / 4);
}

void DecodeTokens(const std::byte* payload, const UniformLayout& layout, Bf16* rows, int first, int last) {
  const Place place(layout);
  const std::size_t code_step = static_cast<std::size_t>(layout.bits);  // eighths of a byte a value, quarters a pair
  for (auto token = static_cast<std::size_t>(first); token < static_cast<std::size_t>(last); ++token) {
    const std::byte* codes = payload + place.codes(token);
    Bf16* row = rows + place.row(token);
    if (layout.per_channel) {
      over_pairs(static_cast<std::size_t>(layout.channels) / 2, [&](std::size_t pair) {
        const Word lo = load_pairs(payload + pair * 4), step = load_pairs(payload + layout.step_at() + pair * 4);
        store_pairs(decode_pairs(codes + pair * code_step / 4, {even_values(lo), even_values(step)},
                                 {odd_values(lo), odd_values(step)}, layout.bits),
                    row + pair * 2);
      });
      continue;
    }
    for (std::size_t head = 0; head < place.heads; ++head) {
      Bf16 scale[2];
      const std::size_t group = token * place.heads + head;
      std::memcpy(&scale[0], payload + group * 2, 2);
      std::memcpy(&scale[1], payload + layout.step_at() + group * 2, 2);
      const Affine affine = same(scale[0], scale[1]);
      const std::byte* head_codes = codes + head * (place.code_bytes / place.heads);
      Bf16* values = row + head * place.head_dim;
      over_pairs(place.head_dim / 2, [&](std::size_t pair) {
        store_pairs(decode_pairs(head_codes + pair * code_step / 4, affine, affine, layout.bits), values + pair * 2);
      });
    }
  }
}
#endif

}  // namespace lynxkv::kernels::strips::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lynxkv::kernels {
namespace strips {

HWY_EXPORT(LargestSize);
HWY_EXPORT(UniformPairs);
HWY_EXPORT(EncodeTokens);
HWY_EXPORT(EncodeChannels);
HWY_EXPORT(DecodeTokens);

int largest_size(const Bf16* values, std::size_t count) { return HWY_DYNAMIC_DISPATCH(LargestSize)(values, count); }

// Whether the vectors fit: a head, or a row, of whole pairs and at least one vector.
bool fits(const UniformLayout& layout) {
  const int values = layout.per_channel ? layout.channels : layout.head_dim;
  return values % 2 == 0 && values / 2 >= HWY_DYNAMIC_DISPATCH(UniformPairs)();
}

constexpr int tokens_a_task = 16;

// About what a value takes on one thread: enough to tell long work from short.
constexpr double encode_picoseconds = 300, decode_picoseconds = 150;

template <class Body>
void for_tokens(const UniformLayout& layout, double picoseconds, Body body) {
  const int tokens = layout.tokens;
  parallel_for((tokens + tokens_a_task - 1) / tokens_a_task, layout.values(), picoseconds, [&](int task, int) {
    const int first = task * tokens_a_task;
    body(first, first + tokens_a_task < tokens ? first + tokens_a_task : tokens);
  });
}

void encode_tokens(const Bf16* rows, const UniformLayout& layout, std::byte* payload) {
  for_tokens(layout, encode_picoseconds, [&](int first, int last) { HWY_DYNAMIC_DISPATCH(EncodeTokens)(rows, layout, payload, first, last); });
}

void encode_channels(const Bf16* rows, const UniformLayout& layout, std::byte* payload) {
  const int pairs = layout.channels / 2, width = HWY_DYNAMIC_DISPATCH(UniformPairs)(), whole = pairs / width;
  parallel_for(whole, layout.values(), encode_picoseconds, [&](int strip, int) {
    HWY_DYNAMIC_DISPATCH(EncodeChannels)(rows, layout, payload, strip * width);
    if (strip == whole - 1 && pairs % width != 0) HWY_DYNAMIC_DISPATCH(EncodeChannels)(rows, layout, payload, pairs - width);
  });
}

void decode_tokens(const std::byte* payload, const UniformLayout& layout, Bf16* rows) {
  for_tokens(layout, decode_picoseconds, [&](int first, int last) { HWY_DYNAMIC_DISPATCH(DecodeTokens)(payload, layout, rows, first, last); });
}

}  // namespace strips

PageOutcome page_outcome(const Bf16* values, std::size_t count) {
  const int largest = strips::largest_size(values, count);
  return largest >= 0x7f80 ? PageOutcome::not_finite : largest >= 0x7e80 ? PageOutcome::raw : PageOutcome::coded;
}

PageOutcome uniform_encode(const Bf16* rows, const UniformLayout& layout, std::byte* payload) {
  if (!strips::fits(layout)) return reference::uniform_encode(rows, layout, payload);
  if (const PageOutcome outcome = page_outcome(rows, layout.values()); outcome != PageOutcome::coded) return outcome;
  layout.per_channel ? strips::encode_channels(rows, layout, payload) : strips::encode_tokens(rows, layout, payload);
  return PageOutcome::coded;
}

bool uniform_scalars_are_finite(const std::byte* payload, const UniformLayout& layout) {
  return page_outcome(reinterpret_cast<const Bf16*>(payload), layout.groups() * 2) != PageOutcome::not_finite;
}

void uniform_decode(const std::byte* payload, const UniformLayout& layout, Bf16* rows) {
  if (!strips::fits(layout)) return reference::uniform_decode(payload, layout, rows);
  strips::decode_tokens(payload, layout, rows);
}

}  // namespace lynxkv::kernels
#endif
