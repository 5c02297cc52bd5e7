// The plain integer codecs in their plain form: one value at a time, exactly as the format says it.
#include "kernels/codec_uniform_math.hpp"

#include <cstring>

#include "kernels/codec.hpp"

namespace lynxkv::kernels::reference {
namespace {

// A group's values lie `stride` apart from `first`; a row of the page holds `group_stride` values between groups.
struct Group {
  std::size_t first, count, stride;
};
Group group_of(const UniformLayout& layout, std::size_t index) {
  const auto channels = static_cast<std::size_t>(layout.channels);
  if (layout.per_channel) return {index, static_cast<std::size_t>(layout.tokens), channels};
  return {index * static_cast<std::size_t>(layout.head_dim), static_cast<std::size_t>(layout.head_dim), 1};
}

Bf16 load(const std::byte* values, std::size_t index) {
  Bf16 x;
  std::memcpy(&x, values + index * 2, sizeof x);
  return x;
}

UniformScale scale_of(const Bf16* rows, const Group& group, int largest_code) {
  Bf16 least = rows[group.first], largest = least;
  for (std::size_t i = 1; i < group.count; ++i) {
    const Bf16 x = rows[group.first + i * group.stride];
    if (to_float(x) < to_float(least)) least = x;
    if (to_float(x) > to_float(largest)) largest = x;
  }
  return uniform_scale(least, largest, largest_code);
}

// Which scale a value has.
std::size_t group_at(const UniformLayout& layout, std::size_t token, std::size_t channel) {
  const auto heads = static_cast<std::size_t>(layout.channels / layout.head_dim);
  return layout.per_channel ? channel : token * heads + channel / static_cast<std::size_t>(layout.head_dim);
}

}  // namespace

PageOutcome uniform_encode(const Bf16* rows, const UniformLayout& layout, std::byte* payload) {
  if (const PageOutcome outcome = page_outcome(rows, layout.values()); outcome != PageOutcome::coded) return outcome;
  const int largest_code = (1 << layout.bits) - 1;
  for (std::size_t i = 0; i < layout.groups(); ++i) {
    const UniformScale scale = scale_of(rows, group_of(layout, i), largest_code);
    std::memcpy(payload + i * 2, &scale.lo, 2);
    std::memcpy(payload + layout.step_at() + i * 2, &scale.step, 2);
  }
  const auto channels = static_cast<std::size_t>(layout.channels);
  for (std::size_t token = 0; token < static_cast<std::size_t>(layout.tokens); ++token) {
    const auto code = [&](std::size_t channel) {
      const std::size_t group = group_at(layout, token, channel);
      return uniform_code(rows[token * channels + channel], to_float(load(payload, group)),
                          to_float(load(payload + layout.step_at(), group)), largest_code);
    };
    std::byte* codes = payload + layout.codes_at() + token * channels * static_cast<std::size_t>(layout.bits) / 8;
    for (std::size_t channel = 0; channel < channels; channel += 2) {
      const int even = code(channel), odd = code(channel + 1);
      if (layout.bits == 4) {
        codes[channel / 2] = static_cast<std::byte>(even | odd << 4);
      } else {
        codes[channel] = static_cast<std::byte>(even);
        codes[channel + 1] = static_cast<std::byte>(odd);
      }
    }
  }
  return PageOutcome::coded;
}

void uniform_decode(const std::byte* payload, const UniformLayout& layout, Bf16* rows) {
  const auto channels = static_cast<std::size_t>(layout.channels);
  for (std::size_t token = 0; token < static_cast<std::size_t>(layout.tokens); ++token) {
    const auto value = [&](std::size_t channel, int code) {
      const std::size_t group = group_at(layout, token, channel);
      rows[token * channels + channel] =
          uniform_value(code, to_float(load(payload, group)), to_float(load(payload + layout.step_at(), group)));
    };
    const std::byte* codes = payload + layout.codes_at() + token * channels * static_cast<std::size_t>(layout.bits) / 8;
    for (std::size_t channel = 0; channel < channels; channel += 2) {
      if (layout.bits == 4) {
        const int both = static_cast<int>(codes[channel / 2]);
        value(channel, both & 15);
        value(channel + 1, both >> 4);
      } else {
        value(channel, static_cast<int>(codes[channel]));
        value(channel + 1, static_cast<int>(codes[channel + 1]));
      }
    }
  }
}

}  // namespace lynxkv::kernels::reference
