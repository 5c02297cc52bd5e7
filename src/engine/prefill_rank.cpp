#include "engine/prefill_rank.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"

namespace lynxkv::engine {

PrefillRank::PrefillRank(Job& job) : job_(job), serializer_(job.courier) {}

void PrefillRank::on(const Assign& assign) {
  waiting_.push_back(assign);
  admit_waiting();
}

// The coordinator has counted this rank's pages already; a release that is still under way may delay one.
void PrefillRank::admit_waiting() {
  while (!waiting_.empty()) {
    const Assign& assign = waiting_.front();
    auto& prompt = prompts_[assign.sample];
    if (prompt == nullptr) {
      auto made = std::make_shared<PromptKv>(job_.pool);
      made->sample = assign.sample;
      made->submitted_ns = now_ns();
      made->ids = job_.prompt(assign.sample).ids;
      const auto blocks = page::SequenceKv::blocks_needed(job_.pool.geometry(), made->kv_tokens(), 0);
      if (!job_.pool.reserve(blocks)) {
        prompts_.erase(assign.sample);
        return;
      }
      made->reserved_blocks = blocks;
      made->released = ReleaseTimes(job_.pool.geometry(), made->kv_tokens(), job_.config.engine.prefill_chunk);
      prompt = std::move(made);
    }
    Sending sending;
    sending.request = assign.request;
    sending.prompt = prompt;
    sending.mode = assign.mode;
    sending.decode_rank = assign.decode_rank;
    sending.last = assign.last != 0;
    sending.live = !prompt->computed() && job_.config.transfer.start == "streaming";
    const std::uint64_t request = assign.request;
    sendings_.emplace(request, std::move(sending));
    waiting_.pop_front();
    if (ready_early_.erase(request) > 0) on(Ready{request});
  }
}

void PrefillRank::on(const Ready& ready) {
  const auto found = sendings_.find(ready.request);
  if (found == sendings_.end()) {
    // Not admitted yet: its assignment, or the release that makes room for it, is still under way.
    ready_early_.insert(ready.request);
    return;
  }
  open(found->second);
  found->second.prompt->wanted = true;
}

void PrefillRank::open(Sending& sending) {
  if (sending.opened) return;
  stream::Transfer transfer;
  transfer.request = sending.request;
  transfer.peer = sending.decode_rank;
  transfer.tokens = sending.prompt->kv_tokens();
  transfer.geometry = job_.pool.geometry();
  transfer.codec = &job_.codec(sending.mode);
  transfer.options = job_.codec_options;
  serializer_.open(transfer);
  sending.opened = true;
  sending.replay_ns = now_ns();
}

void PrefillRank::on(const Resend& resend) {
  const auto found = sendings_.find(resend.request);
  if (found == sendings_.end()) return;
  const Sending& sending = found->second;
  page::SequenceKv& kv = sending.prompt->kv;
  const int page_tokens = kv.geometry().page_tokens;
  const int pages = (sending.prompt->kv_tokens() + page_tokens - 1) / page_tokens;
  const bool known = resend.layer >= 0 && resend.layer < kv.geometry().layers && resend.page >= 0 && resend.page < pages && resend.kind < 2 && resend.stream < codec::max_streams;
  if (!known)
    throw Error(ErrorCode::transport, "rank " + std::to_string(sending.decode_rank),
                "asks again for a page tensor that request " + std::to_string(resend.request) + " does not have");
  // Asked too early, for nothing tells the receiver what a lost message held: it is not computed yet, and will come.
  if (!sending.opened || resend.page >= kv.page_count()) return;
  const auto kind = static_cast<page::Kind>(resend.kind);
  serializer_.push_again(resend.request, resend.layer, kind, resend.page, kv.page_first_position(resend.page),
                         kv.page_tokens(resend.page),
                         reinterpret_cast<const Bf16*>(kv.page_data(resend.layer, kind, resend.page)),
                         static_cast<codec::StreamId>(resend.stream), resend.attempt);
}

void PrefillRank::on(const Hurry& hurry) { job_.courier.hurry(hurry.request); }

void PrefillRank::on(const Release& release) {
  const auto found = sendings_.find(release.request);
  if (found == sendings_.end()) return;
  if (found->second.opened) serializer_.close(release.request);
  const std::shared_ptr<PromptKv> prompt = found->second.prompt;
  prompt->last_released |= found->second.last;
  sendings_.erase(found);
  // The last mode may be over before an earlier one, of which something was lost and is asked for again.
  const bool in_use = std::any_of(sendings_.begin(), sendings_.end(), [&](const auto& entry) { return entry.second.prompt == prompt; });
  if (prompt->last_released && !in_use) {
    prompt->kv.clear();
    job_.pool.unreserve(prompt->reserved_blocks);
    prompts_.erase(prompt->sample);
  }
  admit_waiting();
}

void PrefillRank::start(Sending& sending, std::int64_t zero_ns) {
  const PromptKv& prompt = *sending.prompt;
  sending.started = true;
  job_.tell(sending.decode_rank,
            Started{sending.request, zero_ns, seconds_between(prompt.submitted_ns, prompt.computed_ns)});
}

bool PrefillRank::may_send(const Sending& sending, std::size_t index) const {
  const PromptKv& prompt = *sending.prompt;
  if (sending.live) return prompt.released.available(index);
  if (!prompt.computed()) return false;
  if (job_.config.transfer.start == "after_prefill") return true;
  return now_ns() >= sending.replay_ns + prompt.released.offset_ns(index);
}

// Sends the next page tensor of a request, and says Started and Sent at their time. False where nothing could be done.
bool PrefillRank::push_next(Sending& sending) {
  PromptKv& prompt = *sending.prompt;
  if (!sending.opened || sending.sent) return false;
  if (!sending.started && prompt.computed()) {
    // after_prefill: nothing left before this moment. A replay's zero lies where its prefill would have ended.
    const std::int64_t prefill_ns = prompt.computed_ns - prompt.begun_ns;
    if (sending.live) start(sending, prompt.computed_ns);
    else if (job_.config.transfer.start == "after_prefill") start(sending, now_ns());
    else start(sending, sending.replay_ns + prefill_ns);
  }
  const auto& order = prompt.released.order();
  if (sending.next == order.size()) {
    if (!sending.started) return false;
    const stream::SentTotals totals = serializer_.totals(sending.request);
    Sent sent;
    sent.request = sending.request;
    std::copy(std::begin(totals.payload_bytes), std::end(totals.payload_bytes), sent.payload_bytes.begin());
    sent.wire_bytes = totals.wire_bytes;
    sent.encode_s = totals.encode_seconds;
    sending.sent = true;
    job_.tell(sending.decode_rank, sent);
    return true;
  }
  if (!serializer_.ready() || !may_send(sending, sending.next)) return false;
  if (may_send(sending, order.size() - 1)) serializer_.rush(sending.request);
  const TensorAt at = order[sending.next];
  serializer_.push(sending.request, at.layer, at.kind, at.page, prompt.kv.page_first_position(at.page),
                   prompt.kv.page_tokens(at.page),
                   reinterpret_cast<const Bf16*>(prompt.kv.page_data(at.layer, at.kind, at.page)));
  ++sending.next;
  return true;
}

// Fills the serializer's window, oldest request first.
bool PrefillRank::service_sends() {
  bool worked = false;
  for (auto& [request, sending] : sendings_)
    while (push_next(sending)) worked = true;
  serializer_.rest();
  return worked;
}

bool PrefillRank::prefill_chunk() {
  for (auto& [request, sending] : sendings_) {
    PromptKv& prompt = *sending.prompt;
    if (prompt.computed() || !prompt.wanted) continue;
    if (prompt.begun_ns == 0) prompt.begun_ns = now_ns();
    const int done = prompt.kv.length();
    const int rows = std::min(job_.config.engine.prefill_chunk, prompt.kv_tokens() - done);
    if (rows > 0) {
      const int chunk = done / job_.config.engine.prefill_chunk;
      model::SequenceRows batch;
      batch.kv = &prompt.kv;
      batch.tokens = std::span(prompt.ids).subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(rows));
      job_.forward.run(std::span(&batch, 1), [&](int layer) {
        prompt.released.complete(chunk, layer, now_ns() - prompt.begun_ns);
        job_.moved();
        service_sends();
      });
    }
    if (prompt.kv.length() == prompt.kv_tokens()) prompt.computed_ns = now_ns();
    return true;
  }
  return false;
}

bool PrefillRank::replays() const noexcept {
  return job_.config.transfer.start == "streaming" &&
         std::any_of(sendings_.begin(), sendings_.end(), [&](const auto& entry) {
           const Sending& sending = entry.second;
           if (!sending.opened || sending.live || sending.sent || !sending.prompt->computed()) return false;
           // A link that takes nothing more is no such wait.
           return sending.next < sending.prompt->released.order().size() && !may_send(sending, sending.next);
         });
}

bool PrefillRank::step() {
  const bool sent = service_sends();
  return prefill_chunk() || sent;
}

}  // namespace lynxkv::engine
