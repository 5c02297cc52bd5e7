#include "base/hash.hpp"

#include <xxhash.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/check.hpp"
#include "base/error.hpp"

namespace lynxkv {

std::uint64_t hash64(std::span<const std::byte> bytes) noexcept {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::uint64_t hash64(std::string_view text) noexcept { return XXH3_64bits(text.data(), text.size()); }

struct Hash64::State {
  XXH3_state_t* raw = XXH3_createState();
  State() { LYNXKV_CHECK(raw != nullptr && XXH3_64bits_reset(raw) == XXH_OK); }
  ~State() { XXH3_freeState(raw); }
};

Hash64::Hash64() : state_(std::make_unique<State>()) {}
Hash64::~Hash64() = default;

void Hash64::add(std::span<const std::byte> bytes) noexcept {
  LYNXKV_CHECK(XXH3_64bits_update(state_->raw, bytes.data(), bytes.size()) == XXH_OK);
}

void Hash64::add(std::string_view text) noexcept { add(std::as_bytes(std::span(text.data(), text.size()))); }

std::uint64_t Hash64::digest() const noexcept { return XXH3_64bits_digest(state_->raw); }

std::uint64_t hash_file(const std::string& path) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file) throw Error(ErrorCode::bad_data, path, std::string("cannot be opened: ") + std::strerror(errno));
  Hash64 hash;
  std::vector<std::byte> buffer(std::size_t{1} << 20);
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), file.get()))
    hash.add(std::span(buffer.data(), got));
  if (std::ferror(file.get())) throw Error(ErrorCode::bad_data, path, "cannot be read to its end");
  return hash.digest();
}

std::string hex64(std::uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace lynxkv
