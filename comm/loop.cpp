#include "comm/loop.hpp"

#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "base/check.hpp"

namespace lynxkv::comm {
namespace {

constexpr std::size_t loop_message_limit_bytes = std::size_t{16} << 20;
// Unread bytes that a receiver holds for all senders together: past it a post stays incomplete until the
// receiver reads, as a network would have it. Without that, a peer that stops reading would go unseen.
constexpr std::size_t unread_limit_bytes = std::size_t{8} << 20;

struct Waiting {
  Ticket ticket = 0;
  int peer = -1;
  bool held = false;  // the sender's ticket completes only when this is read
  std::vector<std::byte> bytes;
};

struct Mailbox {
  std::mutex mutex;
  std::deque<Waiting> arrived[channel_count];
  std::size_t unread_bytes = 0;
  std::mutex wake_mutex;  // apart: a wake-up takes locks of its own
  std::function<void()> wake;
};

struct Sender {
  std::mutex mutex;
  std::unordered_set<Ticket> incomplete;
};

struct Shared {
  explicit Shared(int size) : mailboxes(static_cast<std::size_t>(size)), senders(static_cast<std::size_t>(size)) {}
  std::vector<Mailbox> mailboxes;
  std::vector<Sender> senders;
};

class Loop final : public Transport {
 public:
  Loop(std::shared_ptr<Shared> shared, int rank, int size) : shared_(std::move(shared)), rank_(rank), size_(size) {}

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }
  std::string_view name() const noexcept override { return "loop"; }
  std::size_t max_message_bytes() const noexcept override { return loop_message_limit_bytes; }

  Ticket post(Channel channel, int peer, std::span<const std::byte> bytes) override {
    LYNXKV_CHECK(peer >= 0 && peer < size_ && bytes.size() <= max_message_bytes());
    Waiting message;
    message.ticket = ++last_ticket_;
    message.peer = rank_;
    message.bytes.assign(bytes.begin(), bytes.end());
    Mailbox& box = shared_->mailboxes[static_cast<std::size_t>(peer)];
    {
      const std::lock_guard lock(box.mutex);
      message.held = box.unread_bytes > unread_limit_bytes;
      if (message.held) {
        Sender& sender = mine();
        const std::lock_guard sender_lock(sender.mutex);
        sender.incomplete.insert(message.ticket);
      }
      box.unread_bytes += message.bytes.size();
      box.arrived[static_cast<int>(channel)].push_back(std::move(message));
    }
    const std::lock_guard lock(box.wake_mutex);
    if (box.wake) box.wake();
    return last_ticket_;
  }

  bool on_arrival(std::function<void()> wake) override {
    Mailbox& box = shared_->mailboxes[static_cast<std::size_t>(rank_)];
    const std::lock_guard lock(box.wake_mutex);
    box.wake = std::move(wake);
    return true;
  }

  bool test(Ticket ticket) override {
    Sender& sender = mine();
    std::lock_guard lock(sender.mutex);
    return sender.incomplete.count(ticket) == 0;
  }

  bool poll(Message& out) override {
    Mailbox& box = shared_->mailboxes[static_cast<std::size_t>(rank_)];
    std::lock_guard lock(box.mutex);
    for (int channel = 0; channel < channel_count; ++channel) {
      auto& queue = box.arrived[channel];
      if (queue.empty()) continue;
      Waiting message = std::move(queue.front());
      queue.pop_front();
      box.unread_bytes -= message.bytes.size();
      if (message.held) {
        Sender& sender = shared_->senders[static_cast<std::size_t>(message.peer)];
        std::lock_guard sender_lock(sender.mutex);
        sender.incomplete.erase(message.ticket);
      }
      out.channel = static_cast<Channel>(channel);
      out.peer = message.peer;
      out.bytes = std::move(message.bytes);
      return true;
    }
    return false;
  }

  [[noreturn]] void abort(int exit_code) override { std::_Exit(exit_code); }

 private:
  Sender& mine() { return shared_->senders[static_cast<std::size_t>(rank_)]; }

  std::shared_ptr<Shared> shared_;
  int rank_;
  int size_;
  Ticket last_ticket_ = 0;
};

}  // namespace

std::vector<std::unique_ptr<Transport>> make_loop(int size) {
  LYNXKV_CHECK(size >= 1);
  auto shared = std::make_shared<Shared>(size);
  std::vector<std::unique_ptr<Transport>> ranks;
  for (int rank = 0; rank < size; ++rank) ranks.push_back(std::make_unique<Loop>(shared, rank, size));
  return ranks;
}

}  // namespace lynxkv::comm
