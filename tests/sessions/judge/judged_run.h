// A scenario's run as a trace, and the judge's result for a trace, which tests may change in
// between.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sessions/judge/foreign_importer.h"

namespace hybridscope::test {

// [header, step 1, ...] of scenarios/NAME.json, run by our own engine; `change` its settings first.
std::vector<nlohmann::json> trace_of(const std::string& scenario,
                                     const std::function<void(EngineConfig&)>& change = {});

// Removes everything optional from the lines: copies, graphs, metadata, the worker's counts, and
// hashes unless they may lie inside blocks.
// `keeps_copies`: mode all, whose boundary copies are each engine's own decision
// (semantics: mode-all-with-drafts).
void strip(std::vector<nlohmann::json>& lines, bool keeps_copies = false);

struct Judgement {
  // "bad input", "findings" of severity error, "not judged" or "no findings".
  std::string verdict() const;

  bool has_errors = false;             // findings of severity error
  std::string untold;                  // UntoldParts::words
  std::string error;                   // of the first line that is bad input, "" for none
  std::vector<std::string> findings;   // "slug step 3 A: expected 8, seen 7"
  std::vector<std::string> words;      // of the findings, without what repeats the above
  std::vector<std::string> decisions;  // [chains of findings] behind each; "" for none
  std::vector<std::int64_t> computed;  // [kNumComputed] steps in which we computed it
};

// Lines whose lists of what happened are empty where they lack them, and whose header has what most
// of our tests leave out: not asynchronous, runner V1.
std::vector<nlohmann::json> with_all_told(std::vector<nlohmann::json> lines);

// With every registered block checked after every step. Lines are judged with_all_told.
Judgement judge(const std::vector<nlohmann::json>& lines);
// Lines of text.
Judgement judge(const std::vector<std::string>& lines);

}  // namespace hybridscope::test
