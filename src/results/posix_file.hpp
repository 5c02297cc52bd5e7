// The few file operations that durability needs: whole writes, fsync of files and folders, whole reads.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/handle.hpp"
#include "base/result.hpp"

namespace lynxkv::results {

struct DescriptorTraits {
  using type = int;
  static type none() noexcept { return -1; }
  static void close(type descriptor) noexcept;
};
using Descriptor = Handle<DescriptorTraits>;

// Creates `folder` and its parents. Throws Error{usage} where that cannot be, or files cannot be made in it.
void make_folder(const std::string& folder);
// Whether make_folder would do, before there is anything to put into it: leaves the disk as it was. Throws the same.
void check_folder(const std::string& folder);

// Writes all of `bytes`. Throws Error{incomplete} (a full disk, a quota, a file size limit, a failing disk).
void write_all(int descriptor, std::span<const std::byte> bytes, const std::string& path);
// Throws Error{incomplete}.
void sync_file(int descriptor, const std::string& path);
// A new or renamed name is durable only once its folder is. Throws Error{incomplete}.
void sync_folder(const std::string& folder);

// Puts `bytes` at `path` whole or not at all: `path`.tmp, fsync, rename, fsync of the folder. Removes the
// .tmp where that fails. Throws Error{usage} where the folder cannot be written, Error{incomplete} where it
// is full.
void replace_file(const std::string& path, std::span<const std::byte> bytes);
// Whether replace_file could, before hours of work whose result it is to write: a file that is there stays as it is.
// Throws the same.
void check_replaceable(const std::string& path);

// Error{bad_data} where the file is missing or cannot be read.
Result<std::vector<std::byte>> read_whole_file(const std::string& path);

// "No space left on device", for messages.
std::string system_text(int error_number);

}  // namespace lynxkv::results
