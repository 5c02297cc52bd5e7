#include "kernels/attention.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "base/check.hpp"
#include "kernels/cpu/attention_tile.hpp"
#include "kernels/parallel.hpp"
#include "kernels/runtime.hpp"

namespace lynxkv::kernels {
namespace {

// Positions whose rows share the reading of KV blocks.
constexpr int tile_positions = 32;

// One task: some rows of one sequence, one KV head, all partitions or one of them.
struct Task {
  int sequence;
  int kv_head;
  int first_row;  // within the sequence
  int rows;
  int partition;  // -1: all, one after the other
  int state;      // which of the states kept between the two passes, where partition >= 0
};

struct FreeDeleter {
  void operator()(float* memory) const noexcept { std::free(memory); }
};

// Memory that grows and stays, aligned for vectors.
class Scratch {
 public:
  float* take(std::size_t floats) {
    if (floats > size_) {
      memory_.reset(static_cast<float*>(std::aligned_alloc(64, (floats * sizeof(float) + 63) / 64 * 64)));
      LYNXKV_CHECK(memory_ != nullptr);
      size_ = floats;
    }
    return memory_.get();
  }

 private:
  std::unique_ptr<float[], FreeDeleter> memory_;
  std::size_t size_ = 0;
};

std::size_t rounded(std::size_t floats) {
  return (floats + 15) / 16 * 16;
}

std::size_t state_floats(int rows, int head_dim) {
  const auto count = static_cast<std::size_t>(rows);
  return 2 * rounded(count) + count * static_cast<std::size_t>(padded_channels(head_dim));
}

SoftmaxState state_at(float* memory, int rows) {
  const std::size_t row_floats = rounded(static_cast<std::size_t>(rows));
  return {memory, memory + row_floats, memory + 2 * row_floats};
}

class Attention {
 public:
  Attention(const AttentionShape& shape, std::span<const AttentionRows> batch, const float* query,
            int query_stride, float scale, Element element, void* out)
      : shape_(shape),
        batch_(batch),
        query_(query),
        query_stride_(query_stride),
        scale_(scale),
        element_(element),
        out_(out),
        group_(shape.heads / shape.kv_heads),
        attend_(has_bf16_dots(shape.kv, shape.head_dim) ? attend_partition_bf16_dots : attend_partition) {}

  void run() {
    plan();
    float* states = nullptr;
    if (split_) {
      static thread_local Scratch kept;
      states = kept.take(static_cast<std::size_t>(states_) * slot_floats());
    }
    parallel_for(static_cast<int>(tasks_.size()),
                 [&](int task, int) { run_task(tasks_[static_cast<std::size_t>(task)], states); });
    if (split_) finish_split(states);
  }

 private:
  int positions(const Task& task) const {
    const AttentionRows& rows = batch_[static_cast<std::size_t>(task.sequence)];
    return rows.first_position + task.first_row + task.rows;  // that the task's last row sees
  }
  int partitions(const Task& task) const {
    return (positions(task) + partition_positions - 1) / partition_positions;
  }
  std::size_t slot_floats() const { return rounded(state_floats(tile_positions * group_, shape_.head_dim)); }

  // Few tasks would leave threads idle (one row of one sequence is as many tasks as there are KV heads):
  // their partitions then become tasks of their own.
  void plan() {
    for (std::size_t s = 0; s < batch_.size(); ++s)
      for (int row = 0; row < batch_[s].rows; row += tile_positions)
        for (int head = 0; head < shape_.kv_heads; ++head)
          tasks_.push_back(
              {static_cast<int>(s), head, row, std::min(tile_positions, batch_[s].rows - row), -1, 0});
    // The longest first, so that the last ones to finish are short.
    std::stable_sort(tasks_.begin(), tasks_.end(),
                     [&](const Task& a, const Task& b) { return positions(a) > positions(b); });
    split_ = runtime_threads() > 1 && static_cast<int>(tasks_.size()) < 8 * runtime_threads();
    if (!split_) return;
    std::vector<Task> parts;
    for (const Task& task : tasks_)
      for (int p = 0; p < partitions(task); ++p) {
        parts.push_back(task);
        parts.back().partition = p;
        parts.back().state = states_++;
      }
    tasks_ = std::move(parts);
  }

