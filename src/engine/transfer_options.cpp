#include "engine/transfer_options.hpp"

#include <charconv>
#include <string>

#include "codec/options.hpp"

namespace lynxkv::engine {
namespace {

// The shortest decimal that gives this float, as a config spells it: 0.05, not 0.0500000007.
double as_written(float value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  double wide = 0;
  std::from_chars(text, end, wide);
  return wide;
}

}  // namespace

codec::CodecOptions codec_options_of(const TransferSection& transfer) {
  codec::CodecOptions options;
  options.alpha = static_cast<float>(transfer.alpha);
  options.alpha_v = static_cast<float>(transfer.alpha_v);
  options.levels = transfer.levels;
  codec::set_option(options, "centre", transfer.centre);
  codec::set_option(options, "sigma", transfer.sigma);
  codec::set_option(options, "fit", transfer.fit);
  options.sinks = transfer.sinks;
  options.chunk_tokens_v = transfer.chunk_tokens_v;
  options.early_channels_k = transfer.early_channels_k;
  options.early_channels_v = transfer.early_channels_v;
  options.early_tokens_k = transfer.early_tokens_k;
  options.early_tokens_v = transfer.early_tokens_v;
  return options;
}

void set_codec_options(TransferSection& transfer, const codec::CodecOptions& options) {
  transfer.alpha = as_written(options.alpha);
  transfer.alpha_v = as_written(options.alpha_v);
  transfer.levels = options.levels;
  transfer.centre = codec::option_value(options, "centre");
  transfer.sigma = codec::option_value(options, "sigma");
  transfer.fit = codec::option_value(options, "fit");
  transfer.sinks = options.sinks;
  transfer.chunk_tokens_v = options.chunk_tokens_v;
  transfer.early_channels_k = options.early_channels_k;
  transfer.early_channels_v = options.early_channels_v;
  transfer.early_tokens_k = options.early_tokens_k;
  transfer.early_tokens_v = options.early_tokens_v;
}

}  // namespace lynxkv::engine
