// Writes GGUF files for tests, valid ones and others: every field can be given as it should not be.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "model/gguf.hpp"

namespace lynxkv::testing {

class GgufBuilder {
 public:
  struct Tensor {
    std::string name;
    std::vector<std::uint64_t> dimensions;  // fastest first
    std::uint32_t type = 0;
    std::vector<std::byte> data;
    std::int64_t offset = -1;  // -1: where it belongs
  };

  std::uint32_t version = 3;
  std::uint32_t alignment = 32;
  std::vector<Tensor> tensors;

  GgufBuilder& text(const std::string& key, std::string_view value) {
    return entry(key, 8, [&](ByteWriter& out) { string(out, value); });
  }
  GgufBuilder& u32(const std::string& key, std::uint32_t value) {
    return entry(key, 4, [&](ByteWriter& out) { out.write(value); });
  }
  GgufBuilder& f32(const std::string& key, float value) {
    return entry(key, 6, [&](ByteWriter& out) { out.write(value); });
  }
  GgufBuilder& boolean(const std::string& key, bool value) {
    return entry(key, 7, [&](ByteWriter& out) { out.write(static_cast<std::uint8_t>(value)); });
  }
  GgufBuilder& texts(const std::string& key, const std::vector<std::string>& values) {
    return entry(key, 9, [&](ByteWriter& out) {
      out.write(std::uint32_t{8});
      out.write(static_cast<std::uint64_t>(values.size()));
      for (const std::string& value : values) string(out, value);
    });
  }
  GgufBuilder& integers(const std::string& key, const std::vector<std::int32_t>& values) {
    return entry(key, 9, [&](ByteWriter& out) {
      out.write(std::uint32_t{5});
      out.write(static_cast<std::uint64_t>(values.size()));
      for (const std::int32_t value : values) out.write(value);
    });
  }
  // Replaces the entry of that key, if there is one.
  GgufBuilder& entry(const std::string& key, std::uint32_t type,
                     const std::function<void(ByteWriter&)>& value) {
    std::vector<std::byte> bytes;
    ByteWriter out(bytes);
    string(out, key);
    out.write(type);
    value(out);
    remove(key);
    entries_.emplace_back(key, std::move(bytes));
    return *this;
  }
  GgufBuilder& remove(const std::string& key) {
    std::erase_if(entries_, [&](const auto& old) { return old.first == key; });
    return *this;
  }
  GgufBuilder& tensor(const std::string& name, std::vector<std::uint64_t> dimensions,
                      const std::vector<float>& values) {
    Tensor made{name, std::move(dimensions), 0, {}, -1};
    made.data.resize(values.size() * sizeof(float));
    std::memcpy(made.data.data(), values.data(), made.data.size());
    tensors.push_back(std::move(made));
    return *this;
  }
  Tensor& find(const std::string& name) {
    for (Tensor& tensor : tensors)
      if (tensor.name == name) return tensor;
    throw std::runtime_error("no tensor " + name);
  }

  std::vector<std::byte> bytes() const {
    std::vector<std::byte> file;
    ByteWriter out(file);
    out.write_bytes(std::as_bytes(std::span("GGUF", 4)));
    out.write(version);
    out.write(static_cast<std::uint64_t>(tensors.size()));
    out.write(static_cast<std::uint64_t>(entries_.size()));
    for (const auto& [key, bytes] : entries_) out.write_bytes(bytes);
    std::uint64_t at = 0;
    for (const Tensor& tensor : tensors) {
      string(out, tensor.name);
      out.write(static_cast<std::uint32_t>(tensor.dimensions.size()));
      for (const std::uint64_t size : tensor.dimensions) out.write(size);
      out.write(tensor.type);
      out.write(tensor.offset >= 0 ? static_cast<std::uint64_t>(tensor.offset) : at);
      at = aligned(at + tensor.data.size());
    }
    for (const Tensor& tensor : tensors) {
      file.resize(aligned(file.size()));
      file.insert(file.end(), tensor.data.begin(), tensor.data.end());
    }
    return file;
  }

 private:
  static void string(ByteWriter& out, std::string_view value) {
    out.write(static_cast<std::uint64_t>(value.size()));
    out.write_bytes(std::as_bytes(std::span(value)));
  }
  std::uint64_t aligned(std::uint64_t at) const { return (at + alignment - 1) / alignment * alignment; }

  std::vector<std::pair<std::string, std::vector<std::byte>>> entries_;
};

// A whole llama model of the smallest kind, every value its own: hidden 8, 2 heads of 4 channels, 1 KV head,
// intermediate 6, 1 layer, 16 tokens with a byte-level tokenizer.
inline GgufBuilder tiny_model() {
  GgufBuilder file;
  file.text("general.architecture", "llama").text("general.name", "tiny");
  file.u32("llama.block_count", 1).u32("llama.context_length", 64).u32("llama.embedding_length", 8);
  file.u32("llama.feed_forward_length", 6)
      .u32("llama.attention.head_count", 2)
      .u32("llama.attention.head_count_kv", 1);
  file.f32("llama.attention.layer_norm_rms_epsilon", 1e-5f).f32("llama.rope.freq_base", 10000.0f);
  file.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", "smollm");
  file.texts("tokenizer.ggml.tokens", {"<|end|>", "a", "b", "c", "d", "e", "\xc4\xa0", "1", "ab", "abc",
                                       "\xc4\xa0"
                                       "a",
                                       "de", "!", "\xc3\x83", "\xc2\xa9", "\xc3\x83\xc2\xa9"});
  file.integers("tokenizer.ggml.token_type", {3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  file.texts("tokenizer.ggml.merges", {"a b", "ab c", "\xc4\xa0 a", "d e", "\xc3\x83 \xc2\xa9"});
  file.u32("tokenizer.ggml.bos_token_id", 0).u32("tokenizer.ggml.eos_token_id", 0);
  float next = 0;
  const auto add = [&](const std::string& name, std::uint64_t rows, std::uint64_t columns) {
    std::vector<float> values(rows * columns);
    for (float& value : values) value = next++;
    file.tensor(name, rows == 1 ? std::vector{columns} : std::vector{columns, rows}, values);
  };
  add("token_embd.weight", 16, 8);
  add("blk.0.attn_norm.weight", 1, 8);
  add("blk.0.attn_q.weight", 8, 8);
  add("blk.0.attn_k.weight", 4, 8);
  add("blk.0.attn_v.weight", 4, 8);
  add("blk.0.attn_output.weight", 8, 8);
  add("blk.0.ffn_norm.weight", 1, 8);
  add("blk.0.ffn_gate.weight", 6, 8);
  add("blk.0.ffn_up.weight", 6, 8);
  add("blk.0.ffn_down.weight", 8, 6);
  add("output_norm.weight", 1, 8);
  return file;
}

}  // namespace lynxkv::testing
