// Expressions.
#include "model/jinja_builtins.hpp"
#include "model/jinja_evaluator.hpp"
#include "model/jinja_evaluator_scopes.hpp"

namespace lynxkv::model::jinja {

Value Evaluator::evaluate(const Expression& expression) {
  const Deeper deeper(*this, expression.line);
  using Kind = Expression::Kind;
  const auto part = [&](std::size_t i) { return evaluate(*expression.parts[i]); };
  switch (expression.kind) {
    case Kind::constant:
      return expression.value;
    case Kind::name:
      return name_value(expression);
    case Kind::list: {
      std::vector<Value> items;
      for (const ExpressionPtr& item : expression.parts) items.push_back(evaluate(*item));
      return plain(expression, "[ ]").list(std::move(items));
    }
    case Kind::dict:
      return dict_value(expression);
    case Kind::attribute:
      return attribute(part(0), expression);
    case Kind::item: {
      const Value base = part(0);
      return item_of(plain(expression, "[ ]"), base, part(1));
    }
    case Kind::slice:
      return slice(expression);
    case Kind::call:
      return call(expression);
    case Kind::filter: {
      const Value value = part(0);
      return apply_filter(call_with(expression, 1, expression.text), value);
    }
    case Kind::test: {
      const Value value = part(0);
      return apply_test(call_with(expression, 1, expression.text), value);
    }
    case Kind::negative:
      return negate(expression);
    case Kind::positive: {
      Value value = part(0);
      if (!value.is_number())
        fail(expression.line, "expected a number behind '+', found " + std::string(value.kind()));
      return value;
    }
    case Kind::logical_not:
      return !part(0).truthy();
    case Kind::logical_and: {
      Value left = part(0);
      return left.truthy() ? part(1) : left;
    }
    case Kind::logical_or: {
      Value left = part(0);
      return left.truthy() ? left : part(1);
    }
    case Kind::binary: {
      const Value left = part(0);
      return binary(plain(expression, expression.text), left, part(1));
    }
    case Kind::concat:
      return concat(expression);
    case Kind::compare:
      return compare_chain(expression);
    case Kind::conditional:
      if (part(0).truthy()) return part(1);
      return expression.parts[2] ? part(2) : Value(Undefined{"the value of an 'if' without 'else'"});
  }
  return Undefined{};
}

Value Evaluator::name_value(const Expression& expression) {
  if (const Value* found = scope_->find(expression.text)) {
    if (const std::string* text = found->string()) budget_.charge_bytes(expression.line, text->size());
    return *found;
  }
  if (is_function(expression.text)) return Callable{expression.text, nullptr};
  return Undefined{expression.text};
}

Value Evaluator::dict_value(const Expression& expression) {
  Variables entries;
  for (std::size_t i = 0; i + 1 < expression.parts.size(); i += 2) {
    const Value key = evaluate(*expression.parts[i]);
    if (key.string() == nullptr)
      fail(expression.line, "expected strings as a mapping's keys, found " + std::string(key.kind()));
    Value value = evaluate(*expression.parts[i + 1]);
    bool known = false;
    for (auto& [name, old] : entries)
      if (name == *key.string()) {
        old = value;
        known = true;
      }
    if (!known) entries.emplace_back(*key.string(), std::move(value));
  }
  return plain(expression, "{ }").dict(std::move(entries));
}

Value Evaluator::attribute(const Value& base, const Expression& expression) {
  if (const Undefined* undefined = base.get<Undefined>())
    fail(expression.line, "'" + undefined->name.substr(0, 40) + "' is undefined; it has no '" +
                              expression.text.substr(0, 40) + "'");
  const Value* found = base.dict() != nullptr ? base.dict()->find(expression.text) : nullptr;
  if (found == nullptr) return Undefined{expression.text};
  if (const std::string* text = found->string()) budget_.charge_bytes(expression.line, text->size());
  return *found;
}

Value Evaluator::slice(const Expression& expression) {
  const Value base = evaluate(*expression.parts[0]);
  const auto bound = [&](std::size_t i) {
    return expression.parts[i] ? evaluate(*expression.parts[i]) : Value(None{});
  };
  const Value start = bound(1), stop = bound(2), step = bound(3);
  return slice_of(plain(expression, "[ : ]"), base, start, stop, step);
}

Value Evaluator::negate(const Expression& expression) {
  const Value value = evaluate(*expression.parts[0]);
  if (!value.is_number())
    fail(expression.line, "expected a number behind '-', found " + std::string(value.kind()));
  if (!value.is_integer()) return -value.real();
  return binary(plain(expression, "-"), Value(std::int64_t{0}), value);
}

Value Evaluator::concat(const Expression& expression) {
  std::string text;
  for (const ExpressionPtr& part : expression.parts) text += plain(expression, "~").text_of(evaluate(*part));
  return plain(expression, "~").string(std::move(text));
}

Value Evaluator::compare_chain(const Expression& expression) {
  Value left = evaluate(*expression.parts[0]);
  for (std::size_t i = 0; i < expression.operators.size(); ++i) {
    Value right = evaluate(*expression.parts[i + 1]);
    if (!compare_by(plain(expression, expression.operators[i]), left, right)) return false;
    left = std::move(right);
  }
  return true;
}

Call Evaluator::call_with(const Expression& expression, std::size_t first, std::string_view name) {
  Call call{budget_, expression.line, name};
  for (std::size_t i = first; i < expression.parts.size(); ++i)
    call.positional.push_back(evaluate(*expression.parts[i]));
  for (const auto& [key, argument] : expression.named) call.named.emplace_back(key, evaluate(*argument));
  return call;
}

// The chain of a filter block: its innermost filter has no operand of its own and gets the block's text.
Value Evaluator::filter_block(const Expression& expression, const Value& text) {
  const Value inner = expression.parts[0] == nullptr ? text : filter_block(*expression.parts[0], text);
  return apply_filter(call_with(expression, 1, expression.text), inner);
}

Value Evaluator::call(const Expression& expression) {
  const Expression& callee = *expression.parts[0];
  Value function;
  if (callee.kind == Expression::Kind::attribute) {
    const Value base = evaluate(*callee.parts[0]);
    const Call method = call_with(expression, 1, callee.text);
    if (auto value = call_method(method, base)) return std::move(*value);
    function = attribute(base, callee);
    if (function.get<Callable>() == nullptr)
      fail(expression.line, std::string(base.kind()) + " has no method '" + callee.text.substr(0, 40) +
                                "' that is supported here");
  } else {
    function = evaluate(callee);
  }
  const Callable* callable = function.get<Callable>();
  if (callable == nullptr) {
    const Undefined* undefined = function.get<Undefined>();
    fail(expression.line, undefined != nullptr
                              ? "the function '" + undefined->name.substr(0, 40) + "' is not supported here"
                              : std::string(function.kind()) + " cannot be called");
  }
  const Call arguments = call_with(expression, 1, callable->name);
  return callable->macro != nullptr ? call_macro(*callable->macro, arguments) : call_function(arguments);
}

Value Evaluator::call_macro(const Statement& macro, const Call& call) {
  if (call.positional.size() > macro.parameters.size())
    call.refuse("expected at most " + std::to_string(macro.parameters.size()) + " arguments, found " +
                std::to_string(call.positional.size()));
  for (const auto& named : call.named) {
    bool known = false;
    for (const Parameter& parameter : macro.parameters) known = known || parameter.name == named.first;
    if (!known) call.refuse("it has no parameter '" + named.first.substr(0, 40) + "'");
  }
  const Inner inner(*this, &root_);
  for (std::size_t i = 0; i < macro.parameters.size(); ++i) {
    const Parameter& parameter = macro.parameters[i];
    const Value* given = call.argument(i, parameter.name);
    scope_->set(parameter.name, given != nullptr     ? *given
                                : parameter.fallback ? evaluate(*parameter.fallback)
                                                     : Value(Undefined{parameter.name}));
  }
  std::string out;
  run(macro.bodies[0], out);
  return call.string(std::move(out));
}

}  // namespace lynxkv::model::jinja
