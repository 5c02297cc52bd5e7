// The exclusive lock on an output folder: `folder`/journal.lock, whose text names the job, host and process
// that hold it. The kernel lets go of it when that process ends, however it ends: there are no stale locks.
#pragma once

#include <string>

#include "results/posix_file.hpp"

namespace lynxkv::results {

class JournalLock {
 public:
  // Throws Error{usage} where another process holds it, naming that job and host. Where the file system has
  // no locks, a warning is logged and the run goes on without.
  explicit JournalLock(const std::string& folder);
  ~JournalLock();
  JournalLock(const JournalLock&) = delete;
  JournalLock& operator=(const JournalLock&) = delete;

 private:
  Descriptor descriptor_;
};

}  // namespace lynxkv::results
