#include "tests/cuda_emulation/emulator/memory.hpp"

#include <sys/mman.h>

#include <cstring>
#include <new>
#include <sstream>

namespace cuda_emulation {
namespace {

constexpr std::size_t address_space = std::size_t{1} << 38;
constexpr std::size_t gap = 4096;  // between allocations: a small overrun meets no neighbour
constexpr std::size_t sector = 32;
constexpr int rubble = 0xff;  // as floats and bf16: NaNs

std::string in_hex(const void* at) {
  std::ostringstream text;
  text << at;
  return text.str();
}

}  // namespace

Memory::Memory() {
  void* region = mmap(nullptr, address_space, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (region == MAP_FAILED) throw std::bad_alloc();
  first_ = next_ = reinterpret_cast<std::uintptr_t>(region);
  end_ = first_ + address_space;
}

Memory::~Memory() { munmap(reinterpret_cast<void*>(first_), address_space); }

void* Memory::reserve_device(std::size_t bytes) {
  if (bytes > end_ - next_ - 2 * gap) return nullptr;
  const std::uintptr_t address = next_ + gap;
  next_ = (address + bytes + 255) & ~std::uintptr_t{255};
  Block& block = blocks_[address];
  block.bytes = bytes;
  return reinterpret_cast<void*>(address);
}

bool Memory::make_live(void* address) {
  const auto found = blocks_.find(reinterpret_cast<std::uintptr_t>(address));
  if (found == blocks_.end()) return false;
  Block& block = found->second;
  block.data.reset(new (std::nothrow) std::byte[block.bytes]);
  if (!block.data) return false;
  std::memset(block.data.get(), rubble, block.bytes);
  block.read_in.assign(block.bytes / sector + 1, 0);
  block.written_in.assign(block.bytes / sector + 1, 0);
  block.live = true;
  return true;
}

void* Memory::allocate_device(std::size_t bytes) {
  void* address = reserve_device(bytes);
  if (address != nullptr && !make_live(address)) {
    blocks_.erase(reinterpret_cast<std::uintptr_t>(address));
    address = nullptr;
  }
  return address;
}

bool Memory::release_device(void* address) {
  latest_ = nullptr;
  return blocks_.erase(reinterpret_cast<std::uintptr_t>(address)) == 1;
}

void* Memory::allocate_pinned(std::size_t bytes) {
  std::unique_ptr<std::byte[]> memory(new (std::nothrow) std::byte[bytes]);
  if (!memory) return nullptr;
  std::memset(memory.get(), rubble, bytes);
  const auto address = reinterpret_cast<std::uintptr_t>(memory.get());
  pinned_[address] = std::move(memory);
  pinned_bytes_[address] = bytes;
  return reinterpret_cast<void*>(address);
}

bool Memory::release_pinned(void* memory) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  pinned_bytes_.erase(address);
  return pinned_.erase(address) == 1;
}

bool Memory::is_pinned(const void* at, std::size_t bytes) const {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  auto above = pinned_bytes_.upper_bound(address);
  if (above == pinned_bytes_.begin()) return false;
  --above;
  const std::size_t offset = address - above->first;
  return offset <= above->second && bytes <= above->second - offset;
}

bool Memory::overruns_pinned(const void* at, std::size_t bytes) const {
  return bytes > 0 && is_pinned(at, 1) && !is_pinned(at, bytes);
}

std::size_t Memory::allocated_bytes() const {
  std::size_t sum = 0;
  for (const auto& [address, block] : blocks_) sum += block.bytes;
  return sum;
}

std::size_t Memory::size_of(const void* address) const {
  const auto found = blocks_.find(reinterpret_cast<std::uintptr_t>(address));
  return found == blocks_.end() ? 0 : found->second.bytes;
}

bool Memory::is_device_address(const void* at) const {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  return address >= first_ && address < end_;
}

void Memory::count(Block& block, std::size_t offset, std::size_t bytes, Access access) {
  (access == Access::read ? traffic.bytes_read : traffic.bytes_written) += bytes;
  std::vector<std::uint32_t>& touched_in = access == Access::read ? block.read_in : block.written_in;
  std::uint64_t& sectors = access == Access::read ? traffic.sectors_read : traffic.sectors_written;
  for (std::size_t i = offset / sector; i * sector < offset + bytes; ++i) {
    if (touched_in[i] == launch_) continue;
    touched_in[i] = launch_;
    ++sectors;
  }
}

std::byte* Memory::resolve(const void* at, std::size_t bytes, Access access, bool from_kernel) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  const char* verb = access == Access::read ? "read of " : "write of ";
  if (latest_ == nullptr || address < latest_->first || address - latest_->first >= latest_->second.bytes) {
    auto above = blocks_.upper_bound(address);
    latest_ = above == blocks_.begin() ? nullptr : &*--above;
  }
  const auto complain = [&](const std::string& why) {
    latest_ = nullptr;
    throw Fault{cudaErrorIllegalAddress, verb + std::to_string(bytes) + " bytes at " + in_hex(at) + ": " + why};
  };
  if (latest_ == nullptr) complain("no device memory there");
  Block& block = latest_->second;
  const std::size_t offset = address - latest_->first;
  if (offset >= block.bytes && bytes > 0) complain("no device memory there, or no longer; the nearest before it has " + std::to_string(block.bytes) + " bytes and begins " + std::to_string(offset) + " before");
  if (bytes > block.bytes - offset) complain("runs past the end of an allocation of " + std::to_string(block.bytes) + " bytes");
  if (!block.live) complain("allocated in a stream that has not come that far");
  if (from_kernel) count(block, offset, bytes, access);
  return block.data.get() + offset;
}

}  // namespace cuda_emulation
