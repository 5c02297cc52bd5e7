// What templates find without defining it: operators, filters, tests, methods and functions.
#pragma once

#include <optional>
#include <string_view>

#include "model/jinja_call.hpp"

namespace lynxkv::model::jinja {

// All throw Error{bad_data} naming line and construct where they cannot.

// left + right and so on; call.name is the symbol.
Value binary(const Call& call, const Value& left, const Value& right);
// One of == != < <= > >= in "not in"; call.name is the symbol.
bool compare_by(const Call& call, const Value& left, const Value& right);
// base[index]: undefined where there is no such item.
Value item_of(const Call& call, const Value& base, const Value& index);
// base[start:stop:step]; bounds that are none are open.
Value slice_of(const Call& call, const Value& base, const Value& start, const Value& stop, const Value& step);

// call.name is the filter.
Value apply_filter(const Call& call, const Value& base);
// The filters over sequences; nothing where call.name is none of them.
std::optional<Value> apply_sequence_filter(const Call& call, const Value& base);
bool apply_test(const Call& call, const Value& value);
// base.name(arguments): nothing where values of this kind have no such method.
std::optional<Value> call_method(const Call& call, const Value& base);
// range, dict, namespace, raise_exception.
Value call_function(const Call& call);
bool is_function(std::string_view name) noexcept;

// Length in characters, items or entries; nothing for what has none.
std::optional<std::int64_t> length_of(const Value& value) noexcept;

}  // namespace lynxkv::model::jinja
