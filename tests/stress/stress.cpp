// Random requests, cancels and faults between two senders and two receivers for a given time:
//   stress SECONDS [loop|mpi] [SEED]
// It fails for a hang, a page that is not given back, and bytes that are wrong and were taken for right. With mpi it
// runs under mpirun -n 4; with loop the ranks are threads.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <thread>

#include "base/log.hpp"
#include "comm/world.hpp"
#include "stream/frame_fields.hpp"
#include "tests/stream/rig.hpp"

namespace lynxkv::stream {
namespace {

constexpr int senders = 2, ranks = 4;
constexpr std::int64_t pool_blocks = 64;
constexpr std::int64_t patience_ns = 60'000'000'000;

[[noreturn]] void fail(int rank, const std::string& what) {
  std::fprintf(stderr, "FAILED: rank %d: %s\n", rank, what.c_str());
  std::fflush(stderr);
  std::_Exit(1);
}

enum class Say : std::uint32_t { want, again, sent, cancel, gone, done };
struct Word {
  Say say = Say::want;
  std::uint32_t generation = 0;
  std::uint64_t request = 0;
  std::int32_t tokens = 0, layer = 0, page = 0, kind = 0, stream = 0, attempt = 0;
};

std::vector<std::byte> bytes_of(const Word& word) {
  const auto view = std::as_bytes(std::span(&word, 1));
  return {view.begin(), view.end()};
}

page::Geometry geometry() {
  page::Geometry made = small_geometry(64);
  made.layers = 3;
  return made;
}

Transfer transfer_of(const Word& word, int peer, const codec::Codec& codec) {
  Transfer transfer;
  transfer.request = word.request;
  transfer.generation = word.generation;
  transfer.peer = peer;
  transfer.tokens = word.tokens;
  transfer.geometry = geometry();
  transfer.codec = &codec;
  return transfer;
}

class Party {
 public:
  explicit Party(comm::Courier& courier) : courier_(courier), pool_(geometry(), page::Element::bf16, pool_blocks) {}
  virtual ~Party() = default;
  void take_all() {
    for (comm::Message message; courier_.receive(message);) {
      if (message.channel != comm::Channel::control) {
        data(std::move(message));
        continue;
      }
      Word word;
      if (message.bytes.size() != sizeof word) fail(courier_.rank(), "a control message of a wrong size");
      std::memcpy(&word, message.bytes.data(), sizeof word);
      control(message.peer, word);
    }
  }
  void tell(int peer, const Word& word) { courier_.send({comm::Channel::control, peer, word.request, bytes_of(word), false}); }
  std::int64_t reserved() const { return pool_.reserved(); }

 protected:
  virtual void data(comm::Message message) = 0;
  virtual void control(int peer, const Word& word) = 0;
  comm::Courier& courier_;
  page::PagePool pool_;
  SplitCodec codec_;
};

class Sender final : public Party {
 public:
  explicit Sender(comm::Courier& courier) : Party(courier), serializer_(courier) {}
  bool idle() const { return open_.empty() && waiting_.empty(); }

  void step() {
    admit();
    for (auto& [request, out] : open_) {
      const int tensors = tensor_count(out.transfer);
      while (out.next < tensors && serializer_.ready()) push(out, out.next++);
      if (out.next == tensors && !out.sent) {
        out.sent = true;
        Word word = out.word;
        word.say = Say::sent;
        tell(out.transfer.peer, word);
      }
    }
  }

 private:
  struct Outgoing {
    Word word;
    Transfer transfer;
    std::unique_ptr<page::SequenceKv> kv;
    std::int64_t blocks = 0;
    int next = 0;
    bool sent = false;
  };
  void push(Outgoing& out, int index) {
    const TensorId at = tensor_at(out.transfer, static_cast<std::size_t>(index));
    serializer_.push(out.word.request, at.layer, at.kind, at.page, out.kv->page_first_position(at.page),
                     out.kv->page_tokens(at.page), Rig::rows_of(*out.kv, at.layer, at.kind, at.page));
  }
  // Pages may be short: the oldest waits.
  void admit() {
    while (!waiting_.empty()) {
      const auto [peer, word] = waiting_.front();
      const std::int64_t blocks = page::SequenceKv::blocks_needed(geometry(), word.tokens, 0);
      if (!pool_.reserve(blocks)) return;
      waiting_.pop_front();
      Outgoing& out = open_[word.request];
      out.word = word;
      out.transfer = transfer_of(word, peer, codec_);
      out.kv = std::make_unique<page::SequenceKv>(pool_);
      out.kv->extend(word.tokens);
      fill(*out.kv, static_cast<unsigned>(word.request));
      out.blocks = blocks;
      serializer_.open(out.transfer);
    }
  }
  // An empty request, or a cancelled one, may be over before it was admitted.
  void close(std::uint64_t request) {
    std::erase_if(waiting_, [&](const auto& waits) { return waits.second.request == request; });
    const auto found = open_.find(request);
    if (found == open_.end()) return;
    courier_.forget(request);
    serializer_.close(request);
    found->second.kv->clear();
    pool_.unreserve(found->second.blocks);
    open_.erase(found);
  }
  void data(comm::Message) override { fail(courier_.rank(), "data came to a sender"); }
  void control(int peer, const Word& word) override {
    const auto found = open_.find(word.request);
    switch (word.say) {
      case Say::want: waiting_.emplace_back(peer, word); return;
      case Say::done: return close(word.request);
      case Say::cancel: {
        close(word.request);
        Word gone = word;
        gone.say = Say::gone;
        return tell(peer, gone);
      }
      case Say::again:
        if (found == open_.end()) return;
        return serializer_.push_again(word.request, word.layer, static_cast<page::Kind>(word.kind), word.page,
                                      found->second.kv->page_first_position(word.page), found->second.kv->page_tokens(word.page),
                                      Rig::rows_of(*found->second.kv, word.layer, static_cast<page::Kind>(word.kind), word.page),
                                      static_cast<codec::StreamId>(word.stream), word.attempt);
      default: fail(courier_.rank(), "a word that no receiver says");
    }
  }

