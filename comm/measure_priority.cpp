#include "comm/measure_priority.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace lynxkv::comm {
namespace {

constexpr double patience_s = 120;
// Large enough that a raw message costs its bytes and little else.
constexpr std::size_t raw_message_bytes = std::size_t{4} << 20;
// First bytes of every message: what it is, its number, and when it was sent.
struct Mark {
  std::uint32_t urgent;
  std::uint32_t number;
  std::int64_t sent_ns;
};

class PriorityRun {
 public:
  PriorityRun(LinkEnds ends, const PriorityLoad& load) : courier_(ends.courier), load_(load), random_(load.seed) {}

  // Sends `urgent` messages at random moments, with bulk all along where wanted. Returns the bytes that were sent.
  std::uint64_t send(int urgent, bool bulk) {
    std::uniform_real_distribution<double> around(0.5, 1.5);
    const auto pause = [&] { return static_cast<std::int64_t>(around(random_) * load_.interval_s * 1e9); };
    std::uint64_t bytes = 0;
    std::uint32_t bulk_number = 0;
    std::int64_t due_ns = now_ns() + pause();
    confirmed_ = false;
    for (int sent = 0; sent < urgent;) {
      while (bulk && courier_.waiting_bytes(Channel::residual) < load_.backlog_bytes) {
        bytes += courier_.good_parcel_bytes();
        send_one(Channel::residual, courier_.good_parcel_bytes(), {0, bulk_number++, 0});
      }
      const std::int64_t now = now_ns();
      if (now >= due_ns) {
        send_one(load_.two_channels ? Channel::anchor : Channel::residual, load_.urgent_bytes,
                 {1, static_cast<std::uint32_t>(sent++), now_ns()});
        bytes += load_.urgent_bytes;
        due_ns = std::max(now, due_ns + pause());
        continue;
      }
      look();
      courier_.wait(std::chrono::microseconds(std::clamp<std::int64_t>((due_ns - now) / 1000, 1, 5000)));
    }
    // The last message of all says so.
    send_one(Channel::residual, sizeof(Mark), {2, bulk_number, 0});
    const std::int64_t until = now_ns() + static_cast<std::int64_t>(patience_s * 1e9);
    while (!confirmed_) {
      look();
      if (confirmed_) break;
      if (now_ns() > until) throw Error(ErrorCode::transport, "measurement", "the receiver did not confirm");
      courier_.wait(std::chrono::milliseconds(5));
    }
    return bytes;
  }

  // Takes them; appends each urgent one's time. `offset_ns`: from the sender's clock to this one.
  void receive(int urgent, std::int64_t offset_ns, std::vector<double>& times) {
    std::uint32_t next_urgent = 0, next_bulk = 0;
    bool ended = false;
    std::int64_t moved_ns = now_ns();
    courier_.expect_messages(true);
    while (!ended || next_urgent < static_cast<std::uint32_t>(urgent)) {
      Message message;
      if (!courier_.receive(message)) {
        if (seconds_between(moved_ns, now_ns()) > patience_s)
          throw Error(ErrorCode::transport, "measurement", "no message came");
        courier_.wait(std::chrono::milliseconds(5));
        continue;
      }
      moved_ns = now_ns();
      Mark mark{};
      if (message.bytes.size() < sizeof mark) {
        ++wrong_;
        continue;
      }
      std::memcpy(&mark, message.bytes.data(), sizeof mark);
      const auto rest = std::span<const std::byte>(message.bytes).subspan(sizeof mark);
      if (mark.urgent == 1) {
        times.push_back(seconds_between(mark.sent_ns + offset_ns, message.arrived_ns));
        wrong_ += mark.number == next_urgent && is_pattern(rest, 0, 1, mark.number) ? 0 : 1;
        ++next_urgent;
      } else {
        wrong_ += mark.number == next_bulk ? 0 : 1;
        ++next_bulk;
        ended = mark.urgent == 2;
      }
      courier_.recycle(std::move(message.bytes));
    }
    courier_.expect_messages(false);
    courier_.send({Channel::control, 0, 0, {}, false});
  }
  std::uint64_t wrong() const { return wrong_; }

