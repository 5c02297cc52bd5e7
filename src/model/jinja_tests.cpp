// Tests: `value is name`.
#include "model/jinja_builtins.hpp"
#include "model/jinja_lexer.hpp"
#include "model/jinja_text.hpp"

namespace lynxkv::model::jinja {
namespace {

std::optional<bool> kind_test(std::string_view name, const Value& value) {
  const bool is_dict = value.dict() != nullptr && !value.dict()->is_namespace;
  if (name == "defined") return !value.is_undefined();
  if (name == "undefined") return value.is_undefined();
  if (name == "none") return value.is_none();
  if (name == "boolean") return value.get<bool>() != nullptr;
  if (name == "true") return value.get<bool>() != nullptr && *value.get<bool>();
  if (name == "false") return value.get<bool>() != nullptr && !*value.get<bool>();
  if (name == "integer") return value.get<std::int64_t>() != nullptr;
  if (name == "float") return value.get<double>() != nullptr;
  if (name == "number") return value.is_number();
  if (name == "string") return value.string() != nullptr;
  if (name == "mapping") return is_dict;
  // Python counts strings and mappings as sequences here, and what is undefined as both.
  if (name == "sequence" || name == "iterable")
    return value.list() != nullptr || is_dict || value.string() != nullptr || value.is_undefined();
  if (name == "callable") return value.get<Callable>() != nullptr;
  if (name == "lower")
    return value.string() != nullptr && lower(*value.string()) == *value.string() &&
           upper(*value.string()) != *value.string();
  if (name == "upper")
    return value.string() != nullptr && upper(*value.string()) == *value.string() &&
           lower(*value.string()) != *value.string();
  return std::nullopt;
}

std::string_view comparison_of(std::string_view name) {
  for (const std::string_view symbol : {"==", "!=", "<", "<=", ">", ">="})
    if (name == symbol) return symbol;
  if (name == "eq" || name == "equalto" || name == "sameas") return "==";
  if (name == "ne") return "!=";
  if (name == "lt" || name == "lessthan") return "<";
  if (name == "le") return "<=";
  if (name == "gt" || name == "greaterthan") return ">";
  if (name == "ge") return ">=";
  if (name == "in") return "in";
  return "";
}

}  // namespace

bool apply_test(const Call& call, const Value& value) {
  const std::string_view name = call.name;
  if (value.string() != nullptr) call.budget.charge_bytes(call.line, 16);
  if (const auto answer = kind_test(name, value)) {
    call.at_most(0);
    return *answer;
  }
  if (const std::string_view symbol = comparison_of(name); !symbol.empty())
    return compare_by(Call{call.budget, call.line, symbol}, value, call.required(0, "other"));
  if (name == "odd" || name == "even" || name == "divisibleby") {
    if (!value.is_integer()) call.refuse("expected an integer, found " + std::string(value.kind()));
    const std::int64_t by = name == "divisibleby" ? call.integer(0, "num", 0) : 2;
    if (by == 0) call.refuse("expected a number other than 0 to divide by");
    const bool divides = by == -1 || value.integer() % by == 0;
    return name == "odd" ? !divides : divides;
  }
  fail(call.line, "the test '" + std::string(name.substr(0, 40)) + "' is not supported here");
}

}  // namespace lynxkv::model::jinja
