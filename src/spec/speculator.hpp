// Speculator: the speculative decoding of one request, as a state machine that never touches a model.
//   wait_anchor -> draft -> (target complete | cap | end token | max tokens) -> [wait_target] -> verify
//               -> normal -> done
// The caller asks for the next step, runs its rows through the forward pass and hands back the chosen tokens.
// Every committed token is the target model's own choice behind the committed prefix: the output equals the
// non-speculative run's, whatever was drafted and whenever the target's data came.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "model/tokenizer.hpp"

namespace lynxkv::spec {

using model::TokenId;

enum class Phase { wait_anchor, draft, wait_target, verify, normal, done };
enum class Finish { running, stop, length, context };

struct SpeculatorOptions {
  int prompt_tokens = 1;     // N >= 1; the KV of positions 0 .. N-2 comes from elsewhere
  TokenId last_prompt_token = 0;
  int max_tokens = 1;        // committed tokens at most
  int context_tokens = 1;    // positions that the model has
  int cap = 64;              // drafts at most before the target is waited for
  std::function<bool(TokenId)> is_end;
};

// What the pages of the prompt hold now.
enum class Fidelity { none, draft, target };

// Rows to run: `tokens` at positions first_position ..; the KV is cut back to first_position before.
// A choice is wanted behind each of the last `logit_rows` rows.
struct Step {
  int first_position = 0;
  std::vector<TokenId> tokens;
  int logit_rows = 0;
};

class Speculator {
 public:
  explicit Speculator(SpeculatorOptions options);

  // True where next() has rows to run with pages of this fidelity. Fidelity never falls.
  bool ready(Fidelity fidelity) const noexcept;
  // The rows to run now; ready() is true. Each next() is answered by one apply().
  Step next(Fidelity fidelity);
  // The model's choices behind the step's logit rows, and the time at which they were known (ns).
  void apply(std::span<const TokenId> chosen, std::int64_t now_ns);

  Phase phase(Fidelity fidelity) const noexcept;
  bool done() const noexcept { return finish_ != Finish::running; }
  // True while drafting has stopped at the cap (or at an end token) and only the target's data is missing.
  bool waits_for_target(Fidelity fidelity) const noexcept { return phase(fidelity) == Phase::wait_target; }
  Finish finish() const noexcept { return finish_; }
  // The KV length that belongs to the committed tokens; longer than that is to be cut off. Valid after apply().
  int kv_length() const noexcept;

  const std::vector<TokenId>& committed() const noexcept { return committed_; }
  // When each committed token existed on this rank (a drafted one at its draft), and when it was committed.
  const std::vector<std::int64_t>& existed_ns() const noexcept { return existed_ns_; }
  const std::vector<std::int64_t>& committed_ns() const noexcept { return committed_ns_; }

  int drafted() const noexcept { return drafted_; }
  int accepted() const noexcept { return accepted_; }
  int verifications() const noexcept { return verifications_; }
  std::int64_t first_draft_ns() const noexcept { return first_draft_ns_; }
  std::int64_t verified_ns() const noexcept { return verified_ns_; }

 private:
  bool may_draft() const noexcept;
  void commit(TokenId token, std::int64_t existed_ns, std::int64_t now_ns);
  int last_committed_position() const noexcept;

  enum class Running { nothing, draft, verify, normal };

  SpeculatorOptions options_;
  Running running_ = Running::nothing;
  Finish finish_ = Finish::running;
  std::vector<TokenId> draft_;
  std::vector<std::int64_t> draft_ns_;
  std::vector<TokenId> committed_;
  std::vector<std::int64_t> existed_ns_, committed_ns_;
  int drafted_ = 0, accepted_ = 0, verifications_ = 0;
  std::int64_t first_draft_ns_ = 0, verified_ns_ = 0;
};

const char* name_of(Finish finish) noexcept;

}  // namespace lynxkv::spec
