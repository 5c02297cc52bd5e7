#include "results/hdf5.hpp"

#include <hdf5.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/handle.hpp"
#include "results/columns.hpp"
#include "results/posix_file.hpp"

namespace lynxkv::results {
namespace {

using nlohmann::json;

constexpr int schema_version = 1;
constexpr hsize_t chunk_elements = 16384;
constexpr unsigned deflate_level = 4;
constexpr hsize_t most_deflate_gains = 1100;  // bytes out of one byte in; zlib's limit is 1032

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

template <class T>
hid_t native_type();
template <>
hid_t native_type<double>() {
  return H5T_NATIVE_DOUBLE;
}
template <>
hid_t native_type<std::int64_t>() {
  return H5T_NATIVE_INT64;
}
template <>
hid_t native_type<std::uint64_t>() {
  return H5T_NATIVE_UINT64;
}
template <>
hid_t native_type<std::int32_t>() {
  return H5T_NATIVE_INT32;
}
template <>
hid_t native_type<std::uint8_t>() {
  return H5T_NATIVE_UINT8;
}

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

template <class T>
void put_column(hid_t group, const Column& column, const std::vector<T>& values) {
  const hsize_t count = values.size(), unlimited = H5S_UNLIMITED;
  const hsize_t chunk = std::clamp<hsize_t>(count, 1, chunk_elements);
  const Space space(must(H5Screate_simple(1, &count, &unlimited), "H5Screate_simple"));
  const Plist plist(must(H5Pcreate(H5P_DATASET_CREATE), "H5Pcreate"));
  must(H5Pset_chunk(plist.get(), 1, &chunk), "H5Pset_chunk");
  must(H5Pset_shuffle(plist.get()), "H5Pset_shuffle");
  must(H5Pset_deflate(plist.get(), deflate_level), "H5Pset_deflate");
  const hid_t type = native_type<T>();
  const Dataset dataset(
      must(H5Dcreate2(group, column.name.c_str(), type, space.get(), H5P_DEFAULT, plist.get(), H5P_DEFAULT),
           "H5Dcreate2"));
  if (count > 0)
    must(H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), "H5Dwrite");
  put_attribute(dataset.get(), "units", column.units);
  put_attribute(dataset.get(), "long_name", column.long_name);
}

void put_facts(hid_t file, const std::string& facts_json) {
  put_attribute(file, "facts_json", facts_json);
  const json facts = json::parse(facts_json, nullptr, false);
  if (!facts.is_object()) return;
  for (const auto& [name, value] : facts.items()) {
    if (name.empty() || H5Aexists(file, name.c_str()) > 0) continue;
    if (value.is_string()) {
      put_attribute(file, name, value.get<std::string>());
    } else if (value.is_boolean()) {
      put_attribute(file, name, static_cast<std::int64_t>(value.get<bool>()));
    } else if (value.is_number_unsigned()) {
      const auto number = value.get<std::uint64_t>();
      put_attribute(file, name, H5T_NATIVE_UINT64, &number);
    } else if (value.is_number_integer()) {
      put_attribute(file, name, value.get<std::int64_t>());
    } else if (value.is_number_float()) {
      const auto number = value.get<double>();
      put_attribute(file, name, H5T_NATIVE_DOUBLE, &number);
    } else {
      put_attribute(file, name, value.dump(-1, ' ', false, json::error_handler_t::replace));
    }
  }
}

// The library writes into memory; the bytes go to disk in one piece (replace_file). Its own disk driver
// cannot be trusted with a full disk: the failing close leaves handles open, and the exit of the process
// tries again.
Plist memory_driver() {
  Plist plist(must(H5Pcreate(H5P_FILE_ACCESS), "H5Pcreate"));
  must(H5Pset_fapl_core(plist.get(), std::size_t{4} << 20, false), "H5Pset_fapl_core");
  return plist;
}

std::vector<std::byte> file_image(const std::vector<Row>& rows, const Hdf5Meta& meta) {
  const Plist access = memory_driver();
  const File file(must(H5Fcreate("results", H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), "H5Fcreate"));
  put_attribute(file.get(), "format", std::string("lynxkv results"));
  put_attribute(file.get(), "schema_version", schema_version);
  put_attribute(file.get(), "config_yaml", meta.config_yaml);
  {
    const Group samples(
        must(H5Gcreate2(file.get(), "samples", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "H5Gcreate2"));
    for (const Column& column : columns_of(rows))
      std::visit([&](const auto& values) { put_column(samples.get(), column, values); }, column.values);
  }
  put_facts(file.get(), meta.facts_json);
  put_attribute(file.get(), "complete", static_cast<std::int64_t>(meta.complete));
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

template <class T>
std::vector<T> read_values(const Dataset& dataset, hsize_t count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  if (count > 0)
    must(H5Dread(dataset.get(), native_type<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), "H5Dread");
  return values;
}

Column read_column(hid_t group, const std::string& name) {
  const Dataset dataset(must(H5Dopen2(group, name.c_str(), H5P_DEFAULT), "H5Dopen2"));
  const Space space(must(H5Dget_space(dataset.get()), "H5Dget_space"));
  hsize_t count = 0;
  if (H5Sget_simple_extent_ndims(space.get()) != 1 ||
      H5Sget_simple_extent_dims(space.get(), &count, nullptr) != 1)
    throw Error(ErrorCode::bad_data, "column '" + name + "'", "expected one dimension");
  const Type type(must(H5Dget_type(dataset.get()), "H5Dget_type"));
  const std::size_t width = H5Tget_size(type.get());
  // A header may promise more than the file can hold.
  if (count > 0 && (width == 0 || count > H5Dget_storage_size(dataset.get()) * most_deflate_gains / width))
    throw Error(ErrorCode::bad_data, "column '" + name + "'",
                "claims " + std::to_string(count) + " values, more than its bytes hold");
  Column column{name, "", "", {}};
  const bool integer = H5Tget_class(type.get()) == H5T_INTEGER;
  const bool is_signed = integer && H5Tget_sign(type.get()) == H5T_SGN_2;
  if (H5Tget_class(type.get()) == H5T_FLOAT && width == 8)
    column.values = read_values<double>(dataset, count);
  else if (integer && is_signed && width == 8)
    column.values = read_values<std::int64_t>(dataset, count);
  else if (integer && !is_signed && width == 8)
    column.values = read_values<std::uint64_t>(dataset, count);
  else if (integer && is_signed && width == 4)
    column.values = read_values<std::int32_t>(dataset, count);
  else if (integer && !is_signed && width == 1)
    column.values = read_values<std::uint8_t>(dataset, count);
  else
    throw Error(ErrorCode::bad_data, "column '" + name + "'", "has values of a type that we do not write");
  return column;
}

std::string get_text(const File& file, const char* name) {
  const Attribute attribute(must(H5Aopen(file.get(), name, H5P_DEFAULT), name));
  const Type stored(must(H5Aget_type(attribute.get()), "H5Aget_type"));
  if (H5Tis_variable_str(stored.get()) <= 0) throw Error(ErrorCode::bad_data, name, "expected text");
  const Type type = text_type();
  char* text = nullptr;
  must(H5Aread(attribute.get(), type.get(), &text), "H5Aread");
  std::string copy = text != nullptr ? text : "";
  H5free_memory(text);
  return copy;
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

// Opens a results file and hands it to `take`; every failure becomes an Error that names the path.
template <class T, class Take>
Result<T> with_file(const std::string& path, Take take) {
  const Quiet quiet;
  auto bytes = read_whole_file(path);
  if (!bytes) return bytes.error();
  try {
    const File file = open_image(bytes.value());
    if (H5Aexists(file.get(), "format") <= 0 || get_text(file, "format") != "lynxkv results")
      return Error(ErrorCode::bad_data, path,
                   "is an HDF5 file, but not one of ours (no attribute format = 'lynxkv results')");
    if (const auto version = get_number(file, "schema_version"); version != schema_version)
      return Error(
          ErrorCode::bad_data, path,
          "expected schema version " + std::to_string(schema_version) + ", found " + std::to_string(version));
    if (H5Aexists(file.get(), "complete") <= 0)
      return Error(ErrorCode::bad_data, path, "was not written to its end");
    return take(file);
  } catch (const Error& error) {
    return Error(error.code(), path, error.what());
  }
}

}  // namespace

void write_hdf5(const std::string& path, const std::vector<Row>& rows, const Hdf5Meta& meta) {
  const Quiet quiet;
  std::vector<Row> sorted = rows;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Row& a, const Row& b) {
    const auto order = [](const RowKey& key) {
      return std::tie(key.suite, key.task, key.length, key.line, key.mode);
    };
    return order(a.key) < order(b.key);
  });
  replace_file(path, file_image(sorted, meta));
}

Result<std::vector<Row>> read_hdf5(const std::string& path) {
  return with_file<std::vector<Row>>(path, [](const File& file) -> Result<std::vector<Row>> {
    const Group samples(must(H5Gopen2(file.get(), "samples", H5P_DEFAULT), "opening /samples"));
    H5G_info_t info{};
    must(H5Gget_info(samples.get(), &info), "H5Gget_info");
    std::vector<Column> columns;
    for (hsize_t i = 0; i < info.nlinks; ++i) {
      std::string name(256, '\0');
      const auto size = must(H5Lget_name_by_idx(samples.get(), ".", H5_INDEX_NAME, H5_ITER_INC, i,
                                                name.data(), name.size(), H5P_DEFAULT),
                             "H5Lget_name_by_idx");
      if (static_cast<std::size_t>(size) >= name.size()) continue;  // no name of ours is so long
      name.resize(static_cast<std::size_t>(size));
      columns.push_back(read_column(samples.get(), name));
    }
    return rows_of(columns).take();
  });
}

Result<Hdf5Meta> read_hdf5_meta(const std::string& path) {
  return with_file<Hdf5Meta>(path, [](const File& file) -> Result<Hdf5Meta> {
    Hdf5Meta meta;
    meta.complete = get_number(file, "complete") != 0;
    meta.config_yaml = get_text(file, "config_yaml");
    meta.facts_json = get_text(file, "facts_json");
    return meta;
  });
}

}  // namespace lynxkv::results
