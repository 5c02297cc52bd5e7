// lynxkv bench model: prefill and decode speed of the forward pass.
#include "apps/bench.hpp"

namespace lynxkv::apps {

BenchPart add_bench_model(CLI::App& bench) {
  CLI::App* app = bench.add_subcommand("model", "prefill and decode: tokens/s and GB/s");
  return {app, [] { return 0; }};
}

}  // namespace lynxkv::apps
