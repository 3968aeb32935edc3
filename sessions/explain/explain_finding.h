// A finding in words and as JSON, the same for every command and report, and the sentences of each
// rule.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/check/finding.h"
#include "sessions/explain/explain_names.h"

namespace hybridscope {

// One or two sentences without newline: "running-state-wrong: step 13 r5 row 2 group 1 (mamba2)
// column 2: block 17 holds the state of 46 tokens of r5, expected 48; written by the post-copy of
// step 12 (vLLM v1/worker/mamba_utils.py postprocess_mamba_fused_kernel)".
std::string explain_finding(const Finding& finding, const Names& names);

// Findings that differ only in group, block and kind of state are told in one line. For each line
// the indices of its findings, those of one kind of state after the other; lines in the order of
// their first ones.
using FindingLine = std::vector<std::size_t>;
std::vector<FindingLine> lines_of_findings(std::span<const Finding* const> findings);

// explain_finding() of the first, which names the groups and says what else is the same:
// "... groups 1 to 3 (mamba2) column 2: block 17 holds the state of 46 tokens of r5, expected 48;
// the same in blocks 20 and 23, and of the conv windows; written by ...". Requires: they are the
// findings of one line.
std::string explain_findings(std::span<const Finding* const> line, const Names& names);

// Keys in this order: rule, severity, step, request, row, group, content, column, block, expected,
// seen, detail, cause {kind, step, ordinal, request, num_tokens}, text. Keys that do not apply are
// null. Findings about bytes end with layer, state, element. docs/ci.md says what expected and seen
// are.
nlohmann::ordered_json finding_to_json(const Finding& finding, const Names& names);

}  // namespace hybridscope

namespace hybridscope::finding_words {

// The sentences of findings, rule by rule (finding_words.cpp), their sources and stable names
// (explain_finding.cpp).

// The sentence of one variant of a rule.
struct Phrase {
  Rule rule = Rule::running_state_wrong;
  std::string_view detail{};               // prefix of the finding's detail
  bool (*when)(const Finding&) = nullptr;  // null: always
  std::string_view text{};                 // with placeholders in braces
};

// The table of phrases; the first one that fits a finding is used.
std::span<const Phrase> phrases();
std::string fill(const Phrase& phrase, const Finding& finding, const Names& names);

// "3 tokens".
std::string tokens(std::int64_t count);
// What is wrong, with the numbers; a clause without its full stop.
std::string what(const Finding& finding, const Names& names);

// "written by the post-copy of step 12"; empty when no write caused the finding.
std::string cause(const Finding& finding);

// vLLM's file and function of the broken rule or of the write that caused the finding.
std::string_view source(const Finding& finding, const Names& names);

// "post_copy"; empty for WriteKind::never.
std::string_view write_kind_name(WriteKind kind);

// "temporal"; empty for ContentKind::none.
std::string_view content_name(ContentKind content);

}  // namespace hybridscope::finding_words
