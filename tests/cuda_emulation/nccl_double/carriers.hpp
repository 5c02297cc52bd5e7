// Carriers with a will of their own, between the NCCL transport and the in-process loop.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "comm/transport.hpp"

namespace nccl_double {

namespace comm = lynxkv::comm;

// Hands everything on to a loop transport; what arrives may be held back or changed first.
class Carrier : public comm::Transport {
 public:
  // Of the messages that have come (by channel and sender, the oldest of each), the one to let through; null for none.
  using Heads = std::map<std::pair<comm::Channel, int>, std::deque<comm::Message>>;
  using Choose = std::function<comm::Message*(Heads&)>;

  Carrier(std::unique_ptr<comm::Transport> inner, Choose choose) : inner_(std::move(inner)), choose_(std::move(choose)) {}
  int rank() const noexcept override { return inner_->rank(); }
  int size() const noexcept override { return inner_->size(); }
  std::string_view name() const noexcept override { return "carrier"; }
  std::size_t max_message_bytes() const noexcept override { return inner_->max_message_bytes(); }
  comm::Ticket post(comm::Channel channel, int peer, std::span<const std::byte> bytes) override { return inner_->post(channel, peer, bytes); }
  bool test(comm::Ticket ticket) override { return inner_->test(ticket); }
  bool poll(comm::Message& out) override {
    for (comm::Message message; inner_->poll(message); message = comm::Message{})
      held_[{message.channel, message.peer}].push_back(std::move(message));
    std::erase_if(held_, [](const auto& one) { return one.second.empty(); });
    comm::Message* chosen = held_.empty() ? nullptr : choose_(held_);
    if (chosen == nullptr) return false;
    auto& queue = held_.at({chosen->channel, chosen->peer});
    out = std::move(queue.front());
    queue.pop_front();
    return true;
  }
  [[noreturn]] void abort(int exit_code) override {
    inner_->abort(exit_code);
    std::_Exit(exit_code);
  }

 private:
  std::unique_ptr<comm::Transport> inner_;
  Choose choose_;
  Heads held_;
};

}  // namespace nccl_double
