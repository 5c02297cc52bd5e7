#include "comm/measure_transfer.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace lynxkv::comm {
namespace {

constexpr std::size_t backlog_bytes = std::size_t{8} << 20;
constexpr std::size_t raw_window_bytes = std::size_t{8} << 20;  // of all flows into or out of one port
constexpr int raw_window_messages = 64;
constexpr double patience_s = 120;

// The messages of one flow, as parcels.
struct Parcels {
  Parcels(const TransferLoad& load, std::size_t good_bytes)
      : part_bytes(std::min(load.bytes, good_bytes)),
        parts(load.bytes <= good_bytes ? 1 : (load.bytes + good_bytes - 1) / good_bytes),
        total(parts * static_cast<std::uint64_t>(load.count)),
        message_bytes(load.bytes) {}
  std::size_t bytes_of(std::uint64_t number) const {
    const std::uint64_t part = number % parts;
    return part + 1 < parts ? part_bytes : message_bytes - static_cast<std::size_t>(parts - 1) * part_bytes;
  }
  std::size_t part_bytes;
  std::uint64_t parts, total;
  std::size_t message_bytes;
};

// Each courier has its own idea of a good size, as its link shows it: rank 0's counts for all.
std::size_t agreed_parcel_bytes(LinkEnds ends) {
  return static_cast<std::size_t>(ends.raw.from_first(static_cast<double>(ends.courier.good_parcel_bytes())));
}

struct End {
  int peer;
  std::uint64_t done = 0;
};

// A number goes into the first bytes, as far as there are any.
void number_message(std::span<std::byte> bytes, std::uint64_t number) {
  std::memcpy(bytes.data(), &number, std::min(bytes.size(), sizeof number));
}
bool is_numbered(std::span<const std::byte> bytes, std::uint64_t number) {
  return std::memcmp(bytes.data(), &number, std::min(bytes.size(), sizeof number)) == 0;
}

class TransferRun {
 public:
  TransferRun(LinkEnds ends, std::span<const Flow> flows, const TransferLoad& load, bool check)
      : courier_(ends.courier), load_(load), parcels_(load, agreed_parcel_bytes(ends)), check_(check) {
    for (const Flow& flow : flows) {
      if (flow.from == courier_.rank()) sending_.push_back({flow.to});
      if (flow.to == courier_.rank()) receiving_.push_back({flow.from});
    }
  }

  void run() {
    moved_ns_ = now_ns();
    courier_.expect_messages(true);
    while (true) {
      bool moved = send_some();
      for (Message message; courier_.receive(message); moved = true) take(std::move(message));
      if (over()) return courier_.expect_messages(false);
      if (moved) {
        moved_ns_ = now_ns();
        continue;
      }
      if (seconds_between(moved_ns_, now_ns()) > patience_s)
        throw Error(ErrorCode::transport, "measurement", "no message came for " + std::to_string(static_cast<int>(patience_s)) + " s");
      courier_.wait(std::chrono::milliseconds(5));
    }
  }
  std::uint64_t wrong() const { return wrong_; }

 private:
  bool over() const {
    return confirmed_ == sending_.size() &&
           std::all_of(receiving_.begin(), receiving_.end(), [&](const End& end) { return end.done == parcels_.total; });
  }

  bool send_some() {
    bool sent = false;
    while (courier_.waiting_bytes(load_.channel) < backlog_bytes) {
      bool any = false;
      for (End& end : sending_) {
        if (end.done == parcels_.total) continue;
        Parcel parcel;
        parcel.channel = load_.channel;
        parcel.peer = end.peer;
        parcel.request = 1;
        parcel.bytes = courier_.buffer(parcels_.bytes_of(end.done));
        if (check_) fill_pattern(parcel.bytes, courier_.rank(), end.peer, end.done);
        else number_message(parcel.bytes, end.done);
        courier_.send(std::move(parcel));
        ++end.done;
        any = true;
      }
      if (!any) break;
      sent = true;
    }
    return sent;
  }

