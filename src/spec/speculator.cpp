#include "spec/speculator.hpp"

#include <utility>

#include "base/check.hpp"
#include "spec/acceptance.hpp"

namespace lynxkv::spec {

Speculator::Speculator(SpeculatorOptions options) : options_(std::move(options)) {
  LYNXKV_CHECK(options_.prompt_tokens >= 1 && options_.max_tokens >= 0 && options_.cap >= 0);
  LYNXKV_CHECK(options_.is_end != nullptr);
  if (options_.max_tokens == 0) finish_ = Finish::length;
  else if (options_.prompt_tokens > options_.context_tokens) finish_ = Finish::context;
}

int Speculator::last_committed_position() const noexcept {
  return options_.prompt_tokens - 1 + static_cast<int>(committed_.size());
}

int Speculator::kv_length() const noexcept { return last_committed_position(); }

// A draft that would never be committed is not made: past the cap, past the end of the answer or behind an
// end token that still has to be verified.
bool Speculator::may_draft() const noexcept {
  const int count = static_cast<int>(draft_.size());
  const int position = last_committed_position() + count;  // of the row that would be run
  return count < options_.cap && static_cast<int>(committed_.size()) + count < options_.max_tokens &&
         position < options_.context_tokens && (draft_.empty() || !options_.is_end(draft_.back()));
}

Phase Speculator::phase(Fidelity fidelity) const noexcept {
  if (done()) return Phase::done;
  if (fidelity == Fidelity::none) return Phase::wait_anchor;
  if (fidelity == Fidelity::target) return draft_.empty() ? Phase::normal : Phase::verify;
  return may_draft() ? Phase::draft : Phase::wait_target;
}

bool Speculator::ready(Fidelity fidelity) const noexcept {
  const Phase now = phase(fidelity);
  return now == Phase::draft || now == Phase::verify || now == Phase::normal;
}

Step Speculator::next(Fidelity fidelity) {
  LYNXKV_CHECK(running_ == Running::nothing && ready(fidelity));
  const TokenId last = committed_.empty() ? options_.last_prompt_token : committed_.back();
  Step step;
  step.first_position = last_committed_position();
  switch (phase(fidelity)) {
    case Phase::draft:
      running_ = Running::draft;
      step.first_position += static_cast<int>(draft_.size());
      step.tokens = {draft_.empty() ? last : draft_.back()};
      step.logit_rows = 1;
      break;
    case Phase::verify:
      // All rows again, the first included: nothing written while drafting is read by the verification.
      running_ = Running::verify;
      step.tokens.reserve(draft_.size() + 1);
      step.tokens.push_back(last);
      step.tokens.insert(step.tokens.end(), draft_.begin(), draft_.end());
      // A draft that fills the context leaves no position for a row behind its last token.
      while (step.first_position + static_cast<int>(step.tokens.size()) > options_.context_tokens) {
        step.tokens.pop_back();
        draft_.pop_back();
        draft_ns_.pop_back();
      }
      step.logit_rows = static_cast<int>(step.tokens.size());
      break;
    default:
      running_ = Running::normal;
      step.tokens = {last};
      step.logit_rows = 1;
  }
  return step;
}

void Speculator::commit(TokenId token, std::int64_t existed_ns, std::int64_t now_ns) {
  if (done()) return;
  committed_.push_back(token);
  existed_ns_.push_back(existed_ns);
  committed_ns_.push_back(now_ns);
  if (options_.is_end(token)) finish_ = Finish::stop;
  else if (static_cast<int>(committed_.size()) >= options_.max_tokens) finish_ = Finish::length;
  else if (last_committed_position() >= options_.context_tokens) finish_ = Finish::context;
}

void Speculator::apply(std::span<const TokenId> chosen, std::int64_t now_ns) {
  const Running was = std::exchange(running_, Running::nothing);
  switch (was) {
    case Running::draft:
      LYNXKV_CHECK(chosen.size() == 1);
      if (draft_.empty() && drafted_ == 0) first_draft_ns_ = now_ns;
      draft_.push_back(chosen[0]);
      draft_ns_.push_back(now_ns);
      ++drafted_;
      return;
    case Running::verify: {
      const int accepted = accepted_prefix(draft_, chosen);
      ++verifications_;
      accepted_ += accepted;
      verified_ns_ = now_ns;
      for (int i = 0; i < accepted; ++i)
        commit(draft_[static_cast<std::size_t>(i)], draft_ns_[static_cast<std::size_t>(i)], now_ns);
      commit(chosen[static_cast<std::size_t>(accepted)], now_ns, now_ns);
      draft_.clear();
      draft_ns_.clear();
      return;
    }
    case Running::normal:
      LYNXKV_CHECK(chosen.size() == 1);
      commit(chosen[0], now_ns, now_ns);
      return;
    case Running::nothing: LYNXKV_CHECK(!"apply() answers a next()");
  }
}

const char* name_of(Finish finish) noexcept {
  switch (finish) {
    case Finish::running: return "running";
    case Finish::stop: return "stop";
    case Finish::length: return "length";
    case Finish::context: return "context";
  }
  return "";
}

}  // namespace lynxkv::spec
