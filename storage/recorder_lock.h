// Tells a living recorder from one that died. A recorder locks one byte of FILE.db-lock until it
// ends; its offset is the time at which the session began (sessions.created_us). The system frees
// it when the process dies, however that happens. FILE.db itself cannot be used: closing it would
// free SQLite's own locks.
//
// The last recorder that ends removes FILE.db-lock; a killed one leaves it behind without locks. A
// process that a recorder forked keeps the lock until it ends too or runs another program.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"

namespace hybridscope {

class RecorderLock {
 public:
  RecorderLock() = default;  // holds nothing
  // `created_us`: Unix time, microseconds. Errors not_available: the file cannot be made or locked;
  // another session of the file began at this time.
  static Result<RecorderLock> acquire(const std::string& database, std::int64_t created_us);
  RecorderLock(RecorderLock&& other) noexcept;
  RecorderLock& operator=(RecorderLock&& other) noexcept;
  ~RecorderLock() { release(); }

  void release();

 private:
  RecorderLock(std::string file, int descriptor);

  std::string file_;
  int descriptor_ = -1;  // -1: holds nothing
};

// Is the recorder alive of the session that began then? Also true where that cannot be found out:
// a lock file that this user cannot read.
bool has_living_recorder(const std::string& database, std::int64_t created_us);

}  // namespace hybridscope
