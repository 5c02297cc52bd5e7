// Statements.
#include "model/jinja_evaluator.hpp"

#include "model/jinja_builtins.hpp"
#include "model/jinja_evaluator_scopes.hpp"

namespace lynxkv::model::jinja {
namespace {

constexpr std::size_t most_output_bytes = 64u << 20;

}  // namespace

void Evaluator::Scope::set(const std::string& name, Value value) {
  for (auto& [key, old] : variables)
    if (key == name) {
      old = std::move(value);
      return;
    }
  variables.emplace_back(name, std::move(value));
}

const Value* Evaluator::Scope::find(const std::string& name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer)
    for (const auto& [key, value] : scope->variables)
      if (key == name) return &value;
  return nullptr;
}

std::string Evaluator::render(const Body& body, Variables variables) {
  root_.variables = std::move(variables);
  std::string out;
  run(body, out);
  return out;
}

void Evaluator::write(std::string& out, const std::string& text, int line) {
  if (text.size() > most_output_bytes - out.size())
    fail(line, "the template prints more than " + std::to_string(most_output_bytes >> 20) + " MiB");
  out += text;
}

std::string Evaluator::captured(const Body& body) {
  const Inner inner(*this);
  std::string out;
  run(body, out);
  return out;
}

Evaluator::Flow Evaluator::run(const Body& body, std::string& out) {
  for (const Statement& statement : body)
    if (const Flow flow = run(statement, out); flow != Flow::onward) return flow;
  return Flow::onward;
}

Evaluator::Flow Evaluator::run(const Statement& statement, std::string& out) {
  const Deeper deeper(*this, statement.line);
  using Kind = Statement::Kind;
  switch (statement.kind) {
    case Kind::text:
      budget_.charge_bytes(statement.line, statement.text.size());
      write(out, statement.text, statement.line);
      break;
    case Kind::output:
      write(out, Call{budget_, statement.line, "{{ }}"}.text_of(evaluate(*statement.expression)),
            statement.line);
      break;
    case Kind::if_else:
      return if_else(statement, out);
    case Kind::for_loop:
      return for_loop(statement, out);
    case Kind::set:
      set(statement);
      break;
    case Kind::set_block: {
      Value text = captured(statement.bodies[0]);
      if (statement.expression) text = filter_block(*statement.expression, text);
      scope_->set(statement.targets[0], std::move(text));
      break;
    }
    case Kind::macro:
      scope_->set(statement.text, Callable{statement.text, &statement});
      break;
    case Kind::filter: {
      const Value text = filter_block(*statement.expression, captured(statement.bodies[0]));
      write(out, Call{budget_, statement.line, "filter"}.text_of(text), statement.line);
      break;
    }
    case Kind::with:
      with(statement, out);
      break;
    case Kind::block:
      return run(statement.bodies[0], out);
    case Kind::break_loop:
      return Flow::break_loop;
    case Kind::continue_loop:
      return Flow::continue_loop;
  }
  return Flow::onward;
}

Evaluator::Flow Evaluator::if_else(const Statement& statement, std::string& out) {
  for (std::size_t i = 0; i < statement.conditions.size(); ++i)
    if (evaluate(*statement.conditions[i]).truthy()) return run(statement.bodies[i], out);
  if (statement.bodies.size() > statement.conditions.size()) return run(statement.bodies.back(), out);
  return Flow::onward;
}

void Evaluator::assign(const Statement& statement, const Value& value) {
  if (statement.targets.size() == 1) return scope_->set(statement.targets[0], value);
  const auto items = items_of(value);
  if (!items || items->size() != statement.targets.size())
    fail(statement.line, "expected " + std::to_string(statement.targets.size()) +
                             " values to assign, found " +
                             (items ? std::to_string(items->size()) : std::string(value.kind())));
  for (std::size_t i = 0; i < items->size(); ++i) scope_->set(statement.targets[i], (*items)[i]);
}

void Evaluator::set(const Statement& statement) {
  Value value = evaluate(*statement.expression);
  if (statement.text.empty()) return assign(statement, value);
  const Value* found = scope_->find(statement.text);
  Dict* space = found == nullptr ? nullptr : found->name_space();
  if (space == nullptr)
    fail(statement.line,
         "only a namespace's fields can be set; '" + statement.text.substr(0, 40) + "' is none");
  if (value.name_space() != nullptr) fail(statement.line, "a namespace inside a namespace is not supported");
  if (extent_of(value).depth >= 50) fail(statement.line, "lists or mappings are nested too deeply");
  budget_.charge_bytes(statement.line, sizeof(Value) + statement.targets[0].size());
  for (auto& [key, old] : space->entries)
    if (key == statement.targets[0]) {
      old = std::move(value);
      return;
    }
  space->entries.emplace_back(statement.targets[0], std::move(value));
}

void Evaluator::with(const Statement& statement, std::string& out) {
  std::vector<Value> values;
  for (const ExpressionPtr& expression : statement.conditions) values.push_back(evaluate(*expression));
  const Inner inner(*this);
  for (std::size_t i = 0; i < values.size(); ++i) scope_->set(statement.targets[i], std::move(values[i]));
  run(statement.bodies[0], out);
}

Value Evaluator::loop_state(const std::vector<Value>& items, std::size_t index, int line) {
  const auto at = static_cast<std::int64_t>(index);
  const auto length = static_cast<std::int64_t>(items.size());
  Variables state = {{"index0", at},
                     {"index", at + 1},
                     {"revindex0", length - at - 1},
                     {"revindex", length - at},
                     {"first", at == 0},
                     {"last", at + 1 == length},
                     {"length", length},
                     {"depth", std::int64_t{loop_depth_}},
                     {"depth0", std::int64_t{loop_depth_ - 1}}};
  if (index > 0) state.emplace_back("previtem", items[index - 1]);
  if (index + 1 < items.size()) state.emplace_back("nextitem", items[index + 1]);
  return Call{budget_, line, "loop"}.dict(std::move(state));
}

Evaluator::Flow Evaluator::for_loop(const Statement& statement, std::string& out) {
  const Value source = evaluate(*statement.expression);
  budget_.charge_bytes(statement.line,
                       source.string() != nullptr ? source.string()->size() * sizeof(Value) : 0);
  auto found = items_of(source);
  if (!found) fail(statement.line, "expected something to loop over, found " + std::string(source.kind()));
  std::vector<Value> items = std::move(*found);
  budget_.charge_bytes(statement.line, items.size() * sizeof(Value));
  if (!statement.conditions.empty()) {
    std::vector<Value> kept;
    for (Value& item : items) {
      const Inner inner(*this);
      assign(statement, item);
      if (evaluate(*statement.conditions[0]).truthy()) kept.push_back(std::move(item));
    }
    items = std::move(kept);
  }
  if (items.empty()) return run(statement.bodies[1], out);
  ++loop_depth_;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Inner inner(*this);
    assign(statement, items[i]);
    scope_->set("loop", loop_state(items, i, statement.line));
    if (run(statement.bodies[0], out) == Flow::break_loop) break;
  }
  --loop_depth_;
  return Flow::onward;
}

}  // namespace lynxkv::model::jinja
