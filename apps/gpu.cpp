#include "apps/gpu.hpp"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "apps/command_line.hpp"
#include "base/error.hpp"
#include "kernels/cuda/devices.hpp"

namespace lynxkv::apps {
namespace {

constexpr const char* emulated_name = "lynxkv-emulated";

void become(const std::filesystem::path& program) {
  std::vector<std::string> words = command_line();
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(program.c_str(), arguments.data());
}

}  // namespace

void need_gpu(const char* option) {
  const kernels::cuda::DeviceList list = kernels::cuda::list_devices();
  if (!list.devices.empty()) return;
  std::error_code ignored;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const std::filesystem::path beside = self.parent_path() / emulated_name;
  if (self.filename() != emulated_name && access(beside.c_str(), X_OK) == 0) {
    std::fprintf(stderr,
                 "lynxkv: no GPU here (%s): the CUDA kernels run under the emulation of CUDA on the CPU, "
                 "which proves their bytes, not their speed\n",
                 list.note.c_str());
    become(beside);
  }
  throw Error(
      ErrorCode::usage, option,
      "no GPU here (" + list.note + "), and no " + emulated_name + " beside this program; use --backend cpu");
}

}  // namespace lynxkv::apps
