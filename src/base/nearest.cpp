#include "base/nearest.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <vector>

namespace lynxkv {
namespace {

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

// Levenshtein distance, letters' case ignored.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view nearest(std::string_view name, std::span<const std::string_view> candidates) {
  std::string_view best;
  std::size_t best_distance = static_cast<std::size_t>(-1);
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(name.substr(0, 100), candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string unknown_name(std::string_view what, std::string_view name,
                         std::span<const std::string_view> candidates) {
  std::string text = "unknown " + std::string(what) + " '" + std::string(name) + "'";
  if (candidates.empty()) return text;
  text += "; did you mean '" + std::string(nearest(name, candidates)) + "'? (one of:";
  for (std::size_t i = 0; i < candidates.size(); ++i) text += (i ? ", " : " ") + std::string(candidates[i]);
  return text + ")";
}

}  // namespace lynxkv
