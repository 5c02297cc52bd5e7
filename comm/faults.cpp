#include "comm/faults.hpp"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <random>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"

namespace lynxkv::comm {
namespace {

constexpr double seconds_between_stalls = 10;

class Faulty final : public Transport {
 public:
  Faulty(std::unique_ptr<Transport> inner, const FaultOptions& options)
      : inner_(std::move(inner)),
        options_(options),
        random_(options.seed * 1'000'003 + static_cast<std::uint64_t>(inner_->rank())),
        held_(static_cast<std::size_t>(inner_->size() * channel_count)) {
    log::warning("faults are injected: flip {}, drop {}, delay {} ms, stall {} s, seed {}{}", options.flip, options.drop,
                 options.delay_ms, options.stall_s, options.seed, options.control ? ", control messages too" : "");
    next_stall();
  }

  int rank() const noexcept override { return inner_->rank(); }
  int size() const noexcept override { return inner_->size(); }
  std::string_view name() const noexcept override { return inner_->name(); }
  std::size_t max_message_bytes() const noexcept override { return inner_->max_message_bytes(); }
  Ticket post(Channel channel, int peer, std::span<const std::byte> bytes) override { return inner_->post(channel, peer, bytes); }
  bool test(Ticket ticket) override { return inner_->test(ticket); }
  void use_buffers(BufferPool* pool) override { inner_->use_buffers(pool); }
  // What is held becomes due without a word: then this has to be polled.
  bool on_arrival(std::function<void()> wake) override {
    if (options_.delay_ms > 0 || options_.stall_s > 0) return false;
    return inner_->on_arrival(std::move(wake));
  }
  [[noreturn]] void abort(int exit_code) override {
    inner_->abort(exit_code);
    std::_Exit(exit_code);
  }

  bool poll(Message& out) override {
    const std::int64_t now = now_ns();
    if (options_.stall_s > 0 && now >= stall_ns_) {
      if (now < stall_ns_ + static_cast<std::int64_t>(options_.stall_s * 1e9)) return false;
      next_stall();
    }
    while (inner_->poll(out)) {
      const bool data = out.channel != Channel::control || options_.control;
      if (data && chance(options_.drop)) continue;
      if (data && !out.bytes.empty() && chance(options_.flip)) {
        const std::uint64_t bit = random_() % (out.bytes.size() * 8);
        out.bytes[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
      }
      if (options_.delay_ms <= 0) return true;
      const auto extra_ns = static_cast<std::int64_t>(uniform() * options_.delay_ms * 1e6);
      held_of(out.channel, out.peer).push_back({std::move(out), now + extra_ns});
      out = Message{};
    }
    for (auto& queue : held_) {
      if (queue.empty() || queue.front().due_ns > now) continue;
      out = std::move(queue.front().message);
      queue.pop_front();
      return true;
    }
    return false;
  }

 private:
  struct Held {
    Message message;
    std::int64_t due_ns;
  };
  std::deque<Held>& held_of(Channel channel, int peer) {
    return held_[static_cast<std::size_t>(peer * channel_count + static_cast<int>(channel))];
  }
  double uniform() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  bool chance(double probability) { return probability > 0 && uniform() < probability; }
  void next_stall() { stall_ns_ = now_ns() + static_cast<std::int64_t>(2 * uniform() * seconds_between_stalls * 1e9); }

  std::unique_ptr<Transport> inner_;
  FaultOptions options_;
  std::mt19937_64 random_;
  std::vector<std::deque<Held>> held_;  // by peer and channel
  std::int64_t stall_ns_ = 0;
};

}  // namespace

std::unique_ptr<Transport> with_faults(std::unique_ptr<Transport> transport, const FaultOptions& options) {
  if (!options.any()) return transport;
  return std::make_unique<Faulty>(std::move(transport), options);
}

}  // namespace lynxkv::comm
