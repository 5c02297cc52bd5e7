#include "engine/rank_loop.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "engine/host.hpp"
#include "engine/signals.hpp"

namespace lynxkv::engine {
namespace {

// Replays of a streaming prefill become due between messages, so an idle rank looks again after this long.
constexpr std::chrono::microseconds idle_wait{2000};

}  // namespace

RankLoop::RankLoop(Job& job, results::Journal* journal, const Capacity& capacity)
    : job_(job), journal_(journal), rank_(job.courier.rank()) {
  if (job.roles.prefills(rank_)) prefill_ = std::make_unique<PrefillRank>(job);
  if (job.roles.decodes(rank_)) decode_ = std::make_unique<DecodeRank>(job, coordinator_rank);
  if (rank_ == coordinator_rank) {
    LYNXKV_CHECK(journal != nullptr);
    coordinator_ = std::make_unique<Coordinator>(job, *journal, capacity);
    rows_before_ = coordinator_->rows_done();
    progress_ = std::make_unique<ProgressLine>(job.config.output.progress_s);
  }
}

void RankLoop::dispatch(const Control& message) {
  const auto misplaced = [](const char* what) {
    throw Error(ErrorCode::transport, "control message", std::string(what) + " reached a rank without that role");
  };
  std::visit(
      [&](const auto& content) {
        using T = std::decay_t<decltype(content)>;
        // A request for what got lost shows that something is wrong, not that something moves.
        if constexpr (!std::is_same_v<T, Resend> && !std::is_same_v<T, Moving> && !std::is_same_v<T, StopRequest>) job_.moved();
        if constexpr (std::is_same_v<T, Assign>) {
          if (content.sample < 0 || static_cast<std::size_t>(content.sample) >= job_.samples.size() || content.mode < 0 ||
              static_cast<std::size_t>(content.mode) >= job_.codecs.size())
            throw Error(ErrorCode::transport, "control message", "assigns a sample or a mode that does not exist");
          if (prefill_ && content.prefill_rank == rank_) prefill_->on(content);
          if (decode_ && content.decode_rank == rank_) decode_->on(content);
        } else if constexpr (std::is_same_v<T, Ready> || std::is_same_v<T, Resend> || std::is_same_v<T, Release> ||
                             std::is_same_v<T, Hurry>) {
          if (!prefill_) misplaced("a message to a prefill rank");
          prefill_->on(content);
        } else if constexpr (std::is_same_v<T, Started> || std::is_same_v<T, Sent>) {
          if (!decode_) misplaced("a message to a decode rank");
          decode_->on(content);
        } else if constexpr (std::is_same_v<T, Done>) {
          if (!coordinator_) misplaced("a finished row");
          coordinator_->on(content);
        } else if constexpr (std::is_same_v<T, StopRequest>) {
          if (!coordinator_) misplaced("a stop request");
          log::warning("signal {}: no new samples are started; what runs is finished", content.signal);
          stop_starting();
        } else if constexpr (std::is_same_v<T, Moving>) {
          job_.stop.stop();
          job_.stop.moved();
          if (coordinator_ && seconds_between(relayed_ns_, now_ns()) > job_.stop.tell_every_s()) tell_moving();
        } else if constexpr (std::is_same_v<T, End>) {
          ended_ = true;
          complete_ = content.complete != 0;
          abandoned_ = content.abandoned != 0;
        }
      },
      message);
}

bool RankLoop::take_messages() {
  bool any = false;
  for (comm::Message message; !ended_ && job_.courier.receive(message); any = true) {
    if (message.channel == comm::Channel::control) {
      auto control = decode_control(message.bytes);
      if (!control) throw Error(ErrorCode::transport, "rank " + std::to_string(message.peer), control.error().what());
      dispatch(control.value());
    } else if (decode_) {
      decode_->accept(std::move(message));
    } else {
      throw Error(ErrorCode::transport, "rank " + std::to_string(message.peer), "sent pages to a rank that does not decode");
    }
  }
  return any;
}

// On the coordinator: what runs is finished, nothing more is started, and every rank knows.
void RankLoop::stop_starting() {
  coordinator_->stop();
  job_.stop.stop();
  tell_moving();
}

void RankLoop::tell_moving() {
  relayed_ns_ = now_ns();
  for (int rank = 0; rank < job_.courier.size(); ++rank)
    if (rank != rank_) job_.tell(rank, Moving{});
}

// On the coordinator: what runs will not be finished.
void RankLoop::abandon() {
  log::warning("{}; {} unfinished samples are left to the next run", job_.stop.over() ? "asked to stop, and nothing moves any more" : "the job is about to end",
               coordinator_->running());
  journal_->sync(true);
  for (int rank = 0; rank < job_.courier.size(); ++rank)
    if (rank != rank_) job_.tell(rank, End{0, 1});
  ended_ = end_sent_ = abandoned_ = true;
}

void RankLoop::watch_signals() {
  if (coordinator_ && !end_sent_ && job_.stop.stopping()) {
    const double left_s = seconds_to_job_end();
    if (job_.stop.over() || (left_s >= 0 && left_s < std::min(job_.config.output.stop_before_end_s, job_.config.output.stop_grace_s)))
      return abandon();
  }
  if (stop_told_) return;
  int reason = StopSignals::received();
  if (reason == 0 && coordinator_) {
    const double left_s = seconds_to_job_end();
    if (left_s >= 0 && left_s < job_.config.output.stop_before_end_s) {
      log::warning("{:.0f} s to the end of the job: no new samples are started", left_s);
      stop_starting();
      stop_told_ = true;
      return;
    }
  }
  if (reason == 0) return;
  stop_told_ = true;
  job_.tell(coordinator_rank, StopRequest{reason});
}

void RankLoop::coordinate(bool& worked) {
  while (coordinator_->step()) worked = true;
  journal_->sync(false);
  progress_->show(coordinator_->rows_done(), rows_before_, coordinator_->rows_planned(), coordinator_->tokens_out(),
                  seconds_to_job_end());
  if (coordinator_->finished() && !end_sent_) {
    journal_->sync(true);
    const End end{static_cast<std::uint8_t>(coordinator_->complete() ? 1 : 0), 0};
    for (int rank = 0; rank < job_.courier.size(); ++rank) job_.tell(rank, end);
    end_sent_ = true;
  }
}

bool RankLoop::run() {
  while (!ended_) {
    bool worked = take_messages();
    if (ended_) break;
    watch_signals();
    if (ended_) break;
    if (coordinator_) coordinate(worked);
    if (decode_ && decode_->step()) {
      worked = true;
      job_.courier.progress("decode");
    }
    if (prefill_ && prefill_->step()) {
      worked = true;
      job_.courier.progress("prefill");
    }
    if (prefill_ && prefill_->replays()) {
      job_.courier.progress("replay of a prefill");
      job_.moved();
    }
    // While something runs, a message is owed: silence of all peers then is a stall, and the watchdog's to end.
    job_.courier.expect_messages((decode_ && !decode_->idle()) || (prefill_ && !prefill_->idle()) ||
                                 (coordinator_ && !coordinator_->finished()));
    if (!worked) job_.courier.wait(idle_wait);
  }
  if (progress_) progress_->finish();
  return complete_;
}

}  // namespace lynxkv::engine
