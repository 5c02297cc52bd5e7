// The exact stream of a page tensor: cells for all values, then the segments one by one or side by side.
#include "kernels/exact.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>

#include "base/bytes.hpp"
#include "kernels/cpu/codec_strips.hpp"
#include "kernels/cpu/exact_cells.hpp"
#include "kernels/cpu/exact_segment.hpp"
#include "kernels/parallel.hpp"

namespace lynxkv::kernels {
namespace {

constexpr std::uint32_t stored = 0, coded = 1;
// About what a value takes on one thread: enough to tell long work from short.
constexpr double coding_picoseconds = 1200, cells_picoseconds = 150;
constexpr std::size_t form_bytes = 4, counts_bytes = 8, states_bytes = exact_lanes * 4;

std::size_t segments_of(std::size_t values) {
  return (values + exact_segment_values - 1) / exact_segment_values;
}
std::size_t segment_values(std::size_t values, std::size_t segment) {
  return std::min(exact_segment_values, values - segment * exact_segment_values);
}

exact::Cells cells_of(const ExactWorkspace& workspace, std::size_t values, std::size_t segment) {
  const std::size_t at = segment * exact_segment_values;
  return {workspace.first.data() + at, workspace.count.data() + at, segment_values(values, segment)};
}

// Grows what is too small; never shrinks.
template <class T>
void need(std::vector<T>& memory, std::size_t size) {
  if (memory.size() < size) memory.resize(size);
}

const std::uint16_t* bits_behind_sinks(const Bf16* rows, const LynxLayout& layout) {
  return reinterpret_cast<const std::uint16_t*>(rows) + layout.gmin_at() / 2;
}

void store(const std::uint16_t* bits, std::size_t values, std::vector<std::byte>& out) {
  out.resize(form_bytes + values * 2);
  std::memcpy(out.data(), &stored, form_bytes);
  std::memcpy(out.data() + form_bytes, bits, values * 2);
}

Error damaged(const std::string& what) {
  return Error(ErrorCode::bad_data, "exact payload", what + "; the payload is damaged");
}

Result<void> copy_stored(std::span<const std::byte> bits, const LynxLayout& layout,
                         ExactWorkspace& workspace) {
  const std::size_t values = exact_value_count(layout);
  if (bits.size() != values * 2)
    return damaged("expected " + std::to_string(values * 2) + " bytes of stored values, found " +
                   std::to_string(bits.size()));
  std::memcpy(workspace.values.data(), bits.data(), bits.size());
  std::uint32_t found = 0;
  for (std::size_t i = 0; i < values; ++i) found |= is_finite(Bf16{workspace.values[i]}) ? 0u : 1u;
  if (found != 0) return damaged("a stored value is a NaN or an infinity");
  return {};
}

// Where each segment's part begins, checked against the payload's size. marks: [segments][begin, words].
Result<void> find_segments(ByteReader in, std::size_t segments, std::vector<std::size_t>& marks) {
  need(marks, segments * 2 + 1);
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < segments; ++i) {
    const std::uint64_t words = in.read<std::uint32_t>(), extras = in.read<std::uint32_t>();
    marks[i * 2] = static_cast<std::size_t>(at);
    marks[i * 2 + 1] = static_cast<std::size_t>(words);
    at += states_bytes + (words + extras) * 2;
  }
  if (!in.ok())
    return damaged("it ends before the counts of its " + std::to_string(segments) + " segments do");
  if (in.left() != at)
    return damaged("its segments take " + std::to_string(at) + " bytes, found " + std::to_string(in.left()));
  marks[segments * 2] = static_cast<std::size_t>(at);
  return {};
}

Result<void> decode_coded(ByteReader in, std::size_t values, ExactWorkspace& workspace) {
  const std::size_t segments = segments_of(values);
  if (auto found = find_segments(in, segments, workspace.marks); !found) return found;
  in.take(segments * counts_bytes);
  const std::span<const std::byte> parts = in.take(in.left());
  std::atomic<std::size_t> bad{segments};
  parallel_for(static_cast<int>(segments), values, coding_picoseconds, [&](int task, int) {
    const auto segment = static_cast<std::size_t>(task);
    const std::size_t* mark = workspace.marks.data() + segment * 2;
    const std::span<const std::byte> part = parts.subspan(mark[0], mark[2] - mark[0]);
    const exact::Source source{part.data(), part.subspan(states_bytes, mark[1] * 2),
                               part.subspan(states_bytes + mark[1] * 2)};
    std::uint16_t* out = workspace.values.data() + segment * exact_segment_values;
    if (!exact::decode_segment(cells_of(workspace, values, segment), source, out))
      bad.store(segment, std::memory_order_relaxed);
  });
  if (bad.load() != segments)
    return damaged("segment " + std::to_string(bad.load()) + " of " + std::to_string(segments) +
                   " does not end where its coder says");
  return {};
}

}  // namespace