  void take(Message message) {
    if (message.channel == Channel::control) {
      ++confirmed_;
      return;
    }
    const auto from = std::find_if(receiving_.begin(), receiving_.end(), [&](const End& end) { return end.peer == message.peer; });
    if (from == receiving_.end() || from->done == parcels_.total) {
      ++wrong_;
      return;
    }
    const bool good = message.bytes.size() == parcels_.bytes_of(from->done) &&
                      (check_ ? is_pattern(message.bytes, from->peer, courier_.rank(), from->done)
                              : is_numbered(message.bytes, from->done));
    wrong_ += good ? 0 : 1;
    if (++from->done == parcels_.total) courier_.send({Channel::control, from->peer, 0, {}, false});
    courier_.recycle(std::move(message.bytes));
  }

  Courier& courier_;
  TransferLoad load_;
  Parcels parcels_;
  bool check_;
  std::vector<End> sending_, receiving_;
  std::size_t confirmed_ = 0;
  std::uint64_t wrong_ = 0;
  std::int64_t moved_ns_ = 0;
};

std::uint64_t mixed(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}
std::uint64_t pattern_seed(int from, int to, std::uint64_t number) noexcept {
  return mixed(mixed(static_cast<std::uint64_t>(from) * 65537 + static_cast<std::uint64_t>(to) + 1) + number);
}

}  // namespace

const char* name_of(Pattern pattern) noexcept {
  switch (pattern) {
    case Pattern::one_way: return "one-way";
    case Pattern::both_ways: return "both-ways";
    case Pattern::pairs: return "pairs";
    case Pattern::incast: return "incast";
    case Pattern::all_to_all: return "all-to-all";
  }
  return "?";
}

std::vector<Flow> flows_of(Pattern pattern, int ranks) {
  std::vector<Flow> flows;
  switch (pattern) {
    case Pattern::one_way: return {{0, 1}};
    case Pattern::both_ways: return {{0, 1}, {1, 0}};
    case Pattern::pairs:
      for (int rank = 0; rank + 1 < ranks; rank += 2) flows.push_back({rank, rank + 1});
      return flows;
    case Pattern::incast:
      for (int rank = 1; rank < ranks; ++rank) flows.push_back({rank, 0});
      return flows;
    case Pattern::all_to_all:
      for (int step = 1; step < ranks; ++step)
        for (int rank = 0; rank < ranks; ++rank) flows.push_back({rank, (rank + step) % ranks});
      return flows;
  }
  return flows;
}

int busiest_port(std::span<const Flow> flows, int ranks) {
  int most = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto out = std::count_if(flows.begin(), flows.end(), [&](const Flow& flow) { return flow.from == rank; });
    const auto in = std::count_if(flows.begin(), flows.end(), [&](const Flow& flow) { return flow.to == rank; });
    most = std::max({most, static_cast<int>(out), static_cast<int>(in)});
  }
  return most;
}

double time_transfer(LinkEnds ends, std::span<const Flow> flows, const TransferLoad& load, bool check, std::uint64_t& wrong) {
  TransferRun run(ends, flows, load, check);
  ends.raw.barrier();
  const std::int64_t began_ns = now_ns();
  run.run();
  const double seconds = seconds_between(began_ns, now_ns());
  wrong += run.wrong();
  return ends.raw.largest(seconds);
}

int raw_window(std::span<const Flow> flows, int ranks, std::size_t message_bytes) noexcept {
  if (flows.size() <= 1) return 1;
  const std::size_t at_once = std::max<std::size_t>(message_bytes, 1) * static_cast<std::size_t>(busiest_port(flows, ranks));
  return static_cast<int>(std::clamp<std::size_t>(raw_window_bytes / at_once, 2, raw_window_messages));
}

