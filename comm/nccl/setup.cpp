#include "comm/nccl/setup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace lynxkv::comm::nccl {
namespace {

constexpr auto nap = std::chrono::microseconds(200);

std::vector<std::byte> bytes_of(const std::string& text) {
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

std::string text_of(const std::vector<std::byte>& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

const char* name_of(Channel channel) { return channel == Channel::anchor ? "anchor" : "residual"; }

// First all routes to the next rank, then to the one after it, and so on: most pairs are at work at a time.
std::vector<Route> in_order(std::vector<Route> routes, int ranks) {
  const auto distance = [&](const Route& route) { return (route.second - route.first + ranks) % ranks; };
  std::erase_if(routes, [](const Route& route) { return route.first == route.second; });
  std::sort(routes.begin(), routes.end(), [&](const Route& a, const Route& b) {
    return std::pair(distance(a), a) < std::pair(distance(b), b);
  });
  routes.erase(std::unique(routes.begin(), routes.end()), routes.end());
  return routes;
}

}  // namespace

Setup::Setup(Transport& carrier, Outbox& outbox, const NcclOptions& options)
    : carrier_(carrier),
      outbox_(outbox),
      options_(options),
      routes_(in_order(options.routes.empty() ? all_routes(carrier.size()) : options.routes, carrier.size())),
      until_ns_(now_ns() + static_cast<std::int64_t>(options.init_seconds * 1e9)),
      heard_(static_cast<std::size_t>(carrier.size())) {
  for (const auto& [from, to] : routes_) LYNXKV_CHECK(from >= 0 && from < carrier.size() && to >= 0 && to < carrier.size());
}

void Setup::listen() {
  for (Message message; carrier_.poll(message);) {
    if (message.channel == Channel::control)
      heard_[static_cast<std::size_t>(message.peer)].push_back(std::move(message.bytes));
    else
      early_.push_back(std::move(message));
    message = Message{};
  }
  outbox_.sweep();
}

template <class Done>
void Setup::wait_until(Done done, const std::string& what) {
  while (true) {
    listen();
    if (done()) return;
    if (now_ns() > until_ns_)
      throw Error(ErrorCode::transport, "NCCL set-up",
                  fmt::format("rank {} waited for {}, which did not come within {} s; NCCL_DEBUG=INFO shows how far it came "
                              "(NCCL_SOCKET_IFNAME chooses the network of its set-up)",
                              carrier_.rank(), what, options_.init_seconds));
    std::this_thread::sleep_for(nap);
  }
}

std::vector<std::byte> Setup::from(int peer, const char* what) {
  auto& heard = heard_[static_cast<std::size_t>(peer)];
  wait_until([&] { return !heard.empty(); }, fmt::format("rank {}: {}", peer, what));
  std::vector<std::byte> bytes = std::move(heard.front());
  heard.pop_front();
  return bytes;
}

int Setup::choose_device() {
  const std::string mine = to_text(nccl_facts());
  for (int to = 0; to < carrier_.size(); ++to)
    if (to != carrier_.rank()) outbox_.send(Channel::control, to, bytes_of(mine));
  std::vector<NcclFacts> by_rank;
  for (int rank = 0; rank < carrier_.size(); ++rank)
    by_rank.push_back(parse_nccl_facts(rank == carrier_.rank() ? mine : text_of(from(rank, "its GPUs"))).take());
  auto devices = place_on_gpus(by_rank, routes_);
  // The others have to hear of it before this rank leaves.
  if (!devices.ok()) wait_until([&] { return outbox_.sweep(); }, "its own messages to leave");
  return std::move(devices).take()[static_cast<std::size_t>(carrier_.rank())];
}

template <class Made>
void Setup::make_lane(Made& lane, const Route& route, Channel channel) {
  const bool sends = route.first == carrier_.rank();
  const int peer = sends ? route.second : route.first;
  const bool anchor = channel == Channel::anchor;
  const Terms terms{fmt::format("lynxkv {} {} to {}", name_of(channel), route.first, route.second), options_.channels,
                    anchor ? options_.anchor_traffic_class : options_.residual_traffic_class};
  lane = std::make_unique<typename Made::element_type>(channel, peer, options_.staging_bytes);
  UniqueId id{};
  if (sends) {
    id = make_unique_id();
    outbox_.send(Channel::control, peer, {id.begin(), id.end()});
  } else {
    const auto bytes = from(peer, "NCCL's unique id");
    if (bytes.size() != id.size())
      throw Error(ErrorCode::transport, fmt::format("rank {}", peer),
                  fmt::format("sends a unique id of {} bytes, {} are expected: run one build on all ranks", bytes.size(), id.size()));
    std::copy(bytes.begin(), bytes.end(), id.begin());
  }
  lane->join(id, sends ? 0 : 1, terms);
  wait_until([&] { return lane->settled(); }, fmt::format("'{}' to be joined by both ends", terms.name));
  lane->warm_up(sends);
  wait_until([&] { return lane->warmed_up(); }, fmt::format("the first byte of '{}'", terms.name));
}

void Setup::make_lanes(Lanes& lanes) {
  for (int of = 0; of < 2; ++of) {
    lanes.send[of].resize(heard_.size());
    lanes.receive[of].resize(heard_.size());
  }
  for (const Route& route : routes_)
    for (const Channel channel : {Channel::anchor, Channel::residual}) {
      const int of = class_of(channel);
      if (route.first == carrier_.rank()) make_lane(lanes.send[of][static_cast<std::size_t>(route.second)], route, channel);
      if (route.second == carrier_.rank()) make_lane(lanes.receive[of][static_cast<std::size_t>(route.first)], route, channel);
    }
  // What is left in heard_ came after all set-up messages of its sender.
  for (std::size_t peer = 0; peer < heard_.size(); ++peer)
    for (auto& bytes : heard_[peer]) {
      Message message;
      message.peer = static_cast<int>(peer);
      message.bytes = std::move(bytes);
      early_.push_back(std::move(message));
    }
}

}  // namespace lynxkv::comm::nccl
