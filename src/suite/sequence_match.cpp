#include "suite/sequence_match.hpp"

#include <cstddef>
#include <unordered_map>
#include <vector>

namespace lynxkv::suite {
namespace {

using Places = std::unordered_map<char32_t, std::vector<std::size_t>>;

// Where each character of b is, rising; without the popular ones of a long text.
Places places_of(std::u32string_view b) {
  Places places;
  for (std::size_t j = 0; j < b.size(); ++j) places[b[j]].push_back(j);
  if (b.size() >= 200)
    std::erase_if(places, [&](const auto& entry) { return entry.second.size() > b.size() / 100 + 1; });
  return places;
}

struct Window {
  std::size_t a_begin, a_end, b_begin, b_end;
};
struct Block {
  std::size_t a, b, size;
};

// The longest block inside the window; the earliest in a, then in b, where several are as long.
Block longest_block(std::u32string_view a, std::u32string_view b, const Places& places, const Window& window,
                    std::vector<std::size_t>& before, std::vector<std::size_t>& now) {
  Block best{window.a_begin, window.b_begin, 0};
  // before[j + 1]: length of the block that ends with a[i - 1] and b[j]. The two rows are all zero outside
  // this call.
  std::vector<std::size_t> touched_before, touched_now;
  for (std::size_t i = window.a_begin; i < window.a_end; ++i) {
    if (const auto found = places.find(a[i]); found != places.end())
      for (const std::size_t j : found->second) {
        if (j < window.b_begin) continue;
        if (j >= window.b_end) break;
        const std::size_t length = before[j] + 1;
        now[j + 1] = length;
        touched_now.push_back(j + 1);
        if (length > best.size) best = {i + 1 - length, j + 1 - length, length};
      }
    for (const std::size_t j : touched_before) before[j] = 0;
    touched_before.clear();
    before.swap(now);
    touched_before.swap(touched_now);
  }
  for (const std::size_t j : touched_before) before[j] = 0;
  // Popular characters do not start a block, but they extend one.
  while (best.a > window.a_begin && best.b > window.b_begin && a[best.a - 1] == b[best.b - 1])
    --best.a, --best.b, ++best.size;
  while (best.a + best.size < window.a_end && best.b + best.size < window.b_end &&
         a[best.a + best.size] == b[best.b + best.size])
    ++best.size;
  return best;
}

}  // namespace

double sequence_ratio(std::u32string_view a, std::u32string_view b) {
  if (a.empty() && b.empty()) return 1.0;
  const Places places = places_of(b);
  std::vector<std::size_t> before(b.size() + 1), now(b.size() + 1);
  std::vector<Window> open = {{0, a.size(), 0, b.size()}};
  std::size_t matches = 0;
  while (!open.empty()) {
    const Window window = open.back();
    open.pop_back();
    const Block block = longest_block(a, b, places, window, before, now);
    if (block.size == 0) continue;
    matches += block.size;
    if (window.a_begin < block.a && window.b_begin < block.b)
      open.push_back({window.a_begin, block.a, window.b_begin, block.b});
    if (block.a + block.size < window.a_end && block.b + block.size < window.b_end)
      open.push_back({block.a + block.size, window.a_end, block.b + block.size, window.b_end});
  }
  return 2.0 * static_cast<double>(matches) / static_cast<double>(a.size() + b.size());
}

}  // namespace lynxkv::suite
