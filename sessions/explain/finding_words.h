// Phrases of findings, rule by rule. For explain_finding.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/check/finding.h"
#include "sessions/explain/explain_names.h"

namespace hybridscope::finding_words {

// How one variant of a rule is told.
struct Phrase {
  Rule rule = Rule::running_state_wrong;
  std::string_view detail{};               // the finding's detail begins with it
  bool (*when)(const Finding&) = nullptr;  // null: always
  std::string_view text{};                 // with names of numbers in braces
};

// The table of phrases; the first that fits a finding is used.
std::span<const Phrase> phrases();
std::string fill(const Phrase& phrase, const Finding& finding, const Names& names);

// What is wrong, with the numbers; a clause without its full stop.
std::string what(const Finding& finding, const Names& names);

// "written by the post-copy of step 12"; empty where no write is to blame.
std::string cause(const Finding& finding);

// File and function of vLLM that the broken rule or the guilty write comes from.
std::string_view source(const Finding& finding, const Names& names);

// "post_copy"; empty for never.
std::string_view write_kind_name(WriteKind kind);

// "temporal"; empty for none.
std::string_view content_name(ContentKind content);

}  // namespace hybridscope::finding_words
