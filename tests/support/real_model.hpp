// Where tests find the small real model: $LYNXKV_TEST_MODEL, else the place to which jobs/fetch-model.sh puts it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace lynxkv::testing {

// Empty where it was not fetched; a test then skips, aloud. jobs/check.sh always fetches it.
inline std::string real_model_path() {
  if (const char* path = std::getenv("LYNXKV_TEST_MODEL")) return path;
  std::filesystem::path folder;
  if (const char* models = std::getenv("LYNXKV_MODELS")) {
    folder = models;
  } else {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    const char* home = std::getenv("HOME");
    folder = cache != nullptr ? std::filesystem::path(cache) : std::filesystem::path(home ? home : "") / ".cache";
    folder /= "lynxkv/models";
  }
  const auto file = folder / "SmolLM2-135M-Instruct-Q4_1.gguf";
  return std::filesystem::exists(file) ? file.string() : std::string();
}

}  // namespace lynxkv::testing
