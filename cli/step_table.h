// The default output of `hybridscope run`: one readable row per step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/check/finding.h"
#include "core/trace/step_trace.h"
#include "sessions/explain/explain_names.h"
#include "sessions/record/step_record.h"

namespace hybridscope {

// Cells of one step, without alignment.
struct StepRow {
  std::string step;
  std::string returned_step;  // frame that returned; empty: the same, or none
  std::string requests;       // "A prefill 0+6 | B verify 8(10)+3 ph3 a2"
  std::string returned;  // of the frame in flight that returned: "A +1 c11 known9 ph3 | B +3 done"
  std::string hits;      // "B 8"
  std::string blocks;    // "+4 -1 =11"
  std::string copies;    // "pre A 0>1; post B 0>0 +1"
  std::string graph;     // "FULL 6t+1 2r"
  std::string findings;  // "2"
};

// Whether the trace knows how many blocks are free: decisions of another engine do not say.
enum class FreeBlocks : std::uint8_t { known, unknown };

StepRow describe_step(const StepTrace& trace, const Names& names, std::span<const Finding> findings,
                      FreeBlocks free = FreeBlocks::known);
// For a step of which only sums are kept (RecordLevel::counts).
StepRow describe_counts(const StepTrace& trace, const StepCounts& counts,
                        FreeBlocks free = FreeBlocks::known);

// The rows under their headings, columns as wide as their widest cell; long request cells are
// wrapped at " | ", long copy cells at "; ". The legend of what the level keeps follows.
std::string format_step_table(const std::vector<StepRow>& rows,
                              RecordLevel level = RecordLevel::full);

// `text` in lines of at most `width` characters, broken at spaces.
std::string wrap_words(const std::string& text, std::size_t width);

}  // namespace hybridscope
