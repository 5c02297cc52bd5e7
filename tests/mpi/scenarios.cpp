// Scenarios under mpirun, one a run: mpi_scenarios NAME [mpi|nccl]. Each rank prints its failures; the exit code tells.
#include <gtest/gtest.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>

#include "base/log.hpp"
#include "comm/world.hpp"
#include "tests/comm/transport_suite.hpp"

namespace lynxkv::comm {
namespace {

LinkOptions options() {
  LinkOptions made;
  made.stall_seconds = 5;
  made.close_seconds = 5;
  return made;
}

std::string transport = "mpi";
std::unique_ptr<Transport> make(World& world) { return world.make_transport(transport); }

double compute_for(double seconds) {
  const std::int64_t until = now_ns() + static_cast<std::int64_t>(seconds * 1e9);
  volatile double x = 1;
  while (now_ns() < until)
    for (int i = 0; i < 1000; ++i) x = x * 1.0000001 + 1e-9;
  return x;
}

void suite_scenario(World& world) {
  Courier courier(make(world), options());
  EXPECT_EQ(courier.transport_name(), transport);
  EXPECT_EQ(courier.size(), world.size());
  suite::everything(courier);
}

// Set-up: texts of all sizes are gathered, in order of rank.
void world_scenario(World& world) {
  EXPECT_TRUE(world.uses_mpi());
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{1} << 20}) {
    const std::string mine(bytes > 0 ? bytes - static_cast<std::size_t>(world.rank()) % bytes : 0,
                           static_cast<char>('a' + world.rank()));
    const auto all = world.gather(mine);
    ASSERT_EQ(all.size(), static_cast<std::size_t>(world.size()));
    EXPECT_EQ(all[static_cast<std::size_t>(world.rank())], mine);
    if (bytes > 0) {
      EXPECT_EQ(all.back().back(), 'a' + world.size() - 1);
    }
  }
  EXPECT_THROW(world.gather(std::string((1 << 20) + (world.rank() == 0 ? 1 : 0), 'x')), Error);
  EXPECT_THROW(world.make_transport(world.size() > 1 ? "loop" : "no such"), Error);
  world.barrier();
  // Several transports one after another, and two at a time.
  for (int i = 0; i < 3; ++i) {
    Courier one(make(world), options());
    Courier two(make(world), options());
    suite::Party(one).meet();
    suite::Party(two).meet();
  }
}

// 256 KiB cross while both ranks compute. The link itself takes well under a millisecond.
void busy_scenario(World& world) {
  Courier courier(make(world), options());
  suite::Party party(courier);
  std::vector<double> took_ms;
  for (int round = 0; round < 9; ++round) {
    party.meet();
    if (courier.rank() == 0) {
      const std::int64_t sent_ns = now_ns();
      std::vector<std::byte> bytes(256 * 1024);
      std::memcpy(bytes.data(), &sent_ns, sizeof sent_ns);
      courier.send({Channel::anchor, 1, 1, std::move(bytes), false});
      compute_for(0.3);
    } else {
      compute_for(0.3);
      const Message message = party.receive_one();
      std::int64_t sent_ns = 0;
      std::memcpy(&sent_ns, message.bytes.data(), sizeof sent_ns);
      took_ms.push_back(static_cast<double>(message.arrived_ns - sent_ns) * 1e-6);
    }
  }
  party.meet();
  if (courier.rank() == 1) {
    std::sort(took_ms.begin(), took_ms.end());
    std::printf("256 KiB while both compute: %.2f ms at the median, %.2f at most\n", took_ms[4], took_ms.back());
    // The best of nine, for other programs on the machine hold a rank up now and then. Without a progress thread
    // every one of them takes the 300 ms.
    EXPECT_LT(took_ms.front(), 10.0);
  }
}

// Waiting costs little: what a rank takes of a core while it has nothing to do, and how late it sees a message then.
void idle_scenario(World& world) {
  Courier courier(make(world), options());
  suite::Party party(courier);
  party.meet();
  const auto cpu_s = [] {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
  };
  const double before_s = cpu_s();
  std::this_thread::sleep_for(std::chrono::seconds(2));
  const double share = (cpu_s() - before_s) / 2;
  party.meet();
  std::vector<double> took_ms;
  for (int i = 0; i < 101; ++i) {
    if (courier.rank() == 0) {
      const std::int64_t sent_ns = now_ns();
      std::vector<std::byte> bytes(64);
      std::memcpy(bytes.data(), &sent_ns, sizeof sent_ns);
      courier.send({Channel::anchor, 1, 1, std::move(bytes), false});
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    } else if (courier.rank() == 1) {
      const Message message = party.receive_one();
      std::int64_t sent_ns = 0;
      std::memcpy(&sent_ns, message.bytes.data(), sizeof sent_ns);
      took_ms.push_back(static_cast<double>(message.arrived_ns - sent_ns) * 1e-6);
    }
  }
  party.meet();
  std::printf("rank %d takes %.1f %% of a core while it waits\n", courier.rank(), share * 100);
  EXPECT_LT(share, 0.5);
  if (courier.rank() != 1) return;
  std::sort(took_ms.begin(), took_ms.end());
  std::printf("a small message: %.3f ms at the median, %.3f at the 90th percentile\n", took_ms[50], took_ms[90]);
  EXPECT_LT(took_ms[10], 2.0);
}

