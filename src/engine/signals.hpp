// Signals that ask a run to stop in good order: SIGTERM, SIGINT, SIGUSR1. Caught from an object's making
// until the process ends: launchers and schedulers send them again while a run is leaving.
#pragma once

namespace lynxkv::engine {

class StopSignals {
 public:
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // The first signal that came; 0 while none has.
  static int received() noexcept;
};

}  // namespace lynxkv::engine
