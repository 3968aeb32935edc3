// Reads the steps of one recorded session: any step at once, many in a row without searching.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/record/step_source.h"
#include "storage/session_file.h"

namespace hybridscope {

class SessionReader {
 public:
  // Opens the file for reading. Errors: those of SessionFile, a name that is not there, a plan that
  // this version cannot read.
  static Result<std::unique_ptr<SessionReader>> open(const SessionPlace& place);
  virtual ~SessionReader() = default;

  virtual const SessionInfo& info() const = 0;
  // The steps that were recorded; numbers can have gaps (idle steps are left out).
  virtual std::int64_t first_step() const = 0;  // 0: there is none
  virtual std::int64_t last_step() const = 0;
  // The recorded step at or before / behind `step`; 0: none.
  virtual Result<std::int64_t> step_at_or_before(std::int64_t step) = 0;
  virtual Result<std::int64_t> step_after(std::int64_t step) = 0;
  // Valid until the next call. Error not_found: no such step; corrupt: rows that cannot be.
  virtual Result<const StepRecord*> read(std::int64_t step) = 0;

  virtual std::string request_name(RequestId request) const = 0;
};

// The session's steps one after another, for diff and export. Owns the reader.
Result<std::unique_ptr<StepSource>> open_session_source(const SessionPlace& place);

}  // namespace hybridscope
