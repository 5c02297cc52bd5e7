#include "tests/cuda_emulation/emulator/block.hpp"

#include <sys/mman.h>

#include <cstring>
#include <map>
#include <new>

namespace cuda_emulation {
namespace {

constexpr std::size_t region_bytes = std::size_t{256} << 10;
constexpr int rubble = 0xff;  // as floats and bf16: NaNs
constexpr int warp_lanes = 32;

bool same_place(const Place& a, const Place& b) {
  return a.line() == b.line() && a.column() == b.column() && std::strcmp(a.file_name(), b.file_name()) == 0;
}
std::string text_of(const Place& place) {
  const std::string file = place.file_name();
  return file.substr(file.rfind('/') + 1) + ":" + std::to_string(place.line());
}

std::uint64_t vote(Meeting meeting, std::uint32_t set, std::uint32_t mask) {
  if (meeting == Meeting::any) return set != 0;
  if (meeting == Meeting::all) return set == mask;
  return set;
}

}  // namespace

SharedMemory::SharedMemory() {
  void* memory = mmap(nullptr, region_bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  region_ = static_cast<unsigned char*>(memory);
  mprotect(region_ + region_bytes, 4096, PROT_NONE);
}
SharedMemory::~SharedMemory() { munmap(region_, region_bytes + 4096); }

void SharedMemory::size_to(std::size_t bytes) {
  bytes_ = bytes;
  data_ = region_ + region_bytes - (bytes + 127) / 128 * 128;
  std::memset(data_, rubble, static_cast<std::size_t>(region_ + region_bytes - data_));
}
bool SharedMemory::holds(const void* at, std::size_t bytes) const noexcept {
  const auto* first = static_cast<const unsigned char*>(at);
  return first >= data_ && first <= data_ + bytes_ && bytes <= static_cast<std::size_t>(data_ + bytes_ - first);
}

Threads::Block* Threads::Block::active = nullptr;

void Threads::Block::enter() {
  Fiber::entered();
  Block& block = *active;
  Thread& thread = *block.running;
  try {
    (*block.body)();
    for (const auto& copies : thread.committed_copies) block.finish(copies);
    block.finish(thread.open_copies);
  } catch (const Fault& fault) {
    block.fault = fault;
  }
  thread.state = Thread::State::ended;
  thread.fiber.give_way(true);
}

void Threads::Block::finish(const std::vector<LateCopy>& copies) {
  for (const LateCopy& copy : copies)
    std::memcpy(copy.to, memory.resolve(copy.from, copy.bytes, Access::read, false), copy.bytes);
}

void Threads::Block::run(dim3 size, std::size_t shared_bytes) {
  shared.size_to(shared_bytes);
  count = static_cast<int>(size.x * size.y * size.z);
  while (static_cast<int>(threads.size()) < count) threads.push_back(std::make_unique<Thread>());
  at_barrier = 0;
  fault.reset();
  runnable.clear();
  active = this;
  for (int i = 0; i < count; ++i) {
    Thread& thread = *threads[static_cast<std::size_t>(i)];
    const unsigned linear = static_cast<unsigned>(i);
    thread.index = {linear % size.x, linear / size.x % size.y, linear / (size.x * size.y)};
    thread.state = Thread::State::runnable;
    thread.open_copies.clear();
    thread.committed_copies.clear();
    thread.fiber.start(enter);
    runnable.push_back(i);
  }
  while (!runnable.empty()) {
    const std::size_t drawn = draw() % runnable.size();
    const int next = runnable[drawn];
    runnable[drawn] = runnable.back();
    runnable.pop_back();
    running = threads[static_cast<std::size_t>(next)].get();
    threadIdx = running->index;
    running->fiber.resume();
    Thread& ran = *running;
    running = nullptr;
    if (fault) throw *fault;
    if (ran.state == Thread::State::waiting) thread_came(next);
  }
  if (const std::string waiting = who_waits(); !waiting.empty())
    throw Fault{cudaErrorLaunchFailure, "threads wait for others that never come: " + waiting};
}

void Threads::Block::thread_came(int index) {
  const Thread& thread = *threads[static_cast<std::size_t>(index)];
  if (thread.meeting == Meeting::block_barrier) {
    if (++at_barrier == count) release_barrier();
    return;
  }
  const int lane = index % warp_lanes;
  if ((thread.mask >> lane & 1u) == 0)
    throw Fault{cudaErrorLaunchFailure, "lane " + std::to_string(lane) + " is not in the mask it gives at " + text_of(thread.place)};
  if (warp_is_complete(index)) release_warp(index);
}

void Threads::Block::release_barrier() {
  for (int i = 0; i < count; ++i)
    if (!same_place(threads[static_cast<std::size_t>(i)]->place, threads[0]->place))
      throw Fault{cudaErrorLaunchFailure, "a block's threads meet at two barriers: " + who_waits()};
  at_barrier = 0;
  for (int i = 0; i < count; ++i) {
    threads[static_cast<std::size_t>(i)]->state = Thread::State::runnable;
    runnable.push_back(i);
  }
}

bool Threads::Block::warp_is_complete(int index) const {
  const Thread& thread = *threads[static_cast<std::size_t>(index)];
  const int first = index - index % warp_lanes;
  for (int lane = 0; lane < warp_lanes; ++lane) {
    if ((thread.mask >> lane & 1u) == 0) continue;
    if (first + lane >= count) return false;
    const Thread& other = *threads[static_cast<std::size_t>(first + lane)];
    if (other.state != Thread::State::waiting || other.meeting != thread.meeting || other.mask != thread.mask ||
        !same_place(other.place, thread.place))
      return false;
  }
  return true;
}

void Threads::Block::release_warp(int index) {
  const unsigned mask = threads[static_cast<std::size_t>(index)]->mask;
  const Meeting meeting = threads[static_cast<std::size_t>(index)]->meeting;
  const int first = index - index % warp_lanes;
  std::uint64_t given[warp_lanes] = {};
  std::uint32_t set = 0;
  for (int lane = 0; lane < warp_lanes; ++lane) {
    if ((mask >> lane & 1u) == 0) continue;
    given[lane] = threads[static_cast<std::size_t>(first + lane)]->value;
    if (given[lane] != 0) set |= 1u << lane;
  }
  for (int lane = 0; lane < warp_lanes; ++lane) {
    if ((mask >> lane & 1u) == 0) continue;
    Thread& thread = *threads[static_cast<std::size_t>(first + lane)];
    const bool shuffles = meeting == Meeting::shuffle_xor || meeting == Meeting::shuffle_down || meeting == Meeting::shuffle;
    if (shuffles) {
      int from = meeting == Meeting::shuffle_xor ? lane ^ thread.argument : meeting == Meeting::shuffle ? thread.argument : lane + thread.argument;
      if (from < 0 || from >= warp_lanes) from = meeting == Meeting::shuffle ? from & (warp_lanes - 1) : lane;
      if ((mask >> from & 1u) == 0)
        throw Fault{cudaErrorLaunchFailure, "lane " + std::to_string(lane) + " takes from lane " + std::to_string(from) + ", which is not in the mask, at " + text_of(thread.place)};
      thread.value = given[from];
    } else {
      thread.value = vote(meeting, set, mask);
    }
    thread.state = Thread::State::runnable;
    runnable.push_back(first + lane);
  }
}

std::string Threads::Block::who_waits() const {
  std::map<std::string, int> places;
  int ended = 0;
  for (int i = 0; i < count; ++i) {
    const Thread& thread = *threads[static_cast<std::size_t>(i)];
    if (thread.state == Thread::State::waiting) ++places[text_of(thread.place)];
    if (thread.state == Thread::State::ended) ++ended;
  }
  std::string text;
  for (const auto& [place, waiting] : places) text += (text.empty() ? "" : ", ") + std::to_string(waiting) + " at " + place;
  if (!text.empty() && ended > 0) text += ", " + std::to_string(ended) + " have ended";
  return text;
}

}  // namespace cuda_emulation
