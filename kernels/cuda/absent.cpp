// Stands in for the CUDA bodies in a build without CUDA: no devices, and every call that needs one throws.
#include "base/error.hpp"
#include "kernels/cuda/codec.hpp"
#include "kernels/cuda/devices.hpp"
#include "kernels/cuda/exact.hpp"
#include "kernels/cuda/runtime.hpp"

namespace lynxkv::kernels::cuda {
namespace {

[[noreturn]] void absent(const char* call) {
  throw Error(ErrorCode::usage, call, "this program was built without CUDA; build it with -DLYNXKV_CUDA=ON or use the CPU");
}

}  // namespace

DeviceList list_devices() { return {{}, "built without CUDA", 0}; }

void StreamTraits::close(type) noexcept {}
void EventTraits::close(type) noexcept {}
void DeviceMemoryTraits::close(type) noexcept {}
void PinnedMemoryTraits::close(type) noexcept {}

Event::Event() { absent("CUDA event"); }
bool Event::ready() const { absent("CUDA event"); }
void Event::synchronise() const { absent("CUDA event"); }
Stream::Stream(StreamPriority) { absent("CUDA stream"); }
void Stream::record(const Event&) const { absent("CUDA stream"); }
void Stream::wait(const Event&) const { absent("CUDA stream"); }
void Stream::synchronise() const { absent("CUDA stream"); }
DeviceMemory::DeviceMemory(std::size_t) { absent("CUDA memory"); }
PinnedMemory::PinnedMemory(std::size_t) { absent("CUDA memory"); }

void copy_to_device(void*, const void*, std::size_t, StreamHandle) { absent("CUDA copy"); }
void copy_to_host(void*, const void*, std::size_t, StreamHandle) { absent("CUDA copy"); }
void copy_on_device(void*, const void*, std::size_t, StreamHandle) { absent("CUDA copy"); }
void fill_device(void*, int, std::size_t, StreamHandle) { absent("CUDA copy"); }

void lynx_encode(std::span<const LynxEncodePage>, const LynxShape&, const LynxCoding&, std::uint32_t*, StreamHandle) {
  absent("lynx_encode on CUDA");
}
void move_early(std::span<const EarlyMovePage>, const LynxShape&, const LynxCoding&, std::uint32_t*, StreamHandle) {
  absent("move_early on CUDA");
}
void lynx_decode_draft(std::span<const LynxDecodePage>, const LynxShape&, const LynxCoding&, std::uint32_t*, StreamHandle) {
  absent("lynx_decode_draft on CUDA");
}
void lynx_decode_full(std::span<const LynxDecodePage>, const LynxShape&, const LynxCoding&, std::uint32_t*, StreamHandle) {
  absent("lynx_decode_full on CUDA");
}
void uniform_encode(std::span<const UniformEncodePage>, const UniformShape&, std::uint32_t*, StreamHandle) {
  absent("uniform_encode on CUDA");
}
void uniform_decode(std::span<const UniformDecodePage>, const UniformShape&, std::uint32_t*, StreamHandle) {
  absent("uniform_decode on CUDA");
}
void exact_encode(std::span<const ExactEncodePage>, const LynxShape&, const LynxCoding&, std::uint32_t*, std::uint32_t*, StreamHandle) {
  absent("exact_encode on CUDA");
}
void exact_decode(std::span<const ExactDecodePage>, const LynxShape&, const LynxCoding&, std::uint32_t*, StreamHandle) {
  absent("exact_decode on CUDA");
}

}  // namespace lynxkv::kernels::cuda
