#include "comm/mpi.hpp"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <iterator>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/handle.hpp"
#include "comm/buffer_pool.hpp"

namespace lynxkv::comm {
namespace {

constexpr std::size_t mpi_message_limit_bytes = std::size_t{16} << 20;
// Memory for messages that are on their way in. Past it, further ones wait at their senders.
constexpr std::size_t receiving_limit_bytes = std::size_t{64} << 20;
constexpr int message_tag = 1;
constexpr std::int64_t drain_ns = 1'000'000'000;

struct CommunicatorTraits {
  using type = MPI_Comm;
  static type none() { return MPI_COMM_NULL; }
  static void close(type communicator) noexcept {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized == 0) MPI_Comm_free(&communicator);
  }
};
using Communicator = Handle<CommunicatorTraits>;

class Mpi final : public Transport {
 public:
  Mpi() {
    check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
    for (Channel& channel : channels_) {
      MPI_Comm made = MPI_COMM_NULL;
      check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &made), "MPI_Comm_dup");
      channel.communicator.reset(made);
      check_mpi(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
      channel.waits_for_earlier.resize(static_cast<std::size_t>(size_));
    }
  }

  // What is still posted belongs to MPI: its memory and its communicator are left alone then.
  ~Mpi() override {
    const std::int64_t until = now_ns() + drain_ns;
    while (busy() && now_ns() < until) std::this_thread::sleep_for(std::chrono::microseconds(200));
    if (!busy()) return;
    for (Channel& channel : channels_) {
      channel.communicator.release();
      static_cast<void>(new std::deque<Receiving>(std::move(channel.receiving)));
    }
  }

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }
  std::string_view name() const noexcept override { return "mpi"; }
  std::size_t max_message_bytes() const noexcept override { return mpi_message_limit_bytes; }

  Ticket post(comm::Channel channel, int peer, std::span<const std::byte> bytes) override {
    LYNXKV_CHECK(peer >= 0 && peer < size_ && bytes.size() <= max_message_bytes());
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, peer, message_tag,
                        at(channel).communicator.get(), &request),
              "MPI_Isend");
    sending_.emplace(++last_ticket_, request);
    return last_ticket_;
  }

  bool test(Ticket ticket) override {
    const auto found = sending_.find(ticket);
    LYNXKV_CHECK(found != sending_.end());
    int done = 0;
    check_mpi(MPI_Test(&found->second, &done, MPI_STATUS_IGNORE), "MPI_Test of a send");
    if (done != 0) sending_.erase(found);
    return done != 0;
  }

  bool poll(Message& out) override {
    for (int i = 0; i < channel_count; ++i) {
      begin_receiving(channels_[i]);
      if (finish_receiving(channels_[i], out)) {
        out.channel = static_cast<comm::Channel>(i);
        return true;
      }
    }
    return false;
  }

  void use_buffers(BufferPool* pool) override { buffers_ = pool; }

  [[noreturn]] void abort(int exit_code) override {
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::_Exit(exit_code);
  }

 private:
  struct Receiving {
    int peer;
    std::vector<std::byte> bytes;
    MPI_Request request;
  };
  struct Channel {
    Communicator communicator;
    std::deque<Receiving> receiving;      // in order of arrival
    std::vector<char> waits_for_earlier;  // by peer, while one pass looks through `receiving`
  };
  Channel& at(comm::Channel channel) { return channels_[static_cast<int>(channel)]; }

  // Takes memory for messages that have announced themselves, once their size is known and fits.
  void begin_receiving(Channel& channel) {
    while (receiving_bytes_ < receiving_limit_bytes) {
      int found = 0;
      MPI_Message message = MPI_MESSAGE_NULL;
      MPI_Status status;
      check_mpi(MPI_Improbe(MPI_ANY_SOURCE, message_tag, channel.communicator.get(), &found, &message, &status),
                "MPI_Improbe");
      if (found == 0) return;
      int bytes = 0;
      check_mpi(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
      if (bytes < 0 || static_cast<std::size_t>(bytes) > max_message_bytes())
        throw Error(ErrorCode::transport, "rank " + std::to_string(status.MPI_SOURCE),
                    "sends a message of " + std::to_string(bytes) + " bytes; at most " +
                        std::to_string(max_message_bytes()) + " are allowed: run one build on all ranks");
      Receiving& receiving = channel.receiving.emplace_back();
      receiving.peer = status.MPI_SOURCE;
      if (buffers_ != nullptr) receiving.bytes = buffers_->take(static_cast<std::size_t>(bytes));
      else receiving.bytes.resize(static_cast<std::size_t>(bytes));
      receiving_bytes_ += receiving.bytes.size();
      check_mpi(MPI_Imrecv(receiving.bytes.data(), bytes, MPI_BYTE, &message, &receiving.request), "MPI_Imrecv");
    }
  }

  // The first whole message that no earlier one of its peer stands before.
  bool finish_receiving(Channel& channel, Message& out) {
    if (channel.receiving.empty()) return false;
    std::fill(channel.waits_for_earlier.begin(), channel.waits_for_earlier.end(), 0);
    for (auto it = channel.receiving.begin(); it != channel.receiving.end(); ++it) {
      char& waits = channel.waits_for_earlier[static_cast<std::size_t>(it->peer)];
      if (waits != 0) continue;
      int done = 0;
      check_mpi(MPI_Test(&it->request, &done, MPI_STATUS_IGNORE), "MPI_Test of a receive");
      if (done == 0) {
        waits = 1;
        continue;
      }
      out.peer = it->peer;
      out.bytes = std::move(it->bytes);
      receiving_bytes_ -= out.bytes.size();
      channel.receiving.erase(it);
      return true;
    }
    return false;
  }

  // Tests everything that is posted; true while something is not through. Never throws.
  bool busy() noexcept {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized != 0) return false;
    const auto through = [](MPI_Request& request) {
      int done = 0;
      return MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done != 0;
    };
    for (auto it = sending_.begin(); it != sending_.end();) it = through(it->second) ? sending_.erase(it) : std::next(it);
    for (Channel& channel : channels_)
      std::erase_if(channel.receiving, [&](Receiving& receiving) { return through(receiving.request); });
    return !sending_.empty() ||
           std::any_of(std::begin(channels_), std::end(channels_), [](const Channel& c) { return !c.receiving.empty(); });
  }

  int rank_ = 0;
  int size_ = 1;
  Channel channels_[channel_count];
  std::unordered_map<Ticket, MPI_Request> sending_;
  std::size_t receiving_bytes_ = 0;
  Ticket last_ticket_ = 0;
  BufferPool* buffers_ = nullptr;
};

}  // namespace

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "unknown error";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(ErrorCode::transport, call, std::string(text) + "; the job cannot go on, run the same command again");
}

std::unique_ptr<Transport> make_mpi() { return std::make_unique<Mpi>(); }

}  // namespace lynxkv::comm
