// How the exact stream's kernels cut pages into blocks.
#pragma once

#include "kernels/cuda/exact.hpp"
#include "kernels/cuda/exact_cells.cuh"

namespace lynxkv::kernels::cuda {

// A block's warps take neighbouring segments of a page. Where rows are wide a segment is a few tokens, all of
// whose channels have scalars: the more segments share them, the less is read twice.
struct ExactGrid {
  int warps;   // of a block
  int groups;  // blocks of a page
  int chunks;  // that a block's segments touch at most
  std::size_t scalar_bytes;

  // tokens: of the longest page
  ExactGrid(int tokens, const LynxShape& shape, int warps_most) {
    const std::size_t channels = static_cast<std::size_t>(shape.channels);
    const int segments = exact_segments(static_cast<std::size_t>(tokens) * channels);
    warps = segments < warps_most ? segments : warps_most;
    groups = (segments + warps - 1) / warps;
    chunks = chunks_of_segments(warps, shape.channels, shape.chunk_tokens,
                                (tokens + shape.chunk_tokens - 1) / shape.chunk_tokens);
    scalar_bytes = ExactScalars::bytes(shape.channels, chunks);
  }
};

inline ExactCoding exact_coding_of(const LynxCoding& coding) {
  ExactCoding used;
  used.levels = coding.tables.levels;
  memcpy(used.threshold, coding.tables.threshold, sizeof used.threshold);
  memcpy(used.scalar, coding.tables.scalar, sizeof used.scalar);
  return used;
}

}  // namespace lynxkv::kernels::cuda
