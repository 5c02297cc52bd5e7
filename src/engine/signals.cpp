#include "engine/signals.hpp"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace lynxkv::engine {
namespace {

constexpr std::array<int, 3> signals = {SIGTERM, SIGINT, SIGUSR1};
volatile std::sig_atomic_t first_signal = 0;

void note(int signal) {
  if (first_signal == 0) first_signal = signal;
  else if (signal == SIGINT) _exit(130);  // asked twice from a keyboard: leave at once
}

}  // namespace

StopSignals::StopSignals() {
  first_signal = 0;
  for (const int signal : signals) {
    struct sigaction action = {};
    action.sa_handler = note;
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    sigaction(signal, &action, nullptr);
  }
}

int StopSignals::received() noexcept { return first_signal; }

}  // namespace lynxkv::engine
