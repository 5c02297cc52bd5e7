#include "quality/distortion.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/check.hpp"
#include "base/error.hpp"

namespace lynxkv::quality {

void Distortion::add(std::span<const Bf16> before, std::span<const Bf16> after) {
  LYNXKV_CHECK(before.size() == after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    const double x = to_float(before[i]), off = static_cast<double>(to_float(after[i])) - x;
    error += off * off;
    energy += x * x;
  }
  count += static_cast<std::int64_t>(before.size());
}
void Distortion::add(const Distortion& other) {
  error += other.error;
  energy += other.energy;
  count += other.count;
}
double Distortion::rms() const { return count > 0 ? std::sqrt(error / static_cast<double>(count)) : 0; }
double Distortion::nmse() const { return error > 0 ? error / energy : 0; }

void Bits::add(const codec::Encoded& encoded, std::size_t values) {
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] += static_cast<std::int64_t>(encoded.payload[i].size());
  elements += static_cast<std::int64_t>(values);
}
void Bits::add(const Bits& other) {
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] += other.bytes[i];
  elements += other.elements;
}
double Bits::of(codec::StreamId stream) const {
  return elements > 0 ? 8.0 * static_cast<double>(bytes[static_cast<std::size_t>(stream)]) / static_cast<double>(elements) : 0;
}
double Bits::up_to(codec::StreamId stream) const {
  double sum = 0;
  for (std::size_t i = 0; i <= static_cast<std::size_t>(stream); ++i) sum += of(static_cast<codec::StreamId>(i));
  return sum;
}

std::vector<codec::Level> levels_of(const codec::Codec& codec) {
  std::vector<codec::Level> levels;
  for (const codec::StreamSpec& stream : codec.streams())
    if (stream.enables != codec::Level::none && std::find(levels.begin(), levels.end(), stream.enables) == levels.end())
      levels.push_back(stream.enables);
  return levels;
}

codec::StreamId stream_for(const codec::Codec& codec, codec::Level level) {
  for (const codec::StreamSpec& stream : codec.streams())
    if (stream.enables == level) return stream.id;
  LYNXKV_CHECK(false && "the codec has no such level");
  return codec::StreamId::anchor;
}

CodecDistortion run_codec(const codec::Codec& codec, const Capture& capture, const PageSink& sink) {
  CodecDistortion result;
  for (const codec::Level level : levels_of(codec)) result.levels.push_back({level, {}, {}});
  codec::Encoded encoded;
  std::vector<Bf16> decoded;
  for (std::size_t index = 0; index < capture.layers.size(); ++index)
    for (const page::Kind kind : {page::Kind::key, page::Kind::value})
      for (int page = 0; page < capture.pages(); ++page) {
        const codec::TensorShape shape = capture.shape(index, kind, page);
        const std::span<const Bf16> rows = capture.rows(index, kind, page);
        if (const auto done = codec.encode(rows.data(), shape, encoded); !done)
          throw Error(done.error().code(),
                      "layer " + std::to_string(shape.layer) + ", " + (kind == page::Kind::key ? "K" : "V") + ", page " +
                          std::to_string(page),
                      done.error().what());
        result.bits.add(encoded, rows.size());
        decoded.resize(rows.size());
        const codec::Payloads payloads{{encoded.payload[0], encoded.payload[1], encoded.payload[2]}, encoded.raw};
        for (LevelDistortion& at : result.levels) {
          codec.decode(at.level, payloads, shape, decoded.data()).take();
          (kind == page::Kind::key ? at.keys : at.values).add(rows, decoded);
          if (sink) sink(at.level, index, kind, page, decoded);
        }
      }
  return result;
}

}  // namespace lynxkv::quality