// An urgent 32 KiB behind a flood of residuals does not wait for the flood.
void priority_scenario(World& world) {
  Courier courier(make(world), options());
  suite::Party party(courier);
  constexpr int flood = 1500, urgent = 40;
  const std::size_t piece = courier.good_parcel_bytes();
  party.meet();
  if (courier.rank() == 0) {
    for (int i = 0; i < flood; ++i) courier.send({Channel::residual, 1, 9, std::vector<std::byte>(piece), false});
    for (int i = 0; i < urgent; ++i) {
      std::vector<std::byte> bytes(32 * 1024);
      const std::int64_t sent_ns = now_ns();
      std::memcpy(bytes.data(), &sent_ns, sizeof sent_ns);
      courier.send({Channel::anchor, 1, 1, std::move(bytes), false});
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    courier.flush(std::chrono::seconds(30));
  } else {
    std::vector<double> took_ms;
    std::int64_t first_ns = 0, last_ns = 0;
    for (int i = 0; i < flood + urgent; ++i) {
      const Message message = party.receive_one();
      if (first_ns == 0) first_ns = message.arrived_ns;
      last_ns = message.arrived_ns;
      if (message.channel != Channel::anchor) continue;
      std::int64_t sent_ns = 0;
      std::memcpy(&sent_ns, message.bytes.data(), sizeof sent_ns);
      took_ms.push_back(static_cast<double>(message.arrived_ns - sent_ns) * 1e-6);
    }
    std::sort(took_ms.begin(), took_ms.end());
    const double flood_ms = static_cast<double>(last_ns - first_ns) * 1e-6;
    std::printf("urgent 32 KiB: %.2f ms at the median, %.2f at most; the flood took %.0f ms (%.2f GB/s)\n",
                took_ms[urgent / 2], took_ms.back(), flood_ms, static_cast<double>(flood * piece) / flood_ms * 1e-6);
    EXPECT_LT(took_ms[urgent / 4], flood_ms / 8);
    EXPECT_LT(took_ms[urgent / 2], flood_ms / 4);
  }
  party.meet();
}

// A rank dies: the launcher or the watchdog ends the others.
void killed_scenario(World& world) {
  Courier courier(make(world), options());
  suite::Party(courier).meet();
  if (courier.rank() == 1) raise(SIGKILL);
  courier.send({Channel::anchor, 1, 1, std::vector<std::byte>(1 << 20), false});
  courier.expect_messages(true);
  while (true) suite::Party(courier).receive_one();
}

// A rank is alive and does nothing any more: only the watchdog of its peer can tell.
void stopped_scenario(World& world) {
  Courier courier(make(world), options());
  suite::Party(courier).meet();
  if (courier.rank() == 1) raise(SIGSTOP);
  courier.progress("wait for the stopped rank");
  courier.expect_messages(true);  // the peer may have taken what follows before it stops
  courier.send({Channel::residual, 1, 1, std::vector<std::byte>(1 << 20), false});
  Message message;
  while (!courier.receive(message)) courier.wait(std::chrono::microseconds(100'000));
}

// A rank fails with an exception: its peer's receive() says so, and the job ends with the transport's code.
void throws_scenario(World& world) {
  Courier courier(make(world), options());
  suite::Party(courier).meet();
  if (courier.rank() == 1) throw Error(ErrorCode::transport, "rank 1", "fails on purpose");
  Message message;
  try {
    while (!courier.receive(message)) courier.wait(std::chrono::microseconds(100'000));
  } catch (const Error& error) {
    std::printf("rank 0 heard: %s\n", error.what());
    EXPECT_NE(std::string(error.what()).find("rank 1: has left the job"), std::string::npos);
    throw;
  }
}

// A rank fails before anything connects it with the others, which wait for it at set-up.
void leaves_early_scenario(World& world) {
  if (world.rank() == 1) throw Error(ErrorCode::bad_data, "rank 1", "cannot read its input");
  world.barrier();
}

int run(const std::string& name) {
  World world;
  log::configure(log::Level::info, "rank " + std::to_string(world.rank()));
  if (name == "suite") suite_scenario(world);
  else if (name == "world") world_scenario(world);
  else if (name == "idle") idle_scenario(world);
  else if (name == "busy") busy_scenario(world);
  else if (name == "priority") priority_scenario(world);
  else if (name == "killed") killed_scenario(world);
  else if (name == "stopped") stopped_scenario(world);
  else if (name == "throws") throws_scenario(world);
  else if (name == "leaves-early") leaves_early_scenario(world);
  else return 2;
  return testing::Test::HasFailure() ? 1 : 0;
}

}  // namespace
}  // namespace lynxkv::comm

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc > 2) lynxkv::comm::transport = argv[2];
  try {
    return lynxkv::comm::run(argc > 1 ? argv[1] : "");
  } catch (const lynxkv::Error& error) {
    std::fprintf(stderr, "mpi_scenarios: %s\n", error.what());
    return lynxkv::exit_code(error.code());
  }
}
