#include "results/hdf5_edge.hpp"

namespace lynxkv::results {

Type text_type() {
  Type type(must(H5Tcopy(H5T_C_S1), "H5Tcopy"));
  must(H5Tset_size(type.get(), H5T_VARIABLE), "H5Tset_size");
  must(H5Tset_cset(type.get(), H5T_CSET_UTF8), "H5Tset_cset");
  return type;
}

void put_attribute(hid_t object, const std::string& name, hid_t type, const void* value) {
  const Space space(must(H5Screate(H5S_SCALAR), "H5Screate"));
  const Attribute attribute(
      must(H5Acreate2(object, name.c_str(), type, space.get(), H5P_DEFAULT, H5P_DEFAULT), "H5Acreate2"));
  must(H5Awrite(attribute.get(), type, value), "H5Awrite");
}
void put_attribute(hid_t object, const std::string& name, const std::string& text) {
  const Type type = text_type();
  const char* pointer = text.c_str();
  put_attribute(object, name, type.get(), &pointer);
}
void put_attribute(hid_t object, const std::string& name, std::int64_t value) {
  put_attribute(object, name, H5T_NATIVE_INT64, &value);
}

Plist memory_driver() {
  Plist plist(must(H5Pcreate(H5P_FILE_ACCESS), "H5Pcreate"));
  must(H5Pset_fapl_core(plist.get(), std::size_t{4} << 20, false), "H5Pset_fapl_core");
  return plist;
}

std::vector<std::byte> image_of(const File& file) {
  must(H5Fflush(file.get(), H5F_SCOPE_GLOBAL), "H5Fflush");
  const auto size = must(H5Fget_file_image(file.get(), nullptr, 0), "H5Fget_file_image");
  std::vector<std::byte> image(static_cast<std::size_t>(size));
  must(H5Fget_file_image(file.get(), image.data(), image.size()), "H5Fget_file_image");
  return image;
}

File open_image(std::vector<std::byte>& bytes) {
  const Plist access = memory_driver();
  must(H5Pset_file_image(access.get(), bytes.data(), bytes.size()), "H5Pset_file_image");
  return File(must(H5Fopen("results", H5F_ACC_RDONLY, access.get()), "opening"));
}

std::int64_t get_number(const File& file, const char* name) {
  const Attribute attribute(must(H5Aopen(file.get(), name, H5P_DEFAULT), name));
  const Space space(must(H5Aget_space(attribute.get()), "H5Aget_space"));
  if (H5Sget_simple_extent_npoints(space.get()) != 1)
    throw Error(ErrorCode::bad_data, name, "expected one number");
  std::int64_t value = 0;
  must(H5Aread(attribute.get(), H5T_NATIVE_INT64, &value), "H5Aread");
  return value;
}

}  // namespace lynxkv::results
