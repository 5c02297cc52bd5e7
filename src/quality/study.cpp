#include "quality/study.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.hpp"
#include "base/error.hpp"
#include "codec/options.hpp"

namespace lynxkv::quality {
namespace {

constexpr double least_kl = 1e-12;  // below it a ratio means nothing

Mean kl_ratio_of(const std::vector<double>& kl, const std::vector<double>& base) {
  std::vector<double> logs;
  for (std::size_t i = 0; i < kl.size(); ++i) logs.push_back(std::log(std::max(kl[i], least_kl) / std::max(base[i], least_kl)));
  const Mean mean = mean_of(logs);
  return {std::exp(mean.value), mean.error};
}

Mean difference_of(const std::vector<double>& values, const std::vector<double>& base) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < values.size(); ++i) differences.push_back(values[i] - base[i]);
  return mean_of(differences);
}

}  // namespace

Variant parse_variant(std::string_view text, const codec::CodecOptions& base) {
  Variant variant;
  const auto colon = text.find(':');
  std::string_view rest = colon == std::string_view::npos ? text : text.substr(colon + 1);
  variant.name = colon == std::string_view::npos ? text : text.substr(0, colon);
  const auto comma = rest.find(',');
  variant.codec_name = rest.substr(0, comma);
  if (comma != std::string_view::npos) variant.options = rest.substr(comma + 1);
  if (variant.name.empty() || variant.codec_name.empty())
    throw Error(ErrorCode::usage, "variant '" + std::string(text) + "'", "expected CODEC, or NAME:CODEC,option=value");
  variant.codec = codec::make_codec(variant.codec_name, codec::parse_options(variant.options, base));
  return variant;
}

Mean mean_of(const std::vector<double>& values) {
  if (values.empty()) return {};
  Mean mean;
  for (const double value : values) mean.value += value / static_cast<double>(values.size());
  if (values.size() < 2) return mean;
  double squares = 0;
  for (const double value : values) squares += (value - mean.value) * (value - mean.value);
  mean.error = std::sqrt(squares / static_cast<double>(values.size() - 1) / static_cast<double>(values.size()));
  return mean;
}

Study::Study(std::vector<Variant> variants) : variants_(std::move(variants)), records_(variants_.size()) {
  LYNXKV_CHECK(!variants_.empty());
}

void Study::add(std::size_t variant, const Outcome& outcome) {
  Record& record = records_[variant];
  record.bits.add(outcome.bits);
  record.levels.resize(outcome.levels.size());
  for (std::size_t i = 0; i < outcome.levels.size(); ++i) {
    const LevelOutcome& found = outcome.levels[i];
    LevelRecord& level = record.levels[i];
    level.distortion.level = found.distortion.level;
    level.distortion.keys.add(found.distortion.keys);
    level.distortion.values.add(found.distortion.values);
    level.kl.push_back(found.agreement.kl);
    level.argmax.push_back(found.agreement.argmax);
    level.attention.push_back(found.agreement.attention);
  }
}

void Study::add(Reference& reference) {
  for (std::size_t i = 0; i < variants_.size(); ++i) add(i, reference.examine(*variants_[i].codec));
  ++documents_;
}

void Study::add(const Capture& capture) {
  for (std::size_t i = 0; i < variants_.size(); ++i) {
    const CodecDistortion measured = run_codec(*variants_[i].codec, capture);
    Outcome outcome{measured.bits, {}};
    for (const LevelDistortion& level : measured.levels) outcome.levels.push_back({level, {}});
    add(i, outcome);
  }
  ++documents_;
}

std::vector<Summary> Study::summaries() const {
  std::vector<Summary> summaries;
  if (documents_ == 0) return summaries;
  const LevelRecord& base = records_.front().levels.front();
  for (std::size_t i = 0; i < variants_.size(); ++i) {
    const Record& record = records_[i];
    Summary summary{variants_[i].name, variants_[i].codec_name, variants_[i].options, record.bits, {}};
    for (const LevelRecord& level : record.levels)
      summary.levels.push_back({level.distortion.level,
                                record.bits.up_to(stream_for(*variants_[i].codec, level.distortion.level)),
                                level.distortion.keys, level.distortion.values, mean_of(level.kl), mean_of(level.argmax),
                                mean_of(level.attention), difference_of(level.argmax, base.argmax),
                                kl_ratio_of(level.kl, base.kl)});
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

}  // namespace lynxkv::quality
