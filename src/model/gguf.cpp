#include "model/gguf.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "model/gguf_cursor.hpp"

namespace lynxkv::model {
namespace {

constexpr std::uint64_t most_key_bytes = 65535;
constexpr std::uint64_t most_name_bytes = 1024;
constexpr std::uint32_t most_dimensions = 4;

std::uint32_t read_version(GgufCursor& cursor) {
  const auto magic = cursor.take(4, "the magic number");
  if (std::memcmp(magic.data(), "GGUF", 4) != 0)
    throw cursor.error("expected a GGUF file, which begins with 'GGUF'; found " +
                       quoted({reinterpret_cast<const char*>(magic.data()), 4}));
  const auto version = cursor.read<std::uint32_t>("the version");
  if (version == 2 || version == 3) return version;
  const std::uint32_t swapped = (version >> 24) | (version << 24);
  if ((version & 0x00ffff00u) == 0 && swapped <= 3)
    throw cursor.error("expected a little-endian GGUF file, found a big-endian one; convert it");
  throw cursor.error("expected GGUF version 2 or 3, found " + std::to_string(version) + "; convert it again");
}

// The data are placed by `general.alignment`, 32 where it is absent.
std::uint64_t read_alignment(const Gguf& file) {
  const auto value = file.integer("general.alignment");
  if (!value) return 32;
  if (*value < 1 || *value > (1 << 20) || !std::has_single_bit(static_cast<std::uint64_t>(*value)))
    throw file.error("expected a power of two up to 1048576 as general.alignment, found " +
                     std::to_string(*value));
  return static_cast<std::uint64_t>(*value);
}

struct TensorRecord {
  GgufTensor tensor;
  std::uint64_t offset;  // from the start of the data
  std::uint64_t bytes;
};

TensorRecord read_tensor(GgufCursor& cursor) {
  TensorRecord record;
  GgufTensor& tensor = record.tensor;
  tensor.name = cursor.read_string("a tensor's name", most_name_bytes);
  const std::string what = "tensor " + quoted(tensor.name);
  const auto dimensions = cursor.read<std::uint32_t>(what);
  if (dimensions < 1 || dimensions > most_dimensions)
    throw cursor.error(what + ": expected 1 to 4 dimensions, found " + std::to_string(dimensions));
  std::uint64_t values = 1;
  for (std::uint32_t d = 0; d < dimensions; ++d) {
    const auto size = cursor.read<std::uint64_t>(what);
    if (size == 0) throw cursor.error(what + ": dimension " + std::to_string(d) + " is 0");
    if (__builtin_mul_overflow(values, size, &values) || values > (std::uint64_t{1} << 62))
      throw cursor.error(what + ": the product of its dimensions is too large");
    tensor.dimensions.push_back(size);
  }
  const auto number = cursor.read<std::uint32_t>(what);
  const auto type = tensor_type_info(number);
  if (!type)
    throw cursor.error(what + ": type " + std::to_string(number) + " is not one that GGUF files have");
  tensor.type = *type;
  if (tensor.columns() % type->block_values != 0)
    throw cursor.error(what + ": expected rows of a multiple of " + std::to_string(type->block_values) +
                       " values for " + std::string(type->name) + ", found " +
                       std::to_string(tensor.columns()));
  if (__builtin_mul_overflow(values / type->block_values, std::uint64_t{type->block_bytes}, &record.bytes))
    throw cursor.error(what + ": its size in bytes is too large");
  record.offset = cursor.read<std::uint64_t>(what);
  return record;
}

}  // namespace

std::uint64_t GgufTensor::rows() const noexcept {
  std::uint64_t rows = 1;
  for (std::size_t d = 1; d < dimensions.size(); ++d) rows *= dimensions[d];
  return rows;
}

Gguf::Gguf(std::span<const std::byte> file, std::string name) : name_(std::move(name)) {
  if (file.empty()) throw error("the file is empty; expected a GGUF file");
  GgufCursor cursor(file, name_);
  version_ = read_version(cursor);
  const auto tensors = cursor.read<std::uint64_t>("the count of tensors");
  const auto entries = cursor.read<std::uint64_t>("the count of metadata entries");
  cursor.require_count(entries, 13, "metadata entries");  // a length, a type and at least one byte
  for (std::uint64_t i = 0; i < entries; ++i) {
    GgufEntry entry;
    entry.key = cursor.read_string("a metadata key", most_key_bytes);
    entry.value = cursor.read_value(entry.key);
    if (!entry_by_key_.emplace(entry.key, entries_.size()).second)
      throw error("the metadata key " + quoted(entry.key) + " stands there twice");
    entries_.push_back(entry);
  }
  const std::uint64_t alignment = read_alignment(*this);

  cursor.require_count(tensors, 32, "tensors");  // name length, dimensions, one of them, type, offset
  std::vector<TensorRecord> records;
  for (std::uint64_t i = 0; i < tensors; ++i) {
    records.push_back(read_tensor(cursor));
    if (!tensor_by_name_.emplace(records.back().tensor.name, i).second)
      throw error("tensor " + quoted(records.back().tensor.name) + " stands there twice");
  }
  const std::uint64_t end = cursor.position();
  data_start_ = std::min<std::uint64_t>((end + alignment - 1) / alignment * alignment, file.size());
  const std::span<const std::byte> data = file.subspan(data_start_);
  for (TensorRecord& record : records) {
    const std::string what = "tensor " + quoted(record.tensor.name);
    if (record.offset % alignment != 0)
      throw error(what + ": expected an offset that is a multiple of " + std::to_string(alignment) +
                  ", found " + std::to_string(record.offset));
    if (record.offset > data.size() || record.bytes > data.size() - record.offset)
      throw error(what + ": expected " + std::to_string(record.bytes) + " bytes at offset " +
                  std::to_string(record.offset) + ", but the data end at " + std::to_string(data.size()) +
                  ": the file is truncated or damaged");
    record.tensor.bytes = data.subspan(record.offset, record.bytes);
    tensors_.push_back(std::move(record.tensor));
  }
  check_overlaps();
}

void Gguf::check_overlaps() const {
  std::vector<const GgufTensor*> order;
  for (const GgufTensor& tensor : tensors_) order.push_back(&tensor);
  std::sort(order.begin(), order.end(),
            [](const GgufTensor* a, const GgufTensor* b) { return a->bytes.data() < b->bytes.data(); });
  for (std::size_t i = 1; i < order.size(); ++i)
    if (order[i - 1]->bytes.data() + order[i - 1]->bytes.size() > order[i]->bytes.data())
      throw error("tensors " + quoted(order[i - 1]->name) + " and " + quoted(order[i]->name) + " overlap");
}

const GgufTensor* Gguf::tensor(std::string_view name) const noexcept {
  const auto found = tensor_by_name_.find(name);
  return found == tensor_by_name_.end() ? nullptr : &tensors_[found->second];
}

const GgufValue* Gguf::find(std::string_view key) const noexcept {
  const auto found = entry_by_key_.find(key);
  return found == entry_by_key_.end() ? nullptr : &entries_[found->second].value;
}

}  // namespace lynxkv::model
