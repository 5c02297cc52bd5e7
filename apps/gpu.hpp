// Where the CUDA kernels of a command run: on a GPU or, without one, in `lynxkv-emulated` beside this
// program, which is the same program linked with the double of CUDA that the tests use
// (tests/cuda_emulation).
#pragma once

namespace lynxkv::apps {

// Returns where the kernels can run in this process. Elsewhere the process becomes lynxkv-emulated, with one
// line on stderr that says so; Error{usage} where that program is not there. `option`: what asked for the
// GPU.
void need_gpu(const char* option);

}  // namespace lynxkv::apps
