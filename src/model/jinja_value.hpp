// Values of a template while it is rendered: what Python's would be, with containers that never change once
// made.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace lynxkv::model::jinja {

class Value;
struct Statement;

struct Undefined {
  std::string name;  // what was looked for
};
struct None {};

// How much is inside a container, counted as if nothing were shared: lists of lists of the same list stay
// small in memory while what is printed or compared grows without end.
struct Extent {
  int depth = 1;  // of containers inside one another
  std::uint64_t bytes = 0;
};

struct List {
  std::vector<Value> items;
  Extent extent;
};
// Keys are strings and keep their order. `is_namespace`: the one kind that templates may assign to.
struct Dict {
  std::vector<std::pair<std::string, Value>> entries;
  Extent extent;
  bool is_namespace = false;

  const Value* find(std::string_view key) const noexcept;
};
// A macro of the template, or a function that templates are given (by its name).
struct Callable {
  std::string name;
  const Statement* macro = nullptr;
};

class Value {
 public:
  using State = std::variant<Undefined, None, bool, std::int64_t, double, std::string, std::shared_ptr<List>,
                             std::shared_ptr<Dict>, Callable>;

  Value() : state_(Undefined{}) {}
  Value(Undefined value) : state_(std::move(value)) {}
  Value(None) : state_(None{}) {}
  Value(bool value) : state_(value) {}
  Value(std::int64_t value) : state_(value) {}
  Value(double value) : state_(value) {}
  Value(std::string value) : state_(std::move(value)) {}
  Value(std::shared_ptr<List> value) : state_(std::move(value)) {}
  Value(std::shared_ptr<Dict> value) : state_(std::move(value)) {}
  Value(Callable value) : state_(std::move(value)) {}
  Value(const char*) = delete;  // would become a bool

  template <class T>
  const T* get() const noexcept {
    return std::get_if<T>(&state_);
  }
  bool is_undefined() const noexcept { return get<Undefined>() != nullptr; }
  bool is_none() const noexcept { return get<None>() != nullptr; }
  const std::string* string() const noexcept { return get<std::string>(); }
  const List* list() const noexcept;
  const Dict* dict() const noexcept;
  Dict* name_space() const noexcept;  // null where it is none
  // An integer, a boolean as 0 or 1; a float for is_number only.
  bool is_integer() const noexcept { return get<std::int64_t>() != nullptr || get<bool>() != nullptr; }
  bool is_number() const noexcept { return is_integer() || get<double>() != nullptr; }
  std::int64_t integer() const noexcept;  // of is_integer()
  double real() const noexcept;           // of is_number()

  bool truthy() const noexcept;
  // What the value is, for messages: "a string", "a list", ...
  std::string_view kind() const noexcept;

 private:
  State state_;
};

// Depth 0 for what is no container; bytes as they would be printed, roughly.
Extent extent_of(const Value& value) noexcept;

// As Python's str() and repr().
std::string to_text(const Value& value);
std::string to_repr(const Value& value);
// As Python's json.dumps(..., ensure_ascii=False); indent < 0: one line. False where a value has no JSON
// form.
bool append_json(std::string& out, const Value& value, int indent, int level = 0);
// A float as Python's repr().
std::string float_text(double value);

bool equal(const Value& a, const Value& b) noexcept;
// -1, 0, 1; or 2 where Python would refuse to compare them.
int compare(const Value& a, const Value& b) noexcept;

}  // namespace lynxkv::model::jinja