  Serializer serializer_;
  std::deque<std::pair<int, Word>> waiting_;
  std::map<std::uint64_t, Outgoing> open_;
};

class Receiver final : public Party {
 public:
  Receiver(comm::Courier& courier, std::uint64_t seed) : Party(courier), random_(seed) {}
  bool idle() const { return open_.empty(); }
  std::uint64_t finished = 0, cancelled = 0, resent = 0;
  std::uint64_t dropped() const { return deserializer_.dropped_frames(); }

  void step(bool more) {
    if (more && open_.size() < 8 && random_() % 4 == 0) begin();
    deserializer_.complete(64);
    for (const Missing& missing : deserializer_.take_missing()) {
      const auto found = open_.find(missing.request);
      if (found == open_.end()) continue;
      Word word = found->second.word;
      word.say = Say::again;
      word.layer = missing.layer;
      word.page = missing.page;
      word.kind = static_cast<std::int32_t>(missing.kind);
      word.stream = static_cast<std::int32_t>(missing.stream);
      word.attempt = missing.attempt;
      tell(found->second.peer, word);
      ++resent;
    }
    for (auto it = open_.begin(); it != open_.end();) it = look(it->second) ? open_.erase(it) : std::next(it);
  }

 private:
  struct Incoming {
    Word word;
    int peer = 0;
    std::unique_ptr<page::SequenceKv> kv;
    std::int64_t blocks = 0;
    std::int64_t begun_ns = 0, overdue_ns = 0;
    bool sent = false, cancelled = false, gone = false;
  };

  void begin() {
    constexpr int lengths[] = {0, 1, 31, 32, 33, 64, 65, 255, 256, 257, 511, 1000};
    Incoming in;
    in.word.request = ++count_ * ranks + static_cast<std::uint64_t>(courier_.rank());
    in.word.generation = static_cast<std::uint32_t>(count_);
    in.word.tokens = lengths[random_() % std::size(lengths)];
    in.peer = static_cast<int>(random_() % senders);
    in.blocks = page::SequenceKv::blocks_needed(geometry(), in.word.tokens, 0);
    if (!pool_.reserve(in.blocks)) return;
    in.kv = std::make_unique<page::SequenceKv>(pool_);
    in.kv->extend(in.word.tokens);
    in.begun_ns = now_ns();
    deserializer_.expect(transfer_of(in.word, in.peer, codec_), in.kv.get());
    tell(in.peer, in.word);
    open_.emplace(in.word.request, std::move(in));
  }

  // True where the request is over.
  bool look(Incoming& in) {
    if (now_ns() - in.begun_ns > patience_ns) fail(courier_.rank(), "request " + std::to_string(in.word.request) + " hangs");
    if (in.cancelled) return in.gone && close(in);
    const auto level = deserializer_.progress(in.word.request).level;
    if (level >= codec::Level::target) {
      check(in);
      Word word = in.word;
      word.say = Say::done;
      tell(in.peer, word);
      ++finished;
      return close(in);
    }
    if (random_() % 3000 == 0) {
      in.cancelled = true;
      Word word = in.word;
      word.say = Say::cancel;
      tell(in.peer, word);
      ++cancelled;
      return false;
    }
    if (in.sent && now_ns() - std::max(heard_ns_[in.peer], in.overdue_ns) > 500'000'000) {
      in.overdue_ns = now_ns();
      if (const auto asked = deserializer_.overdue(in.word.request); !asked) fail(courier_.rank(), asked.error().what());
    }
    return false;
  }

