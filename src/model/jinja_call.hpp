// What a built-in gets: its arguments, the line for messages, and a budget. A template is text from a
// stranger, so the work and the memory of one rendering are bounded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/jinja_value.hpp"

namespace lynxkv::model::jinja {

class Budget {
 public:
  // Both throw Error{bad_data} where the rendering has had its share.
  void charge_step(int line);
  void charge_bytes(int line, std::uint64_t bytes);

 private:
  std::uint64_t steps_ = 0, bytes_ = 0;
};

struct Call {
  Budget& budget;
  int line;
  std::string_view name;  // of the filter, test, method or function
  std::vector<Value> positional = {};
  std::vector<std::pair<std::string, Value>> named = {};

  // By position or name; null where it was not given.
  const Value* argument(std::size_t index, std::string_view keyword) const noexcept;
  std::int64_t integer(std::size_t index, std::string_view keyword, std::int64_t fallback) const;
  std::string text(std::size_t index, std::string_view keyword, std::string_view fallback) const;
  const Value& required(std::size_t index, std::string_view keyword) const;
  // Refuses arguments that the built-in does not take.
  void at_most(std::size_t arguments) const;
  [[noreturn]] void refuse(const std::string& what) const;

  // Containers, charged for; they may not be nested without end, and hold no namespace.
  Value list(std::vector<Value> items) const;
  Value dict(std::vector<std::pair<std::string, Value>> entries) const;
  Value string(std::string text) const;
  // As Python's str(), charged for.
  std::string text_of(const Value& value) const;
  // Charges for work that looks at all of `value`.
  void charge_for(const Value& value) const { budget.charge_bytes(line, extent_of(value).bytes); }

 private:
  // Counts `item` into the container that it goes into.
  void count(Extent& extent, const Value& item) const;
};

// The items that a loop over `value` sees: of a list, a mapping's keys, a string's characters; none of
// something undefined. Nothing where Python could not loop over it.
std::optional<std::vector<Value>> items_of(const Value& value);

}  // namespace lynxkv::model::jinja
