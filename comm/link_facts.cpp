#include "comm/link_facts.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace lynxkv::comm {
namespace {

constexpr std::string_view prefixes[] = {"OMPI_MCA_", "UCX_", "NCCL_", "FI_", "OMP_", "GOMP_", "SLURM_CPU_BIND", "CUDA_VISIBLE"};

// What mpirun tells its ranks about itself; it differs from run to run.
constexpr std::string_view launchers_own[] = {"OMPI_MCA_orte_", "OMPI_MCA_ess", "OMPI_MCA_pmix", "OMPI_MCA_initial_wdir",
                                              "OMPI_MCA_shmem_RUNTIME"};

std::string first_word(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::string word;
  in >> word;
  return word;
}

}  // namespace

std::string network_interfaces() {
  std::string text;
  std::error_code error;
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/class/net", error)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    const std::filesystem::path folder = "/sys/class/net/" + name;
    if (name == "lo" || first_word(folder / "operstate") == "down") continue;
    const std::string speed = first_word(folder / "speed");
    text += (text.empty() ? "" : ", ") + name;
    if (!speed.empty() && speed[0] != '-') text += " (" + speed + " Mbit/s by its driver)";
  }
  return text.empty() ? "none" : text;
}

std::vector<std::pair<std::string, std::string>> link_environment() {
  std::vector<std::pair<std::string, std::string>> found;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = text.substr(0, equals);
    const auto is_own = [&](std::string_view prefix) { return name.substr(0, prefix.size()) == prefix; };
    if (std::any_of(std::begin(launchers_own), std::end(launchers_own), is_own)) continue;
    for (const std::string_view prefix : prefixes)
      if (name.substr(0, prefix.size()) == prefix) {
        found.emplace_back(name, text.substr(equals + 1));
        break;
      }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace lynxkv::comm
