#include "tests/cuda_emulation/emulator/streams.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "tests/cuda_emulation/emulator/state.hpp"

namespace cuda_emulation {

cudaStream_t Streams::create() {
  streams_.push_back(std::make_unique<CUstream_st>());
  return streams_.back().get();
}

CUstream_st* Streams::find(cudaStream_t stream) {
  if (stream == nullptr) return &default_stream_;
  const bool known = std::any_of(streams_.begin(), streams_.end(),
                                 [&](const auto& one) { return one.get() == stream && !one->destroyed; });
  return known ? stream : nullptr;
}

std::vector<CUstream_st*> Streams::ready(CUstream_st* but) const {
  std::vector<CUstream_st*> found;
  const auto look_at = [&](CUstream_st* stream) {
    if (stream != but && !stream->work.empty() && stream->work.front().ready()) found.push_back(stream);
  };
  look_at(const_cast<CUstream_st*>(&default_stream_));
  for (const auto& stream : streams_) look_at(stream.get());
  return found;
}

bool Streams::run_one_of(const std::vector<CUstream_st*>& streams) {
  if (streams.empty()) return false;
  CUstream_st* stream = streams[draw_() % streams.size()];
  const Work work = std::move(stream->work.front());
  stream->work.pop_front();
  if (work.run) work.run();
  return true;
}

void Streams::enqueue(CUstream_st& stream, Work work) {
  stream.work.push_back(std::move(work));
  ++stream.enqueued;
  if (order_ != Order::drawn) return;
  for (std::uint64_t ahead = draw_() % 3; ahead > 0 && run_one_of(ready()); --ahead) {
  }
}

// One piece of work that brings `wanted` nearer to its end, or anything where that is null.
bool Streams::run_towards(CUstream_st* wanted) {
  switch (order_) {
    case Order::drawn:
      break;
    case Order::late:
      if (wanted != nullptr && !wanted->work.empty() && wanted->work.front().ready()) return run_one_of({wanted});
      break;  // it waits for an event: anything may be what brings it
    case Order::others_first:
      if (run_one_of(ready(wanted))) return true;
      break;
  }
  return run_one_of(ready());
}

void Streams::run_until(const std::function<bool()>& done, CUstream_st* wanted) {
  while (!done()) {
    if (run_towards(wanted)) continue;
    if (!waits_for_peer()) throw std::logic_error("CUDA emulation: what the host waits for can never happen");
    lock().unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    lock().lock();
  }
}

void Streams::run_until_empty(CUstream_st& stream) {
  run_until([&] { return stream.work.empty(); }, &stream);
}

void Streams::run_all() {
  while (run_one_of(ready())) {
  }
}

void Streams::step() { run_one_of(ready()); }

bool Streams::waits_for_peer() const {
  const auto waits = [](const CUstream_st& stream) { return !stream.work.empty() && stream.work.front().through; };
  return waits(default_stream_) || std::any_of(streams_.begin(), streams_.end(), [&](const auto& one) { return waits(*one); });
}

void Streams::all_seen() {
  host_has_seen(default_stream_, default_stream_.enqueued);
  for (const auto& stream : streams_) host_has_seen(*stream, stream->enqueued);
}

}  // namespace cuda_emulation
