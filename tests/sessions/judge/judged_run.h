// A scenario's run as a trace, and the judge's result for a trace, which tests may change in
// between.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/policy_set.h"
#include "core/engine/engine.h"
#include "sessions/judge/foreign_importer.h"
#include "sessions/judge/trace_reader.h"
#include "sessions/scenario/engine_profile.h"

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

// Runs of our own engine as traces, and traces through the comparison with our engine.

// [header, step 1, ...] of all requests, added before the first step, until none is left.
// `before_step` may give the engine commands.
std::vector<nlohmann::json> traced_run(const EngineConfig& config,
                                       const std::vector<AddRequest>& requests,
                                       const std::function<void(Engine&)>& before_step = {});

// format_difference() of the first difference, empty for none; or the message of an error.
std::string first_difference(const std::vector<std::string>& lines, const PolicySet& policies);
std::string first_difference(const std::vector<nlohmann::json>& lines, const PolicySet& policies);
// With the policies that `judge --engine` compares with.
std::string first_difference(const std::vector<nlohmann::json>& lines,
                             const EngineProfile& profile);

// A small healthy trace for tests to change: a header, step 1 that admits "a" and "b", step 2 in
// which both continue with drafts.

// [header, step 1, step 2]
std::vector<nlohmann::json> healthy_trace();

// Another one, without findings: a header of one attention and one recurrent group with blocks of 8
// tokens and hashes of 2. Step 1 runs 20 of the 21 prompt tokens of "a", step 2 the last one: its
// block 5 is copied to 6, which the prefix cache keeps. Step 3 admits "b", which shares 20 tokens.
std::vector<nlohmann::json> shared_tail();

// Reads the lines as numbers 1, 2, ... of "t.jsonl". The message of the first error, or "".
std::string read_error(TraceReader& reader, const std::vector<nlohmann::json>& lines);
std::string read_error(const std::vector<nlohmann::json>& lines);

}  // namespace hybridscope::test
