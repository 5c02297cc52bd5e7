#include "results/journal_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "base/log.hpp"

namespace lynxkv::results {
namespace {

std::string holder_text() {
  std::string job = "no job";
  for (const char* name : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"})
    if (const char* id = std::getenv(name)) {
      job = std::string("job ") + id;
      break;
    }
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  return job + " on host " + host.data() + ", process " + std::to_string(::getpid());
}

std::string read_holder(int descriptor) {
  std::array<char, 512> text{};
  const ssize_t count = ::pread(descriptor, text.data(), text.size(), 0);
  std::string holder(text.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
  for (char& c : holder)
    if (static_cast<unsigned char>(c) < 32) c = ' ';
  while (!holder.empty() && holder.back() == ' ') holder.pop_back();
  return holder.empty() ? "another process" : holder;
}

}  // namespace

JournalLock::JournalLock(const std::string& folder) {
  const std::string path = folder + "/journal.lock";
  descriptor_.reset(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!descriptor_) {
    if (errno == ENOSPC || errno == EDQUOT)
      throw Error(
          ErrorCode::incomplete, path,
          "could not be created: " + system_text(errno) + "; free some space and run the same command again");
    throw Error(ErrorCode::usage, path,
                "cannot be created: " + system_text(errno) + "; choose another output.dir");
  }
  while (::flock(descriptor_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK)
      throw Error(ErrorCode::usage, folder,
                  "is in use by " + read_holder(descriptor_.get()) +
                      "; wait for it to end or choose another output.dir");
    log::warning("{}: this file system has no locks ({}); take care that no other job writes here", path,
                 system_text(errno));
    descriptor_.reset();
    return;
  }
  // The name is for people; a disk too full to hold it does not make the lock less good.
  const std::string text = holder_text() + "\n";
  if (::ftruncate(descriptor_.get(), 0) != 0 || ::pwrite(descriptor_.get(), text.data(), text.size(), 0) < 0)
    log::debug("{}: the holder's name could not be written: {}", path, system_text(errno));
}

JournalLock::~JournalLock() {
  if (descriptor_ && ::ftruncate(descriptor_.get(), 0) != 0)
    log::debug("the journal lock's text could not be cleared");
}

}  // namespace lynxkv::results
