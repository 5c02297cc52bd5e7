// Page codecs on a device, from the host's side: what the tests of the CUDA kernels share. They use nothing but our
// own interface, so they run on the emulation and, linked with the real runtime, on a GPU.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "kernels/cuda/codec.hpp"
#include "kernels/cuda/runtime.hpp"

namespace lynxkv::kernels::cuda::rig {

bool is_emulation();
// Empty where kernels can run; otherwise why not.
std::string why_no_device();
// Runs `body` under every setup worth it: on the emulation several seeds and orders, on a GPU once.
void under_every_setup(const std::function<void()>& body);

#define LYNXKV_NEEDS_DEVICE() \
  if (const std::string why = ::lynxkv::kernels::cuda::rig::why_no_device(); !why.empty()) GTEST_SKIP() << "no GPU here: " << why

using Bytes = std::vector<std::byte>;

// Device memory with something before and behind, so that a stray write shows.
class Guarded {
 public:
  // The data begins `offset` bytes behind a 256-byte boundary.
  explicit Guarded(std::size_t bytes, std::size_t offset = 0) : bytes_(bytes), offset_(guard + offset), memory_(offset_ + bytes + guard) {
    const Stream stream;
    fill_device(memory_.data(), 0x5a, memory_.bytes(), stream.get());
    stream.synchronise();
  }
  std::byte* data() const { return memory_.data() + offset_; }
  std::size_t bytes() const { return bytes_; }
  void put(const void* from, const Stream& stream) const {
    if (bytes_ > 0) copy_to_device(data(), from, bytes_, stream.get());
    stream.synchronise();
  }
  // Everything enqueued before is done when this returns. Checks the guards.
  Bytes take(const Stream& stream) const {
    Bytes all(memory_.bytes());
    copy_to_host(all.data(), memory_.data(), all.size(), stream.get());
    stream.synchronise();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool inside = i >= offset_ && i < offset_ + bytes_;
      if (inside || all[i] == std::byte{0x5a}) continue;
      ADD_FAILURE() << "byte " << static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(offset_) << " was written, of " << bytes_;
      break;
    }
    return {all.begin() + static_cast<std::ptrdiff_t>(offset_), all.begin() + static_cast<std::ptrdiff_t>(offset_ + bytes_)};
  }

 private:
  static constexpr std::size_t guard = 256;
  std::size_t bytes_, offset_;
  DeviceMemory memory_;
};

struct Offsets {
  std::size_t rows = 0, anchor = 0, residual = 0;
};

// One page on the device, in all its forms.
struct Page {
  LynxLayout layout;
  Guarded rows, anchor, residual;

  Page(const LynxLayout& placed, const Offsets& at)
      : layout(placed), rows(placed.raw_bytes(), at.rows), anchor(placed.anchor_bytes(), at.anchor), residual(placed.nibble_bytes(), at.residual) {}
  LynxEncodePage to_encode(bool with_residual = true) const {
    return {reinterpret_cast<const Bf16*>(rows.data()), anchor.data(), with_residual ? residual.data() : nullptr, layout.tokens, layout.sinks};
  }
  LynxDecodePage to_decode() const {
    return {anchor.data(), residual.data(), reinterpret_cast<Bf16*>(rows.data()), layout.tokens, layout.sinks};
  }
  LynxShape shape() const { return {layout.channels, layout.chunk_tokens}; }
};

inline std::vector<std::uint32_t> take_outcomes(const Guarded& outcomes, const Stream& stream) {
  const Bytes bytes = outcomes.take(stream);
  std::vector<std::uint32_t> words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

inline Bytes bytes_of(const std::vector<Bf16>& values) {
  Bytes bytes(values.size() * 2);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

inline void expect_equal(const Bytes& found, const Bytes& expected, const char* what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  std::size_t at = 0;
  while (at < found.size() && found[at] == expected[at]) ++at;
  EXPECT_EQ(at, found.size()) << what << ": first difference at byte " << at << " of " << found.size();
}

}  // namespace lynxkv::kernels::cuda::rig
