// What `lynxkv bench` measures. Each subcommand lives in a file of its own and adds itself to `bench`; what
// it returns runs when it was the one chosen. To add one: its file, a line here, a line in bench.cpp.
#pragma once

#include "apps/command.hpp"

namespace lynxkv::apps {

struct BenchPart {
  CLI::App* app;
  Run run;
};

BenchPart add_bench_codec(CLI::App& bench);
BenchPart add_bench_link(CLI::App& bench);
BenchPart add_bench_model(CLI::App& bench);

}  // namespace lynxkv::apps
