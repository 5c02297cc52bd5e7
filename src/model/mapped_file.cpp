#include "model/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"

namespace lynxkv::model {
namespace {

struct DescriptorTraits {
  using type = int;
  static int none() noexcept { return -1; }
  static void close(int descriptor) noexcept { ::close(descriptor); }
};

Error failed(const std::string& path, const std::string& doing) {
  return Error(ErrorCode::bad_data, path, doing + ": " + std::strerror(errno));
}

}  // namespace

void MappedFile::Traits::close(type mapping) noexcept {
  ::munmap(const_cast<std::byte*>(mapping.bytes.data()), mapping.bytes.size());
}

MappedFile::MappedFile(const std::string& path) : path_(path) {
  // O_NONBLOCK: a pipe by that name must not make us wait; it is refused below.
  Handle<DescriptorTraits> file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) throw failed(path, "cannot be opened");
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) throw failed(path, "cannot be examined");
  if (!S_ISREG(info.st_mode))
    throw Error(ErrorCode::bad_data, path, "expected a regular file, found something else");
  if (info.st_size == 0) return;
  const auto size = static_cast<std::size_t>(info.st_size);
  void* start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (start == MAP_FAILED) throw failed(path, "cannot be mapped into memory");
  mapping_.reset({std::span(static_cast<const std::byte*>(start), size)});
}

}  // namespace lynxkv::model
