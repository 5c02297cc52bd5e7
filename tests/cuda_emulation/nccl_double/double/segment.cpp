#include "tests/cuda_emulation/nccl_double/double/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <random>
#include <stdexcept>
#include <vector>

namespace nccl_double {
namespace {

// Names that this process made and that nobody has taken away yet go with the process.
struct Names {
  std::vector<std::string> made;
  ~Names() {
    for (const std::string& name : made) shm_unlink(name.c_str());
  }
};
Names& names() {
  static Names only;
  return only;
}

}  // namespace

std::string Segment::create() {
  static std::random_device entropy;
  const std::string name = "/nccl-double-" + std::to_string(getpid()) + "-" + std::to_string(entropy());
  const int file = shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
  if (file < 0 || ftruncate(file, sizeof(Shared)) != 0) throw std::runtime_error("no shared memory for " + name);
  close(file);
  names().made.push_back(name);
  return name;
}

Segment::Segment(const std::string& name) : name_(name) {
  const int file = shm_open(name.c_str(), O_RDWR, 0600);
  if (file < 0) throw std::runtime_error("there is no unique id " + name);
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) throw std::runtime_error("cannot map " + name);
  shared_ = static_cast<Shared*>(memory);  // fresh memory is zero, which is where everything begins
}

Segment::~Segment() { munmap(shared_, sizeof(Shared)); }

void Segment::forget_name() noexcept { shm_unlink(name_.c_str()); }

}  // namespace nccl_double
