#include "kernels/cpu/exact_segment.hpp"

#include <array>
#include <cstring>

namespace lynxkv::kernels::exact {
namespace {

// For each number of members: the share of slots, and reciprocals that divide exactly.
struct Share {
  std::uint64_t of_state;  // floor(s * of_state / 2^64) = s / share for every s below 2^32
  std::uint32_t of_slot;   // (slot * of_slot) >> 32 = slot / share for every slot below 2^14
  std::uint32_t share;
};

constexpr std::array<Share, exact_widest_cell + 1> make_shares() {
  std::array<Share, exact_widest_cell + 1> shares{};
  for (int count = 1; count <= exact_widest_cell; ++count) {
    const std::uint32_t share = (exact_slots - 1) / static_cast<std::uint32_t>(count);
    shares[static_cast<std::size_t>(count)] = {~std::uint64_t{0} / share + 1, ~std::uint32_t{0} / share + 1, share};
  }
  return shares;
}
constexpr auto shares = make_shares();

__extension__ using Wide = unsigned __int128;

std::uint32_t quotient(std::uint32_t state, const Share& by) {
  return static_cast<std::uint32_t>((static_cast<Wide>(state) * by.of_state) >> 64);
}

std::uint16_t word_at(const std::byte* words, std::size_t index) {
  std::uint16_t word;
  std::memcpy(&word, words + index * 2, sizeof word);
  return word;
}

// The symbol "none of the cell's members".
std::uint32_t encode_none(std::uint32_t state, int count, std::uint16_t*& word) {
  const std::uint32_t start = static_cast<std::uint32_t>(count) * shares[static_cast<std::size_t>(count)].share;
  const std::uint32_t share = exact_slots - start;
  if (state >= std::uint64_t{share} << 18) {
    *--word = static_cast<std::uint16_t>(state);
    state >>= 16;
  }
  return (state / share << exact_slot_bits) + state % share + start;
}

// Takes words and extras in order and notices the end of either.
struct Reader {
  std::span<const std::byte> words, extras;
  std::size_t word = 0, extra = 0;
  bool ok = true;

  std::uint16_t next_extra() {
    if (extra * 2 == extras.size()) {
      ok = false;
      return 0;
    }
    const std::uint16_t bits = word_at(extras.data(), extra++);
    ok = ok && is_finite(Bf16{bits});
    return bits;
  }
  std::uint32_t refill(std::uint32_t state) {
    if (state >= exact_state_floor) return state;
    if (word * 2 == words.size()) {
      ok = false;
      return exact_state_floor;
    }
    return state << 16 | word_at(words.data(), word++);
  }
};

std::uint16_t decode_none(std::uint32_t& state, std::uint32_t slot, std::uint32_t start, Reader& in) {
  state = (exact_slots - start) * (state >> exact_slot_bits) + slot - start;
  return in.next_extra();
}

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
    bits = decode_none(state, slot, count * by.share, in);
  }
  state = in.refill(state);
  return bits;
}

// 32 values of 32 lanes, where at least 33 words are left: the refill reads a word whether it is needed or not.
void decode_step(std::uint32_t* state, const std::int16_t* first, const std::uint16_t* count, Reader& in,
                 std::uint16_t* values) {
  const std::byte* word = in.words.data() + in.word * 2;
  for (int lane = 0; lane < exact_lanes; ++lane) {
    const std::uint32_t members = count[lane];
    if (members > exact_widest_cell) [[unlikely]] {
      values[lane] = in.next_extra();
      continue;
    }
    const Share& by = shares[members];
    const std::uint32_t slot = state[lane] & (exact_slots - 1);
    const auto member = static_cast<std::uint32_t>((std::uint64_t{slot} * by.of_slot) >> 32);
    std::uint32_t next = by.share * (state[lane] >> exact_slot_bits) + slot - member * by.share;
    values[lane] = exact_value(first[lane] + static_cast<int>(member)).bits;
    if (member >= members) [[unlikely]] {
      next = state[lane];
      values[lane] = decode_none(next, slot, members * by.share, in);
    }
    const bool refills = next < exact_state_floor;
    const std::uint32_t refilled = next << 16 | word_at(word, 0);
    state[lane] = refills ? refilled : next;
    word += refills ? 2 : 0;
  }
  in.word = static_cast<std::size_t>(word - in.words.data()) / 2;
}

}  // namespace

Coded encode_segment(const Cells& cells, const std::uint16_t* values, std::uint16_t* words, std::uint16_t* extras) {
  Coded out;
  for (std::uint32_t& state : out.state) state = exact_state_floor;
  std::uint16_t* word = words + cells.values;  // a value makes one word at most
  std::uint16_t* extra = extras + cells.values;
  for (std::size_t i = cells.values; i-- > 0;) {
    const std::uint32_t count = cells.count[i];
    if (count > exact_widest_cell) [[unlikely]] {
      *--extra = values[i];
      continue;
    }
    std::uint32_t& lane = out.state[i % exact_lanes];
    const auto member = static_cast<std::uint32_t>(exact_ordinal(Bf16{values[i]}) - cells.first[i]);
    if (member >= count) [[unlikely]] {
      *--extra = values[i];
      lane = encode_none(lane, static_cast<int>(count), word);
      continue;
    }
    const Share& by = shares[count];
    const std::uint32_t state = lane;
    const bool full = state >= by.share << 18;
    word[-1] = static_cast<std::uint16_t>(state);
    word -= full ? 1 : 0;
    const std::uint32_t rest = full ? state >> 16 : state;
    const std::uint32_t whole = quotient(rest, by);
    lane = (whole << exact_slot_bits) + rest - whole * by.share + member * by.share;
  }
  out.words = static_cast<std::size_t>(words + cells.values - word);
  out.extras = static_cast<std::size_t>(extras + cells.values - extra);
  std::memmove(extras, extra, out.extras * 2);
  return out;
}

bool decode_segment(const Cells& cells, const Source& source, std::uint16_t* values) {
  std::uint32_t state[exact_lanes];
  std::memcpy(state, source.states, sizeof state);
  for (const std::uint32_t s : state)
    if (s < exact_state_floor) return false;
  Reader in{source.words, source.extras};
  std::size_t i = 0;
  const std::size_t total_words = source.words.size() / 2;
  for (; i + exact_lanes <= cells.values && in.word + exact_lanes < total_words; i += exact_lanes)
    decode_step(state, cells.first + i, cells.count + i, in, values + i);
  for (; i < cells.values && in.ok; ++i)
    values[i] = decode_value(state[i % exact_lanes], cells.first[i], cells.count[i], in);
  std::uint32_t differences = 0;
  for (const std::uint32_t s : state) differences |= s ^ exact_state_floor;
  return in.ok && differences == 0 && in.word == total_words && in.extra * 2 == source.extras.size();
}

}  // namespace lynxkv::kernels::exact
