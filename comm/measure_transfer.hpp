// Transfers between ranks, timed: through couriers on one channel, and the same bytes over the raw link. Every rank of
// the job calls the same functions in the same order; nothing else uses the two meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "comm/courier.hpp"
#include "comm/raw_link.hpp"

namespace lynxkv::comm {

// The link that couriers emulate. What they do over it is compared with the link's own arithmetic: the real one below
// it is another link.
struct EmulatedLink {
  double gbps = 0;        // 0: as fast as the real one
  double latency_us = 0;  // one way
  bool limits_rate() const noexcept { return gbps > 0; }
  // Until the last of so many bytes that pass one port is there. Only where limits_rate().
  double seconds(double bytes) const noexcept { return latency_us * 1e-6 + bytes * 8e-9 / gbps; }
};

// A rank's two ways to the others.
struct LinkEnds {
  Courier& courier;
  RawLink& raw;
  EmulatedLink emulated = {};
};

struct Flow {
  int from, to;
};
// Who sends to whom. both_ways: 0 and 1 to each other; pairs: 2i to 2i + 1; incast: all to rank 0.
enum class Pattern { one_way, both_ways, pairs, incast, all_to_all };
constexpr Pattern all_patterns[] = {Pattern::one_way, Pattern::both_ways, Pattern::pairs, Pattern::incast, Pattern::all_to_all};
const char* name_of(Pattern pattern) noexcept;  // "one-way", ...
std::vector<Flow> flows_of(Pattern pattern, int ranks);
// Messages, of one from each flow, that pass the busiest port of any rank in its busier direction.
int busiest_port(std::span<const Flow> flows, int ranks);
// Messages of each flow that the raw link has under way at once: 1, the blocking call, for a flow that is alone;
// else as many as MPI needs to fill several flows, bounded in
// bytes at the busiest port.
int raw_window(std::span<const Flow> flows, int ranks, std::size_t message_bytes) noexcept;

// Messages that every flow carries. Larger ones than a good parcel travel as several, as page tensors do.
struct TransferLoad {
  Channel channel = Channel::anchor;
  std::size_t bytes = 0;
  int count = 1;
};

// Seconds from the first byte until the last rank knows that all has come. Collective; every rank has the same result.
// `check`: all bytes are made anew and compared; else the messages' numbers and lengths are.
// `wrong` grows by this rank's messages that were not what was sent. Throws Error{transport} after 120 s without any.
double time_transfer(LinkEnds ends, std::span<const Flow> flows, const TransferLoad& load, bool check, std::uint64_t& wrong);
// The raw link; where a rate is emulated, its arithmetic, and where only a latency is, the raw link and that.
double time_raw_transfer(LinkEnds ends, std::span<const Flow> flows, const TransferLoad& load);

// One-way times from rank 0 to rank 1: half of a round trip, one each. Seconds, on rank 0; empty elsewhere.
std::vector<double> time_round_trips(LinkEnds ends, const TransferLoad& load);
std::vector<double> time_raw_round_trips(LinkEnds ends, std::size_t bytes, int count);

// Bytes that tell who sent which message.
void fill_pattern(std::span<std::byte> bytes, int from, int to, std::uint64_t number) noexcept;
bool is_pattern(std::span<const std::byte> bytes, int from, int to, std::uint64_t number) noexcept;

}  // namespace lynxkv::comm
