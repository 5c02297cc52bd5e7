// The `lynx` codec in its plain form: one channel at a time, exactly as the format says it. Slow and obvious.
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/codec.hpp"

namespace lynxkv::kernels::reference {
namespace {

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <class T>
void store(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

// One channel's rows, and where its parts of the payloads are.
struct Channel {
  const LynxLayout& layout;
  const LynxCoding& coding;
  int channel;

  std::size_t row(int token) const {
    return static_cast<std::size_t>(token) * static_cast<std::size_t>(layout.channels) + static_cast<std::size_t>(channel);
  }
  std::size_t bf16_at(std::size_t base) const { return base + static_cast<std::size_t>(channel) * 2; }
  std::size_t u8_at(std::size_t base, int chunk) const {
    return base + static_cast<std::size_t>(chunk) * static_cast<std::size_t>(layout.channels) + static_cast<std::size_t>(channel);
  }
  std::size_t nibble_byte(int token) const {
    return static_cast<std::size_t>(token - layout.sinks) * static_cast<std::size_t>(layout.channels / 2) +
           static_cast<std::size_t>(channel / 2);
  }
  void put(std::byte* nibbles, int token, int code) const {
    std::byte& both = nibbles[nibble_byte(token)];
    both = channel % 2 == 0 ? static_cast<std::byte>(code) : both | static_cast<std::byte>(code << 4);
  }
  int get(const std::byte* nibbles, int token) const {
    const int both = static_cast<int>(nibbles[nibble_byte(token)]);
    return channel % 2 == 0 ? both & 15 : both >> 4;
  }
};

float chunk_centre(const Channel& c, const Bf16* rows, int first, int last, float gmin, float gscale) {
  float least = 0, largest = 0, sum = 0;
  for (int token = first; token < last; ++token) {
    const float xn = lynx_normalise(rows[c.row(token)], gmin, gscale);
    least = token == first || xn < least ? xn : least;
    largest = token == first || xn > largest ? xn : largest;
    sum = sum + xn;
  }
  return c.coding.centre == LynxCentre::mid ? (least + largest) * 0.5f : sum / static_cast<float>(last - first);
}

// What a chunk's values are measured by.
struct Scalars {
  std::uint8_t mu8, sg8;
};

// Normalised values [count] of a chunk, in order of tokens. `start` is what the extremes give.
Scalars fitted(const float* xn, int count, Scalars start, const LynxCoding& coding) {
  const LynxTables& tables = coding.tables;
  float low = xn[0], high = xn[0];
  for (int i = 1; i < count; ++i) {
    low = xn[i] < low ? xn[i] : low;
    high = xn[i] > high ? xn[i] : high;
  }
  Scalars best = start;
  float least = INFINITY;
  for (int trial = 0; trial < lynx_fit_trials; ++trial) {
    const int mu8 = start.mu8 + lynx_fit_shift(trial);
    if (mu8 < 0 || mu8 > 255) continue;
    const float mu = lynx_centre_value(static_cast<std::uint8_t>(mu8));
    const float below = std::fabs(low - mu), above = std::fabs(high - mu), s = below > above ? below : above;
    const std::uint8_t narrow = lynx_scalar_code(s, coding.sigma, tables.scalar);
    for (const std::uint8_t sg8 : {narrow, lynx_wider_scalar(narrow, s, coding.sigma)}) {
      const float sg = tables.scalar[sg8], per = sg > 0.0f ? lynx_fit_steps(tables.levels) / sg : 0.0f;
      float sum = 0;
      for (int i = 0; i < count; ++i) {
        const float miss = lynx_fit_miss(std::fabs(xn[i] - mu), per);
        sum = sum + miss * miss;
      }
      const float error = (sum * sg) * sg;
      if (!(error < least)) continue;
      least = error;
      best = {static_cast<std::uint8_t>(mu8), sg8};
    }
  }
  return best;
}

void encode_chunk(const Channel& c, const Bf16* rows, int chunk, LynxScale scale, std::byte* anchor, std::byte* residual) {
  const LynxTables& tables = c.coding.tables;
  const int from = chunk * c.layout.chunk_tokens;
  const int first = from > c.layout.sinks ? from : c.layout.sinks;
  const int last = from + c.layout.chunk_tokens < c.layout.tokens ? from + c.layout.chunk_tokens : c.layout.tokens;
  std::uint8_t mu8 = 0, sg8 = 0;
  if (first < last) {
    const float gmin = to_float(scale.gmin), gscale = to_float(scale.gscale);
    mu8 = lynx_centre_code(chunk_centre(c, rows, first, last, gmin, gscale));
    float mu = lynx_centre_value(mu8), s = 0;
    for (int token = first; token < last; ++token) {
      const float size = std::fabs(lynx_normalise(rows[c.row(token)], gmin, gscale) - mu);
      s = size > s ? size : s;
    }
    sg8 = lynx_scalar_code(s, c.coding.sigma, tables.scalar);
    if (c.coding.fit == LynxFit::least_error) {
      std::vector<float> xn;
      for (int token = first; token < last; ++token) xn.push_back(lynx_normalise(rows[c.row(token)], gmin, gscale));
      const Scalars chosen = fitted(xn.data(), last - first, {mu8, sg8}, c.coding);
      mu8 = chosen.mu8;
      mu = lynx_centre_value(mu8);
      sg8 = chosen.sg8;
    }
    for (int token = first; token < last; ++token) {
      const float d = lynx_normalise(rows[c.row(token)], gmin, gscale) - mu;
      const int m = lynx_magnitude(lynx_ratio(std::fabs(d), tables.scalar[sg8]), tables, 0);
      const LynxCode code = lynx_split(m, d < 0.0f);
      c.put(anchor + c.layout.nibbles_at(), token, code.anchor);
      if (residual != nullptr) c.put(residual, token, code.residual);
    }
  }
  store(anchor + c.u8_at(c.layout.mu8_at(), chunk), mu8);
  store(anchor + c.u8_at(c.layout.sg8_at(), chunk), sg8);
}

template <class Magnitude>
void decode(const std::byte* anchor, const LynxLayout& layout, const LynxCoding& coding, Bf16* rows, Magnitude magnitude) {
  std::memcpy(rows, anchor, layout.gmin_at());
  for (int channel = 0; channel < layout.channels; ++channel) {
    const Channel c{layout, coding, channel};
    const float gmin = to_float(load<Bf16>(anchor + c.bf16_at(layout.gmin_at())));
    const float gscale = to_float(load<Bf16>(anchor + c.bf16_at(layout.gscale_at())));
    for (int token = layout.sinks; token < layout.tokens; ++token) {
      const int chunk = token / layout.chunk_tokens;
      const float mu = lynx_centre_value(load<std::uint8_t>(anchor + c.u8_at(layout.mu8_at(), chunk)));
      const float sg = coding.tables.scalar[load<std::uint8_t>(anchor + c.u8_at(layout.sg8_at(), chunk))];
      rows[c.row(token)] = lynx_value(magnitude(c, token), sg, mu, gscale, gmin);
    }
  }
}

}  // namespace

PageOutcome lynx_encode(const Bf16* rows, const LynxLayout& layout, const LynxCoding& coding, std::byte* anchor,
                        std::byte* residual) {
  const std::size_t sink_values = layout.gmin_at() / 2, values = layout.raw_bytes() / 2;
  bool raw = false;
  for (std::size_t i = 0; i < values; ++i) {
    if (!is_finite(rows[i])) return PageOutcome::not_finite;
    raw = raw || (i >= sink_values && lynx_needs_raw(rows[i]));
  }
  if (raw) return PageOutcome::raw;
  std::memcpy(anchor, rows, layout.gmin_at());
  for (int channel = 0; channel < layout.channels; ++channel) {
    const Channel c{layout, coding, channel};
    LynxScale scale{};
    if (layout.sinks < layout.tokens) {
      Bf16 least = rows[c.row(layout.sinks)], largest = least;
      for (int token = layout.sinks + 1; token < layout.tokens; ++token) {
        const Bf16 x = rows[c.row(token)];
        if (to_float(x) < to_float(least)) least = x;
        if (to_float(x) > to_float(largest)) largest = x;
      }
      scale = lynx_scale(least, largest);
    }
    store(anchor + c.bf16_at(layout.gmin_at()), scale.gmin);
    store(anchor + c.bf16_at(layout.gscale_at()), scale.gscale);
    for (int chunk = 0; chunk < layout.chunks(); ++chunk) encode_chunk(c, rows, chunk, scale, anchor, residual);
  }
  return PageOutcome::coded;
}

void lynx_decode_draft(const std::byte* anchor, const LynxLayout& layout, const LynxCoding& coding, Bf16* rows) {
  const std::byte* nibbles = anchor + layout.nibbles_at();
  decode(anchor, layout, coding, rows,
         [&](const Channel& c, int token) { return lynx_draft_magnitude(c.get(nibbles, token), coding.tables); });
}

void lynx_decode_full(const std::byte* anchor, const std::byte* residual, const LynxLayout& layout,
                      const LynxCoding& coding, Bf16* rows) {
  const std::byte* nibbles = anchor + layout.nibbles_at();
  decode(anchor, layout, coding, rows, [&](const Channel& c, int token) {
    return lynx_full_magnitude(c.get(nibbles, token), c.get(residual, token), coding.tables);
  });
}

}  // namespace lynxkv::kernels::reference