double time_raw_transfer(LinkEnds ends, std::span<const Flow> flows, const TransferLoad& load) {
  RawLink& raw = ends.raw;
  if (ends.emulated.limits_rate())
    return ends.emulated.seconds(static_cast<double>(load.bytes) * load.count * busiest_port(flows, raw.size()));
  std::vector<int> to, from;
  for (const Flow& flow : flows) {
    if (flow.from == raw.rank()) to.push_back(flow.to);
    if (flow.to == raw.rank()) from.push_back(flow.from);
  }
  RawLink::Stream stream(to, from, load.bytes, load.count, raw_window(flows, raw.size(), load.bytes));
  std::byte done{};
  raw.barrier();
  const std::int64_t began_ns = now_ns();
  raw.run(stream);
  for (const int peer : from) raw.send(peer, {&done, 1});
  for (const int peer : to) raw.receive(peer, {&done, 1});
  return raw.largest(seconds_between(began_ns, now_ns())) + ends.emulated.latency_us * 1e-6;
}

std::vector<double> time_round_trips(LinkEnds ends, const TransferLoad& load) {
  Courier& courier = ends.courier;
  std::vector<double> seconds;
  ends.raw.barrier();
  const Parcels parcels({load.channel, load.bytes, 1}, agreed_parcel_bytes(ends));
  const auto send_all = [&](int peer) {
    for (std::uint64_t i = 0; i < parcels.total; ++i)
      courier.send({load.channel, peer, 1, courier.buffer(parcels.bytes_of(i)), false});
  };
  const auto receive_all = [&] {
    const std::int64_t until = now_ns() + static_cast<std::int64_t>(patience_s * 1e9);
    for (std::uint64_t left = parcels.total; left > 0;) {
      Message message;
      if (!courier.receive(message)) {
        if (now_ns() > until) throw Error(ErrorCode::transport, "measurement", "an answer did not come");
        courier.wait(std::chrono::milliseconds(5));
        continue;
      }
      courier.recycle(std::move(message.bytes));
      --left;
    }
  };
  courier.expect_messages(true);
  for (int i = 0; i < load.count && courier.rank() < 2; ++i) {
    if (courier.rank() == 0) {
      const std::int64_t began_ns = now_ns();
      send_all(1);
      receive_all();
      seconds.push_back(seconds_between(began_ns, now_ns()) / 2);
    } else {
      receive_all();
      send_all(0);
    }
  }
  courier.expect_messages(false);
  ends.raw.barrier();
  return seconds;
}

std::vector<double> time_raw_round_trips(LinkEnds ends, std::size_t bytes, int count) {
  RawLink& raw = ends.raw;
  std::vector<double> seconds;
  if (ends.emulated.limits_rate()) {
    if (raw.rank() == 0) seconds.assign(static_cast<std::size_t>(count), ends.emulated.seconds(static_cast<double>(bytes)));
    return seconds;
  }
  std::vector<std::byte> buffer(bytes);
  raw.barrier();
  for (int i = 0; i < count && raw.rank() < 2; ++i) {
    if (raw.rank() == 0) {
      const std::int64_t began_ns = now_ns();
      raw.send(1, buffer);
      raw.receive(1, buffer);
      seconds.push_back(seconds_between(began_ns, now_ns()) / 2 + ends.emulated.latency_us * 1e-6);
    } else {
      raw.receive(0, buffer);
      raw.send(0, buffer);
    }
  }
  raw.barrier();
  return seconds;
}

void fill_pattern(std::span<std::byte> bytes, int from, int to, std::uint64_t number) noexcept {
  std::uint64_t state = pattern_seed(from, to, number);
  for (std::size_t at = 0; at < bytes.size(); at += sizeof state) {
    state = mixed(state + 0x9e3779b97f4a7c15ULL);
    std::memcpy(bytes.data() + at, &state, std::min(sizeof state, bytes.size() - at));
  }
}

bool is_pattern(std::span<const std::byte> bytes, int from, int to, std::uint64_t number) noexcept {
  std::uint64_t state = pattern_seed(from, to, number);
  for (std::size_t at = 0; at < bytes.size(); at += sizeof state) {
    state = mixed(state + 0x9e3779b97f4a7c15ULL);
    if (std::memcmp(bytes.data() + at, &state, std::min(sizeof state, bytes.size() - at)) != 0) return false;
  }
  return true;
}

}  // namespace lynxkv::comm
