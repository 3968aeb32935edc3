// A broken invariant, found by looking at what a step decided and what its blocks hold. Findings
// are values: never logged, never thrown. sessions/explain puts them into words.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/ids.h"

namespace hybridscope {

enum class Rule : std::uint8_t {
  running_state_wrong,
  label_mismatch,
  read_of_unwritten_block,
  foreign_write,
  reference_count,
  copy_out_of_range,
  conflicting_copies,
  padded_row_not_null,
  stale_persistent_array,
  metadata_inconsistent,
  hit_longer_than_group,
  foreign_row_datum,
  rejected_draft_counted,
  attention_slot_unwritten,
  block_table_mismatch,
  no_progress,
  state_bytes_wrong,
  schedule_over_limit,
  graph_not_captured,
  published_not_written,
  state_changed,
  copy_differs,
  write_missing,
  state_differs,
  logits_differ,
  acceptance_differs,
  chunk_off_grid,
  state_unchanged,
  drafts_cut,
  expectation_unused,
};

enum class Severity : std::uint8_t { error, warning };

// What a rule looks at.
enum class Evidence : std::uint8_t {
  decisions,  // of every step
  bytes,      // of our own memory (StateMirror), where a run keeps state in bytes
  memory,     // another engine's, where its trace tells hashes (StateHashCheck)
  numbers,    // of a language model that runs on the decisions (core/language)
};

struct RuleInfo {
  Rule rule;
  std::string_view slug{};  // stable name in files and reports
  Severity severity;
  std::string_view invariant{};  // of docs/semantics/forward.md, "" where none
  std::string_view meaning{};    // one sentence
  Evidence evidence = Evidence::decisions;
};

// The table of rules, one row per rule, in the order of the enum.
std::span<const RuleInfo> rule_table();
const RuleInfo& rule_info(Rule rule);

// Which of a block's contents a finding is about.
enum class ContentKind : std::uint8_t { none, temporal, conv, attention };

// What wrote something into a block. {step, ordinal} identifies an event.
enum class WriteKind : std::uint8_t {
  never,       // the block was not written since it was given out
  prefill,     // forward of a prefill row
  decode,      // forward of a decode or verify row
  pre_copy,    // align: previous running column -> running column, before the forward
  post_copy,   // after acceptance: boundary snapshot
  attention,   // keys and values of a row's tokens
  block_copy,  // of a whole block, before anything else of the step
};

constexpr bool is_copy(WriteKind kind) {
  return kind == WriteKind::pre_copy || kind == WriteKind::post_copy ||
         kind == WriteKind::block_copy;
}

struct WriteEvent {
  WriteKind kind = WriteKind::never;
  std::int32_t step = 0;
  std::int32_t ordinal = 0;     // of the writes of that step
  RequestId request{};          // whose row or decision wrote
  std::int32_t num_tokens = 0;  // tokens folded into what was written: the prefix it encodes
  friend bool operator==(const WriteEvent&, const WriteEvent&) = default;
};

struct Finding {
  Rule rule = Rule::running_state_wrong;
  std::int64_t step = 0;
  RequestId request{};
  std::int32_t row = -1;
  std::int32_t group = -1;
  ContentKind content = ContentKind::none;
  std::int32_t column = -1;
  std::int32_t block = -1;
  std::int64_t expected = -1;  // a count of tokens, references, rows, ... as the rule says;
                               // conv: number of the last token in the window;
                               // told hashes: a hash, of copy_differs the block that was copied
  std::int64_t seen = -1;
  std::string_view detail{};  // a literal that tells variants of a rule apart
  WriteEvent cause{};         // the write that left what was seen
  // state_bytes_wrong: which element, row-major; expected and seen are unsigned numbers of its
  // size. state_differs: the first element, expected tokens, seen elements that differ.
  std::int32_t layer = -1;  // of the model
  std::int32_t state = -1;  // of the layer's states
  std::int64_t element = -1;
};

}  // namespace hybridscope
