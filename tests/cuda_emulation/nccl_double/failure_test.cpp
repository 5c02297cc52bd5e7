// What the NCCL transport does when NCCL, a rank or the machine does not do its part.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>

#include "base/error.hpp"
#include "comm/nccl_frames.hpp"
#include "tests/comm/transport_suite.hpp"
#include "tests/cuda_emulation/nccl_double/carriers.hpp"
#include "tests/cuda_emulation/nccl_double/rig.hpp"

namespace lynxkv::comm {
namespace {

using nccl_double::Carrier;
using nccl_double::OnDoubles;
using NcclFailure = OnDoubles;

// The error that polling comes to; an empty one after some seconds without.
std::optional<Error> failure_of(Transport& transport) {
  const std::int64_t until = now_ns() + 10'000'000'000;
  try {
    for (Message message; now_ns() < until; std::this_thread::yield()) transport.poll(message);
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

std::string construction_failure(Transport* made, std::unique_ptr<Transport> carrier, const NcclOptions& options, ErrorCode code) {
  EXPECT_EQ(made, nullptr);
  try {
    make_nccl(std::move(carrier), options);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  ADD_FAILURE() << "was made";
  return {};
}

void expect_words(const std::string& text, const std::string& part) { EXPECT_NE(text.find(part), std::string::npos) << text; }

TEST_F(NcclFailure, OfOneCommunicatorEndsAllOfThemOnBothRanks) {
  std::atomic<int> met{0};
  on_each_transport(2, small(), [&](Transport& transport) {
    meet(transport);
    for (++met; met < 2;) std::this_thread::yield();
    if (transport.rank() == 0) nccl_double::fail("anchor 0 to 1", ncclSystemError);
    const auto error = failure_of(transport);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), ErrorCode::transport);
    expect_words(error->what(), "NCCL, lynxkv ");
    const std::vector<std::byte> bytes(10);
    EXPECT_THROW(transport.post(Channel::anchor, 1 - transport.rank(), bytes), Error) << "and stays so";
    for (++met; met < 4;) std::this_thread::yield();
    for (const auto& info : nccl_double::communicators()) EXPECT_EQ(info.state, "aborted") << info.name;
    for (++met; met < 6;) std::this_thread::yield();
  });
}

TEST_F(NcclFailure, ComesOutOfTheCourier) {
  std::atomic<int> met{0};
  on_each_rank(2, [&](Courier& courier) {
    suite::Party(courier).meet();
    for (++met; met < 2;) std::this_thread::yield();
    if (courier.rank() == 0) nccl_double::fail("residual 1 to 0", ncclInternalError);
    try {
      for (Message message; !courier.receive(message);) courier.wait(std::chrono::milliseconds(100));
      ADD_FAILURE() << "received something";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::transport);
    }
  });
}

TEST_F(NcclFailure, OfARankThatLeavesShowsAtItsPeers) {
  NcclOptions options = small();
  options.close_seconds = 0.2;
  on_each_transport(2, options, [](Transport& transport) {
    if (transport.rank() == 1) {
      // Something that never ends, so it cannot end in order: the other rank does not receive.
      const std::vector<std::byte> bytes(transport.max_message_bytes());
      for (int i = 0; i < 5; ++i) transport.post(Channel::anchor, 0, bytes);
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    const auto error = failure_of(transport);
    ASSERT_TRUE(error);
    expect_words(error->what(), "remote process exited");
  });
}

TEST_F(NcclFailure, OfAPeerThatNeverComesEndsTheSetUpInTime) {
  NcclOptions options = small();
  options.init_seconds = 0.3;
  auto carriers = make_loop(2);
  expect_words(construction_failure(nullptr, std::move(carriers[0]), options, ErrorCode::transport),
               "rank 0 waited for rank 1: its GPUs, which did not come within 0.3 s");
}

TEST_F(NcclFailure, OfAPeerThatDoesNotJoinEndsTheSetUpInTime) {
  NcclOptions options = small();
  options.init_seconds = 0.5;
  options.routes = {{0, 1}};
  auto carriers = make_loop(2);
  // Rank 1 tells its GPUs and then nothing.
  const std::string facts = to_text([] {
    NcclFacts made = nccl_facts();
    made.gpus = {"another"};
    return made;
  }());
  carriers[1]->post(Channel::control, 0, std::as_bytes(std::span(facts)));
  expect_words(construction_failure(nullptr, std::move(carriers[0]), options, ErrorCode::transport),
               "'lynxkv anchor 0 to 1' to be joined by both ends");
  EXPECT_EQ(nccl_double::communicators().front().state, "aborted");
}

TEST_F(NcclFailure, ToGiveEachRankAGpuIsSaidOnAllRanks) {
  cuda_emulation::reset({1, cuda_emulation::Order::drawn, 2, 1});
  std::vector<std::thread> threads;
  for (auto& carrier : make_loop(2))
    threads.emplace_back([carrier = std::move(carrier)]() mutable {
      expect_words(construction_failure(nullptr, std::move(carrier), small(), ErrorCode::usage), "ranks 0 and 1 would share GPU");
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_F(NcclFailure, WithoutAGpuSaysSoInWordsOfItsOwn) {
  setenv("CUDA_EMULATION_DEVICES", "0", 1);
  const NcclFacts facts = nccl_facts();
  unsetenv("CUDA_EMULATION_DEVICES");
  EXPECT_EQ(facts.version, "2.28.9");
  EXPECT_EQ(facts.trouble, "no GPU that this process may use");
}

TEST_F(NcclFailure, ByAnOrderOfLaunchesThatMayNeverEndIsNamed) {
  setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", 1);
  const NcclFacts facts = nccl_facts();
  unsetenv("NCCL_LAUNCH_ORDER_IMPLICIT");
  expect_words(facts.trouble, "NCCL_LAUNCH_ORDER_IMPLICIT");
}

// Frames that no end of this build sends.
class NcclFrameFailure : public OnDoubles {
 protected:
  // Rank 1 receives; the first announcement to it is changed on the way.
  void with_announcement(const std::function<void(std::vector<std::byte>&)>& change, const std::string& part) {
    Ranks carriers;
    for (auto& inner : make_loop(2)) {
      const bool changes = inner->rank() == 1;
      carriers.push_back(std::make_unique<Carrier>(std::move(inner), [&change, changes](Carrier::Heads& heads) -> Message* {
        Message* first = &heads.begin()->second.front();
        if (changes && first->channel == Channel::anchor) change(first->bytes);
        return first;
      }));
    }
    NcclOptions options = small();
    options.routes = {{0, 1}};
    on_each_transport(std::move(carriers), options, [&](Transport& transport) {
      // It comes after the set-up, and this rank then does nothing but look.
      if (transport.rank() == 0) {
        ASSERT_TRUE(next(transport, true));
        transport.post(Channel::anchor, 1, kept_);
        EXPECT_TRUE(failure_of(transport));
        return;
      }
      transport.post(Channel::control, 0, std::span(kept_).first(1));
      const auto error = failure_of(transport);
      ASSERT_TRUE(error);
      EXPECT_EQ(error->code(), ErrorCode::transport);
      expect_words(error->what(), part);
    });
  }
  std::vector<std::byte> kept_ = std::vector<std::byte>(100);
};

TEST_F(NcclFrameFailure, OfTheWrongNumberIsNamed) {
  with_announcement([](auto& bytes) { bytes[1] = std::byte{2}; }, "rank 0: announces transfer 2 of 100 bytes on an NCCL route, but 1 comes next");
}
TEST_F(NcclFrameFailure, OfTooManyBytesIsNamed) {
  with_announcement([](auto& bytes) { bytes[16] = std::byte{0x80}; }, "but at most 524288 bytes are taken");
}
TEST_F(NcclFrameFailure, OfAnUnknownKindIsNamed) {
  with_announcement([](auto& bytes) { bytes[0] = std::byte{9}; }, "kind 9");
}
TEST_F(NcclFrameFailure, CutShortIsNamed) {
  with_announcement([](auto& bytes) { bytes.resize(3); }, "a message of 3 bytes");
}
TEST_F(NcclFrameFailure, ThatGrantsWhereNothingIsSentIsNamed) {
  with_announcement([](auto& bytes) { bytes[0] = std::byte{2}; }, "uses an NCCL route that this job does not have");
}

}  // namespace
}  // namespace lynxkv::comm
