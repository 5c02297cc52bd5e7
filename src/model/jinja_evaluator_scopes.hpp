// Guards of the evaluator: how deep it is, and which names it sees. Internal to its two source files.
#pragma once

#include "model/jinja_evaluator.hpp"
#include "model/jinja_lexer.hpp"

namespace lynxkv::model::jinja {

// Evaluation recurses over expressions, blocks and macros that call themselves: the stack is bounded here.
class Evaluator::Deeper {
 public:
  Deeper(Evaluator& evaluator, int line) : depth_(evaluator.depth_) {
    if (depth_ >= 600) fail(line, "evaluation is nested too deeply");
    ++depth_;
    evaluator.budget_.charge_step(line);
  }
  ~Deeper() { --depth_; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;

 private:
  int& depth_;
};

// A scope inside `outer` for as long as this lives.
class Evaluator::Inner {
 public:
  Inner(Evaluator& evaluator, Scope* outer)
      : evaluator_(evaluator), before_(evaluator.scope_), scope_{{}, outer} {
    evaluator_.scope_ = &scope_;
  }
  explicit Inner(Evaluator& evaluator) : Inner(evaluator, evaluator.scope_) {}
  ~Inner() { evaluator_.scope_ = before_; }
  Inner(const Inner&) = delete;
  Inner& operator=(const Inner&) = delete;

 private:
  Evaluator& evaluator_;
  Scope* before_;
  Scope scope_;
};

}  // namespace lynxkv::model::jinja
