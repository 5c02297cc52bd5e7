#include "apps/option_checks.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>

#include "base/nearest.hpp"

namespace lynxkv::apps {
namespace {

template <class Number>
std::optional<Number> parsed(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  Number value{};
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string number_text(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.15g", value);
  return text;
}

std::string size_text(long long bytes) {
  for (const auto& [unit, shift] : {std::pair{'G', 30}, std::pair{'M', 20}, std::pair{'K', 10}})
    if (bytes > 0 && bytes % (1LL << shift) == 0) return std::to_string(bytes >> shift) + unit;
  return std::to_string(bytes);
}

std::string found(const std::string& text) { return "found '" + text.substr(0, 60) + "'"; }

// "4096", "4K", "4KiB", "1.5m"
std::optional<double> size_of(const std::string& text) {
  const auto digits = text.find_first_not_of("0123456789.");
  const auto number = parsed<double>(text.substr(0, digits));
  if (!number || digits == std::string::npos) return number;
  std::string unit = CLI::detail::to_lower(text.substr(digits));
  if (unit == "b") return number;
  const auto power = std::string_view("kmg").find(unit.front());
  const std::string_view rest = std::string_view(unit).substr(1);
  if (power == std::string_view::npos || !(rest.empty() || rest == "b" || rest == "i" || rest == "ib")) return std::nullopt;
  return *number * std::pow(1024, static_cast<double>(power) + 1);
}

}  // namespace

Error renamed(const Error& error, const std::string& where) {
  const std::string& named = error.where();
  if (named != "engine.isa" && named != "transfer mode" && !named.starts_with("codec option")) return error;
  return Error(error.code(), where, std::string_view(error.what()).substr(named.size() + 2));
}

CLI::Validator at_least(long long low) {
  constexpr long long most = std::numeric_limits<int>::max();
  const std::string range = std::to_string(low) + " or more";
  return CLI::Validator(
      [=](std::string& text) -> std::string {
        const auto value = parsed<long long>(text);
        if (value && *value >= low && *value <= most) return {};
        if (value && *value > most) return "expected a whole number, " + std::to_string(most) + " at most; " + found(text);
        return "expected a whole number, " + range + "; " + found(text);
      },
      range, "");
}

CLI::Validator whole_between(long long low, long long high) {
  const std::string range = std::to_string(low) + " to " + std::to_string(high);
  return CLI::Validator(
      [=](std::string& text) -> std::string {
        const auto value = parsed<long long>(text);
        if (value && *value >= low && *value <= high) return {};
        return "expected a whole number from " + range + ", " + found(text);
      },
      range, "");
}

CLI::Validator between(double low, double high) {
  const std::string range = number_text(low) + " to " + number_text(high);
  return CLI::Validator(
      [=](std::string& text) -> std::string {
        const auto value = parsed<double>(text);
        if (value && *value >= low && *value <= high) return {};  // not where it is nan
        return "expected a number from " + range + ", " + found(text);
      },
      range, "");
}

CLI::Validator one_of(std::string what, std::vector<std::string> names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : "|") + name;
  return CLI::Validator(
      [what = std::move(what), names = std::move(names)](std::string& text) -> std::string {
        for (const std::string& name : names)
          if (name == text) return {};
        return unknown_name(what, text, std::vector<std::string_view>(names.begin(), names.end()));
      },
      list, "");
}

CLI::Validator size_between(long long low, long long high) {
  const std::string range = size_text(low) + " to " + size_text(high);
  return CLI::Validator(
      [=](std::string& text) -> std::string {
        const auto bytes = size_of(text);
        if (!bytes || *bytes < static_cast<double>(low) || *bytes > static_cast<double>(high))
          return "expected a size from " + range + " (bytes; K, M and G are 1024, 1024^2 and 1024^3 of them), " + found(text);
        text = std::to_string(static_cast<long long>(*bytes));
        return {};
      },
      range, "");
}

std::string conversion_text(const std::string& message) {
  constexpr std::string_view start = "Could not convert: ";
  const auto equals = message.find(" = ");
  if (!message.starts_with(start) || equals == std::string::npos) return message;
  return message.substr(start.size(), equals - start.size()) + ": expected a number that an option can hold, " +
         found(message.substr(equals + 3));
}

}  // namespace lynxkv::apps