  void run_task(const Task& task, float* states) const {
    static thread_local Scratch scratch;
    const AttentionRows& rows = batch_[static_cast<std::size_t>(task.sequence)];
    const int tile_rows = task.rows * group_;
    const auto query_floats =
        rounded(static_cast<std::size_t>(tile_rows) * static_cast<std::size_t>(shape_.head_dim));
    const auto limit_floats = rounded(static_cast<std::size_t>(tile_rows));
    float* memory = scratch.take(query_floats + limit_floats +
                                 rounded(attention_scratch(tile_rows, shape_.head_dim)) + 2 * slot_floats());
    float* query = memory;
    int* limits = reinterpret_cast<int*>(memory + query_floats);
    float* block = memory + query_floats + limit_floats;
    float* slots = block + rounded(attention_scratch(tile_rows, shape_.head_dim));
    copy_query(task, query, limits);
    const QueryTile tile{
        query,
        limits,
        tile_rows,
        shape_.head_dim,
        shape_.kv,
        static_cast<std::size_t>(task.kv_head) * static_cast<std::size_t>(shape_.head_dim),
        static_cast<std::size_t>(shape_.kv_heads) * static_cast<std::size_t>(shape_.head_dim),
        rows.runs};
    if (task.partition >= 0) {
      attend_(tile, task.partition * partition_positions, block,
              state_at(states + static_cast<std::size_t>(task.state) * slot_floats(), tile_rows));
      return;
    }
    const SoftmaxState part = state_at(slots, tile_rows), whole = state_at(slots + slot_floats(), tile_rows);
    clear_state(whole, tile_rows, shape_.head_dim);
    for (int p = 0; p < partitions(task); ++p) {
      attend_(tile, p * partition_positions, block, part);
      merge_partition(tile_rows, shape_.head_dim, part, whole);
    }
    write(task, whole);
  }

  void copy_query(const Task& task, float* query, int* limits) const {
    const AttentionRows& rows = batch_[static_cast<std::size_t>(task.sequence)];
    for (int r = 0; r < task.rows; ++r)
      for (int g = 0; g < group_; ++g) {
        const float* from =
            query_ +
            static_cast<std::size_t>(rows.first_row + task.first_row + r) *
                static_cast<std::size_t>(query_stride_) +
            static_cast<std::size_t>(task.kv_head * group_ + g) * static_cast<std::size_t>(shape_.head_dim);
        for (int c = 0; c < shape_.head_dim; ++c) *query++ = from[c] * scale_;
        *limits++ = rows.first_position + task.first_row + r + 1;
      }
  }

  void finish_split(float* states) const {
    static thread_local Scratch scratch;
    const SoftmaxState whole = state_at(scratch.take(slot_floats()), tile_positions * group_);
    for (std::size_t t = 0; t < tasks_.size(); ++t) {
      const Task& task = tasks_[t];
      const int tile_rows = task.rows * group_;
      if (task.partition == 0) clear_state(whole, tile_rows, shape_.head_dim);
      merge_partition(tile_rows, shape_.head_dim,
                      state_at(states + static_cast<std::size_t>(task.state) * slot_floats(), tile_rows),
                      whole);
      if (task.partition + 1 == partitions(task)) write(task, whole);
    }
  }

  void write(const Task& task, const SoftmaxState& state) const {
    const AttentionRows& rows = batch_[static_cast<std::size_t>(task.sequence)];
    const auto channels = static_cast<std::size_t>(shape_.head_dim);
    const auto padded = static_cast<std::size_t>(padded_channels(shape_.head_dim));
    for (int i = 0; i < task.rows * group_; ++i) {
      const auto row = static_cast<std::size_t>(rows.first_row + task.first_row + i / group_);
      const auto head = static_cast<std::size_t>(task.kv_head * group_ + i % group_);
      const std::size_t at = (row * static_cast<std::size_t>(shape_.heads) + head) * channels;
      finish_row(shape_.head_dim, state.values + static_cast<std::size_t>(i) * padded, state.sum[i], element_,
                 static_cast<std::byte*>(out_) + at * bytes_of(element_));
    }
  }

  const AttentionShape& shape_;
  std::span<const AttentionRows> batch_;
  const float* query_;
  int query_stride_;
  float scale_;
  Element element_;
  void* out_;
  int group_;
  void (*attend_)(const QueryTile& tile, int first, float* scratch, const SoftmaxState& state);
  std::vector<Task> tasks_;
  bool split_ = false;
  int states_ = 0;
};

}  // namespace

void attention(const AttentionShape& shape, std::span<const AttentionRows> batch, const float* query,
               int query_stride, float scale, Element element, void* out) {
  LYNXKV_CHECK(shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0 && shape.head_dim > 0);
  Attention(shape, batch, query, query_stride, scale, element, out).run();
}

}  // namespace lynxkv::kernels
