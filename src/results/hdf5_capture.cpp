#include "results/hdf5_capture.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <utility>

#include "base/check.hpp"
#include "results/hdf5_edge.hpp"
#include "results/posix_file.hpp"

namespace lynxkv::results {
namespace {

constexpr const char* format = "lynxkv kv";
constexpr std::int64_t schema_version = 1;
constexpr std::int64_t most_layers = 4096, most_channels = 1 << 20, most_tokens = 1 << 28;

Error bad(const std::string& where, const std::string& what) { return Error(ErrorCode::bad_data, where, what); }

template <class T>
hid_t type_of();
template <>
hid_t type_of<std::uint16_t>() {
  return H5T_STD_U16LE;
}
template <>
hid_t type_of<std::int32_t>() {
  return H5T_STD_I32LE;
}

template <class T>
void put_array(const File& file, const char* name, const std::vector<hsize_t>& dimensions, const std::vector<T>& values,
               const char* long_name, const char* dtype) {
  const Space space(must(H5Screate_simple(static_cast<int>(dimensions.size()), dimensions.data(), nullptr), "H5Screate_simple"));
  const Dataset dataset(must(H5Dcreate2(file.get(), name, type_of<T>(), space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "H5Dcreate2"));
  must(H5Dwrite(dataset.get(), type_of<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), "H5Dwrite");
  put_attribute(dataset.get(), "long_name", long_name);
  put_attribute(dataset.get(), "units", std::string("1"));
  if (dtype != nullptr) put_attribute(dataset.get(), "dtype", std::string(dtype));
}

// Texts of the root are of fixed length: those of variable length lie in a heap that the library (1.10) reads past its
// end when the file is damaged.
constexpr std::size_t most_text = 4096;
Type fixed_text(std::size_t size) {
  Type type(must(H5Tcopy(H5T_C_S1), "H5Tcopy"));
  must(H5Tset_size(type.get(), size), "H5Tset_size");
  must(H5Tset_cset(type.get(), H5T_CSET_UTF8), "H5Tset_cset");
  must(H5Tset_strpad(type.get(), H5T_STR_NULLPAD), "H5Tset_strpad");
  return type;
}
void put_fixed_text(const File& file, const char* name, std::string text) {
  text.resize(std::clamp<std::size_t>(text.size(), 1, most_text));
  put_attribute(file.get(), name, fixed_text(text.size()).get(), text.data());
}
std::string get_fixed_text(const File& file, const char* name) {
  const Attribute attribute(must(H5Aopen(file.get(), name, H5P_DEFAULT), name));
  const Type stored(must(H5Aget_type(attribute.get()), "H5Aget_type"));
  const Space space(must(H5Aget_space(attribute.get()), "H5Aget_space"));
  const std::size_t size = H5Tget_size(stored.get());
  if (H5Tget_class(stored.get()) != H5T_STRING || H5Tis_variable_str(stored.get()) != 0 || size == 0 || size > most_text ||
      H5Sget_simple_extent_npoints(space.get()) != 1)
    throw bad(name, "expected one text of at most " + std::to_string(most_text) + " bytes");
  std::string text(size, '\0');
  must(H5Aread(attribute.get(), fixed_text(size).get(), text.data()), "H5Aread");
  text.resize(text.find_last_not_of('\0') + 1);
  return text;
}

// An array as put_array wrote it: of this rank and type, its bytes in this very file. `size_limit`: of the file.
template <class T>
std::vector<T> get_array(const File& file, const char* name, std::vector<hsize_t>& dimensions, std::size_t size_limit) {
  const Dataset dataset = open_dataset(file.get(), name, Stored::in_one_piece);
  const Space space(must(H5Dget_space(dataset.get()), "H5Dget_space"));
  if (H5Sget_simple_extent_ndims(space.get()) != static_cast<int>(dimensions.size()))
    throw bad(name, "expected " + std::to_string(dimensions.size()) + " dimensions");
  must(H5Sget_simple_extent_dims(space.get(), dimensions.data(), nullptr), "H5Sget_simple_extent_dims");
  const Type type(must(H5Dget_type(dataset.get()), "H5Dget_type"));
  if (H5Tequal(type.get(), type_of<T>()) <= 0) throw bad(name, "has values of a type that we do not write");
  std::size_t count = 1;
  for (const hsize_t size : dimensions) {
    if (size == 0 || size > size_limit / sizeof(T) / count) throw bad(name, "claims more values than the file holds, or none");
    count *= static_cast<std::size_t>(size);
  }
  if (H5Dget_storage_size(dataset.get()) != count * sizeof(T)) throw bad(name, "has no bytes for all of its values");
  std::vector<T> values(count);
  must(H5Dread(dataset.get(), type_of<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), name);
  return values;
}

int get_size(const File& file, const char* name, std::int64_t most) {
  const std::int64_t value = get_number(file, name);
  if (value < 1 || value > most) throw bad(name, "expected 1 to " + std::to_string(most) + ", found " + std::to_string(value));
  return static_cast<int>(value);
}

void check_layers(const KvFile& capture) {
  for (std::size_t i = 0; i < capture.layers.size(); ++i)
    if (capture.layers[i] < 0 || capture.layers[i] >= capture.model_layers ||
        (i > 0 && capture.layers[i] <= capture.layers[i - 1]))
      throw bad("layers", "expected ascending numbers below " + std::to_string(capture.model_layers));
}

bool is_ours(const File& file) {
  try {
    return H5Aexists(file.get(), "format") > 0 && get_fixed_text(file, "format") == format;
  } catch (const Error&) {
    return false;
  }
}

KvFile read(const File& file, std::size_t size_limit) {
  if (!is_ours(file))
    throw bad("format", "is an HDF5 file, but not one of captured KV (no attribute format = '" + std::string(format) + "')");
  if (const auto version = get_number(file, "schema_version"); version != schema_version)
    throw bad("schema_version", "expected " + std::to_string(schema_version) + ", found " + std::to_string(version));
  if (H5Aexists(file.get(), "complete") <= 0 || get_number(file, "complete") != 1) throw bad("complete", "the file was not written to its end");
  KvFile capture;
  capture.model = get_fixed_text(file, "model");
  capture.text = get_fixed_text(file, "text");
  capture.model_layers = get_size(file, "model_layers", most_layers);
  capture.kv_heads = get_size(file, "kv_heads", most_channels);
  capture.head_dim = get_size(file, "head_dim", most_channels / capture.kv_heads);
  std::vector<hsize_t> layers(1), tokens(1), keys(3), values(3);
  capture.layers = get_array<std::int32_t>(file, "layers", layers, size_limit);
  check_layers(capture);
  capture.token_ids = get_array<std::int32_t>(file, "token_ids", tokens, size_limit);
  if (tokens[0] > static_cast<hsize_t>(most_tokens)) throw bad("token_ids", "has too many tokens");
  capture.key = get_array<std::uint16_t>(file, "key", keys, size_limit);
  capture.value = get_array<std::uint16_t>(file, "value", values, size_limit);
  const std::vector<hsize_t> expected = {layers[0], tokens[0], static_cast<hsize_t>(capture.kv_heads * capture.head_dim)};
  if (keys != expected || values != expected)
    throw bad("key", "and 'value': expected [" + std::to_string(expected[0]) + "][" + std::to_string(expected[1]) + "][" +
                         std::to_string(expected[2]) + "], as layers, token_ids, kv_heads and head_dim say");
  return capture;
}

}  // namespace

void write_kv_file(const std::string& path, const KvFile& capture) {
  const Quiet quiet;
  const std::vector<hsize_t> dimensions = {capture.layers.size(), capture.token_ids.size(),
                                           static_cast<hsize_t>(capture.kv_heads) * static_cast<hsize_t>(capture.head_dim)};
  LYNXKV_CHECK(capture.key.size() == dimensions[0] * dimensions[1] * dimensions[2] && capture.value.size() == capture.key.size());
  const Plist access = memory_driver();
  const File file(must(H5Fcreate("capture", H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), "H5Fcreate"));
  put_fixed_text(file, "format", std::string(format));
  put_attribute(file.get(), "schema_version", schema_version);
  put_fixed_text(file, "model", capture.model);
  put_fixed_text(file, "text", capture.text);
  put_attribute(file.get(), "model_layers", static_cast<std::int64_t>(capture.model_layers));
  put_attribute(file.get(), "kv_heads", static_cast<std::int64_t>(capture.kv_heads));
  put_attribute(file.get(), "head_dim", static_cast<std::int64_t>(capture.head_dim));
  put_array(file, "layers", {dimensions[0]}, capture.layers, "layers of the model that are here", nullptr);
  put_array(file, "token_ids", {dimensions[1]}, capture.token_ids, "the text's tokens", nullptr);
  put_array(file, "key", dimensions, capture.key, "K after RoPE, [layer][token][channel]", "bfloat16");
  put_array(file, "value", dimensions, capture.value, "V, [layer][token][channel]", "bfloat16");
  put_attribute(file.get(), "complete", std::int64_t{1});
  replace_file(path, image_of(file));
}

Result<KvFile> parse_kv_file(std::vector<std::byte> bytes, const std::string& path) {
  const Quiet quiet;
  try {
    const File file = open_image(bytes);
    return read(file, bytes.size());
  } catch (const Error& error) {
    return Error(error.code(), path, error.what());
  }
}

Result<KvFile> read_kv_file(const std::string& path) {
  auto bytes = read_whole_file(path);
  if (!bytes) return bytes.error();
  return parse_kv_file(std::move(bytes.value()), path);
}

bool is_hdf5_file(const std::string& path) {
  constexpr char magic[] = "\x89HDF\r\n\x1a\n";
  char front[sizeof magic - 1] = {};
  std::ifstream in(path, std::ios::binary);
  return in.read(front, sizeof front) && std::memcmp(front, magic, sizeof front) == 0;
}

}  // namespace lynxkv::results
