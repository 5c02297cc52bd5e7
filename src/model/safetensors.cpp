#include "model/safetensors.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "model/json_input.hpp"

namespace lynxkv::model {
namespace {

using nlohmann::json;

constexpr std::uint64_t most_header_bytes = 100'000'000;  // the format's own limit

struct Dtype {
  std::string_view name;
  std::uint32_t bytes;
  std::optional<TensorType> type;
};
constexpr std::array<Dtype, 16> dtypes = {{
    {"F32", 4, TensorType::f32},
    {"F16", 2, TensorType::f16},
    {"BF16", 2, TensorType::bf16},
    {"F64", 8, std::nullopt},
    {"I64", 8, std::nullopt},
    {"U64", 8, std::nullopt},
    {"I32", 4, std::nullopt},
    {"U32", 4, std::nullopt},
    {"I16", 2, std::nullopt},
    {"U16", 2, std::nullopt},
    {"I8", 1, std::nullopt},
    {"U8", 1, std::nullopt},
    {"BOOL", 1, std::nullopt},
    {"F8_E4M3", 1, std::nullopt},
    {"F8_E5M2", 1, std::nullopt},
    {"F8_E8M0", 1, std::nullopt},
}};

class HeaderReader {
 public:
  HeaderReader(const std::string& file, std::span<const std::byte> data) : file_(file), data_(data) {}

  StoredTensor read(const std::string& name, const json& entry) const {
    const auto fail = [&](const std::string& what) {
      return error("tensor '" + name.substr(0, 100) + "': " + what);
    };
    if (!entry.is_object()) throw fail("expected an object, found " + kind_of(entry));
    StoredTensor tensor;
    tensor.name = name;
    tensor.file = file_;
    const json& dtype = entry.value("dtype", json());
    const json& shape = entry.value("shape", json());
    const json& offsets = entry.value("data_offsets", json());
    if (!dtype.is_string()) throw fail("expected a string as dtype, found " + kind_of(dtype));
    tensor.type_name = dtype.get<std::string>().substr(0, 20);
    const auto known = std::find_if(dtypes.begin(), dtypes.end(),
                                    [&](const Dtype& d) { return d.name == tensor.type_name; });
    if (known == dtypes.end()) throw fail("dtype '" + tensor.type_name + "' is not one that we know");
    tensor.type = known->type;
    std::uint64_t bytes = known->bytes;
    if (!shape.is_array() || shape.size() > 8)
      throw fail("expected an array of at most 8 sizes as shape, found " + kind_of(shape));
    for (const json& size : shape) {
      if (!size.is_number_unsigned()) throw fail("expected sizes in shape, found " + kind_of(size));
      tensor.shape.push_back(size.get<std::uint64_t>());
      if (__builtin_mul_overflow(bytes, tensor.shape.back(), &bytes)) throw fail("its size is too large");
    }
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
        !offsets[1].is_number_unsigned())
      throw fail("expected two offsets as data_offsets");
    const auto begin = offsets[0].get<std::uint64_t>(), end = offsets[1].get<std::uint64_t>();
    if (begin > end || end > data_.size())
      throw fail("its data_offsets [" + std::to_string(begin) + ", " + std::to_string(end) +
                 "] do not lie in the file's " + std::to_string(data_.size()) +
                 " bytes of data: it is truncated or damaged");
    if (end - begin != bytes)
      throw fail("expected " + std::to_string(bytes) + " bytes by dtype and shape, found " +
                 std::to_string(end - begin));
    tensor.bytes = data_.subspan(begin, bytes);
    return tensor;
  }

  // The format demands that the tensors fill the data exactly.
  void check_order(const std::vector<StoredTensor>& in_order) const {
    const std::byte* at = data_.data();
    for (const StoredTensor& tensor : in_order) {
      if (tensor.bytes.data() != at)
        throw error("tensor '" + tensor.name.substr(0, 100) + "' " +
                    (tensor.bytes.data() < at ? "overlaps another" : "leaves a gap before it"));
      at += tensor.bytes.size();
    }
    if (at != data_.data() + data_.size())
      throw error("expected the tensors to fill the file, found " +
                  std::to_string(data_.data() + data_.size() - at) + " bytes after the last");
  }

 private:
  Error error(const std::string& what) const { return Error(ErrorCode::bad_data, file_, what); }

  const std::string& file_;
  std::span<const std::byte> data_;
};

}  // namespace

Safetensors read_safetensors(std::span<const std::byte> file, const std::string& name) {
  const auto fail = [&](const std::string& what) { return Error(ErrorCode::bad_data, name, what); };
  ByteReader reader(file);
  const auto header_bytes = reader.read<std::uint64_t>();
  if (!reader.ok())
    throw fail("expected a safetensors file, found only " + std::to_string(file.size()) + " bytes");
  if (header_bytes > most_header_bytes || header_bytes > reader.left())
    throw fail("expected a header length of at most " +
               std::to_string(std::min<std::uint64_t>(most_header_bytes, reader.left())) + " bytes, found " +
               std::to_string(header_bytes) + ": the file is truncated or no safetensors file");
  const auto text = reader.take(header_bytes);
  const std::span<const std::byte> data = file.subspan(8 + header_bytes);
  const json header =
      parse_json({reinterpret_cast<const char*>(text.data()), text.size()}, name, "a safetensors header");
  if (!header.is_object()) throw fail("expected an object as header, found " + kind_of(header));
  Safetensors out;
  out.header = file.first(8 + header_bytes);
  const HeaderReader entries(name, data);
  for (const auto& [key, entry] : header.items())
    if (key != "__metadata__") out.tensors.push_back(entries.read(key, entry));
  std::sort(out.tensors.begin(), out.tensors.end(), [](const StoredTensor& a, const StoredTensor& b) {
    return a.bytes.data() != b.bytes.data() ? a.bytes.data() < b.bytes.data()
                                            : a.bytes.size() < b.bytes.size();
  });
  entries.check_order(out.tensors);
  return out;
}

ShardIndex read_shard_index(std::string_view text, const std::string& name) {
  const json index = parse_json(text, name, "an index of shards");
  const json map = index.is_object() ? index.value("weight_map", json()) : json();
  if (!map.is_object())
    throw Error(ErrorCode::bad_data, name, "expected an object 'weight_map', found " + kind_of(map));
  ShardIndex out;
  std::set<std::string> files;
  for (const auto& [tensor, file] : map.items()) {
    if (!file.is_string())
      throw Error(ErrorCode::bad_data, name, "expected file names in weight_map, found " + kind_of(file));
    const auto plain = file.get<std::string>();
    if (plain.empty() || plain[0] == '.' || plain.find('/') != std::string::npos ||
        plain.find('\0') != std::string::npos)
      throw Error(ErrorCode::bad_data, name,
                  "expected plain file names in weight_map, found '" + plain.substr(0, 100) + "'");
    files.insert(plain);
    out.file_of_tensor.emplace_back(tensor, plain);
  }
  out.files.assign(files.begin(), files.end());
  return out;
}

}  // namespace lynxkv::model
