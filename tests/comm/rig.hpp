// Runs a function on every rank of an in-process loop, each in a thread of its own with its own courier.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "comm/courier.hpp"
#include "comm/loop.hpp"

namespace lynxkv::comm {

inline LinkOptions test_options() {
  LinkOptions options;
  options.stall_seconds = 30;
  options.close_seconds = 5;
  return options;
}

// Times are measured on machines that do other things as well: the best of some attempts counts.
template <class Measure>
double best_of(int attempts, Measure measure) {
  double best = measure();
  for (int i = 1; i < attempts; ++i) best = std::min(best, measure());
  return best;
}

inline void on_each_rank(int size, const LinkOptions& options, const std::function<void(Courier&)>& body) {
  std::vector<std::unique_ptr<Courier>> couriers;
  for (auto& transport : make_loop(size)) couriers.push_back(std::make_unique<Courier>(std::move(transport), options));
  std::vector<std::thread> threads;
  for (auto& courier : couriers)
    threads.emplace_back([&courier, &body] {
      try {
        body(*courier);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << courier->rank() << ": " << error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace lynxkv::comm
