// The edge of HDF5: its identifiers as handles, its errors as ours, files as images in memory. Only hdf5*.cpp include
// this.
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/handle.hpp"

namespace lynxkv::results {

template <herr_t (*Close)(hid_t)>
struct Traits {
  using type = hid_t;
  static type none() noexcept { return -1; }
  static void close(type id) noexcept { Close(id); }
};
using File = Handle<Traits<H5Fclose>>;
using Group = Handle<Traits<H5Gclose>>;
using Dataset = Handle<Traits<H5Dclose>>;
using Space = Handle<Traits<H5Sclose>>;
using Type = Handle<Traits<H5Tclose>>;
using Plist = Handle<Traits<H5Pclose>>;
using Attribute = Handle<Traits<H5Aclose>>;

// The library prints its error stack by itself unless told not to.
class Quiet {
 public:
  Quiet() {
    // Files live in memory, so nothing has to be closed at exit; after a damaged file that close complains.
    static const herr_t stays = H5dont_atexit();
    (void)stays;
    H5Eget_auto2(H5E_DEFAULT, &print_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~Quiet() { H5Eset_auto2(H5E_DEFAULT, print_, data_); }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  H5E_auto2_t print_ = nullptr;
  void* data_ = nullptr;
};

// Nothing below touches a disk, so a failure means that memory ran out or the file's bytes are bad.
template <class Id>
Id must(Id id, const char* what) {
  if (id < 0)
    throw Error(ErrorCode::bad_data, "HDF5",
                std::string(what) + " failed: the file is damaged, or memory ran out");
  return id;
}

// Variable-length UTF-8 text.
Type text_type();

void put_attribute(hid_t object, const std::string& name, hid_t type, const void* value);
void put_attribute(hid_t object, const std::string& name, const std::string& text);
void put_attribute(hid_t object, const std::string& name, std::int64_t value);

// Of the root. Throws Error{bad_data} where there is none of this kind. There is none for texts: the library follows
// the pointers of variable-length ones in a damaged file past the end of its memory.
std::int64_t get_number(const File& file, const char* name);

// Opening what a file of anybody's names. A link leads to another place of the file or to another file altogether, and
// values may lie in other files or need a filter that is loaded from a disk: only hard links are followed, and only
// values in the file itself, in one piece or in chunks of at most 16 MiB behind shuffle and deflate.
// Throws Error{bad_data} that names the object.
enum class Stored { in_one_piece, in_chunks };
Group open_group(hid_t parent, const std::string& name);
Dataset open_dataset(hid_t parent, const std::string& name, Stored stored);

// The library writes into memory; the bytes go to disk in one piece (replace_file). Its own disk driver
// cannot be trusted with a full disk: the failing close leaves handles open, and the exit of the process
// tries again.
Plist memory_driver();
std::vector<std::byte> image_of(const File& file);
// `bytes` outlive the file.
File open_image(std::vector<std::byte>& bytes);

}  // namespace lynxkv::results
