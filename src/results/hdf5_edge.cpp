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

namespace {

constexpr hsize_t most_chunk_bytes = hsize_t{16} << 20;

Error bad_object(const std::string& name, const std::string& what) { return Error(ErrorCode::bad_data, "'" + name + "'", what); }

void require_hard_link(hid_t parent, const std::string& name) {
  H5L_info_t info{};
  if (H5Lget_info(parent, name.c_str(), &info, H5P_DEFAULT) < 0) throw bad_object(name, "is not in the file");
  if (info.type != H5L_TYPE_HARD) throw bad_object(name, "is a link to another place; links are not followed");
}

void require_known_filters(const Plist& stored, const std::string& name) {
  const int filters = must(H5Pget_nfilters(stored.get()), "H5Pget_nfilters");
  for (int i = 0; i < filters; ++i) {
    unsigned flags = 0, configuration = 0;
    std::size_t values = 0;
    const H5Z_filter_t filter =
        H5Pget_filter2(stored.get(), static_cast<unsigned>(i), &flags, &values, nullptr, 0, nullptr, &configuration);
    if (filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_SHUFFLE)
      throw bad_object(name, "has filter " + std::to_string(filter) + "; only shuffle and deflate are ours");
  }
}

// Of a dataset of one dimension with values of `width` bytes.
void require_small_chunks(const Plist& stored, std::size_t width, const std::string& name) {
  hsize_t values = 0;
  if (H5Pget_chunk(stored.get(), 1, &values) != 1) throw bad_object(name, "expected one dimension");
  if (values == 0 || width == 0 || values > most_chunk_bytes / width)
    throw bad_object(name, "has chunks of " + std::to_string(values) + " values; ours are of at most 16 MiB");
}

}  // namespace

Group open_group(hid_t parent, const std::string& name) {
  require_hard_link(parent, name);
  return Group(must(H5Gopen2(parent, name.c_str(), H5P_DEFAULT), name.c_str()));
}

Dataset open_dataset(hid_t parent, const std::string& name, Stored stored) {
  require_hard_link(parent, name);
  Dataset dataset(must(H5Dopen2(parent, name.c_str(), H5P_DEFAULT), name.c_str()));
  const Plist plist(must(H5Dget_create_plist(dataset.get()), "H5Dget_create_plist"));
  const H5D_layout_t layout = H5Pget_layout(plist.get());
  if (H5Pget_external_count(plist.get()) != 0 || layout == H5D_VIRTUAL)
    throw bad_object(name, "has its values in another file; only those of the file itself are read");
  if (layout != (stored == Stored::in_chunks ? H5D_CHUNKED : H5D_CONTIGUOUS))
    throw bad_object(name, stored == Stored::in_chunks ? "is not stored as we do: in chunks" : "is not stored as we do: in one piece");
  require_known_filters(plist, name);
  const Type type(must(H5Dget_type(dataset.get()), "H5Dget_type"));
  if (const H5T_class_t kind = H5Tget_class(type.get()); kind != H5T_INTEGER && kind != H5T_FLOAT)
    throw bad_object(name, "has values of a type that we do not write");
  if (stored == Stored::in_chunks) require_small_chunks(plist, H5Tget_size(type.get()), name);
  return dataset;
}

std::int64_t get_number(const File& file, const char* name) {
  const Attribute attribute(must(H5Aopen(file.get(), name, H5P_DEFAULT), name));
  const Space space(must(H5Aget_space(attribute.get()), "H5Aget_space"));
  const Type type(must(H5Aget_type(attribute.get()), "H5Aget_type"));
  if (H5Sget_simple_extent_npoints(space.get()) != 1 || H5Tget_class(type.get()) != H5T_INTEGER)
    throw Error(ErrorCode::bad_data, name, "expected one number");
  std::int64_t value = 0;
  must(H5Aread(attribute.get(), H5T_NATIVE_INT64, &value), "H5Aread");
  return value;
}

}  // namespace lynxkv::results
