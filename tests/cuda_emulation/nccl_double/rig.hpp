// Ranks of the NCCL transport as threads of one process, on the emulated CUDA runtime and the double of NCCL.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "comm/courier.hpp"
#include "comm/loop.hpp"
#include "comm/nccl.hpp"
#include "tests/cuda_emulation/emulation.hpp"
#include "tests/cuda_emulation/nccl_double/nccl_double.hpp"

namespace nccl_double {

// Fresh doubles before each test; nothing wrong and nothing left after it.
class OnDoubles : public testing::Test {
 protected:
  static constexpr int gpus = 8;

  void SetUp() override { fresh(1); }
  void TearDown() override {
    for (const std::string& what : take_misuse()) ADD_FAILURE() << "misuse: " << what;
    for (const std::string& what : take_leaks()) ADD_FAILURE() << "leak: " << what;
    EXPECT_EQ(cuda_emulation::last_fault(), "");
  }
  static void fresh(std::uint64_t seed, cuda_emulation::Order order = cuda_emulation::Order::drawn) {
    reset({seed, true, 0});
    cuda_emulation::reset({seed, order, 2, gpus});
  }

  using Ranks = std::vector<std::unique_ptr<lynxkv::comm::Transport>>;
  using Body = std::function<void(lynxkv::comm::Transport&)>;

  static lynxkv::comm::NcclOptions small() {
    lynxkv::comm::NcclOptions options;
    options.staging_bytes = std::size_t{1} << 20;
    options.init_seconds = 20;
    return options;
  }
  // `body` on a thread for each rank, each with its transport, which ends there too.
  static void on_each_transport(Ranks carriers, const lynxkv::comm::NcclOptions& options, const Body& body) {
    std::vector<std::thread> threads;
    for (auto& carrier : carriers)
      threads.emplace_back([&options, &body, carrier = std::move(carrier)]() mutable {
        const int rank = carrier->rank();
        try {
          const auto transport = lynxkv::comm::make_nccl(std::move(carrier), options);
          body(*transport);
        } catch (const std::exception& error) {
          ADD_FAILURE() << "rank " << rank << ": " << error.what();
        }
      });
    for (std::thread& thread : threads) thread.join();
  }
  static void on_each_transport(int size, const lynxkv::comm::NcclOptions& options, const Body& body) {
    on_each_transport(lynxkv::comm::make_loop(size), options, body);
  }
  // The next message of the data channels, or of the control channel; nothing after some seconds. What is of the other
  // kind is kept: ranks come to their next step at different times.
  static std::optional<lynxkv::comm::Message> next(lynxkv::comm::Transport& transport, bool control = false) {
    using lynxkv::comm::Message;
    static thread_local std::deque<Message> kept;
    const auto wanted = [&](const Message& message) { return (message.channel == lynxkv::comm::Channel::control) == control; };
    const std::int64_t until = lynxkv::now_ns() + 20'000'000'000;
    if (const auto found = std::find_if(kept.begin(), kept.end(), wanted); found != kept.end()) {
      Message message = std::move(*found);
      kept.erase(found);
      return message;
    }
    for (Message message; lynxkv::now_ns() < until; std::this_thread::yield()) {
      if (!transport.poll(message)) continue;
      if (wanted(message)) return message;
      kept.push_back(std::move(message));
      message = Message{};
    }
    return std::nullopt;
  }
  // Holds the ranks until all have come.
  static void meet(lynxkv::comm::Transport& transport) {
    const std::vector<std::byte> nothing(1);
    std::vector<lynxkv::comm::Ticket> tickets;
    for (int to = 0; to < transport.size(); ++to)
      if (to != transport.rank()) tickets.push_back(transport.post(lynxkv::comm::Channel::control, to, nothing));
    for (int left = transport.size() - 1; left > 0; --left) ASSERT_TRUE(next(transport, true));
    for (const auto ticket : tickets)
      while (!transport.test(ticket)) std::this_thread::yield();
  }
  static void on_each_rank(int size, const std::function<void(lynxkv::comm::Courier&)>& body) {
    std::vector<std::thread> threads;
    for (auto& carrier : lynxkv::comm::make_loop(size))
      threads.emplace_back([&body, carrier = std::move(carrier)]() mutable {
        const int rank = carrier->rank();
        try {
          lynxkv::comm::LinkOptions link;
          link.stall_seconds = 30;
          link.close_seconds = 5;
          lynxkv::comm::Courier courier(lynxkv::comm::make_nccl(std::move(carrier), {}), link);
          body(courier);
        } catch (const std::exception& error) {
          ADD_FAILURE() << "rank " << rank << ": " << error.what();
        }
      });
    for (std::thread& thread : threads) thread.join();
  }
};

}  // namespace nccl_double
