// Set-up of the NCCL transport over its carrier: who has which GPU, and the lanes, joined and warm.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "comm/nccl.hpp"
#include "comm/nccl/lane.hpp"
#include "comm/nccl/outbox.hpp"

namespace lynxkv::comm::nccl {

// By class (anchor, residual), then by peer; null where no route goes.
struct Lanes {
  std::vector<std::unique_ptr<SendLane>> send[2];
  std::vector<std::unique_ptr<ReceiveLane>> receive[2];
};
inline int class_of(Channel channel) { return channel == Channel::anchor ? 0 : 1; }

class Setup {
 public:
  Setup(Transport& carrier, Outbox& outbox, const NcclOptions& options);
  // Collective. The device of this rank, -1 where it needs none.
  int choose_device();
  // Collective; the device is in use. Routes are set up one after the other in an order that all ranks share, so that
  // each always finds its counterpart.
  void make_lanes(Lanes& lanes);
  // What came meanwhile from ranks that are ahead, in order.
  std::vector<Message> take_early() { return std::move(early_); }

 private:
  void listen();
  std::vector<std::byte> from(int peer, const char* what);
  template <class Done>
  void wait_until(Done done, const std::string& what);
  template <class Made>
  void make_lane(Made& lane, const Route& route, Channel channel);

  Transport& carrier_;
  Outbox& outbox_;
  const NcclOptions& options_;
  std::vector<Route> routes_;
  std::int64_t until_ns_;
  std::vector<std::deque<std::vector<std::byte>>> heard_;  // control messages, by peer
  std::vector<Message> early_;
};

}  // namespace lynxkv::comm::nccl
