// ProgressLoop: the body of a courier's progress thread, the only caller of the transport. What it shares with
// the callers' threads is in Shared, under one mutex; the transport is never called with that mutex held.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/buffer_pool.hpp"
#include "comm/clock_offset.hpp"
#include "comm/courier.hpp"
#include "comm/courier_frames.hpp"
#include "comm/credits.hpp"
#include "comm/pacing.hpp"
#include "comm/send_queue.hpp"
#include "comm/watchdog.hpp"

namespace lynxkv::comm {

// For chunks of that size.
std::size_t good_parcel_bytes(std::size_t chunk_bytes, std::size_t max_message_bytes) noexcept;

constexpr std::size_t buffers_kept_bytes = std::size_t{32} << 20;

struct Shared {
  Shared(const LinkOptions& options, std::size_t join_bytes, int peers)
      : queue(options.strict, join_bytes), clocks(static_cast<std::size_t>(peers)), sync_left(clocks.size(), 0),
        closed(clocks.size(), false) {}

  mutable std::mutex mutex;
  std::condition_variable for_progress, for_user, for_sentinel;
  SendQueue queue;
  std::deque<Message> inbox;
  ChannelTotals totals[channel_count];
  BufferPool buffers{buffers_kept_bytes};
  std::size_t residual_chunk_bytes = 0;        // as it suits the link now
  std::size_t good_parcel_bytes = 0;           // for such chunks
  double link_bytes_per_second = 0;            // 0: unknown
  std::optional<Error> failure;
  bool wake = false;        // the progress thread has something to look at
  bool notified = false;    // by notify()
  bool wire_moved = false;  // the wire took a parcel since the last wait()
  bool unfinished = false;  // something taken from the queue is not through, or not acknowledged
  std::string phase = "start";
  std::int64_t stepped_ns = 0;   // of progress() and send()
  std::int64_t progress_ns = 0;  // of progress() alone
  bool expecting = false;
  std::vector<ClockOffset> clocks;  // by peer
  std::vector<int> sync_left;       // round trips still wanted, by peer
  std::vector<bool> closed;         // by peer: nothing is sent to it any more
  bool closing = false;             // the courier's destructor has begun
  bool failing = false;             // and an exception is unwinding
  bool abandoned = false;           // nothing that was sent is waited for
  bool left = false;                // the progress thread has ended
  std::atomic<std::int64_t> beat_ns{0};  // of its last step
};

// The body of a second thread, for the one stall that the progress thread cannot tell: a transport that does not
// return. It ends the process after `stall_seconds` without a step. Until shared.left.
void watch_progress_thread(Shared& shared, Transport& transport, double stall_seconds);

class ProgressLoop {
 public:
  ProgressLoop(Transport& transport, const LinkOptions& options, Shared& shared);
  ~ProgressLoop();
  ProgressLoop(const ProgressLoop&) = delete;
  ProgressLoop& operator=(const ProgressLoop&) = delete;
  // Until the courier has closed, or the transport failed (then shared.failure is set).
  void run() noexcept;

 private:
  struct Posted {
    Ticket ticket;
    Channel channel;
    int peer;
    std::vector<std::byte> bytes;
    bool counts;  // as movement: a question that is asked again and again does not
  };
  struct Departing {  // on the emulated wire
    SendQueue::Entry entry;
    std::int64_t depart_ns;
  };
  struct Arriving {  // on the emulated wire of this end
    Message message;
    std::int64_t due_ns;
  };
  struct Peer {
    std::uint64_t residual_seen = 0;      // come in from it, or known to be lost
    std::uint64_t residual_received = 0;  // and delivered
    bool receipt_due = false;
    bool ping_flying = false;
    bool ping_counts = false;     // it belongs to sync_clocks()
    std::int64_t probed_ns = 0;
    std::size_t posted = 0;       // not through yet
    std::uint32_t control_sent = 0, control_received = 0;  // the callers' messages
    std::uint64_t residual_posted = 0;
    std::int64_t posted_told_ns = 0;
    std::uint64_t announced = 0;       // posted by it, by its own word
    std::int64_t announced_ns = 0;
    std::uint64_t sequence[channel_count] = {};  // messages posted, by channel
    bool closed = false;          // said closing
    bool said_bye = false;        // said bye
    bool bye_sent = false;
    Transit transit;              // of its data, on an emulated link
  };
  enum class Closing { no, draining, leaving };

  bool step();
  void sleep();
  void adapt_nap() noexcept;
  void anchor_moved(std::size_t bytes) noexcept;
  // Arrivals (progress_arrivals.cpp).
  int take_arrivals();  // how many
  void take_control(Message message);
  void take_data(Message message);
  void tell_posted();
  void give_up_lost();
  void take_frame(int peer, const CourierFrame& frame);
  void peer_closing(int peer, bool failed);
  void delay_emulated(Message message, std::int64_t departed_ns);
  bool deliver_due();
  void deliver(Message message);
  bool send_receipts();
  // Departures.
  bool finish_posted();
  bool post_waiting();
  bool post_departed();
  std::optional<SendQueue::Entry> next_data();
  void post(Channel channel, int peer, std::vector<std::byte> bytes, std::int64_t departed_ns = 0);
  void post_sealed(Channel channel, int peer, std::vector<std::byte> bytes, bool counts = true);
  void post_frame(int peer, FrameType type, std::uint64_t value = 0, std::int64_t time = 0);
  void send_pings();
  void say_alive();
  // The end.
  bool may_leave();
  void say_closing(bool failed);
  void answer_closed_peers();
  void share_state();
  void watch();
  void report_stall(int peer);
  void log_state(const std::string& phase) const;
  void fail(Error error);

  Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
  const Peer& peer(int rank) const { return peers_[static_cast<std::size_t>(rank)]; }
  bool flying_to(int rank) const { return peer(rank).posted > 0 || credits_.in_flight_bytes(rank) > 0; }

  Transport& transport_;
  LinkOptions options_;
  Shared& shared_;
  Pacing pacing_;
  Credits credits_;
  Watchdog watchdog_;
  std::vector<Peer> peers_;
  std::vector<Posted> posted_;
  std::deque<Departing> departing_;
  std::deque<Arriving> arriving_;
  std::size_t posted_anchor_bytes_ = 0;
  bool credit_blocked_ = false;
  bool owed_ = false;               // something is on the way, or a peer owes a message
  bool wakes_ = false;              // the transport tells when something arrives
  std::int64_t now_ns_ = 0;         // of this step
  std::int64_t active_ns_ = 0;      // when the last step did something
  std::int64_t urgent_ns_ = 0;      // when something other than residuals and their receipts moved last
  std::int64_t residual_came_ns_ = 0;  // when the last residual came in
  std::int64_t residual_left_ns_ = 0;  // and when the last one was posted
  std::int64_t nap_ns_ = 100'000;   // while nothing urgent moves
  std::size_t anchor_run_bytes_ = 0;  // of anchors, since a pause
  int arrivals_ = 0;                // since the last nap
  std::int64_t hot_until_ns_ = 0;   // no sleep before: clocks are being compared
  std::int64_t watched_ns_ = 0;
  std::int64_t alive_ns_ = 0;       // when the peers were told last
  std::int64_t told_progress_ns_ = 0;
  Closing closing_ = Closing::no;
  std::int64_t leave_at_ns_ = 0;
};

}  // namespace lynxkv::comm
