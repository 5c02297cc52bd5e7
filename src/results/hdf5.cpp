#include "results/hdf5.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "results/columns.hpp"
#include "results/hdf5_edge.hpp"
#include "results/posix_file.hpp"

namespace lynxkv::results {
namespace {

using nlohmann::json;

constexpr int schema_version = 1;
constexpr hsize_t chunk_elements = 16384;
constexpr unsigned deflate_level = 4;
constexpr hsize_t most_deflate_gains = 1100;  // bytes out of one byte in; zlib's limit is 1032

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

// A text as bytes. We read it from here: the library follows the pointers of a variable-length attribute in a damaged
// file past the end of its memory. The attributes of the same names are for people.
void put_text(hid_t group, const char* name, const char* long_name, const std::string& text) {
  put_column(group, {name, "1", long_name, {}}, std::vector<std::uint8_t>(text.begin(), text.end()));
}

std::vector<std::byte> file_image(const std::vector<Row>& rows, const Hdf5Meta& meta) {
  const Plist access = memory_driver();
  const File file(must(H5Fcreate("results", H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), "H5Fcreate"));
  put_attribute(file.get(), "format", std::string("lynxkv results"));
  put_attribute(file.get(), "schema_version", schema_version);
  put_attribute(file.get(), "config_yaml", meta.config_yaml);
  {
    const Group texts(must(H5Gcreate2(file.get(), "texts", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "H5Gcreate2"));
    put_text(texts.get(), "config_yaml", "the effective config, YAML in UTF-8", meta.config_yaml);
    put_text(texts.get(), "facts_json", "what is known of the run, JSON in UTF-8", meta.facts_json);
  }
  {
    const Group samples(
        must(H5Gcreate2(file.get(), "samples", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "H5Gcreate2"));
    for (const Column& column : columns_of(rows))
      std::visit([&](const auto& values) { put_column(samples.get(), column, values); }, column.values);
  }
  put_facts(file.get(), meta.facts_json);
  put_attribute(file.get(), "complete", static_cast<std::int64_t>(meta.complete));
  return image_of(file);
}

std::size_t most_values_bytes(const File& file) {
  hsize_t bytes = 0;
  must(H5Fget_filesize(file.get(), &bytes), "H5Fget_filesize");
  return static_cast<std::size_t>(bytes) * most_deflate_gains;
}

template <class T>
std::vector<T> read_values(const Dataset& dataset, hsize_t count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  if (count > 0)
    must(H5Dread(dataset.get(), native_type<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), "H5Dread");
  return values;
}

// `budget_bytes`: what the file could hold, less what was read of it already: the same few bytes may be there under a
// hundred names.
Column read_column(hid_t group, const std::string& name, std::size_t& budget_bytes) {
  const Dataset dataset = open_dataset(group, name, Stored::in_chunks);
  const Space space(must(H5Dget_space(dataset.get()), "H5Dget_space"));
  hsize_t count = 0;
  if (H5Sget_simple_extent_ndims(space.get()) != 1 ||
      H5Sget_simple_extent_dims(space.get(), &count, nullptr) != 1)
    throw Error(ErrorCode::bad_data, "column '" + name + "'", "expected one dimension");
  const Type type(must(H5Dget_type(dataset.get()), "H5Dget_type"));
  const std::size_t width = H5Tget_size(type.get());
  // A header may promise more than the file can hold.
  const std::size_t stored_most = H5Dget_storage_size(dataset.get()) * most_deflate_gains;
  if (count > 0 && (width == 0 || count > std::min<hsize_t>(stored_most, budget_bytes) / width))
    throw Error(ErrorCode::bad_data, "column '" + name + "'",
                "claims " + std::to_string(count) + " values, more than its bytes hold");
  budget_bytes -= static_cast<std::size_t>(count) * width;
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

std::string read_text(hid_t group, const std::string& name, std::size_t& budget_bytes) {
  const Column column = read_column(group, name, budget_bytes);
  const auto* bytes = std::get_if<std::vector<std::uint8_t>>(&column.values);
  if (bytes == nullptr) throw Error(ErrorCode::bad_data, "/texts/" + name, "expected bytes");
  return {bytes->begin(), bytes->end()};
}

// Opens a results file's bytes and hands it to `take`; every failure becomes an Error that names the path.
template <class T, class Take>
Result<T> with_file(Result<std::vector<std::byte>> bytes, const std::string& path, Take take) {
  const Quiet quiet;
  if (!bytes) return bytes.error();
  try {
    const File file = open_image(bytes.value());
    if (H5Aexists(file.get(), "schema_version") <= 0 || H5Lexists(file.get(), "samples", H5P_DEFAULT) <= 0 ||
        H5Lexists(file.get(), "texts", H5P_DEFAULT) <= 0)
      return Error(ErrorCode::bad_data, path,
                   "is an HDF5 file, but not a results file of ours (with schema_version, /samples and /texts)");
    if (const auto version = get_number(file, "schema_version"); version != schema_version)
      return Error(
          ErrorCode::bad_data, path,
          "expected schema version " + std::to_string(schema_version) + ", found " + std::to_string(version));
    if (H5Aexists(file.get(), "complete") <= 0)
      return Error(ErrorCode::bad_data, path, "was not written to its end");
    if (const auto complete = get_number(file, "complete"); complete != 0 && complete != 1)
      return Error(ErrorCode::bad_data, path, "complete: expected 0 or 1, found " + std::to_string(complete));
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

Result<std::vector<Row>> read_hdf5(const std::string& path) { return parse_hdf5(read_whole_file(path), path); }

Result<std::vector<Row>> parse_hdf5(Result<std::vector<std::byte>> bytes, const std::string& path) {
  return with_file<std::vector<Row>>(std::move(bytes), path, [](const File& file) -> Result<std::vector<Row>> {
    const Group samples = open_group(file.get(), "samples");
    std::size_t budget_bytes = most_values_bytes(file);
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
      columns.push_back(read_column(samples.get(), name, budget_bytes));
    }
    return rows_of(columns).take();
  });
}

Result<Hdf5Meta> read_hdf5_meta(const std::string& path) {
  return with_file<Hdf5Meta>(read_whole_file(path), path, [](const File& file) -> Result<Hdf5Meta> {
    Hdf5Meta meta;
    meta.complete = get_number(file, "complete") != 0;
    const Group texts = open_group(file.get(), "texts");
    std::size_t budget_bytes = most_values_bytes(file);
    meta.config_yaml = read_text(texts.get(), "config_yaml", budget_bytes);
    meta.facts_json = read_text(texts.get(), "facts_json", budget_bytes);
    return meta;
  });
}

}  // namespace lynxkv::results
