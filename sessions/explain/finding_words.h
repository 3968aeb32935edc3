// The sentences of findings, rule by rule. For explain_finding.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/check/finding.h"
#include "sessions/explain/explain_names.h"

namespace hybridscope::finding_words {

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
