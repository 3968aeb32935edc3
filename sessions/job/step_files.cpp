#include "sessions/job/step_files.h"

#include <algorithm>
#include <utility>

#include "sessions/job/recorded_session.h"
#include "sessions/job/trace_file.h"

namespace hybridscope {
namespace {

// Begins a file of steps; null: the options ask for none.
using BeginStepFile = Result<std::unique_ptr<StepFile>> (*)(const StepFileOptions& options,
                                                            const StepFileSource& source);

constexpr BeginStepFile kStepFiles[] = {begin_trace_file, begin_recorded_session};

}  // namespace

Result<StepFiles> StepFiles::begin(const StepFileOptions& options, const StepFileSource& source) {
  StepFiles files;
  for (const BeginStepFile begin : kStepFiles) {
    auto file = begin(options, source);
    if (!file.ok()) return file.error();
    if (file.value() != nullptr) files.files_.push_back(std::move(file).value());
  }
  return files;
}

bool StepFiles::wants_writes() const {
  return std::ranges::any_of(files_, [](const auto& file) { return file->wants_writes(); });
}

Result<Going> StepFiles::take(const CheckedStep& step) {
  for (const auto& file : files_)
    if (const auto taken = file->take(step); !taken.ok()) {
      failed_ = true;
      return taken;
    }
  return Going::on;
}

Status StepFiles::finish(const StepsEnd& end) {
  StepsEnd ended = end;
  ended.files_failed = failed_;
  Status first = Ok{};
  for (const auto& file : files_)
    if (const Status finished = file->finish(ended); first.ok()) first = finished;
  files_.clear();
  return first;
}

}  // namespace hybridscope
