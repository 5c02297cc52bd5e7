#include "tests/fuzz/replay/mutate.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace lynxkv::fuzz {
namespace {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  std::uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    return state_ ^= state_ << 17;
  }
  std::size_t below(std::size_t bound) { return bound == 0 ? 0 : static_cast<std::size_t>(next() % bound); }

 private:
  std::uint64_t state_;
};

// Numbers at which lengths, counts and offsets go wrong.
constexpr std::array<std::uint64_t, 14> edges = {0,          1,
                                                 2,          31,
                                                 32,         0x7f,
                                                 0xff,       0x100,
                                                 0x7fffffff, 0x80000000,
                                                 0xffffffff, std::uint64_t{1} << 40,
                                                 INT64_MAX,  ~std::uint64_t{0}};

using Bytes = std::vector<std::uint8_t>;

void overwrite_number(Bytes& bytes, Random& random) {
  constexpr std::array<std::size_t, 4> widths = {1, 2, 4, 8};
  const std::size_t width = std::min(widths[random.below(4)], bytes.size());
  const std::uint64_t value = edges[random.below(edges.size())] + random.below(3) - 1;
  std::memcpy(bytes.data() + random.below(bytes.size() - width + 1), &value, width);
}

void change_once(Bytes& bytes, const Bytes& other, Random& random) {
  const std::size_t at = random.below(bytes.size());
  const std::size_t length =
      random.below(std::min<std::size_t>(bytes.size() - at, 40)) + (bytes.empty() ? 0 : 1);
  const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(at);
  const auto kind = bytes.empty() ? 5 : random.below(9);
  switch (kind) {
    case 0:
      bytes[at] ^= static_cast<std::uint8_t>(1u << random.below(8));
      break;
    case 1:
      bytes[at] = static_cast<std::uint8_t>(random.next());
      break;
    case 2:
    case 3:
      overwrite_number(bytes, random);
      break;
    case 4:
      bytes.erase(place, place + static_cast<std::ptrdiff_t>(length));
      break;
    case 5:
      bytes.insert(place, static_cast<std::uint8_t>(random.next()));
      break;
    case 6: {  // a piece twice
      const Bytes piece(place, place + static_cast<std::ptrdiff_t>(length));
      bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(random.below(bytes.size())), piece.begin(),
                   piece.end());
      break;
    }
    case 7:
      bytes.resize(at);
      break;
    default: {  // a piece of the other input
      if (other.empty()) break;
      const std::size_t from = random.below(other.size());
      const std::size_t count = std::min<std::size_t>(random.below(60) + 1, other.size() - from);
      bytes.insert(place, other.begin() + static_cast<std::ptrdiff_t>(from),
                   other.begin() + static_cast<std::ptrdiff_t>(from + count));
    }
  }
}

}  // namespace

Bytes mutate(const Bytes& input, const Bytes& other, std::uint64_t seed) {
  Random random(seed);
  Bytes bytes = input;
  for (std::size_t changes = 1 + random.below(random.below(4) == 0 ? 12 : 3); changes > 0; --changes)
    change_once(bytes, other, random);
  if (bytes.size() > std::max<std::size_t>(input.size(), 64 << 10))
    bytes.resize(std::max<std::size_t>(input.size(), 64 << 10));
  return bytes;
}

}  // namespace lynxkv::fuzz
