#include "comm/raw_link.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <string>
#include <thread>

#include "base/error.hpp"

namespace lynxkv::comm {
namespace {

class OverTransport final : public RawLink {
 public:
  explicit OverTransport(std::unique_ptr<Transport> transport)
      : transport_(std::move(transport)), arrived_(static_cast<std::size_t>(transport_->size())) {}
  int rank() const noexcept override { return transport_->rank(); }
  int size() const noexcept override { return transport_->size(); }
  const char* name() const noexcept override { return transport_->name().data(); }

  void exchange(std::span<const Send> sends, std::span<const Receive> receives) override {
    std::deque<Ticket> posted;
    const std::size_t most = transport_->max_message_bytes();
    for (const Send& send : sends) {
      std::size_t at = 0;
      do {
        const std::size_t part = std::min(most, send.bytes.size() - at);
        posted.push_back(transport_->post(Channel::anchor, send.peer, send.bytes.subspan(at, part)));
        at += part;
        look();
      } while (at < send.bytes.size());
    }
    for (const Receive& receive : receives) {
      std::size_t at = 0;
      do {
        const std::vector<std::byte> part = next_of(receive.peer);
        if (part.size() > receive.bytes.size() - at)
          throw Error(ErrorCode::transport, "rank " + std::to_string(receive.peer),
                      "sent " + std::to_string(at + part.size()) + " bytes where " +
                          std::to_string(receive.bytes.size()) + " were expected");
        std::copy(part.begin(), part.end(), receive.bytes.begin() + static_cast<std::ptrdiff_t>(at));
        at += part.size();
      } while (at < receive.bytes.size());
    }
    while (!posted.empty()) {
      if (transport_->test(posted.front())) posted.pop_front();
      else look();
    }
  }

 private:
  void look() {
    Message message;
    if (transport_->poll(message)) arrived_[static_cast<std::size_t>(message.peer)].push_back(std::move(message.bytes));
    else std::this_thread::yield();
  }
  std::vector<std::byte> next_of(int peer) {
    auto& queue = arrived_[static_cast<std::size_t>(peer)];
    while (queue.empty()) look();
    std::vector<std::byte> bytes = std::move(queue.front());
    queue.pop_front();
    return bytes;
  }

  std::unique_ptr<Transport> transport_;
  std::vector<std::deque<std::vector<std::byte>>> arrived_;  // by peer
};

}  // namespace

RawLink::Stream::Stream(std::vector<int> to_peers, std::vector<int> from_peers, std::size_t message_bytes, int messages,
                        int most_under_way)
    : to(std::move(to_peers)),
      from(std::move(from_peers)),
      bytes(message_bytes),
      count(messages),
      window(std::clamp(most_under_way, 1, std::max(1, messages))),
      out(to.empty() ? 0 : bytes),
      in(from.size() * static_cast<std::size_t>(window) * bytes) {}

std::span<std::byte> RawLink::Stream::room(std::size_t peer, int number) noexcept {
  const auto slot = peer * static_cast<std::size_t>(window) + static_cast<std::size_t>(number % window);
  return std::span(in).subspan(slot * bytes, bytes);
}

void RawLink::run(Stream& stream) {
  for (int began = 0; began < stream.count; began += stream.window) {
    std::vector<Send> sends;
    std::vector<Receive> receives;
    for (int number = began; number < std::min(stream.count, began + stream.window); ++number) {
      for (std::size_t peer = 0; peer < stream.from.size(); ++peer) receives.push_back({stream.from[peer], stream.room(peer, number)});
      for (const int peer : stream.to) sends.push_back({peer, stream.out});
    }
    exchange(sends, receives);
  }
}

void RawLink::send(int peer, std::span<const std::byte> bytes) {
  const Send one{peer, bytes};
  exchange({&one, 1}, {});
}

void RawLink::receive(int peer, std::span<std::byte> bytes) {
  const Receive one{peer, bytes};
  exchange({}, {&one, 1});
}

void RawLink::barrier() { static_cast<void>(largest(0)); }

double RawLink::from_first(double mine) {
  const auto bytes = std::as_writable_bytes(std::span(&mine, 1));
  if (rank() != 0) receive(0, bytes);
  else
    for (int to = 1; to < size(); ++to) send(to, bytes);
  return mine;
}

std::vector<std::vector<double>> RawLink::gather(std::span<const double> mine) {
  double count = static_cast<double>(mine.size());
  if (rank() != 0) {
    send(0, std::as_bytes(std::span(&count, 1)));
    if (!mine.empty()) send(0, std::as_bytes(mine));
    return {};
  }
  std::vector<std::vector<double>> all = {{mine.begin(), mine.end()}};
  for (int from = 1; from < size(); ++from) {
    receive(from, std::as_writable_bytes(std::span(&count, 1)));
    all.emplace_back(static_cast<std::size_t>(count));
    if (!all.back().empty()) receive(from, std::as_writable_bytes(std::span(all.back())));
  }
  return all;
}

double RawLink::largest(double mine) {
  double most = mine;
  for (const auto& values : gather(std::span(&mine, 1))) most = std::max(most, values.front());
  return from_first(most);
}

std::unique_ptr<RawLink> make_raw_link(std::unique_ptr<Transport> transport) {
  return std::make_unique<OverTransport>(std::move(transport));
}

}  // namespace lynxkv::comm
