#include "quality/calibration.hpp"

#include <algorithm>
#include <array>

#include "base/check.hpp"
#include "codec/options.hpp"

namespace lynxkv::quality {
namespace {

// 0.001 is as good as even spacing.
constexpr std::array<float, 9> alphas = {0.001f, 0.01f, 0.05f, 0.1f, 0.2f, 0.5f, 1.0f, 2.0f, 4.0f};

struct Found {
  Distortion k, v;
  double bits = 0;
};

Found measure(std::span<const Capture> captures, const codec::CodecOptions& options) {
  const auto codec = codec::make_codec("lynx", options);
  Found found;
  Bits bits;
  for (const Capture& capture : captures) {
    const CodecDistortion result = run_codec(*codec, capture);
    found.k.add(result.levels.front().keys);
    found.v.add(result.levels.front().values);
    bits.add(result.bits);
  }
  found.bits = bits.of(codec::StreamId::anchor);
  return found;
}

// A run of trials of one option; the best of it is marked at the end.
class Trials {
 public:
  Trials(std::span<const Capture> captures, std::vector<Tried>& tried) : captures_(captures), tried_(tried), first_(tried.size()) {}

  void add(const std::string& option, const std::string& value, const codec::CodecOptions& options) {
    const Found found = measure(captures_, options);
    tried_.push_back({option, value, found.k.nmse(), found.v.nmse(), found.bits, false, false});
  }
  std::size_t best_k() { return mark(&Tried::best_k, [](const Tried& t) { return t.nmse_k; }); }
  std::size_t best_v() { return mark(&Tried::best_v, [](const Tried& t) { return t.nmse_v; }); }
  std::size_t best_of_both() {
    const auto sum = [](const Tried& t) { return t.nmse_k + t.nmse_v; };
    mark(&Tried::best_k, sum);
    return mark(&Tried::best_v, sum);
  }

 private:
  // The least, and of equals the first.
  template <class Measure>
  std::size_t mark(bool Tried::*flag, Measure measure_of) {
    const auto begin = tried_.begin() + static_cast<std::ptrdiff_t>(first_);
    const auto best = std::min_element(begin, tried_.end(), [&](const Tried& a, const Tried& b) { return measure_of(a) < measure_of(b); });
    (*best).*flag = true;
    return static_cast<std::size_t>(best - begin);
  }

  std::span<const Capture> captures_;
  std::vector<Tried>& tried_;
  std::size_t first_;
};

}  // namespace

std::span<const float> calibration_alphas() noexcept { return alphas; }

Calibration calibrate(std::span<const Capture> captures, const codec::CodecOptions& start) {
  LYNXKV_CHECK(!captures.empty());
  Calibration result;
  result.start = result.chosen = start;
  codec::CodecOptions& chosen = result.chosen;
  const auto try_each = [&](const char* option, std::initializer_list<const char*> values) {
    Trials trials(captures, result.tried);
    for (const char* value : values) {
      codec::CodecOptions options = chosen;
      codec::set_option(options, option, value);
      trials.add(option, value, options);
    }
    codec::set_option(chosen, option, *(values.begin() + trials.best_of_both()));
  };
  try_each("levels", {"112", "120"});
  try_each("centre", {"mid", "mean"});
  Trials trials(captures, result.tried);
  for (const float alpha : alphas) {
    codec::CodecOptions options = chosen;
    options.alpha = alpha;
    options.alpha_v = 0;
    trials.add("alpha", codec::option_value(options, "alpha"), options);
  }
  chosen.alpha = alphas[trials.best_k()];
  const float alpha_v = alphas[trials.best_v()];
  chosen.alpha_v = alpha_v == chosen.alpha ? 0 : alpha_v;
  const Found before = measure(captures, start), after = measure(captures, chosen);
  result.start_k = before.k, result.start_v = before.v, result.start_bits = before.bits;
  result.chosen_k = after.k, result.chosen_v = after.v, result.chosen_bits = after.bits;
  return result;
}

}  // namespace lynxkv::quality