 private:
  void look() {
    for (Message message; courier_.receive(message);) confirmed_ |= message.channel == Channel::control;
  }
  void send_one(Channel channel, std::size_t bytes, const Mark& mark) {
    Parcel parcel{channel, 1, 1, courier_.buffer(bytes), false};
    if (mark.urgent == 1) fill_pattern(std::span(parcel.bytes).subspan(sizeof mark), 0, 1, mark.number);
    std::memcpy(parcel.bytes.data(), &mark, sizeof mark);
    courier_.send(std::move(parcel));
  }

  Courier& courier_;
  PriorityLoad load_;
  std::mt19937_64 random_;
  std::uint64_t wrong_ = 0;
  bool confirmed_ = false;
};

// The receiver's times, on every rank.
std::vector<double> shared(RawLink& raw, const std::vector<double>& mine) {
  const auto all = raw.gather(mine);
  const double count = raw.from_first(raw.rank() == 0 ? static_cast<double>(all[1].size()) : 0);
  std::vector<double> times(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < times.size(); ++i) times[i] = raw.from_first(raw.rank() == 0 ? all[1][i] : 0);
  return times;
}

double raw_seconds(LinkEnds ends, double bytes) {
  if (ends.emulated.limits_rate()) return ends.emulated.seconds(bytes);
  const Flow one{0, 1};
  const int count = std::max(1, static_cast<int>(bytes / raw_message_bytes));
  const double raw_bytes = static_cast<double>(count) * raw_message_bytes;
  return time_raw_transfer(ends, {&one, 1}, {Channel::residual, raw_message_bytes, count}) * bytes / raw_bytes;
}

}  // namespace

PriorityTimes measure_priority(LinkEnds ends, const PriorityLoad& load) {
  PriorityTimes result;
  PriorityRun run(ends, load);
  const int rank = ends.raw.rank();
  ends.courier.sync_clocks();
  const std::int64_t offset_ns = rank == 1 ? ends.courier.clock_offset_ns(0) : 0;
  result.clock_error_s = ends.raw.largest(rank == 1 ? static_cast<double>(ends.courier.clock_error_ns(0)) * 1e-9 : 0);
  std::vector<double> idle, loaded;
  const int each = std::max(1, load.urgent / std::max(1, load.rounds));
  for (int round = 0; round <= load.rounds; ++round) {
    const bool warm_up = round == 0;  // the window finds the link's rate
    ends.raw.barrier();
    if (rank == 0) run.send(warm_up ? 3 : each, false);
    if (rank == 1) run.receive(warm_up ? 3 : each, offset_ns, idle);
    if (warm_up) idle.clear();
    ends.raw.barrier();
    double bytes = 0;
    const int urgent = warm_up ? std::min(each, 20) : each;
    const std::int64_t began_ns = now_ns();
    if (rank == 0) bytes = static_cast<double>(run.send(urgent, true));
    if (rank == 1) run.receive(urgent, offset_ns, loaded);
    const double seconds = ends.raw.from_first(seconds_between(began_ns, now_ns()));
    if (warm_up) {
      loaded.clear();
      continue;
    }
    bytes = ends.raw.from_first(bytes);
    const double raw_s = raw_seconds(ends, bytes);
    result.seconds += seconds;
    result.raw_seconds += raw_s;
    result.shares.push_back(raw_s / seconds);
    result.bytes += static_cast<std::uint64_t>(bytes);
    result.urgent_bytes += static_cast<std::uint64_t>(urgent) * load.urgent_bytes;
  }
  result.chunk_bytes = static_cast<std::size_t>(ends.raw.from_first(static_cast<double>(ends.courier.residual_chunk_bytes())));
  const double chunk_bytes = static_cast<double>(result.chunk_bytes);
  if (ends.emulated.limits_rate()) result.chunk_s = chunk_bytes * 8e-9 / ends.emulated.gbps;
  else if (result.bytes > 0) result.chunk_s = chunk_bytes * result.raw_seconds / static_cast<double>(result.bytes);
  result.idle_s = shared(ends.raw, idle);
  result.loaded_s = shared(ends.raw, loaded);
  result.wrong = run.wrong();
  return result;
}

}  // namespace lynxkv::comm
