// A file mapped read-only into memory.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/handle.hpp"

namespace lynxkv::model {

class MappedFile {
 public:
  // Throws Error{bad_data} where `path` is no regular file that can be read. An empty file gives no bytes.
  explicit MappedFile(const std::string& path);

  const std::string& path() const noexcept { return path_; }
  std::span<const std::byte> bytes() const noexcept { return mapping_.get().bytes; }

 private:
  struct Traits {
    struct type {
      std::span<const std::byte> bytes;
      bool operator==(const type& other) const noexcept { return bytes.data() == other.bytes.data(); }
    };
    static type none() noexcept { return {}; }
    static void close(type mapping) noexcept;
  };

  std::string path_;
  Handle<Traits> mapping_;
};

}  // namespace lynxkv::model