  void check(const Incoming& in) {
    page::PagePool pool(geometry(), page::Element::bf16, pool_blocks);
    page::SequenceKv expected(pool);
    expected.extend(in.word.tokens);
    fill(expected, static_cast<unsigned>(in.word.request));
    const std::size_t row_bytes = static_cast<std::size_t>(geometry().channels()) * 2;
    for (int page = 0; page < expected.page_count(); ++page)
      for (int layer = 0; layer < geometry().layers; ++layer)
        for (const auto kind : {page::Kind::key, page::Kind::value})
          if (std::memcmp(expected.page_data(layer, kind, page), in.kv->page_data(layer, kind, page),
                          static_cast<std::size_t>(expected.page_tokens(page)) * row_bytes) != 0)
            fail(courier_.rank(), "request " + std::to_string(in.word.request) + " was taken for complete with wrong bytes");
  }

  bool close(Incoming& in) {
    deserializer_.close(in.word.request);
    in.kv->clear();
    pool_.unreserve(in.blocks);
    return true;
  }
  void data(comm::Message message) override {
    heard_ns_[message.peer] = now_ns();
    if (const auto taken = deserializer_.accept(std::move(message)); !taken) fail(courier_.rank(), taken.error().what());
  }
  void control(int, const Word& word) override {
    const auto found = open_.find(word.request);
    if (found == open_.end()) return;
    if (word.say == Say::sent) found->second.sent = true;
    else if (word.say == Say::gone) found->second.gone = true;
    else fail(courier_.rank(), "a word that no sender says");
  }

  std::mt19937_64 random_;
  Deserializer deserializer_;
  std::map<std::uint64_t, Incoming> open_;
  std::map<int, std::int64_t> heard_ns_;
  std::uint64_t count_ = 0;
};

comm::LinkOptions options(std::uint64_t seed) {
  comm::LinkOptions made;
  made.stall_seconds = 30;
  made.close_seconds = 5;
  made.residual_chunk_bytes = 0;
  made.faults = {0.01, 0.01, 1.0, 0.3, false, seed};
  return made;
}

// Rank `courier.rank()` until `seconds` are over and every request of its own is.
void run(comm::Courier& courier, double seconds, std::uint64_t seed) {
  const std::int64_t until = now_ns() + static_cast<std::int64_t>(seconds * 1e9);
  const int rank = courier.rank();
  try {
    if (rank < senders) {
      Sender sender(courier);
      // The receivers' last word is heard before this rank may leave.
      for (std::int64_t quiet_ns = now_ns(); now_ns() < until || !sender.idle() || now_ns() - quiet_ns < 3'000'000'000;) {
        sender.take_all();
        sender.step();
        if (!sender.idle()) quiet_ns = now_ns();
        if (now_ns() > until + 2 * patience_ns) fail(rank, "requests stay open");
        courier.progress("stress");
        courier.wait(std::chrono::microseconds(2000));
      }
      if (sender.reserved() != 0) fail(rank, std::to_string(sender.reserved()) + " pages were not given back");
      std::printf("rank %d sent: pages all given back\n", rank);
    } else {
      Receiver receiver(courier, seed * 31 + static_cast<std::uint64_t>(rank));
      while (now_ns() < until || !receiver.idle()) {
        receiver.take_all();
        receiver.step(now_ns() < until);
        courier.progress("stress");
        courier.wait(std::chrono::microseconds(500));
      }
      if (receiver.reserved() != 0) fail(rank, std::to_string(receiver.reserved()) + " pages were not given back");
      std::printf("rank %d received: %llu requests whole, %llu cancelled, %llu tensors asked for again, %llu frames dropped\n",
                  rank, static_cast<unsigned long long>(receiver.finished), static_cast<unsigned long long>(receiver.cancelled),
                  static_cast<unsigned long long>(receiver.resent), static_cast<unsigned long long>(receiver.dropped()));
      if (receiver.finished == 0) fail(rank, "no request ended");
    }
  } catch (const Error& error) {
    fail(rank, error.what());
  }
}

int start(double seconds, const std::string& transport, std::uint64_t seed) {
  comm::World world;
  log::configure(log::Level::error, "rank " + std::to_string(world.rank()));
  if (transport == "mpi") {
    if (world.size() != ranks) fail(world.rank(), "mpi takes mpirun -n 4");
    comm::Courier courier(world.make_transport("mpi"), options(seed));
    run(courier, seconds, seed);
    return 0;
  }
  std::vector<std::thread> threads;
  for (auto& made : comm::make_loop(ranks))
    threads.emplace_back([&, mine = std::move(made)]() mutable {
      comm::Courier courier(std::move(mine), options(seed));
      run(courier, seconds, seed);
    });
  for (std::thread& thread : threads) thread.join();
  return 0;
}

}  // namespace
}  // namespace lynxkv::stream

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const double seconds = argc > 1 ? std::atof(argv[1]) : 5;
  const std::string transport = argc > 2 ? argv[2] : "loop";
  const std::uint64_t seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  if (seconds <= 0 || (transport != "loop" && transport != "mpi")) {
    std::fprintf(stderr, "usage: stress SECONDS [loop|mpi] [SEED]\n");
    return 2;
  }
  return lynxkv::stream::start(seconds, transport, seed);
}
