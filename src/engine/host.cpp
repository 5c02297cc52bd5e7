#include "engine/host.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <fstream>

namespace lynxkv::engine {

int host_cores() noexcept { return std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN))); }

int allowed_cores() noexcept {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return host_cores();
  return std::max(1, CPU_COUNT(&mask));
}

std::string cpu_mask() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return "unknown";
  std::string text;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &mask)) continue;
    int last = cpu;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &mask)) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(cpu) + (last > cpu ? "-" + std::to_string(last) : "");
    cpu = last;
  }
  return text;
}

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.rfind("model name", 0) == 0 && line.find(": ") != std::string::npos) return line.substr(line.find(": ") + 2);
  return "unknown";
}

std::int64_t available_memory_bytes() noexcept {
  std::ifstream info("/proc/meminfo");
  for (std::string name; info >> name;) {
    std::int64_t kib = 0;
    if (name == "MemAvailable:" && info >> kib) return kib * 1024;
    info.ignore(1000, '\n');
  }
  return std::int64_t{1} << 30;
}

std::int64_t peak_memory_bytes() noexcept {
  struct rusage usage = {};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? std::int64_t{usage.ru_maxrss} * 1024 : 0;
}

std::int64_t free_disk_bytes(const std::string& directory) noexcept {
  struct statvfs info = {};
  if (statvfs(directory.c_str(), &info) != 0) return -1;
  return static_cast<std::int64_t>(info.f_bavail) * static_cast<std::int64_t>(info.f_frsize);
}

std::map<std::string, std::string> slurm_variables() {
  constexpr std::array<const char*, 8> names = {"SLURM_JOB_ID",      "SLURM_STEP_ID",       "SLURM_ARRAY_JOB_ID",
                                                "SLURM_ARRAY_TASK_ID", "SLURM_RESTART_COUNT", "SLURM_JOB_NODELIST",
                                                "SLURM_JOB_PARTITION", "SLURM_CLUSTER_NAME"};
  std::map<std::string, std::string> found;
  for (const char* name : names)
    if (const char* value = std::getenv(name)) found[name] = value;
  return found;
}

double seconds_to_job_end() noexcept {
  const char* text = std::getenv("SLURM_JOB_END_TIME");
  if (text == nullptr) return -1;
  const long long end = std::atoll(text);
  return end <= 0 ? -1 : std::max(0.0, std::difftime(static_cast<std::time_t>(end), std::time(nullptr)));
}

int fair_threads(int ranks_here) noexcept {
  const int allowed = allowed_cores();
  if (allowed < host_cores()) return allowed;
  return std::max(1, allowed / std::max(1, ranks_here));
}

}  // namespace lynxkv::engine
