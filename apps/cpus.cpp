#include "apps/cpus.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdlib>

namespace lynxkv::apps {

int usable_cpus() noexcept {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return 1;
  return std::max(1, CPU_COUNT(&mask));
}

std::string cached_model_path() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  std::string folder = variable("LYNXKV_MODELS");
  if (folder.empty()) {
    const std::string cache = variable("XDG_CACHE_HOME");
    folder = (cache.empty() ? variable("HOME") + "/.cache" : cache) + "/lynxkv/models";
  }
  return folder + "/SmolLM2-135M-Instruct-Q4_1.gguf";
}

}  // namespace lynxkv::apps
