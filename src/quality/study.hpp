// Codecs beside each other on the same documents: means over documents, and paired differences to the first codec.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quality/reference.hpp"

namespace lynxkv::quality {

struct Variant {
  std::string name;      // of the row
  std::string codec_name;
  std::string options;   // as given, for the record
  std::unique_ptr<codec::Codec> codec;
};

// "CODEC", "CODEC,option=value,..." or "NAME:CODEC,option=value,...": options over `base` (codec/options.hpp). Throws
// Error{usage} for a codec or an option that does not exist.
Variant parse_variant(std::string_view text, const codec::CodecOptions& base);

// A mean over documents and its standard error (0 for one document).
struct Mean {
  double value = 0, error = 0;
};
Mean mean_of(const std::vector<double>& values);

struct LevelSummary {
  codec::Level level = codec::Level::target;
  double bits = 0;  // an element, of all streams up to this level
  Distortion keys, values;
  Mean kl, argmax, attention;
  // To the first variant's first level: argmax less argmax, and the geometric mean of the ratios of KL with its
  // standard error as a share of it (0.1: ten percent).
  Mean argmax_gain, kl_ratio;
};
struct Summary {
  std::string name, codec_name, options;
  Bits bits;
  std::vector<LevelSummary> levels;
};

class Study {
 public:
  explicit Study(std::vector<Variant> variants);

  const std::vector<Variant>& variants() const noexcept { return variants_; }
  // Examines every variant on it.
  void add(Reference& reference);
  // The same without a model: agreement stays 0.
  void add(const Capture& capture);
  int documents() const noexcept { return documents_; }
  std::vector<Summary> summaries() const;


 private:
  void add(std::size_t variant, const Outcome& outcome);

  struct LevelRecord {
    LevelDistortion distortion;
    std::vector<double> kl, argmax, attention;  // [documents]
  };
  struct Record {
    Bits bits;
    std::vector<LevelRecord> levels;
  };
  std::vector<Variant> variants_;
  std::vector<Record> records_;
  int documents_ = 0;
};

}  // namespace lynxkv::quality
