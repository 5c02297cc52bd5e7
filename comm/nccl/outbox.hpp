// Messages on their way over the carrier, which reads their bytes until they are through.
#pragma once

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "comm/transport.hpp"

namespace lynxkv::comm::nccl {

class Outbox {
 public:
  explicit Outbox(Transport& carrier) : carrier_(carrier) {}
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;
  // The carrier may read what is not through for as long as it lives: it is left to it.
  ~Outbox() {
    static std::mutex mutex;
    static auto* left_behind = new std::vector<UnderWay>;
    const std::lock_guard lock(mutex);
    for (UnderWay& one : under_way_) left_behind->push_back(std::move(one));
  }
  void send(Channel channel, int peer, std::vector<std::byte> bytes) {
    under_way_.push_back({0, std::move(bytes)});
    under_way_.back().ticket = carrier_.post(channel, peer, under_way_.back().bytes);
  }
  // Forgets what is through; true when that is all.
  bool sweep() {
    std::erase_if(under_way_, [&](const UnderWay& one) { return carrier_.test(one.ticket); });
    return under_way_.empty();
  }

 private:
  struct UnderWay {
    Ticket ticket;
    std::vector<std::byte> bytes;
  };
  Transport& carrier_;
  std::vector<UnderWay> under_way_;
};

}  // namespace lynxkv::comm::nccl
