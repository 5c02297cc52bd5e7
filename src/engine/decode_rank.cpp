#include "engine/decode_rank.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "engine/finished_row.hpp"
#include "results/row_codec.hpp"

namespace lynxkv::engine {
namespace {

// Page tensors completed between two forward steps: more than the wire brings during one, so that completing never
// lags behind it, and bounded, so that one request does not hold up the drafts of others for long.
constexpr int tensors_between_steps = 256;
constexpr std::int64_t overdue_after_ns = 2'000'000'000;

}  // namespace

DecodeRank::DecodeRank(Job& job, int coordinator) : job_(job), coordinator_(coordinator) {}

void DecodeRank::on(const Assign& assign) {
  waiting_.push_back(assign);
  admit_waiting();
}

void DecodeRank::admit_waiting() {
  while (!waiting_.empty()) {
    const Assign assign = waiting_.front();
    const Prompt prompt = job_.prompt(assign.sample);
    const auto tokens = static_cast<int>(prompt.ids.size());
    const int max_tokens = job_.samples[static_cast<std::size_t>(assign.sample)].max_tokens;
    // Drafts and the verification's rows lie on the same tail: max_tokens and the rows of one pass.
    const int tail = max_tokens + job_.config.speculation.cap + 2;
    const auto blocks = page::SequenceKv::blocks_needed(job_.pool.geometry(), tokens - 1, tail);
    if (!job_.pool.reserve(blocks)) return;

    spec::SpeculatorOptions options;
    options.prompt_tokens = tokens;
    options.last_prompt_token = prompt.ids.back();
    options.max_tokens = max_tokens;
    options.context_tokens = job_.model.config.context_tokens;
    options.cap = job_.config.speculation.cap;
    options.is_end = [&tokenizer = *job_.model.tokenizer](model::TokenId id) { return tokenizer.is_end(id); };
    auto request = std::make_unique<Request>(job_.pool, std::move(options));
    request->assign = assign;
    request->reserved_blocks = blocks;
    request->prompt_tokens = tokens;
    request->truncated_tokens = prompt.truncated_tokens;
    request->kv.extend(tokens - 1);
    request->kv.seal();

    stream::Transfer transfer;
    transfer.request = assign.request;
    transfer.peer = assign.prefill_rank;
    transfer.tokens = tokens - 1;
    transfer.geometry = job_.pool.geometry();
    transfer.codec = &job_.codec(assign.mode);
    transfer.options = job_.codec_options;
    deserializer_.expect(transfer, &request->kv);
    requests_.emplace(assign.request, std::move(request));
    waiting_.pop_front();
    job_.tell(assign.prefill_rank, Ready{assign.request});
  }
}

void DecodeRank::on(const Started& started) {
  const auto found = requests_.find(started.request);
  if (found == requests_.end()) return;
  found->second->start = started;
  found->second->started = true;
}

void DecodeRank::on(const Sent& sent) {
  const auto found = requests_.find(sent.request);
  if (found == requests_.end()) return;
  found->second->totals = sent;
  found->second->sent = true;
}

void DecodeRank::accept(comm::Message message) {
  heard_ns_[message.peer] = now_ns();
  deserializer_.accept(std::move(message)).take();
}

// The loss of a stream's last frames shows only in silence: the sender has sent all, nothing of the kind comes from it
// any more, and something is missing. The patience doubles, for a link may also stand still for a while.
void DecodeRank::ask_for_overdue() {
  const std::int64_t now = now_ns();
  // Where this process itself stood still, what came meanwhile is not taken yet.
  if (now - looked_ns_ > overdue_after_ns / 2)
    for (auto& [rank, heard_ns] : heard_ns_) heard_ns = now;
  looked_ns_ = now;
  for (auto& [id, request] : requests_) {
    if (!request->sent || deserializer_.progress(id).level >= job_.codec(request->assign.mode).target()) continue;
    std::int64_t& heard_ns = heard_ns_[request->assign.prefill_rank];
    if (heard_ns == 0) heard_ns = now;
    if (now - heard_ns < overdue_after_ns << request->overdue) continue;
    log::warning("request {}: rank {} has sent all and nothing came for {:.0f} s; what is missing is asked for again", id,
                 request->assign.prefill_rank, seconds_between(heard_ns, now));
    ++request->overdue;
    heard_ns = now;
    deserializer_.overdue(id).take();
  }
}

spec::Fidelity DecodeRank::fidelity(const Request& request) const {
  const codec::Level level = deserializer_.progress(request.assign.request).level;
  // Nothing is drafted before the prompt's KV was computed: a token that precedes time zero has no meaning.
  if (level == codec::Level::none || !request.started) return spec::Fidelity::none;
  return level >= job_.codec(request.assign.mode).target() ? spec::Fidelity::target : spec::Fidelity::draft;
}

bool DecodeRank::ask_again() {
  bool asked = false;
  for (const stream::Missing& missing : deserializer_.take_missing()) {
    const auto found = requests_.find(missing.request);
    if (found == requests_.end()) continue;
    ++found->second->retries;
    job_.tell(missing.peer, Resend{missing.request, missing.layer, missing.page, missing.attempt,
                                   static_cast<std::uint8_t>(missing.kind), static_cast<std::uint8_t>(missing.stream)});
    asked = true;
  }
  return asked;
}

// One forward pass over the rows of every request that has some, the oldest first.
bool DecodeRank::run_batch() {
  struct Part {
    Request* request;
    spec::Step step;
  };
  std::vector<Part> parts;
  for (auto& [id, request] : requests_) {
    const spec::Fidelity now = fidelity(*request);
    if (request->speculator.waits_for_target(now) && !request->hurried) {
      request->hurried = true;
      job_.tell(request->assign.prefill_rank, Hurry{id});
    }
    if (!request->speculator.ready(now)) continue;
    parts.push_back({request.get(), request->speculator.next(now)});
  }
  if (parts.empty()) return false;

  std::vector<model::SequenceRows> batch;
  for (Part& part : parts) {
    part.request->kv.truncate(part.step.first_position);
    batch.push_back({&part.request->kv, part.step.tokens, part.step.logit_rows});
  }
  const std::span<const float> logits = job_.forward.run(batch, [&](int) { job_.moved(); });
  const std::int64_t now = now_ns();
  const auto vocabulary = static_cast<std::size_t>(job_.model.config.vocab);
  std::size_t row = 0;
  for (Part& part : parts) {
    std::vector<model::TokenId> chosen;
    for (int i = 0; i < part.step.logit_rows; ++i, ++row)
      chosen.push_back(model::argmax(logits.subspan(row * vocabulary, vocabulary)));
    part.request->speculator.apply(chosen, now);
  }
  return true;
}

results::Row DecodeRank::make_row(const Request& request) const {
  FinishedRequest finished;
  finished.assign = request.assign;
  finished.started = request.start;
  finished.sent = request.totals;
  finished.progress = deserializer_.progress(request.assign.request);
  finished.prompt_tokens = request.prompt_tokens;
  finished.truncated_tokens = request.truncated_tokens;
  finished.retries = request.retries;
  finished.speculator = &request.speculator;
  return finished_row(job_, finished);
}

// Rows leave for the coordinator once the sender has told what it sent.
bool DecodeRank::finish_done() {
  bool worked = false;
  for (auto it = requests_.begin(); it != requests_.end();) {
    Request& request = *it->second;
    // An answer may end before the residual is here; its pages stay until the wire is done with them.
    const bool over = request.speculator.done() && request.started && request.sent &&
                      deserializer_.progress(it->first).level >= job_.codec(request.assign.mode).target();
    if (!over) {
      ++it;
      continue;
    }
    const results::Row row = make_row(request);
    deserializer_.close(it->first);
    request.kv.clear();
    job_.pool.unreserve(request.reserved_blocks);
    job_.tell(request.assign.prefill_rank, Release{it->first});
    job_.tell(coordinator_, Done{it->first, results::encode_row(row)});
    it = requests_.erase(it);
    worked = true;
  }
  if (worked) admit_waiting();
  return worked;
}

// Of the requests that run: what came whole, for the first time or again.
std::uint64_t DecodeRank::received_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [id, request] : requests_)
    for (const std::uint64_t stream : deserializer_.progress(id).payload_bytes) bytes += stream;
  return bytes;
}

bool DecodeRank::step() {
  ask_for_overdue();
  const bool asked = ask_again();
  const bool more_pages = deserializer_.complete(tensors_between_steps);
  const bool ran = run_batch();
  const bool finished = finish_done();
  const std::uint64_t received = received_bytes();
  if (more_pages || ran || finished || received != received_bytes_) job_.moved();
  received_bytes_ = received;
  return asked || more_pages || ran || finished;
}

}  // namespace lynxkv::engine