ExactTables make_exact_tables(const LynxTables& tables) {
  ExactTables out;
  for (int index = 0; index < 256; ++index) {
    const ExactEnds ends = exact_ends(index, tables.threshold, tables.levels);
    out.inner[index] = ends.inner;
    out.outer[index] = ends.outer;
  }
  return out;
}

std::size_t exact_value_count(const LynxLayout& layout) noexcept {
  return layout.nibble_bytes() * 2;
}

std::size_t exact_bound_bytes(const LynxLayout& layout) noexcept {
  const std::size_t values = exact_value_count(layout);
  return values == 0 ? 0 : form_bytes + values * 2;
}

void exact_cells(const std::byte* anchor, const std::byte* residual, const LynxLayout& layout,
                 const LynxCoding& coding, const ExactTables& tables, std::int16_t* first,
                 std::uint16_t* count) {
  const int pairs = layout.channels / 2, width = strips::width();
  if (pairs < width) return reference::exact_cells(anchor, residual, layout, coding, tables, first, count);
  const strips::CellsPage page{anchor, residual, &layout, &coding, &tables, first, count};
  const int whole = pairs / width;  // the last strip may repeat some of its neighbour's work
  parallel_for(whole, exact_value_count(layout), cells_picoseconds, [&](int strip, int) {
    strips::cells(page, strip * width);
    if (strip == whole - 1 && pairs % width != 0) strips::cells(page, pairs - width);
  });
}

void exact_encode(const Bf16* rows, const std::byte* anchor, const std::byte* residual,
                  const LynxLayout& layout, const LynxCoding& coding, const ExactTables& tables,
                  ExactWorkspace& workspace, std::vector<std::byte>& out) {
  const std::size_t values = exact_value_count(layout), segments = segments_of(values);
  if (values == 0) return out.clear();
  need(workspace.first, values);
  need(workspace.count, values);
  need(workspace.words, values);
  need(workspace.values, values);
  exact_cells(anchor, residual, layout, coding, tables, workspace.first.data(), workspace.count.data());

  const std::uint16_t* bits = bits_behind_sinks(rows, layout);
  std::vector<exact::Coded> parts(segments);
  parallel_for(static_cast<int>(segments), values, coding_picoseconds, [&](int task, int) {
    const auto segment = static_cast<std::size_t>(task);
    const std::size_t at = segment * exact_segment_values;
    parts[segment] = exact::encode_segment(cells_of(workspace, values, segment), bits + at,
                                           workspace.words.data() + at, workspace.values.data() + at);
  });
  std::size_t total = form_bytes;
  for (const exact::Coded& part : parts)
    total += counts_bytes + states_bytes + (part.words + part.extras) * 2;
  if (total >= exact_bound_bytes(layout)) return store(bits, values, out);

  out.clear();
  out.reserve(exact_bound_bytes(layout));
  ByteWriter writer(out);
  writer.write(coded);
  for (const exact::Coded& part : parts) {
    writer.write(static_cast<std::uint32_t>(part.words));
    writer.write(static_cast<std::uint32_t>(part.extras));
  }
  for (std::size_t segment = 0; segment < segments; ++segment) {
    const exact::Coded& part = parts[segment];
    const std::size_t at = segment * exact_segment_values, end = at + segment_values(values, segment);
    writer.write_bytes(std::as_bytes(std::span(part.state)));
    writer.write_bytes(std::as_bytes(std::span(workspace.words).subspan(end - part.words, part.words)));
    writer.write_bytes(std::as_bytes(std::span(workspace.values).subspan(at, part.extras)));
  }
}

Result<void> exact_decode(const std::byte* anchor, const std::byte* residual,
                          std::span<const std::byte> payload, const LynxLayout& layout,
                          const LynxCoding& coding, const ExactTables& tables, ExactWorkspace& workspace,
                          Bf16* rows) {
  const std::size_t values = exact_value_count(layout);
  if (values == 0 && !payload.empty())
    return damaged("expected nothing for a page of sinks, found " + std::to_string(payload.size()) +
                   " bytes");
  if (values != 0) {
    need(workspace.values, values);
    ByteReader in(payload);
    const auto form = in.read<std::uint32_t>();
    if (!in.ok() || form > coded) return damaged("it does not begin with form 0 or 1");
    if (form == stored) {
      if (auto copied = copy_stored(in.take(in.left()), layout, workspace); !copied) return copied;
    } else {
      need(workspace.first, values);
      need(workspace.count, values);
      exact_cells(anchor, residual, layout, coding, tables, workspace.first.data(), workspace.count.data());
      if (auto done = decode_coded(in, values, workspace); !done) return done;
    }
  }
  std::memcpy(rows, anchor, layout.gmin_at());
  if (values != 0)
    std::memcpy(static_cast<void*>(rows + layout.gmin_at() / 2), workspace.values.data(), values * 2);
  return {};
}

}  // namespace lynxkv::kernels
