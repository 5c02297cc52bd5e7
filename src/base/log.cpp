#include "base/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <memory>

namespace lynxkv::log {
namespace {

spdlog::level::level_enum spdlog_level(Level level) {
  switch (level) {
    case Level::debug: return spdlog::level::debug;
    case Level::info: return spdlog::level::info;
    case Level::warning: return spdlog::level::warn;
    case Level::error: return spdlog::level::err;
  }
  return spdlog::level::info;
}

spdlog::logger& logger() {
  static const auto instance = [] {
    auto made = std::make_shared<spdlog::logger>("lynxkv", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_level(spdlog::level::warn);
    made->set_pattern("lynxkv %l: %v");
    made->flush_on(spdlog::level::debug);
    return made;
  }();
  return *instance;
}

}  // namespace

void configure(Level level, std::string prefix) {
  logger().set_level(spdlog_level(level));
  logger().set_pattern(prefix.empty() ? "lynxkv %l: %v" : "lynxkv %l (" + prefix + "): %v");
}

void write(Level level, std::string_view line) {
  logger().log(spdlog_level(level), spdlog::string_view_t(line.data(), line.size()));
}

bool enabled(Level level) noexcept { return logger().should_log(spdlog_level(level)); }

}  // namespace lynxkv::log
