// lynxkv bench codec|link|model: measurements with their conditions beside them.
#include "apps/bench.hpp"

#include <memory>
#include <vector>

namespace lynxkv::apps {
namespace {

Run set_up(CLI::App& app) {
  app.require_subcommand(1);
  auto parts = std::make_shared<std::vector<BenchPart>>();
  parts->push_back(add_bench_codec(app));
  parts->push_back(add_bench_link(app));
  parts->push_back(add_bench_model(app));
  return [parts]() -> int {
    for (const BenchPart& part : *parts)
      if (part.app->parsed()) return part.run();
    return 2;
  };
}

}  // namespace

extern const Command bench_command;
const Command bench_command{"bench", "measure the codec, the link or the model on this machine",
                            "lynxkv bench model --json bench.json", set_up};

}  // namespace lynxkv::apps
