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
// With no more rows than these the time goes into reading KV, and the heads of a position lie side by side:
// one task then reads them all while they are in the cache.
constexpr int few_positions = 8;

// One task: some rows of one sequence, some KV heads, all partitions or one of them.
struct Task {
  int sequence;
  int first_row;  // within the sequence
  int rows;
  int first_head;  // KV heads
  int heads;
  int partition = -1;  // -1: all, one after the other
  int state = 0;       // where partition >= 0: the first of `heads` states kept until all partitions are done
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
    static thread_local Scratch kept;
    float* states = kept.take(static_cast<std::size_t>(states_) * slot_floats());
    parallel_for(static_cast<int>(tasks_.size()),
                 [&](int task, int) { run_task(tasks_[static_cast<std::size_t>(task)], states); });
    for (const Split& split : splits_) finish(split, states);
  }

 private:
  // The tasks that are one task's partitions.
  struct Split {
    std::size_t first_task;
    int partitions;
  };

  int positions(const Task& task) const {
    const AttentionRows& rows = batch_[static_cast<std::size_t>(task.sequence)];
    return rows.first_position + task.first_row + task.rows;  // that the task's last row sees
  }
  int partitions(const Task& task) const {
    return (positions(task) + partition_positions - 1) / partition_positions;
  }
  std::size_t slot_floats() const { return rounded(state_floats(most_rows_ * group_, shape_.head_dim)); }

  // Every tile of rows by the KV heads that one task takes on.
  std::vector<Task> tiles(int heads_together) {
    std::vector<Task> tiles;
    for (std::size_t s = 0; s < batch_.size(); ++s)
      for (int row = 0; row < batch_[s].rows; row += tile_positions) {
        const int rows = std::min(tile_positions, batch_[s].rows - row);
        most_rows_ = std::max(most_rows_, rows);
        const int heads = rows <= few_positions ? heads_together : 1;
        for (int head = 0; head < shape_.kv_heads; head += heads)
          tiles.push_back({static_cast<int>(s), row, rows, head, std::min(heads, shape_.kv_heads - head)});
      }
    return tiles;
  }

  // Work is cut so that no thread stays idle: few tiles become tasks by partition, and KV heads go together
  // only where that leaves enough tasks. None of it changes a result.
  void plan() {
    const int enough = runtime_threads() > 1 ? 2 * runtime_threads() : 1;
    std::vector<Task> whole = tiles(shape_.kv_heads);
    int parts = 0;
    for (const Task& task : whole) parts += partitions(task);
    if (parts < enough) whole = tiles(1);
    // The longest first, so that the last ones to finish are short.
    std::stable_sort(whole.begin(), whole.end(),
                     [&](const Task& a, const Task& b) { return positions(a) > positions(b); });
    const bool few_tiles = runtime_threads() > 1 && static_cast<int>(whole.size()) < 8 * runtime_threads();
    for (Task& task : whole) {
      if (!few_tiles && task.rows > few_positions) {
        tasks_.push_back(task);
        continue;
      }
      splits_.push_back({tasks_.size(), partitions(task)});
      for (task.partition = 0; task.partition < partitions(task); ++task.partition) {
        task.state = states_;
        states_ += task.heads;
        tasks_.push_back(task);
      }
    }
  }

  void run_task(const Task& task, float* states) const {
    static thread_local Scratch scratch;
    const int tile_rows = task.rows * group_;
    const auto query_floats =
        rounded(static_cast<std::size_t>(tile_rows) * static_cast<std::size_t>(shape_.head_dim));
    const auto limit_floats = rounded(static_cast<std::size_t>(tile_rows));
    const auto block_floats = rounded(attention_scratch(tile_rows, shape_.head_dim));
    float* query = scratch.take(query_floats + limit_floats + block_floats + 2 * slot_floats());
    int* limits = reinterpret_cast<int*>(query + query_floats);
    float* block = query + query_floats + limit_floats;
    float* slots = block + block_floats;
    for (int head = task.first_head; head < task.first_head + task.heads; ++head) {
      copy_query(task, head, query, limits);
      const auto channels = static_cast<std::size_t>(shape_.head_dim);
      const QueryTile tile{query,
                           limits,
                           tile_rows,
                           shape_.head_dim,
                           shape_.kv,
                           static_cast<std::size_t>(head) * channels,
                           static_cast<std::size_t>(shape_.kv_heads) * channels,
                           batch_[static_cast<std::size_t>(task.sequence)].runs};
      if (task.partition >= 0) {
        attend_(tile, task.partition * partition_positions, block,
                state_at(slot(states, task.state + head - task.first_head), tile_rows));
        continue;
      }
      const SoftmaxState part = state_at(slots, tile_rows),
                         whole = state_at(slots + slot_floats(), tile_rows);
      clear_state(whole, tile_rows, shape_.head_dim);
      for (int p = 0; p < partitions(task); ++p) {
        attend_(tile, p * partition_positions, block, part);
        merge_partition(tile_rows, shape_.head_dim, part, whole);
      }
      write(task, head, whole);
    }
  }

  void copy_query(const Task& task, int kv_head, float* query, int* limits) const {
    const AttentionRows& rows = batch_[static_cast<std::size_t>(task.sequence)];
    for (int r = 0; r < task.rows; ++r)
      for (int g = 0; g < group_; ++g) {
        const float* from =
            query_ +
            static_cast<std::size_t>(rows.first_row + task.first_row + r) *
                static_cast<std::size_t>(query_stride_) +
            static_cast<std::size_t>(kv_head * group_ + g) * static_cast<std::size_t>(shape_.head_dim);
        for (int c = 0; c < shape_.head_dim; ++c) *query++ = from[c] * scale_;
        *limits++ = rows.first_position + task.first_row + r + 1;
      }
  }

  float* slot(float* states, int state) const {
    return states + static_cast<std::size_t>(state) * slot_floats();
  }

  void finish(const Split& split, float* states) const {
    static thread_local Scratch scratch;
    const Task& first = tasks_[split.first_task];
    const int tile_rows = first.rows * group_;
    const SoftmaxState whole = state_at(scratch.take(slot_floats()), tile_rows);
    for (int head = 0; head < first.heads; ++head) {
      clear_state(whole, tile_rows, shape_.head_dim);
      for (std::size_t p = 0; p < static_cast<std::size_t>(split.partitions); ++p)
        merge_partition(tile_rows, shape_.head_dim,
                        state_at(slot(states, tasks_[split.first_task + p].state + head), tile_rows), whole);
      write(first, first.first_head + head, whole);
    }
  }

  void write(const Task& task, int kv_head, const SoftmaxState& state) const {
    const AttentionRows& rows = batch_[static_cast<std::size_t>(task.sequence)];
    const auto channels = static_cast<std::size_t>(shape_.head_dim);
    const auto padded = static_cast<std::size_t>(padded_channels(shape_.head_dim));
    for (int i = 0; i < task.rows * group_; ++i) {
      const auto row = static_cast<std::size_t>(rows.first_row + task.first_row + i / group_);
      const auto head = static_cast<std::size_t>(kv_head * group_ + i % group_);
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
  std::vector<Split> splits_;
  int states_ = 0;
  int most_rows_ = 0;
};

}  // namespace

void attention(const AttentionShape& shape, std::span<const AttentionRows> batch, const float* query,
               int query_stride, float scale, Element element, void* out) {
  LYNXKV_CHECK(shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0 && shape.head_dim > 0);
  Attention(shape, batch, query, query_stride, scale, element, out).run();
}

}  // namespace lynxkv::kernels
