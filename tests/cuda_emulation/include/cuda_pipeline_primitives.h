// The double of CUDA's <cuda_pipeline_primitives.h>: copies to shared memory that arrive later.
#pragma once

#include <cuda_runtime.h>

inline void __pipeline_memcpy_async(void* to, const void* from, std::size_t bytes) { cuda_emulation::copy_to_shared(to, from, bytes); }
inline void __pipeline_commit() { cuda_emulation::commit_copies(); }
inline void __pipeline_wait_prior(std::size_t groups_left) { cuda_emulation::wait_for_copies(groups_left); }
