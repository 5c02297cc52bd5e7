// What every transport does: the same checks run on the in-process loop and on MPI. A rank calls each function at
// the same point, with its own courier; failures are GoogleTest failures of that rank.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "comm/courier.hpp"

namespace lynxkv::comm::suite {

using std::chrono::microseconds;

// Bytes that tell who sent which message: a wrong, doubled or reordered one shows.
inline std::vector<std::byte> pattern(int from, int to, int number, std::size_t bytes) {
  std::vector<std::byte> out(bytes);
  std::uint32_t state = static_cast<std::uint32_t>(from * 7919 + to * 104729 + number * 1299709 + 1);
  for (std::byte& b : out) {
    state = state * 1664525u + 1013904223u;
    b = static_cast<std::byte>(state >> 24);
  }
  return out;
}

// A rank of the suite. Ranks enter the next check at different times, so what is not for this one is kept.
struct Party {
  explicit Party(Courier& mine) : courier(mine) {}
  Courier& courier;
  std::deque<Message> kept;

  static bool is_meeting(const Message& message) { return message.bytes == meeting(); }
  static std::vector<std::byte> meeting() { return std::vector<std::byte>(13, std::byte{0x6d}); }

  Message next(bool meetings, double seconds = 30) {
    for (auto it = kept.begin(); it != kept.end(); ++it) {
      if (is_meeting(*it) != meetings) continue;
      Message message = std::move(*it);
      kept.erase(it);
      return message;
    }
    const std::int64_t until = now_ns() + static_cast<std::int64_t>(seconds * 1e9);
    for (Message message; now_ns() < until;) {
      if (!courier.receive(message)) {
        courier.wait(microseconds(1000));
      } else if (is_meeting(message) == meetings) {
        return message;
      } else {
        kept.push_back(std::move(message));
      }
    }
    throw Error(ErrorCode::transport, "test", "nothing came in time");
  }
  Message receive_one() { return next(false); }

  // Holds this rank until all have come. Rank 0 counts.
  void meet() {
    const int others = courier.size() - 1;
    if (courier.rank() == 0) {
      for (int i = 0; i < others; ++i) next(true);
      for (int other = 1; other <= others; ++other) courier.send({Channel::control, other, 0, meeting(), false});
    } else {
      courier.send({Channel::control, 0, 0, meeting(), false});
      next(true);
    }
  }
};

// Every rank sends every rank (itself too) messages of many sizes on each channel; all arrive once, whole and in
// order of their channel and pair.
inline void all_sizes_to_everyone(Party& party) {
  Courier& courier = party.courier;
  const std::vector<std::size_t> sizes = {0,    1,     31,    32,    33,     255,    256,    257,    511,    4095,
                                          4096, 65535, 65536, 65537, 262144, 262145, 1 << 20, 3 << 20};
  for (int to = 0; to < courier.size(); ++to)
    for (int channel = 0; channel < channel_count; ++channel)
      for (std::size_t i = 0; i < sizes.size(); ++i)
        courier.send({static_cast<Channel>(channel), to, 1,
                      pattern(courier.rank(), to, channel * 100 + static_cast<int>(i), sizes[i]), false});
  std::vector<std::size_t> next(static_cast<std::size_t>(courier.size() * channel_count), 0);
  for (std::size_t left = next.size() * sizes.size(); left > 0; --left) {
    const Message message = party.receive_one();
    const int channel = static_cast<int>(message.channel);
    ASSERT_TRUE(message.peer >= 0 && message.peer < courier.size());
    std::size_t& number = next[static_cast<std::size_t>(message.peer * channel_count + channel)];
    ASSERT_LT(number, sizes.size());
    const auto expected =
        pattern(message.peer, courier.rank(), channel * 100 + static_cast<int>(number), sizes[number]);
    ASSERT_EQ(message.bytes.size(), expected.size());
    ASSERT_TRUE(message.bytes == expected) << "message " << number << " of rank " << message.peer;
    EXPECT_GT(message.arrived_ns, 0);
    ++number;
  }
  courier.flush(std::chrono::seconds(30));
}

// Floods in all directions at once, more than any buffer holds, nobody reading until everything is queued.
inline void floods_cross(Party& party) {
  Courier& courier = party.courier;
  constexpr int messages = 200;
  constexpr std::size_t bytes = 100'000;
  for (int i = 0; i < messages; ++i)
    for (int to = 0; to < courier.size(); ++to)
      courier.send({i % 2 == 0 ? Channel::anchor : Channel::residual, to, static_cast<std::uint64_t>(i),
                    pattern(courier.rank(), to, i, bytes), false});
  for (int left = messages * courier.size(); left > 0; --left) ASSERT_EQ(party.receive_one().bytes.size(), bytes);
  courier.flush(std::chrono::seconds(30));
  const ChannelTotals anchors = courier.totals(Channel::anchor);
  EXPECT_GE(anchors.received_bytes, static_cast<std::uint64_t>(messages / 2 * courier.size()) * bytes);
}

// Thousands of tiny messages, joined on the way where they wait: every byte comes once and in order.
inline void tiny_messages_are_joined(Party& party) {
  Courier& courier = party.courier;
  constexpr int messages = 5000;
  const int to = (courier.rank() + 1) % courier.size();
  const int from = (courier.rank() + courier.size() - 1) % courier.size();
  const std::uint64_t before = courier.totals(Channel::residual).received_messages;
  for (int i = 0; i < messages; ++i) {
    std::vector<std::byte> bytes(sizeof i);
    std::memcpy(bytes.data(), &i, sizeof i);
    courier.send({Channel::residual, to, 1, std::move(bytes), true});
  }
  for (int next = 0; next < messages;) {
    const Message message = party.receive_one();
    ASSERT_EQ(message.peer, from);
    ASSERT_EQ(message.bytes.size() % sizeof next, 0u);
    for (std::size_t at = 0; at < message.bytes.size(); at += sizeof next, ++next) {
      int value = -1;
      std::memcpy(&value, message.bytes.data() + at, sizeof value);
      ASSERT_EQ(value, next);
    }
  }
  EXPECT_LT(courier.totals(Channel::residual).received_messages - before, static_cast<std::uint64_t>(messages) / 2);
}

// Ranks of one host share a clock: the offset that is found is nothing, within its error.
inline void clocks_of_one_host_agree(Courier& courier) {
  courier.sync_clocks();
  for (int peer = 0; peer < courier.size(); ++peer) {
    if (peer == courier.rank()) continue;
    EXPECT_GT(courier.clock_error_ns(peer), 0);
    EXPECT_LE(std::abs(courier.clock_offset_ns(peer)), courier.clock_error_ns(peer));
    EXPECT_LT(courier.clock_error_ns(peer), 50'000'000);
  }
}

inline void everything(Courier& courier) {
  Party party(courier);
  all_sizes_to_everyone(party);
  party.meet();
  floods_cross(party);
  party.meet();
  tiny_messages_are_joined(party);
  party.meet();
  clocks_of_one_host_agree(courier);
  party.meet();
}

}  // namespace lynxkv::comm::suite
