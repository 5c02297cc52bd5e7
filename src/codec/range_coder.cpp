#include "codec/range_coder.hpp"

namespace lynxkv::codec {
namespace {

constexpr std::uint32_t least_range = 1u << 24;

}  // namespace

// The interval's lower end passed a power of 2^32: one is added to the bytes that left.
void RangeEncoder::carry() {
  std::size_t i = out_.size();
  while (i > begin_) {
    --i;
    out_[i] = static_cast<std::byte>(static_cast<unsigned>(out_[i]) + 1);
    if (out_[i] != std::byte{0}) return;
  }
}

void RangeEncoder::encode(std::uint32_t start, std::uint32_t size) {
  const std::uint32_t unit = range_ / range_total, before = low_;
  low_ += unit * start;
  if (low_ < before) carry();
  range_ = unit * size;
  while (range_ < least_range) {
    out_.push_back(static_cast<std::byte>(low_ >> 24));
    low_ <<= 8;
    range_ <<= 8;
  }
}

void RangeEncoder::finish() {
  // The fewest bytes whose number, continued with zeros, is in [low, low + range).
  for (int bytes = 0; bytes <= 4; ++bytes) {
    const std::uint64_t rest = (std::uint64_t{1} << (32 - 8 * bytes)) - 1;
    const std::uint64_t number = (low_ + rest) & ~rest;
    if (number - low_ >= range_) continue;
    if (number >> 32 != 0) carry();
    for (int i = 0; i < bytes; ++i) out_.push_back(static_cast<std::byte>(number >> (24 - 8 * i)));
    break;
  }
  while (out_.size() > begin_ && out_.back() == std::byte{0}) out_.pop_back();
}

RangeDecoder::RangeDecoder(std::span<const std::byte> bytes) : bytes_(bytes) {
  for (int i = 0; i < 4; ++i) code_ = code_ << 8 | next_byte();
}

std::uint32_t RangeDecoder::target() {
  unit_ = range_ / range_total;
  const std::uint32_t found = code_ / unit_;
  return found < range_total ? found : range_total - 1;
}

void RangeDecoder::advance(std::uint32_t start, std::uint32_t size) {
  code_ -= unit_ * start;
  range_ = unit_ * size;
  while (range_ < least_range) {
    code_ = code_ << 8 | next_byte();
    range_ <<= 8;
  }
}

}  // namespace lynxkv::codec
