#include "kernels/cpu/exact_segment.hpp"

#include <array>

namespace lynxkv::kernels::exact {
namespace {

// For each number of members: the share of slots, and a reciprocal that divides exactly.
struct Share {
  std::uint32_t share;
  std::uint32_t of_slot;  // (slot * of_slot) >> 32 = slot / share for every slot below 2^14
};

constexpr std::array<Share, exact_widest_cell + 1> make_shares() {
  std::array<Share, exact_widest_cell + 1> shares{};
  for (int count = 1; count <= exact_widest_cell; ++count) {
    const std::uint32_t share = (exact_slots - 1) / static_cast<std::uint32_t>(count);
    shares[static_cast<std::size_t>(count)] = {share, exact_share_reciprocal(share)};
  }
  return shares;
}
constexpr auto shares = make_shares();

// One value of one lane, every read checked.
std::uint16_t decode_value(std::uint32_t& state, int first, std::uint32_t count, Reader& in) {
  if (count > exact_widest_cell) return in.next_extra();
  const Share& by = shares[count];
  const std::uint32_t slot = state & (exact_slots - 1);
  const auto member = static_cast<std::uint32_t>((std::uint64_t{slot} * by.of_slot) >> 32);
  std::uint16_t bits;
  if (member < count) {
    state = by.share * (state >> exact_slot_bits) + slot - member * by.share;
    bits = exact_value(first + static_cast<int>(member)).bits;
  } else {
    state = state_after_none(state, count);
    bits = in.next_extra();
  }
  if (state >= exact_state_floor) return bits;
  const bool empty = in.word * 2 == in.words.size();
  in.ok = in.ok && !empty;
  state = empty ? exact_state_floor : state << 16 | word_at(in.words.data(), in.word++);
  return bits;
}

}  // namespace

void encode_value(std::uint32_t& state, int first, std::uint32_t count, std::uint16_t bits, Writer& out) {
  if (count > exact_widest_cell) {
    *--out.extra = bits;
    return;
  }
  std::uint32_t share = shares[count].share;
  const auto member = static_cast<std::uint32_t>(exact_ordinal(Bf16{bits}) - first);
  const bool none = member >= count;
  const std::uint32_t start = none ? count * share : member * share;
  if (none) {
    *--out.extra = bits;
    share = exact_slots - start;
  }
  if (state >> 18 >= share) {
    *--out.word = static_cast<std::uint16_t>(state);
    state >>= 16;
  }
  state = (state / share << exact_slot_bits) + state % share + start;
}

Coded encode_segment(const Cells& cells, const std::uint16_t* values, std::uint16_t* words,
                     std::uint16_t* extras) {
  Coded out;
  for (std::uint32_t& state : out.state) state = exact_state_floor;
  Writer writer{words + cells.values, extras + cells.values};  // a value makes one word and one extra at most
  std::size_t left = cells.values;
  const auto encode_down_to = [&](std::size_t end) {
    for (; left > end; --left)
      encode_value(out.state[(left - 1) % exact_lanes], cells.first[left - 1], cells.count[left - 1],
                   values[left - 1], writer);
  };
  encode_down_to(cells.values / exact_lanes * exact_lanes);
  left -= encode_steps(cells, left, values, out.state, writer);
  encode_down_to(0);
  out.words = static_cast<std::size_t>(words + cells.values - writer.word);
  out.extras = static_cast<std::size_t>(extras + cells.values - writer.extra);
  std::memmove(extras, writer.extra, out.extras * 2);
  return out;
}

bool decode_segment(const Cells& cells, const Source& source, std::uint16_t* values) {
  std::uint32_t state[exact_lanes];
  std::memcpy(state, source.states, sizeof state);
  for (const std::uint32_t s : state)
    if (s < exact_state_floor) return false;
  Reader in{source.words, source.extras};
  for (std::size_t i = decode_steps(cells, in, state, values); i < cells.values && in.ok; ++i)
    values[i] = decode_value(state[i % exact_lanes], cells.first[i], cells.count[i], in);
  std::uint32_t differences = 0;
  for (const std::uint32_t s : state) differences |= s ^ exact_state_floor;
  return in.ok && differences == 0 && in.word * 2 == source.words.size() &&
         in.extra * 2 == source.extras.size();
}

}  // namespace lynxkv::kernels::exact
