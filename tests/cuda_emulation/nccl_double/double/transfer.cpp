// How bytes move: a group of operations waits in its stream, meets its counterparts, and moves in pieces.
#include <algorithm>
#include <array>
#include <cstring>

#include "tests/cuda_emulation/emulator/api.hpp"
#include "tests/cuda_emulation/nccl_double/double/state.hpp"

namespace nccl_double {
namespace {

Pair& pair_of(ncclComm& comm, const Operation& operation) {
  Shared& shared = **comm.segment;
  return operation.sends ? shared.pairs[comm.rank][operation.peer] : shared.pairs[operation.peer][comm.rank];
}

std::string text_of(const Operation& operation) {
  return std::string(operation.sends ? "send" : "receive") + " number " + std::to_string(operation.number) + " of " +
         std::to_string(operation.bytes) + " bytes " + (operation.sends ? "to" : "from") + " rank " +
         std::to_string(operation.peer);
}

void publish_waits(ncclComm& comm, const Launch* launch) {
  Member& member = (*comm.segment)->members[comm.rank];
  for (int peer = 0; peer < comm.ranks; ++peer) member.waits_to_send[peer] = member.waits_to_receive[peer] = 0;
  if (launch != nullptr) {
    for (const Operation& operation : launch->operations) {
      auto& waits = operation.sends ? member.waits_to_send[operation.peer] : member.waits_to_receive[operation.peer];
      if (!operation.through && waits == 0) waits = operation.number;
    }
  }
  ++member.version;
}

// Rank `from` cannot go on before rank `to` calls an operation that stands behind what `to` runs now.
bool waits_for(const Shared& shared, int from, int to) {
  const Member& member = shared.members[from];
  const std::uint64_t send = member.waits_to_send[to], receive = member.waits_to_receive[to];
  return (send != 0 && shared.pairs[from][to].receives_posted < send) ||
         (receive != 0 && shared.pairs[to][from].sends_posted < receive);
}

bool runs(const Shared& shared, int rank) {
  const Member& member = shared.members[rank];
  const auto any = [](const auto& waits) { return std::any_of(std::begin(waits), std::end(waits), [](const auto& one) { return one != 0; }); };
  return any(member.waits_to_send) || any(member.waits_to_receive);
}

// A circle of ranks that wait for each other, as text; empty without one.
std::string circle_from(const Shared& shared, int ranks, int start) {
  std::vector<int> way{start};
  std::array<bool, most_ranks> seen{};
  while (true) {
    const int here = way.back();
    if (seen[static_cast<std::size_t>(here)]) break;
    seen[static_cast<std::size_t>(here)] = true;
    int next = -1;
    for (int to = 0; to < ranks && next < 0; ++to)
      if (to != here && runs(shared, to) && waits_for(shared, here, to)) next = to;
    if (next < 0) return {};
    way.push_back(next);
  }
  std::string text;
  for (const int rank : way) text += (text.empty() ? "rank " : " waits for rank ") + std::to_string(rank);
  return text;
}

std::uint64_t versions(const Shared& shared, int ranks) {
  std::uint64_t sum = 0;
  for (int rank = 0; rank < ranks; ++rank) sum += shared.members[rank].version;
  return sum;
}

// Looked at twice, with nothing changed between: else it may be two moments put together.
void check_order(ncclComm& comm) {
  if (comm.order_reported) return;
  const Shared& shared = **comm.segment;
  const std::uint64_t before = versions(shared, comm.ranks);
  const std::string circle = circle_from(shared, comm.ranks, comm.rank);
  if (circle.empty() || circle_from(shared, comm.ranks, comm.rank) != circle || versions(shared, comm.ranks) != before) return;
  comm.order_reported = true;
  misuse(&comm, "the ranks of " + named(comm) + " call in orders that cannot meet: " + circle);
}

// The two ends say the same of it, or it is a misuse.
bool agrees(ncclComm& comm, Operation& operation, const Pair& pair) {
  if (operation.checked) return true;
  const Posted* others = operation.sends ? pair.receive : pair.send;
  const Posted& other = others[operation.number % 2];
  if (other.bytes != operation.bytes || other.type != static_cast<std::uint32_t>(operation.type)) {
    misuse(&comm, named(comm) + ": " + text_of(operation) + ", type " + std::to_string(operation.type) + ", meets one of " +
                      std::to_string(other.bytes) + " bytes, type " + std::to_string(other.type));
    return false;
  }
  operation.checked = true;
  return true;
}

void move_piece(Operation& operation, Pair& pair) {
  cuda_emulation::Memory& memory = cuda_emulation::state().memory;
  const std::size_t left = operation.bytes - operation.moved;
  if (operation.sends) {
    if (pair.chunk_bytes != 0 || left == 0) return;
    const std::size_t bytes = std::min(left, chunk_most_bytes);
    std::memcpy(pair.chunk, memory.resolve(operation.buffer + operation.moved, bytes, cuda_emulation::Access::read, false), bytes);
    operation.moved += bytes;
    pair.chunk_bytes = static_cast<std::uint32_t>(bytes);
  } else if (const std::size_t bytes = pair.chunk_bytes; bytes != 0) {
    std::memcpy(memory.resolve(operation.buffer + operation.moved, bytes, cuda_emulation::Access::write, false), pair.chunk, bytes);
    operation.moved += bytes;
    pair.chunk_bytes = 0;
  }
}

void advance(ncclComm& comm, Operation& operation) {
  Pair& pair = pair_of(comm, operation);
  auto& mine = operation.sends ? pair.sends_posted : pair.receives_posted;
  auto& others = operation.sends ? pair.receives_posted : pair.sends_posted;
  if (!operation.posted) {
    if (mine != operation.number - 1) return;  // an earlier one to the same peer in the same group goes first
    Posted* posted = operation.sends ? pair.send : pair.receive;
    posted[operation.number % 2] = {operation.bytes, static_cast<std::uint32_t>(operation.type)};
    mine = operation.number;
    operation.posted = true;
  }
  if (others < operation.number || !agrees(comm, operation, pair)) return;
  move_piece(operation, pair);
  operation.through = operation.moved == operation.bytes && (!operation.sends || pair.chunk_bytes == 0);
}

// Asked by the stream whose turn it is; true once the group is through.
bool advance(ncclComm& comm, Launch& launch) {
  if (launch.dropped || comm.error != ncclSuccess) return launch.dropped;
  if (comm.running.front().get() != &launch) return false;  // a communicator runs its groups in order of the calls
  if (state().setup.defers && state().draw() % 2 == 0) return false;
  const auto unfinished = [](const Operation& operation) { return !operation.through; };
  const auto before = std::count_if(launch.operations.begin(), launch.operations.end(), unfinished);
  if (!launch.started) publish_waits(comm, &launch);
  launch.started = true;
  for (Operation& operation : launch.operations) {
    // Of two to one peer the first has to be through before the second stands there.
    const auto earlier = [&](const Operation& other) {
      return &other < &operation && other.peer == operation.peer && other.sends == operation.sends && !other.through;
    };
    if (!operation.through && std::none_of(launch.operations.begin(), launch.operations.end(), earlier)) advance(comm, operation);
  }
  const auto after = std::count_if(launch.operations.begin(), launch.operations.end(), unfinished);
  if (after != before) publish_waits(comm, after > 0 ? &launch : nullptr);
  if (after > 0) check_order(comm);
  return after == 0;
}

void into_stream(ncclComm& comm, const std::shared_ptr<Launch>& launch) {
  cuda_emulation::with_stream(launch->stream, [&](cuda_emulation::State& all, CUstream_st& stream) {
    for (const Operation& operation : launch->operations) {
      const std::string what = named(comm) + ": " + text_of(operation);
      cuda_emulation::note_access(all, stream, operation.buffer, operation.bytes, !operation.sends, true, what.c_str());
    }
    comm.stream_priority = stream.priority;
    comm.running.push_back(launch);
    const auto through = [&all, &comm, launch] {
      bool done = true;
      all.run_guarded([&] { done = advance(comm, *launch); });
      return done;
    };
    const auto end = [&comm, launch] { std::erase(comm.running, launch); };
    all.streams.enqueue(stream, {end, nullptr, 0, through});
  });
}

}  // namespace

bool try_to_launch(ncclComm& comm) {
  while (!comm.waiting.empty()) {
    if (comm.rests > 0) {
      --comm.rests;
      return false;
    }
    const auto& launch = comm.waiting.front();
    // The first operation with a peer sets up their connection, which takes both.
    for (const Operation& operation : launch->operations) {
      const Pair& pair = pair_of(comm, operation);
      if ((operation.sends ? pair.receives_called : pair.sends_called) == 0) return false;
    }
    into_stream(comm, launch);
    comm.waiting.pop_front();
  }
  return true;
}

void drop_everything(ncclComm& comm) {
  for (const auto& launch : comm.running) launch->dropped = true;
  comm.waiting.clear();
  cuda_emulation::state().ordering.forget(named(comm) + ": ");
}

}  // namespace nccl_double
