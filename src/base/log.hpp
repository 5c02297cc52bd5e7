// The log of a process, on stderr. Libraries log what an operator needs; only apps print to stdout.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace lynxkv::log {

enum class Level { debug, info, warning, error };

// Lines below `level` are dropped (default: warning). `prefix`, such as "rank 1", opens every line.
void configure(Level level, std::string prefix);
void write(Level level, std::string_view line);
bool enabled(Level level) noexcept;

template <class... Args>
void line(Level level, fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(level)) write(level, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  line(Level::debug, format, std::forward<Args>(args)...);
}
template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  line(Level::info, format, std::forward<Args>(args)...);
}
template <class... Args>
void warning(fmt::format_string<Args...> format, Args&&... args) {
  line(Level::warning, format, std::forward<Args>(args)...);
}
template <class... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  line(Level::error, format, std::forward<Args>(args)...);
}

}  // namespace lynxkv::log
