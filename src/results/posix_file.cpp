#include "results/posix_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>

namespace lynxkv::results {
namespace {

Error write_error(const std::string& path, int number) {
  const bool full = number == ENOSPC || number == EDQUOT || number == EFBIG;
  return Error(
      ErrorCode::incomplete, path,
      "could not be written: " + system_text(number) +
          (full ? "; free some space and run the same command again" : "; run the same command again"));
}

// A device or a pipe takes bytes as they come; a rename would put a file in its place.
void write_through(const std::string& path, std::span<const std::byte> bytes) {
  const Descriptor descriptor(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!descriptor) throw Error(ErrorCode::usage, path, "cannot be opened for writing: " + system_text(errno));
  write_all(descriptor.get(), bytes, path);
}

std::string folder_of(const std::string& path) {
  const auto parent = std::filesystem::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

// The file that a rename must hit, not a link that leads to it; nothing for a device or a pipe.
std::optional<std::string> file_behind(const std::string& named) {
  struct stat status {};
  if (::stat(named.c_str(), &status) != 0) return named;
  if (S_ISDIR(status.st_mode)) throw Error(ErrorCode::usage, named, "is a folder; expected the name of a file");
  if (!S_ISREG(status.st_mode)) return std::nullopt;
  std::error_code failed;
  const auto real = std::filesystem::canonical(named, failed);
  return failed ? named : real.string();
}

Error create_error(const std::string& path, int number) {
  if (number == ENOSPC || number == EDQUOT) return write_error(path, number);
  return Error(ErrorCode::usage, path, "cannot be written: " + system_text(number));
}

Error folder_error(const std::string& folder, const std::error_code& error) {
  if (error.value() == ENOSPC || error.value() == EDQUOT) return write_error(folder, error.value());
  return Error(ErrorCode::usage, folder, "cannot be written to: " + error.message() + "; choose another folder");
}

// Nobody else's, also where two hosts share a disk (or nearly so; who meets another's probe has its answer).
std::string probe_name(const std::string& name) {
  char host[64] = {};
  ::gethostname(host, sizeof host - 1);
  return name + ".probe-" + std::string(host).substr(0, 30) + "-" + std::to_string(::getpid());
}

}  // namespace

void DescriptorTraits::close(type descriptor) noexcept {
  ::close(descriptor);
}

std::string system_text(int error_number) {
  return std::generic_category().message(error_number);
}

void make_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  // Both calls can name a plain file in the way; the second also finds a folder that is read-only.
  if (!error && !std::filesystem::is_directory(folder, error))
    error = std::make_error_code(std::errc::not_a_directory);
  if (!error && ::access(folder.c_str(), W_OK | X_OK) != 0)
    error = std::error_code(errno, std::generic_category());
  if (error) throw folder_error(folder, error);
}

// Other runs may be making folders beside it: nothing is made and removed that they could need.
void check_folder(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path wanted = fs::absolute(folder, ignored).lexically_normal();
  fs::path there = wanted;
  while (there.has_relative_path() && !fs::exists(there, ignored)) there = there.parent_path();
  if (there == wanted) return make_folder(folder);  // only looks at it
  const fs::path probe = there / probe_name(".lynxkv");
  if (::mkdir(probe.c_str(), 0777) == 0)
    ::rmdir(probe.c_str());
  else if (errno != EEXIST)
    throw folder_error(folder, std::error_code(errno, std::generic_category()));
}

void write_all(int descriptor, std::span<const std::byte> bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw write_error(path, count == 0 ? ENOSPC : errno);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void sync_file(int descriptor, const std::string& path) {
  // EINVAL: something that has no disk below it, such as /dev/null.
  while (::fsync(descriptor) != 0)
    if (errno != EINTR) {
      if (errno == EINVAL) return;
      throw write_error(path, errno);
    }
}

void sync_folder(const std::string& folder) {
  const Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!descriptor) throw write_error(folder, errno);
  sync_file(descriptor.get(), folder);
}

void replace_file(const std::string& named, std::span<const std::byte> bytes) {
  const std::optional<std::string> file = file_behind(named);
  if (!file) return write_through(named, bytes);
  const std::string& path = *file;
  const std::string temporary = path + ".tmp";
  Descriptor descriptor(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!descriptor) throw create_error(named, errno);
  try {
    write_all(descriptor.get(), bytes, temporary);
    sync_file(descriptor.get(), temporary);
    descriptor.reset();
    if (::rename(temporary.c_str(), path.c_str()) != 0) throw write_error(path, errno);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  sync_folder(folder_of(path));
}

void check_replaceable(const std::string& named) {
  const std::optional<std::string> file = file_behind(named);
  if (!file) {  // not opened: a pipe may have no reader yet
    if (::access(named.c_str(), W_OK) != 0) throw Error(ErrorCode::usage, named, "cannot be opened for writing: " + system_text(errno));
    return;
  }
  const std::string probe = probe_name(*file);
  const Descriptor made(::open(probe.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (made)
    ::unlink(probe.c_str());
  else if (errno != EEXIST)
    throw create_error(named, errno);
}

Result<std::vector<std::byte>> read_whole_file(const std::string& path) {
  const auto fail = [&](int number) {
    return Error(ErrorCode::bad_data, path, "cannot be read: " + system_text(number));
  };
  const Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!descriptor) return fail(errno);
  struct stat status {};
  if (::fstat(descriptor.get(), &status) != 0) return fail(errno);
  if (S_ISDIR(status.st_mode)) return fail(EISDIR);
  // The size is a hint only: a running job may be appending.
  std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size) + 1);
  std::size_t filled = 0;
  for (;;) {
    if (filled == bytes.size()) bytes.resize(bytes.size() * 2);
    const ssize_t count = ::read(descriptor.get(), bytes.data() + filled, bytes.size() - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(errno);
    if (count == 0) break;
    filled += static_cast<std::size_t>(count);
  }
  bytes.resize(filled);
  return bytes;
}

}  // namespace lynxkv::results
