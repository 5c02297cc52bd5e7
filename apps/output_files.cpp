#include "apps/output_files.hpp"

#include <span>

#include "results/posix_file.hpp"

namespace lynxkv::apps {

void check_outputs(std::initializer_list<std::string> paths) {
  for (const std::string& path : paths)
    if (!path.empty()) results::check_replaceable(path);
}

void write_output(const std::string& path, const std::string& text) {
  if (!path.empty()) results::replace_file(path, std::as_bytes(std::span(text.data(), text.size())));
}

}  // namespace lynxkv::apps
