// A byte-wise range coder with 16-bit frequencies: symbols in, bytes out, and back. The models are the
// caller's. Trailing zero bytes are left away; a decoder takes what is missing as zeros, and never fails:
// what it gives for damaged bytes are other symbols.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lynxkv::codec {

constexpr std::uint32_t range_total = 1u << 16;  // frequencies of one model add up to this

class RangeEncoder {
 public:
  // Appends to `out`, which the caller owns.
  explicit RangeEncoder(std::vector<std::byte>& out) : out_(out), begin_(out.size()) {}

  // A symbol that owns [start, start + size) of range_total; size is 1 or more.
  void encode(std::uint32_t start, std::uint32_t size);
  // Ends the string; nothing may follow.
  void finish();

 private:
  void carry();

  std::vector<std::byte>& out_;
  std::size_t begin_;
  std::uint32_t low_ = 0;
  std::uint32_t range_ = 0xffffffffu;
};

class RangeDecoder {
 public:
  explicit RangeDecoder(std::span<const std::byte> bytes);

  // In [0, range_total): the symbol that owns it is the next one; advance() has to follow with that symbol.
  std::uint32_t target();
  void advance(std::uint32_t start, std::uint32_t size);

 private:
  std::uint32_t next_byte() { return at_ < bytes_.size() ? static_cast<std::uint32_t>(bytes_[at_++]) : 0; }

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  std::uint32_t code_ = 0;
  std::uint32_t range_ = 0xffffffffu;
  std::uint32_t unit_ = 0;  // of the symbol being decoded
};

}  // namespace lynxkv::codec
